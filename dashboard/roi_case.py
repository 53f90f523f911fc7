"""An investment case as sliders and fields; it starts from the window's hit ratio and prices."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import streamlit as st

from dashboard.page import Page
from dashboard.summary import Summary, line_money, line_tokens, summary, total

Row = dict[str, Any]
CURRENCIES: Final = ("CNY", "USD", "EUR")
MEAN: Final = Decimal("0.0001")


@dataclass(frozen=True, slots=True)
class Field:
    """A number of the case; its name is its place in the URL too. text: key of its label."""

    name: str
    text: str
    low: float
    high: float
    start: float
    step: float
    slides: bool = True


FIELDS: Final = (  # by column
    (
        Field("input", "roi.traffic", 1.0, 1e9, 83_670.6, 1_000.0, slides=False),
        Field("hits", "roi.hit_ratio", 0.0, 99.0, 90.0, 0.5),
        Field("used", "roi.utilization", 1.0, 100.0, 40.0, 1.0),
        Field("ramp", "roi.ramp", 0, 24, 6, 1),
    ),
    (
        Field("price", "roi.price_input", 0.0, 1e6, 8.0, 0.01, slides=False),
        Field("price_cached", "roi.price_cached", 0.0, 1e6, 2.0, 0.01, slides=False),
        Field("erosion", "roi.erosion", 0.0, 90.0, 30.0, 1.0),
        Field("vat", "roi.vat", 0.0, 25.0, 6.0, 0.5),
    ),
    (
        Field("capital", "roi.capex", 1.0, 1e12, 2_695_000.0, 10_000.0, slides=False),
        Field("opex", "roi.opex", 0.0, 1e9, 24_000.0, 500.0, slides=False),
        Field("power", "roi.kilowatts", 0.0, 1e5, 8.0, 0.5, slides=False),
        Field("tariff", "roi.tariff", 0.0, 100.0, 0.65, 0.01, slides=False),
        Field("months", "roi.horizon", 12, 120, 60, 6),
    ),
)


def case_form(page: Page) -> Row:
    """The case as the API takes it; numbers as text, exact."""
    (rows,) = page.read(page.usage(page.filters.period, disposition="billed"))
    now = summary(rows)
    starts = _means(rows) | {"hits": _percent(now)}
    said: dict[str, float] = {}
    for place, fields in zip(st.columns(3, gap="medium"), FIELDS, strict=True):
        with place:
            said |= {field.name: _number(page, field, starts.get(field.name)) for field in fields}
    currency = now.currency if now.currency in CURRENCIES else CURRENCIES[0]
    money = st.selectbox(
        page.words("column.currency"), CURRENCIES, CURRENCIES.index(currency), width=150,
        key="case_currency", bind="query-params",
    )  # fmt: skip
    return _case(page, said, money)


def _number(page: Page, field: Field, start: float | None) -> float:
    widget: Any = st.slider if field.slides else st.number_input
    kind = type(field.start)
    value: float = widget(
        page.words(field.text),
        field.low,
        field.high,
        kind(field.start if start is None else start),
        field.step,
        key=f"case_{field.name}",
        bind="query-params",
    )
    return value


def _case(page: Page, said: Mapping[str, float], currency: str) -> Row:
    used, hits = f"{said['used']:.0f}", f"{said['hits']:.0f}"
    return {
        "name": page.words("roi.case_name", utilization=used, ratio=hits),
        "currency": currency,
        "start": f"{page.now.astimezone(page.filters.zone):%Y-%m}-01",
        "months": said["months"],
        "capital": {"assets": {"servers": _text(said["capital"])}, "wacc": "0.10"},
        "traffic": {
            "input_tokens_per_second": _text(said["input"]),
            "hit_ratio": _share(said["hits"]),
            "utilization": _share(said["used"]),
            "ramp_months": said["ramp"],
            "kappa": "0.02",
        },
        "prices": {
            "input": _text(said["price"]),
            "cached_input": _text(said["price_cached"]),
            "erosion_per_year": _share(said["erosion"]),
            "vat_rate": _share(said["vat"]),
        },
        "opex_per_month": {"all": _text(said["opex"])},
        "energy": {
            "rated_kw": _text(said["power"]), "load_factor": "0.75", "pue": "1.25",
            "price_per_kwh": _text(said["tariff"]),
        },
    }  # fmt: skip


def _percent(now: Summary) -> float:
    """The window's hit ratio in steps of half a percent; 90 without usage."""
    if now.hit_ratio is None:
        return 90.0
    return min(round(float(now.hit_ratio) * 200) / 2, 99.0)


def _means(rows: list[Row]) -> dict[str, float]:
    """Mean price per million tokens of the input lines that were billed."""
    found: dict[str, float] = {}
    for line, name in (("uncached", "price"), ("cached", "price_cached")):
        tokens = sum(line_tokens(row, line) for row in rows)
        if tokens:
            amount = total(line_money(row, line) for row in rows)
            found[name] = float((amount * 10**6 / tokens).quantize(MEAN))
    return found


def _text(number: float) -> str:
    return f"{Decimal(str(number)):f}"


def _share(percent: float) -> str:
    return f"{Decimal(str(percent)).scaleb(-2):f}"
