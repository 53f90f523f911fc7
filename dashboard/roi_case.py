"""An investment case as sliders and fields; it starts from the window's hit ratio and prices."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

import streamlit as st

from dashboard.page import Page
from dashboard.summary import LINES, Summary, line_money, line_tokens, summary, total

Row = dict[str, Any]
CURRENCIES: Final = ("CNY", "USD", "EUR")
MEAN: Final = Decimal("0.0001")


def case_form(page: Page) -> Row:
    """The case as the API takes it; numbers as text, exact."""
    words = page.words
    (rows,) = page.read(page.usage(page.filters.period, disposition="billed"))
    now, means = summary(rows), _means(rows)
    traffic, prices, costs = st.columns(3, gap="medium")
    with traffic:
        tokens = st.number_input(words("roi.traffic"), 1.0, 1e9, 83_670.6, 1_000.0)
        hit = st.slider(words("roi.hit_ratio"), 0.0, 99.0, _percent(now), 0.5)
        used = st.slider(words("roi.utilization"), 1.0, 100.0, 40.0, 1.0)
        ramp = st.slider(words("roi.ramp"), 0, 24, 6)
    with prices:
        currency = now.currency if now.currency in CURRENCIES else CURRENCIES[0]
        money = st.selectbox(words("column.currency"), CURRENCIES, CURRENCIES.index(currency))
        missed = st.number_input(words("roi.price_input"), 0.0, 1e6, means.get("uncached", 8.0))
        cached = st.number_input(words("roi.price_cached"), 0.0, 1e6, means.get("cached", 2.0))
        erosion = st.slider(words("roi.erosion"), 0.0, 90.0, 30.0, 1.0)
        vat = st.slider(words("roi.vat"), 0.0, 25.0, 6.0, 0.5)
    with costs:
        capital = st.number_input(words("roi.capex"), 1.0, 1e12, 2_695_000.0, 10_000.0)
        opex = st.number_input(words("roi.opex"), 0.0, 1e9, 24_000.0, 500.0)
        power = st.number_input(words("roi.kilowatts"), 0.0, 1e5, 8.0, 0.5)
        tariff = st.number_input(words("roi.tariff"), 0.0, 100.0, 0.65, 0.01)
        months = st.slider(words("roi.horizon"), 12, 120, 60, 6)
    return {
        "name": words("roi.case_name", utilization=f"{used:.0f}", ratio=f"{hit:.0f}"),
        "currency": money,
        "start": f"{page.now.astimezone(page.filters.zone):%Y-%m}-01",
        "months": months,
        "capital": {"assets": {"servers": _text(capital)}, "wacc": "0.10"},
        "traffic": {
            "input_tokens_per_second": _text(tokens),
            "hit_ratio": _share(hit),
            "utilization": _share(used),
            "ramp_months": ramp,
            "kappa": "0.02",
        },
        "prices": {
            "input": _text(missed),
            "cached_input": _text(cached),
            "erosion_per_year": _share(erosion),
            "vat_rate": _share(vat),
        },
        "opex_per_month": {"all": _text(opex)},
        "energy": {
            "rated_kw": _text(power), "load_factor": "0.75", "pue": "1.25",
            "price_per_kwh": _text(tariff),
        },
    }  # fmt: skip


def _percent(now: Summary) -> float:
    """The window's hit ratio in steps of half a percent; 90 without usage."""
    if now.hit_ratio is None:
        return 90.0
    return min(round(float(now.hit_ratio) * 200) / 2, 99.0)


def _means(rows: list[Row]) -> Mapping[str, float]:
    """Mean price per million tokens of each line that was billed."""
    found: dict[str, float] = {}
    for line in LINES:
        tokens = sum(line_tokens(row, line) for row in rows)
        if tokens:
            amount = total(line_money(row, line) for row in rows)
            found[line] = float((amount * 10**6 / tokens).quantize(MEAN))
    return found


def _text(number: float) -> str:
    return f"{Decimal(str(number)):f}"


def _share(percent: float) -> str:
    return f"{Decimal(str(percent)).scaleb(-2):f}"
