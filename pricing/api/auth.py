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

from pricing.errors import NotAuthenticated, TooManyRequests
from pricing.ledger.connect import Ledger
from pricing.ledger.keys import ApiKey, find_key, hash_of, note_use
from pricing.scope import Principal

SCHEME: Final = "bearer "
SECRET_LENGTH_MAX: Final = 200  # characters; a longer header is no key of ours
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
        self, ledger: Ledger, clock: Callable[[], datetime], *, requests_per_second_max: int
    ) -> None:
        self._ledger = ledger
        self._clock = clock
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
        digest = hash_of(secret)
        key = self._remembered(digest, now)
        if key is None:
            self._refuse_guesser(address, now)
            key = self._look_up(secret, now)
            if key is None:
                self._count_guess(address, now)
                raise NotAuthenticated("The key is not valid.")
            with self._lock:
                self._known.put(digest, (key, now + REMEMBERED))
                self._guesses.pop(address, None)
        self._take_turn(key.key_id, now)
        return key.principal()

    def forget(self) -> None:
        """Look every key up again: keys have changed."""
        with self._lock:
            self._known.clear()

    def _remembered(self, digest: str, now: datetime) -> ApiKey | None:
        with self._lock:
            key, until = self._known.get(digest, (None, now))
        return key if key is not None and now < until and key.valid(now) else None

    def _look_up(self, secret: str, now: datetime) -> ApiKey | None:
        if len(secret) > SECRET_LENGTH_MAX:
            return None
        with self._ledger.read() as connection:
            key = find_key(connection, secret, at=now)
        if key is not None and key.used_long_ago(now):
            with self._ledger.write(actor=key.key_id, at=now) as change:
                note_use(change, key)
        return key

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
