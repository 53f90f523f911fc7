"""A figure's unit and formula: beside the rows of an answer and in the OpenAPI file.

A field that `figure` makes carries both; `about` collects them for the answer, so that no page
shows a number whose meaning it would have to guess.
"""

from collections.abc import Iterator
from typing import Any, Final

from pydantic import BaseModel, Field

from metering.windows import Window

PAGE: Final = "docs/formulas.md"
UNIT, FORMULA = "x-unit", "x-formula"

TOKENS: Final = "tokens"
TOKENS_PER_SECOND: Final = "tokens per second"
RATIO: Final = "ratio, 0–1"
MONEY: Final = "currency of the row, for the window"
PER_MILLION: Final = "currency of the row, per million tokens"
SECONDS: Final = "seconds"

REVENUE: Final = "11-one-server"
LEDGER: Final = "12-the-ledger-and-the-formula-are-one"
CALENDAR: Final = "13-calendar"
CONTEXTS: Final = "2-one-throughput-for-a-mix-of-contexts"
WORTH: Final = "3-what-a-server-is-worth"
EARNED: Final = "4-who-earned-it"
COST: Final = "5-what-a-server-costs"
SHARES: Final = "6-whose-cost-it-is"
CHANGE: Final = "7-why-revenue-changed"
INVESTMENT: Final = "8-investment-estimates"
HITS: Final = "91-two-questions-with-opposite-answers"
BREAK_EVENS: Final = "92-break-evens"
KAPPA: Final = "93-κ-measured-estimate"
CURVE: Final = "94-hit-ratio-against-cache-size"
SCENARIO: Final = "10-price-scenarios"
SERVICE_LEVELS: Final = "11-service-levels"
SERVERS: Final = "121-servers"
REPLACEMENT: Final = "122-other-hardware"
KV_LINKS: Final = "124-kv-transfer"


def figure(unit: str, formula: str, description: str = "", **field: Any) -> Any:
    """A field of a figure: its unit and the anchor of its formula in docs/formulas.md."""
    words = f"{description}; {unit}" if description else unit
    known: dict[str, Any] = {UNIT: unit, FORMULA: f"{PAGE}#{formula}"}
    return Field(description=words, json_schema_extra=known, **field)


def about(shape: type[BaseModel], window: Window) -> dict[str, Any]:
    """What the answer says of all its rows: the window, and each figure's unit and formula."""
    return {"start_at": window.start_at, "end_at": window.end_at, "figures": meanings(shape)}


def meanings(shape: type[BaseModel]) -> dict[str, dict[str, str]]:
    """Unit and formula of each figure of `shape`, by name."""
    return {
        name: {"unit": extra[UNIT], "formula": extra[FORMULA]} for name, extra in _extras(shape)
    }


def _extras(shape: type[BaseModel]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, field in shape.model_fields.items():
        extra = field.json_schema_extra
        if isinstance(extra, dict) and UNIT in extra:
            yield name, extra
