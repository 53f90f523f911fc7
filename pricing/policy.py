"""What an operator may decide otherwise: every key, value and default (docs/policies.md)."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Final, Self

CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "undelivered": ("not_billed", "bill_input"),
    "decode_only": ("hold", "bill_uncached", "trust_decode"),
    "aborted": ("bill", "not_billed"),
}
SECONDS_PER_HOUR: Final = 3600


class PolicyInvalid(ValueError):
    """A policy file has a key or value that does not exist."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The decisions in force. Times in seconds.

    undelivered: a prefill leg whose other side can no longer come: not_billed | bill_input.
    decode_only: a decode leg without its prefill leg: hold | bill_uncached | trust_decode.
    aborted: the client left: bill (input in full, output as reported) | not_billed.
    orphan_after_seconds: how far the other stage's watermark must have passed a half.
    silent_after_seconds: when a half is given up although the other stage's node is silent.
    late_usage_days: usage later than this is kept and listed as expired, not billed.
    reconcile_tolerance_tokens: a gap to the engine's counters up to this many tokens is no finding.
    """

    undelivered: str = "not_billed"
    decode_only: str = "hold"
    aborted: str = "bill"
    orphan_after_seconds: int = 2 * SECONDS_PER_HOUR
    silent_after_seconds: int = 72 * SECONDS_PER_HOUR
    late_usage_days: int = 45
    reconcile_tolerance_tokens: int = 0

    @classmethod
    def from_toml(cls, text: str) -> Self:
        """Read a policy file. Raises PolicyInvalid naming the key and what it may be."""
        try:
            raw = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise PolicyInvalid(f"the policy file is not TOML: {error}") from error
        known = {f.name for f in fields(cls)}
        for key, value in raw.items():
            if key not in known:
                raise PolicyInvalid(
                    f"unknown policy {key!r}; policies are: {', '.join(sorted(known))}"
                )
            if key in CHOICES and value not in CHOICES[key]:
                raise PolicyInvalid(f"{key} = {value!r}: expected {' or '.join(CHOICES[key])}")
            if key not in CHOICES and (not isinstance(value, int) or value < 0):
                raise PolicyInvalid(f"{key} = {value!r}: expected a whole number, 0 or more")
        return cls(**raw)
