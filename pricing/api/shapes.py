"""How values look on the wire: money as text, times with zone, nothing that is not declared."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any, Generic, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    StringConstraints,
    WithJsonSchema,
)

from metering.windows import parse_time
from pricing.money import MINOR_UNIT, decimal_from_text, plain

Item = TypeVar("Item")


def _instant(value: Any) -> Any:
    return parse_time(value) if isinstance(value, str) else value


def _aware(value: datetime) -> datetime:
    if value.utcoffset() is None:
        raise ValueError("a time needs a zone, for example Z for UTC")
    return value.astimezone(UTC)


def _decimal(value: Any) -> Any:
    if isinstance(value, str):
        return decimal_from_text(value)
    if isinstance(value, Decimal):
        return value
    raise ValueError('expected a decimal number as text, such as "0.5"')


def _currency(value: str) -> str:
    if value not in MINOR_UNIT:
        raise ValueError("expected an ISO 4217 currency in capitals, such as CNY")
    return value


TIME_SCHEMA = {"type": "string", "format": "date-time", "examples": ["2026-10-01T00:00:00Z"]}
Time = Annotated[
    datetime, BeforeValidator(_instant), AfterValidator(_aware), WithJsonSchema(TIME_SCHEMA)
]
DECIMAL_SCHEMA = {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?$", "examples": ["0.2"]}
Amount = Annotated[  # exact, in the currency beside it
    Decimal,
    PlainSerializer(plain, return_type=str, when_used="json"),
    WithJsonSchema(DECIMAL_SCHEMA),
]
DecimalText = Annotated[
    Decimal,
    BeforeValidator(_decimal),
    PlainSerializer(plain, return_type=str, when_used="json"),
    WithJsonSchema(DECIMAL_SCHEMA | {"pattern": r"^[0-9]{1,18}(\.[0-9]{1,15})?$"}),
]
Currency = Annotated[
    str,
    AfterValidator(_currency),
    WithJsonSchema({"type": "string", "pattern": "^[A-Z]{3}$", "examples": ["CNY"]}),
]
# an id as usage carries it; "/" would not survive in a path, nor "." and ".." alone
Id = Annotated[
    str,
    StringConstraints(
        min_length=1, max_length=200, pattern=r"^[^/?#%\\\x00-\x1f\x7f]*[^./?#%\\\x00-\x1f\x7f]$"
    ),
    Field(examples=["t-alder"]),
]
Text = Annotated[str, StringConstraints(min_length=1, max_length=500, pattern=r"^[^\x00]*$")]


class Shape(BaseModel):
    """What the API takes: unknown fields are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Shown(BaseModel):
    """What the API shows: read from a value of the same field names; other fields stay inside."""

    model_config = ConfigDict(from_attributes=True, frozen=True)


class Listing(BaseModel, Generic[Item]):
    """One page of a list. next_cursor: send it as `cursor` for what follows; null at the end."""

    items: list[Item]
    next_cursor: str | None = None


class Figure(Shown):
    """What a figure is: its unit, and where its formula stands."""

    unit: str = Field(examples=["currency per million tokens"])
    formula: str = Field(examples=["docs/formulas.md#3-what-a-server-is-worth"])


class Figured(Shown):
    """The window that the figures are of, and what each of them is, by name."""

    start_at: Time
    end_at: Time
    figures: dict[str, Figure]


class Report(Listing[Item], Figured, Generic[Item]):
    """Rows of figures. In CSV and Arrow the rows stand alone."""
