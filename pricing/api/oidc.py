"""OpenID Connect access tokens as credentials: the claims say the role and the tenant.

Signatures are checked against the issuer's published keys, which are kept for a while and fetched
again when a token names one that is not there, so that a provider may rotate them.
"""

import threading
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import httpx
from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet

from pricing.errors import NotAuthenticated, StoreUnavailable
from pricing.scope import HOUSE_ROLES, PERMISSIONS, Principal, Role
from pricing.settings import OidcSettings

ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA", "Ed25519")
KEPT: Final = timedelta(minutes=10)
ASKED_AGAIN_AFTER: Final = timedelta(seconds=30)  # a flood of unknown key ids asks no more often
LEEWAY_SECONDS: Final = 30  # between the provider's clock and ours
TIMEOUT_SECONDS: Final = 5.0
ROLES: Final = frozenset({*HOUSE_ROLES, Role.TENANT})  # machines that write usage have keys
Fetch = Callable[[str], Any]


def fetch_json(url: str) -> Any:
    """The JSON at an address of the provider."""
    answer = httpx.get(url, timeout=TIMEOUT_SECONDS)
    answer.raise_for_status()
    return answer.json()


class TokenReader:
    """Reads access tokens of one issuer."""

    def __init__(self, settings: OidcSettings, fetch: Fetch = fetch_json) -> None:
        self._settings = settings
        self._fetch = fetch
        self._keys: KeySet | None = None
        self._asked_at: datetime | None = None
        self._turn = threading.Lock()

    def principal(self, token: str, now: datetime) -> Principal:
        """Who the token speaks for at the UTC time `now`. Raises NotAuthenticated."""
        claims = self._claims(token, now)
        role = self._role(claims)
        tenant_id = _at(claims, self._settings.tenant_claim) if role is Role.TENANT else None
        if role is Role.TENANT and not (isinstance(tenant_id, str) and tenant_id):
            raise NotAuthenticated(
                f"The token has the role tenant and no claim {self._settings.tenant_claim!r}.",
                remedy="Have the provider add the tenant's id to the token.",
            )
        return Principal(
            key_id=f"oidc:{claims['sub']}",
            role=role,
            tenant_id=tenant_id,
            permissions=PERMISSIONS[role],
        )

    def _claims(self, token: str, now: datetime) -> Mapping[str, Any]:
        expected = jwt.JWTClaimsRegistry(
            now=int(now.timestamp()),
            leeway=LEEWAY_SECONDS,
            iss={"essential": True, "value": self._settings.issuer},
            aud={"essential": True, "value": self._settings.audience},
            sub={"essential": True},
            exp={"essential": True},
        )
        try:
            try:
                decoded = jwt.decode(token, self._published(now), algorithms=ALGORITHMS)
            except InvalidKeyIdError:
                decoded = jwt.decode(token, self._published(now, anew=True), algorithms=ALGORITHMS)
            expected.validate(decoded.claims)
        except (JoseError, ValueError) as error:
            raise NotAuthenticated(
                f"The token is not valid: {error}.",
                remedy=f"Get a token of {self._settings.issuer} for the audience "
                f"{self._settings.audience}.",
            ) from error
        return decoded.claims

    def _published(self, now: datetime, *, anew: bool = False) -> KeySet:
        """The issuer's keys, fetched when they are old or, with `anew`, not quite new."""
        with self._turn:
            age = KEPT if self._asked_at is None else now - self._asked_at
            if self._keys is None or age >= (ASKED_AGAIN_AFTER if anew else KEPT):
                self._asked_at = now
                self._keys = self._fetch_keys() or self._keys
            if self._keys is None:
                raise StoreUnavailable(
                    f"The keys of {self._settings.issuer} cannot be read.",
                    remedy="Check oidc.issuer and oidc.jwks_url; keys of tokentill still work.",
                )
            return self._keys

    def _fetch_keys(self) -> KeySet | None:
        """None where the provider does not answer: the keys that are known still count."""
        settings = self._settings
        try:
            url = settings.jwks_url
            if url is None:
                place = f"{settings.issuer.rstrip('/')}/.well-known/openid-configuration"
                url = str(self._fetch(place)["jwks_uri"])
            return KeySet.import_key_set(self._fetch(url))
        except (httpx.HTTPError, JoseError, ValueError, KeyError, TypeError):
            return None

    def _role(self, claims: Mapping[str, Any]) -> Role:
        """The one role of ours among those that the claim lists."""
        said = _at(claims, self._settings.role_claim)
        listed = [said] if isinstance(said, str) else said if isinstance(said, list) else []
        prefix = self._settings.role_prefix
        names = {str(name).removeprefix(prefix) for name in listed if str(name).startswith(prefix)}
        found = [role for role in Role if role in ROLES and role in names]
        if len(found) != 1:
            raise NotAuthenticated(
                f"The claim {self._settings.role_claim!r} names {len(found)} roles of ours.",
                remedy=f"It must name one of {', '.join(sorted(prefix + role for role in ROLES))}.",
            )
        return found[0]


def _at(claims: Mapping[str, Any], path: str) -> Any:
    """The claim at a path such as realm_access.roles; None where it leads nowhere."""
    value: Any = claims
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
