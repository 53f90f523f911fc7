"""One HTTP body of records: encoded once, and cut in half when the collector finds it too large."""

import hashlib
from collections.abc import Sequence
from typing import Final, Protocol

import pyarrow as pa

from metering.sidecar.batch import Gathered
from metering.wire import to_batch, to_ipc

LEGS: Final = "/v1/usage/legs"
SAMPLES: Final = "/v1/usage/samples"
REJECTS: Final = "/v1/usage/rejects"
ARROW: Final = "application/vnd.apache.arrow.stream"
NDJSON: Final = "application/x-ndjson"
NDJSON_BYTES_MAX: Final = 2 * 1024 * 1024


class Part(Protocol):
    """What Lane sends. server_errors: answers 500 so far while the collector served others."""

    route: str
    content_type: str
    body: bytes
    records: int
    server_errors: int

    def halves(self) -> "Sequence[Part]":
        """Two parts with half the records each; none if there is but one record."""


class ArrowPart:
    """Legs or samples."""

    content_type = ARROW

    def __init__(self, route: str, batch: pa.RecordBatch) -> None:
        self.route = route
        self.body = to_ipc(batch)
        self.records = batch.num_rows
        self.server_errors = 0

    def halves(self) -> "Sequence[Part]":
        """See Part."""
        if self.records < 2:  # noqa: PLR2004 - one record cannot be halved
            return ()
        middle = self.records // 2
        with pa.ipc.open_stream(self.body) as reader:
            batch = reader.read_next_batch()
        return tuple(
            ArrowPart(self.route, batch.slice(start, length))
            for start, length in ((0, middle), (middle, self.records - middle))
        )


class NdjsonPart:
    """Rejects."""

    content_type = NDJSON

    def __init__(self, route: str, lines: Sequence[bytes]) -> None:
        self.route = route
        self.body = b"\n".join(lines) + b"\n"
        self.records = len(lines)
        self.server_errors = 0
        self._lines = lines

    def halves(self) -> "Sequence[Part]":
        """See Part."""
        if self.records < 2:  # noqa: PLR2004 - one record cannot be halved
            return ()
        middle = self.records // 2
        return (
            NdjsonPart(self.route, self._lines[:middle]),
            NdjsonPart(self.route, self._lines[middle:]),
        )


def leg_parts(gathered: Gathered) -> list[Part]:
    """The bodies of one batch, taken out of it; once all are delivered nothing is left."""
    parts: list[Part] = ndjson_parts(REJECTS, gathered.rejects)
    parts += ndjson_parts(LEGS, gathered.foreign)
    if gathered.batches:
        whole = pa.concat_batches(gathered.batches)
        gathered.batches.clear()
        parts.append(ArrowPart(LEGS, whole))
    return parts


def ndjson_parts(route: str, lines: Sequence[bytes]) -> list[Part]:
    """Lines in bodies of about NDJSON_BYTES_MAX bytes."""
    parts: list[Part] = []
    waiting: list[bytes] = []
    size = 0
    for line in lines:
        if waiting and size + len(line) > NDJSON_BYTES_MAX:
            parts.append(NdjsonPart(route, waiting))
            waiting, size = [], 0
        waiting.append(line)
        size += len(line)
    return [*parts, NdjsonPart(route, waiting)] if waiting else parts


def empty_legs() -> ArrowPart:
    """No leg at all: moves the watermark, and asks whether the collector takes the key."""
    return ArrowPart(LEGS, to_batch(()))


def content_name(part: Part) -> str:
    """A file name for `part` that a repeat repeats."""
    return f"{part.route.rpartition('/')[2]}-{hashlib.sha256(part.body).hexdigest()[:24]}"
