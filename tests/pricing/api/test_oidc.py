"""pricing/api/oidc.py: tokens of a provider, by its published keys; claims → role and tenant."""

from datetime import UTC, datetime, timedelta

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

from pricing.api.auth import Authenticator
from pricing.api.oidc import ASKED_AGAIN_AFTER, TokenReader
from pricing.errors import NotAllowed, NotAuthenticated, StoreUnavailable
from pricing.scope import Role, Scope
from pricing.settings import OidcSettings

NOW = datetime(2026, 10, 1, 12, tzinfo=UTC)
ISSUER = "https://id.example/realms/till"
SETTINGS = OidcSettings(issuer=ISSUER, role_claim="realm_access.roles", role_prefix="till-")


class Provider:
    """A provider as tokentill sees it: a discovery document, keys, and tokens that it signs."""

    def __init__(self):
        self.keys = [RSAKey.generate_key(2048, {"kid": "1", "alg": "RS256", "use": "sig"})]
        self.asked, self.down = [], False

    def fetch(self, url):
        self.asked.append(url)
        if self.down:
            raise httpx.ConnectError("down")
        if url.endswith("/openid-configuration"):
            return {"jwks_uri": f"{ISSUER}/keys"}
        return KeySet(self.keys).as_dict(private=False)

    def token(self, *, key=None, header=None, **change):
        claims = {
            "iss": ISSUER,
            "aud": ["account", "tokentill"],
            "sub": "u-1",
            "exp": int(NOW.timestamp()) + 300,
            "realm_access": {"roles": ["offline_access", "till-viewer"]},
        }
        said = {name: value for name, value in (claims | change).items() if value is not None}
        signer = key or self.keys[0]
        return jwt.encode(header or {"alg": "RS256", "kid": signer.kid}, said, signer)


@pytest.fixture
def provider():
    return Provider()


@pytest.fixture
def reader(provider):
    return TokenReader(SETTINGS, provider.fetch)


def test_a_viewer_sees_the_house(provider, reader):
    """The role comes from the claim, without its prefix; other roles of the list do not matter."""
    who = reader.principal(provider.token(), NOW)
    assert (who.key_id, who.role, who.scope()) == ("oidc:u-1", Role.VIEWER, Scope.house())
    with pytest.raises(NotAllowed):
        who.require("keys:write")


def test_a_tenants_user_sees_the_tenant(provider, reader):
    """V10: the tenant comes from the token."""
    roles = {"realm_access": {"roles": ["till-tenant"]}}
    token = provider.token(**roles, tokentill_tenant="t-alder")
    assert reader.principal(token, NOW).scope() == Scope.of("t-alder")
    for wrong in (None, "", 7, ["t-alder"]):
        with pytest.raises(NotAuthenticated):
            reader.principal(provider.token(**roles, tokentill_tenant=wrong), NOW)


@pytest.mark.parametrize(
    "change",
    [
        {"iss": "https://evil.example"},
        {"aud": "another"},
        {"aud": None},
        {"exp": int(NOW.timestamp()) - 31},
        {"exp": None},
        {"nbf": int(NOW.timestamp()) + 31},
        {"sub": None},
        {"realm_access": {"roles": []}},
        {"realm_access": {"roles": ["till-viewer", "till-operator"]}},
        {"realm_access": {"roles": ["till-node"]}},
        {"realm_access": "till-operator"},
        {"realm_access": None},
    ],
)
def test_a_claim_that_is_wrong_or_missing_is_refused(provider, reader, change):
    """Issuer, audience, times, subject, and exactly one role of people."""
    with pytest.raises(NotAuthenticated):
        reader.principal(provider.token(**change), NOW)


def test_a_signature_of_somebody_else_is_refused(provider, reader):
    """Another key under the same id; no signature at all; a shared secret instead of a key pair."""
    other = RSAKey.generate_key(2048, {"kid": "1"})
    head, claims, _ = provider.token().split(".")
    for token in (provider.token(key=other), f"{head}.{claims}.", "a.b.c"):
        with pytest.raises(NotAuthenticated):
            reader.principal(token, NOW)


def test_rotated_keys_are_fetched_and_a_flood_is_not(provider, reader):
    """An unknown key id asks the provider again, at most every 30 s."""
    reader.principal(provider.token(), NOW)
    provider.keys.insert(0, RSAKey.generate_key(2048, {"kid": "2", "alg": "RS256"}))
    with pytest.raises(NotAuthenticated):
        reader.principal(provider.token(), NOW)
    asked = len(provider.asked)
    assert reader.principal(provider.token(), NOW + ASKED_AGAIN_AFTER).key_id == "oidc:u-1"
    assert len(provider.asked) == asked + 2


def test_a_provider_that_is_down_stops_nobody_it_knows(provider, reader):
    """The keys that are known still count; without any it is 503, not 401."""
    reader.principal(provider.token(), NOW)
    provider.down = True
    later = NOW + timedelta(minutes=20)
    token = provider.token(exp=int(later.timestamp()) + 300)
    assert reader.principal(token, later).role is Role.VIEWER
    with pytest.raises(StoreUnavailable):
        TokenReader(SETTINGS, provider.fetch).principal(token, later)


def test_tokens_and_keys_pass_the_same_door(provider, reader, house):
    """A token by its dots, a key by its prefix; wrong tokens count as guesses."""
    door = Authenticator(house.ledger, house.clock, requests_per_second_max=100, tokens=reader)
    assert door.principal(f"Bearer {provider.token()}", "192.0.2.1").role is Role.VIEWER
    assert door.principal(f"Bearer {house.operator}", "192.0.2.1").role is Role.OPERATOR
    with pytest.raises(NotAuthenticated):
        door.principal(f"Bearer {provider.token(aud='x')}", "192.0.2.1")
