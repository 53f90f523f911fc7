"""How large one body may be; every limit is a setting of the server."""

from dataclasses import dataclass

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of one request's body."""

    body_bytes: int = 16 * MIB  # as it travels
    unpacked_bytes: int = 128 * MIB  # after Content-Encoding, and after Arrow's own compression
    records: int = 100_000
