"""What every parser shares: the node's identity, the row, counts and instants.

A parser turns one record (the engine's own bytes, without line end) into one row whose keys are
names of `metering.usage.LEG_FIELDS`; a missing key is NULL. A time is an aware datetime or, on the
hottest path, whole microseconds since 1970, as Arrow keeps both. It raises `UsageInvalid` for a
record that cannot be read and never anything else; it returns None for one that reports no usage.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import ROUND_FLOOR, Context, Decimal
from typing import Any, Final, Protocol

from metering.errors import UsageInvalid
from metering.identity import LabelNames
from metering.usage import COUNT_MAX, EPOCH, LEG_FIELDS, event_id

Row = dict[str, Any]

MICROSECONDS_PER_SECOND: Final = 1_000_000
MICROSECONDS_MAX: Final = 253_402_300_800_000_000  # 10000-01-01, behind the last datetime
GROUP_SIZE_MAX: Final = 10_000  # samples of one call; an engine refuses far fewer
SHOWN_CHARACTERS: Final = 80  # of an offending value in a message

_EXACT = Context(prec=400)
_FRACTION_DIGITS: Final = 6
_PLACES: Final[tuple[int, ...]] = tuple(
    10 ** (_FRACTION_DIGITS - digits) for digits in range(_FRACTION_DIGITS + 1)
)
_DIGITS_MAX: Final = 40  # characters of a readable instant; repr() of a double has at most 24


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeIdentity:
    """What an engine's line does not say; from the sidecar's configuration.

    The labels name the custom labels that hold tenant, project and key; a service tier is taken
    from a label only where one is named, because a client could choose it.
    """

    node_id: str
    stage: str
    model_id: str
    pool: str | None = None
    instance_id: str | None = None
    engine: str | None = None
    engine_version: str | None = None
    region: str | None = None
    tenant_label: str = "tenant"
    project_label: str = "project"
    api_key_label: str = "api_key_id"
    service_tier_label: str | None = None
    label_names: LabelNames = field(init=False, repr=False, compare=False)
    _row: Row = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names = LabelNames(
            self.tenant_label, self.project_label, self.api_key_label, self.service_tier_label
        )
        object.__setattr__(self, "label_names", names)
        row: Row = {leg_field.name: None for leg_field in LEG_FIELDS}
        own = ("stage", "node_id", "pool", "instance_id", "engine", "engine_version", "region")
        row |= {name: getattr(self, name) for name in (*own, "model_id")}
        object.__setattr__(self, "_row", row)

    def row(self) -> Row:
        """A row with what the configuration says; the parser sets what the record says."""
        return self._row.copy()


class Parser(Protocol):
    """One source format."""

    def __call__(self, record: bytes, node: NodeIdentity, position: str) -> Row | None:
        """One row of usage, or None for a record that is none.

        Raises UsageInvalid, naming field and reason, for a record that cannot be read.
        """


def identified(row: Row, source: str, record: bytes, position: str) -> Row:
    """The row with its event_id over the record's bytes, its format and its place."""
    row["event_id"] = event_id(source, record)
    row["source"] = source
    row["source_position"] = position
    return row


def shown(value: object) -> str:
    """`value` for a message: its repr, cut."""
    text = repr(value)
    return text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "…"


def checked_count(name: str, value: object) -> int | None:
    """A count of tokens or requests: a whole number in 0..COUNT_MAX; None where it is missing."""
    if value is None:
        return None
    if type(value) is not int:
        raise UsageInvalid(name, f"expected a whole number, got {shown(value)}")
    if not 0 <= value <= COUNT_MAX:
        raise UsageInvalid(name, f"must lie in 0..{COUNT_MAX}, got {shown(value)}")
    return value


def microseconds(name: str, text: bytes) -> int:
    """Whole microseconds since 1970 of decimal seconds, rounded down.

    Exact: the decimal text never passes through a float.
    """
    whole, _, fraction = text.partition(b".") if len(text) <= _DIGITS_MAX else (b"", b"", b"")
    if whole.isdigit() and fraction.isdigit():
        cut = fraction[:_FRACTION_DIGITS]
        exact = int(whole + cut) * _PLACES[len(cut)]
    else:
        exact = floor_to_microseconds(decimal_seconds(name, text))
    if not MICROSECONDS_PER_SECOND <= exact < MICROSECONDS_MAX:
        raise UsageInvalid(name, f"expected seconds since 1970, got {shown(text)}")
    return exact


def instant(name: str, text: bytes) -> datetime:
    """The UTC time of decimal seconds since 1970, rounded down to microseconds."""
    return utc(microseconds(name, text))


def utc(microseconds_since_1970: int) -> datetime:
    """The same instant as an aware datetime."""
    return EPOCH + timedelta(microseconds=microseconds_since_1970)


def shifted(at: tuple[str, bytes], by: tuple[str, bytes], sign: int) -> int:
    """The instant `at` moved by the duration `by`, in whole microseconds since 1970.

    Both are named decimal seconds; exact, rounded down. sign: 1 later, -1 earlier.
    """
    microseconds(*at)  # bounds
    moved = _EXACT.fma(decimal_seconds(*by), sign, decimal_seconds(*at))
    exact = divmod(floor_to_microseconds(moved), MICROSECONDS_PER_SECOND)
    return microseconds(by[0], b"%d.%06d" % exact)


def decimal_seconds(name: str, text: bytes) -> Decimal:
    """Decimal seconds exactly as written, for arithmetic between instants and durations."""
    try:
        value = Decimal(text.decode("ascii")) if len(text) <= _DIGITS_MAX else None
    except (ArithmeticError, UnicodeDecodeError):
        value = None
    if value is None or not value.is_finite() or abs(value.adjusted()) > _DIGITS_MAX:
        raise UsageInvalid(name, f"expected decimal seconds, got {shown(text)}")
    return value


def seconds_of_milliseconds(name: str, text: bytes) -> bytes:
    """Decimal milliseconds as the text of decimal seconds, exactly."""
    return f"{_EXACT.scaleb(decimal_seconds(name, text), -3):f}".encode()


def floor_to_microseconds(seconds: Decimal) -> int:
    """Whole microseconds at or before `seconds`."""
    scaled = _EXACT.scaleb(seconds, _FRACTION_DIGITS)
    return int(scaled.to_integral_value(ROUND_FLOOR, context=_EXACT))
