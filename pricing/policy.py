"""What an operator may decide otherwise: every key, value and default (docs/policies.md)."""

import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, NamedTuple, Self

CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "undelivered": ("not_billed", "bill_input"),
    "decode_only": ("hold", "bill_uncached", "trust_decode"),
    "aborted": ("bill", "not_billed"),
    "billing_source": ("engine", "gateway"),
    "book_review": ("none", "second_person"),
}
NAMES: Final = frozenset({"default_book"})
_ANSWERS: Final = ("undelivered", "decode_only", "aborted")
SCOPED: Final[Mapping[str, tuple[str, ...]]] = {  # what may differ where
    "tenant": _ANSWERS,
    "pool": (*_ANSWERS, "billing_source"),
    "model": ("billing_source",),
}
SET_ASIDE: Final = "gateway_bills"  # why an engine's answer costs nothing: it is the check
SECONDS_PER_HOUR: Final = 3600


class PolicyInvalid(ValueError):
    """A policy file has a key or value that does not exist."""


class Choice(NamedTuple):
    """A decision, and whose it is: of the tenant, of the pool, or of the house (None)."""

    value: str
    scope: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopedPolicy:
    """What one tenant, pool or model decides otherwise; None: as everybody else."""

    name: str
    undelivered: str | None = None
    decode_only: str | None = None
    aborted: str | None = None
    billing_source: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The decisions in force. Times in seconds.

    undelivered: a prefill leg whose other side can no longer come: not_billed | bill_input.
    decode_only: a decode leg without its prefill leg: hold | bill_uncached | trust_decode.
    aborted: the client left: bill (input in full, output as reported) | not_billed.
    billing_source: whose record is the bill: engine | gateway; the other one is the check.
    orphan_after_seconds: how far the other stage's watermark must have passed a half.
    silent_after_seconds: when a half is given up although the other stage's node is silent.
    late_usage_days: usage later than this is kept and listed as expired, not billed.
    reconcile_tolerance_tokens: a gap to the engine's counters up to this many tokens is no finding.
    book_review: who must have read a price book before it is published: none | second_person.
    default_book: the book of record of those without a contract; None: the setting of that name.
    pool, tenant, model: what differs there; a tenant's decision goes before its pool's, and a
    model's billing source before its pool's.
    """

    undelivered: str = "not_billed"
    decode_only: str = "hold"
    aborted: str = "bill"
    billing_source: str = "engine"
    orphan_after_seconds: int = 2 * SECONDS_PER_HOUR
    silent_after_seconds: int = 72 * SECONDS_PER_HOUR
    late_usage_days: int = 45
    reconcile_tolerance_tokens: int = 0
    book_review: str = "none"
    default_book: str | None = None
    pool: tuple[ScopedPolicy, ...] = ()
    tenant: tuple[ScopedPolicy, ...] = ()
    model: tuple[ScopedPolicy, ...] = ()

    @classmethod
    def from_toml(cls, text: str) -> Self:
        """Read a policy file. Raises PolicyInvalid naming the key and what it may be."""
        try:
            raw = tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            raise PolicyInvalid(f"the policy file is not TOML: {error}") from error
        scoped: dict[str, Any] = {
            scope: tuple(_scoped(scope, raw.pop(scope, {}))) for scope in SCOPED
        }
        _check(raw, [each.name for each in fields(cls)])
        return cls(**raw, **scoped)

    def choice(self, key: str, *, tenant_id: str | None, pool: str | None) -> Choice:
        """The decision `key` (undelivered, decode_only, aborted) for this tenant in this pool."""
        for scope, scoped, name in (
            ("tenant", self.tenant, tenant_id),
            ("pool", self.pool, pool),
        ):
            for each in scoped:
                value = getattr(each, key)
                if each.name == name and value is not None:
                    return Choice(value, scope)
        return Choice(getattr(self, key), None)

    def decisions(self) -> Iterator[tuple[str, str | None, str, str]]:
        """(kind of scope, its name, key, decision): the house's, and all that differs from them."""
        for key in _ANSWERS:
            yield "house", None, key, getattr(self, key)
        for scope, keys in SCOPED.items():
            for each in getattr(self, scope):
                for key in keys:
                    if (value := getattr(each, key)) is not None:
                        yield scope, each.name, key, value

    @property
    def names_gateway(self) -> bool:
        """Whether a gateway's record is the bill of any usage at all."""
        scoped = (*self.pool, *self.model)
        return "gateway" in (self.billing_source, *(each.billing_source for each in scoped))


def deciding_policy(disposition: str, reason: str | None, flags: Collection[str]) -> str | None:
    """The line of the policies that decided about a request, as in their file; None: none did.

    A decision of a tenant, pool or model begins with that word: pool.decode_only = "trust_decode".
    """
    line = next(_deciding(disposition, reason, flags), None)
    scope = next((scope for scope in SCOPED if f"{scope}_policy" in flags), None)
    return line if line is None or scope is None else f"{scope}.{line}"


def _deciding(disposition: str, reason: str | None, flags: Collection[str]) -> Iterator[str]:
    if disposition == "expired":
        yield "late_usage_days"
    if "billed_uncached" in flags:
        yield 'decode_only = "bill_uncached"'
    if "trusted_decode" in flags:
        yield 'decode_only = "trust_decode"'
    if (disposition, reason) == ("held", "decode_only"):
        yield 'decode_only = "hold"'
    if "billed_undelivered" in flags:
        yield 'undelivered = "bill_input"'
    if disposition == "undelivered":
        yield 'undelivered = "not_billed"'
    if (disposition, reason) == ("cost", "aborted"):
        yield 'aborted = "not_billed"'
    if "aborted" in flags and disposition in ("billed", "unpriced"):
        yield 'aborted = "bill"'
    if "billed_gateway" in flags or (disposition, reason) == ("cost", SET_ASIDE):
        yield 'billing_source = "gateway"'


def _scoped(scope: str, tables: Any) -> Iterator[ScopedPolicy]:
    """[pool.NAME], [tenant.NAME] or [model.NAME] tables."""
    if not isinstance(tables, dict) or not all(isinstance(t, dict) for t in tables.values()):
        raise PolicyInvalid(f"{scope}: expected tables such as [{scope}.NAME]")
    for name, table in tables.items():
        _check(table, SCOPED[scope], where=f"{scope}.{name}.")
        yield ScopedPolicy(name=name, **table)


def _check(table: Mapping[str, Any], known: Collection[str], where: str = "") -> None:
    """Raises PolicyInvalid for the first key or value that does not exist."""
    for key, value in table.items():
        if key not in known:
            raise PolicyInvalid(
                f"unknown policy {where + key!r}; policies are: {', '.join(sorted(known))}"
            )
        if key in CHOICES:
            if value not in CHOICES[key]:
                expected = " or ".join(CHOICES[key])
                raise PolicyInvalid(f"{where}{key} = {value!r}: expected {expected}")
        elif key in NAMES:
            if not isinstance(value, str) or not value:
                raise PolicyInvalid(f"{key} = {value!r}: expected a name, as text")
        elif not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise PolicyInvalid(f"{key} = {value!r}: expected a whole number, 0 or more")
