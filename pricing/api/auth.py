"""Who is asking: a Bearer key becomes a Principal, or the request ends here.

Nothing here says why a key was refused. Guessing from one address is slowed down; a key that has
just worked still works from there, so a guesser behind the same proxy locks nobody out.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Final, TypeVar

from pricing.api.oidc import TokenReader
from pricing.errors import NotAuthenticated, TooManyRequests
from pricing.ledger.connect import Ledger
from pricing.ledger.keys import ApiKey, find_key, hash_of, note_use
from pricing.scope import Principal

SCHEME: Final = "bearer "
SECRET_LENGTH_MAX: Final = 200  # characters; a longer header is no key of ours
TOKEN_LENGTH_MAX: Final = 16_384
DOTS_OF_A_TOKEN: Final = 2  # a signed token is header.claims.signature; a key has no dot
REMEMBERED: Final = timedelta(seconds=5)  # how long a key is not looked up again
REMEMBERED_MAX: Final = 10_000  # keys, and addresses
GUESSES_FREE: Final = 10  # wrong keys from one address before it has to wait
WAIT_SECONDS_MAX: Final = 300
BURST_SECONDS: Final = 2  # a key may use this many seconds of its rate at once


Value = TypeVar("Value")


@dataclass(slots=True)
class Guesses:
    """Wrong keys from one address."""

    count: int
    wait_until: datetime


@dataclass(slots=True)
class Bucket:
    """Requests that a key may still send now, and when that was counted."""

    tokens: float
    at: datetime


class Bounded(OrderedDict[str, Value]):
    """A mapping that forgets its oldest entries beyond REMEMBERED_MAX."""

    def put(self, key: str, value: Value) -> Value:
        """Set, as the newest."""
        self[key] = value
        self.move_to_end(key)
        while len(self) > REMEMBERED_MAX:
            self.popitem(last=False)
        return value


class Authenticator:
    """Keys of the ledger, with their rate and the guesses of each address."""

    def __init__(
        self,
        ledger: Ledger,
        clock: Callable[[], datetime],
        *,
        requests_per_second_max: int,
        tokens: TokenReader | None = None,
    ) -> None:
        self._ledger = ledger
        self._clock = clock
        self._tokens = tokens
        self._rate = requests_per_second_max
        self._known: Bounded[tuple[ApiKey, datetime]] = Bounded()
        self._guesses: Bounded[Guesses] = Bounded()
        self._buckets: Bounded[Bucket] = Bounded()
        self._lock = threading.Lock()

    def principal(self, authorization: str | None, address: str) -> Principal:
        """Who sent this header. Raises NotAuthenticated or TooManyRequests."""
        now = self._clock()
        if authorization is None or not authorization.lower().startswith(SCHEME):
            raise NotAuthenticated("There is no Bearer key in the Authorization header.")
        secret = authorization[len(SCHEME) :].strip()
        if self._tokens is not None and secret.count(".") == DOTS_OF_A_TOKEN:
            who = self._guarded(address, now, lambda: self._by_token(secret, now))
        else:
            who = self._by_key(secret, now) or self._guarded(
                address, now, lambda: self._look_up(secret, now)
            )
        self._take_turn(who.key_id, now)
        return who

    def forget(self) -> None:
        """Look every key up again: keys have changed."""
        with self._lock:
            self._known.clear()

    def _by_key(self, secret: str, now: datetime) -> Principal | None:
        """Who sent a key that has worked a moment ago."""
        with self._lock:
            key, until = self._known.get(hash_of(secret), (None, now))
        return key.principal() if key is not None and now < until and key.valid(now) else None

    def _by_token(self, token: str, now: datetime) -> Principal:
        assert self._tokens is not None  # noqa: S101 - asked for only where there is a reader
        if len(token) > TOKEN_LENGTH_MAX:
            raise NotAuthenticated("The token is too long to be one.")
        return self._tokens.principal(token, now)

    def _guarded(self, address: str, now: datetime, find: Callable[[], Principal]) -> Principal:
        """What `find` finds; each failure makes the address wait longer before the next try."""
        self._refuse_guesser(address, now)
        try:
            found = find()
        except NotAuthenticated:
            self._count_guess(address, now)
            raise
        with self._lock:
            self._guesses.pop(address, None)
        return found

    def _look_up(self, secret: str, now: datetime) -> Principal:
        key = None
        if len(secret) <= SECRET_LENGTH_MAX:
            with self._ledger.read() as connection:
                key = find_key(connection, secret, at=now)
        if key is None:
            raise NotAuthenticated("The key is not valid.")
        if key.used_long_ago(now):
            with self._ledger.write(actor=key.key_id, at=now) as change:
                note_use(change, key)
        with self._lock:
            self._known.put(hash_of(secret), (key, now + REMEMBERED))
        return key.principal()

    def _refuse_guesser(self, address: str, now: datetime) -> None:
        with self._lock:
            guesses = self._guesses.get(address)
        if guesses is not None and now < guesses.wait_until:
            raise TooManyRequests(
                "Too many wrong keys came from this address.",
                retry_after_seconds=ceil((guesses.wait_until - now).total_seconds()),
            )

    def _count_guess(self, address: str, now: datetime) -> None:
        with self._lock:
            old = self._guesses.get(address)
            count = old.count + 1 if old else 1
            wait = min(2 ** max(count - GUESSES_FREE, 0) - 1, WAIT_SECONDS_MAX)
            self._guesses.put(address, Guesses(count, now + timedelta(seconds=wait)))

    def _take_turn(self, key_id: str, now: datetime) -> None:
        full = float(self._rate * BURST_SECONDS)
        with self._lock:
            bucket = self._buckets.get(key_id) or self._buckets.put(key_id, Bucket(full, now))
            refill = max((now - bucket.at).total_seconds(), 0.0) * self._rate
            bucket.tokens, bucket.at = min(full, bucket.tokens + refill), now
            if bucket.tokens >= 1:
                bucket.tokens -= 1
                return
        raise TooManyRequests(
            f"This key may send {self._rate} requests a second.", retry_after_seconds=1
        )
