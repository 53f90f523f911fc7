"""What the pages read: bounded, parallel calls of the API, cached per credential."""

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import streamlit as st

from dashboard.kept import Kept
from pricing.client import ApiError, Client

CACHE_SECONDS: Final = 15.0
TIMEOUT_SECONDS: Final = 20.0
PARALLEL_MAX: Final = 8
UNAUTHORIZED: Final = 401
CLIENTS_MAX: Final = 64
ENTRIES_MAX: Final = 512
KEPT: Final = Kept(CACHE_SECONDS, ENTRIES_MAX)  # of all visitors: the credential is in the key
NOT_FOR_THIS_KEY: Final = frozenset({403, 404})  # forbidden, or an older server
HOUR: Final = {"start_at": "2026-01-01T00:00:00Z", "end_at": "2026-01-01T01:00:00Z"}
BEFORE: Final = {"before_start_at": "2025-12-31T00:00:00Z", "before_end_at": HOUR["start_at"]}
PROBES: Final[dict[str, dict[str, Any]]] = {  # what the cheapest question to a route must say
    "/v1/economics/servers": HOUR,
    "/v1/economics/cache": HOUR | {"model_id": "-"},
    "/v1/economics/variance": HOUR | BEFORE,
    "/v1/reconciliation": HOUR,
    "/v1/slo": HOUR | {"limit_seconds": 1},
}


@dataclass(frozen=True, slots=True)
class Ask:
    """One question to the API. rows: a list route, read over all of its pages as Arrow.

    body: JSON of a question that is posted and changes nothing.
    """

    path: str
    params: tuple[tuple[str, Any], ...] = ()
    rows: bool = True
    body: str | None = None


def ask(path: str, *, rows: bool = True, body: dict[str, Any] | None = None, **params: Any) -> Ask:
    """A question; parameters that are None are left out, lists become tuples."""
    given = sorted((name, value) for name, value in params.items() if value is not None)
    frozen = ((name, tuple(value) if isinstance(value, list) else value) for name, value in given)
    text = None if body is None else json.dumps(body, sort_keys=True)
    return Ask(path, tuple(frozen), rows and body is None, text)


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads with one credential."""

    url: str
    key: str

    @property
    def credential(self) -> str:
        """What the caches are keyed by; the secret cannot be read from it."""
        return hashlib.sha256(f"{self.url}\n{self.key}".encode()).hexdigest()

    def client(self) -> Client:
        """The connection of this credential, for changes."""
        return _client(self.credential, _reader=self)

    def patient_client(self, seconds: float) -> Client:
        """A connection of its own for one change that may take so long; use it in a `with`."""
        return Client(self.url, self.key, timeout_seconds=seconds)

    def read(self, *asks: Ask) -> list[Any]:
        """Answers in order: Arrow tables of list routes, JSON of others. Raises ApiError.

        What is kept of another page or another filter is not asked for again.
        """
        credential, client = self.credential, self.client()
        found = {each: KEPT.get((credential, each)) for each in asks}
        missing = [each for each, answer in found.items() if answer is None]
        for each, answer in zip(missing, _ask_all(client, missing), strict=True):
            KEPT.put((credential, each), answer)
            found[each] = answer
        return [_own(found[each]) for each in asks]

    def allowed(self, paths: tuple[str, ...]) -> frozenset[str]:
        """Those of `paths` that the key may read. Raises ApiError for an unknown key."""
        return _allowed(self.credential, paths, _reader=self)


@st.cache_resource(max_entries=CLIENTS_MAX, show_spinner=False)
def _client(credential: str, _reader: Reader) -> Client:  # noqa: ARG001 - part of the cache key
    return Client(_reader.url, _reader.key, timeout_seconds=TIMEOUT_SECONDS)


@st.cache_data(ttl=60.0, max_entries=ENTRIES_MAX, show_spinner=False)
def _allowed(credential: str, paths: tuple[str, ...], _reader: Reader) -> frozenset[str]:  # noqa: ARG001
    client = _reader.client()
    with ThreadPoolExecutor(PARALLEL_MAX) as pool:
        answers = list(pool.map(lambda path: _may(client, path), paths))
    return frozenset(path for path, may in zip(paths, answers, strict=True) if may)


def forget() -> None:
    """Ask everything anew: a button has changed something."""
    KEPT.clear()
    _allowed.clear()


def _ask_all(client: Client, asks: list[Ask]) -> list[Any]:
    if len(asks) < 2:  # noqa: PLR2004 - one needs no thread
        return [_answer(client, each) for each in asks]
    with ThreadPoolExecutor(min(PARALLEL_MAX, len(asks))) as pool:
        return list(pool.map(lambda each: _answer(client, each), asks))


def _own(answer: Any) -> Any:
    """A page may change what it is given; tables cannot be changed."""
    return answer if isinstance(answer, pa.Table) else deepcopy(answer)


def _may(client: Client, path: str) -> bool:
    try:
        client.get(path, **PROBES.get(path, {"limit": 1}))
    except ApiError as error:
        if error.status in NOT_FOR_THIS_KEY:
            return False
        if error.status == UNAUTHORIZED:
            raise
        # whatever else is wrong is the page's to explain
    return True


def _answer(client: Client, each: Ask) -> pa.Table | dict[str, Any]:
    if each.body is not None:
        return client.post(each.path, json.loads(each.body))
    params = {name: list(v) if isinstance(v, tuple) else v for name, v in each.params}
    if each.rows:
        return client.rows(each.path, **params).table
    return client.get(each.path, **params)
