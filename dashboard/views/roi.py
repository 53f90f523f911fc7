"""ROI: when does it pay back, and what if?"""

from typing import Any

import streamlit as st

from dashboard.columns import Column
from dashboard.foot import formulas
from dashboard.formulas import INVESTMENT, heading, headline
from dashboard.page import Page
from dashboard.reads import ask, forget
from dashboard.roi_case import case_form
from dashboard.roi_charts import cash_flows, heat_map, tornado
from dashboard.roi_versus import CASES, CASES_MAX, figures, versus
from dashboard.table import table

Row = dict[str, Any]


def show(page: Page) -> None:
    """Draw the page."""
    words = page.words
    answer = st.container()
    with st.expander(words("roi.assumptions"), expanded=True, icon=":material/tune:"):
        case = case_form(page)
        beside = versus(page, case)
    (report,) = page.reader.read(ask("/v1/roi/report", body=case))
    with answer:
        _headline(page, report)
        figures(page, report, beside)
    left, right = st.columns([3, 2], gap="large")
    with left:
        cash_flows(page, report)
    with right:
        tornado(page, report)
    heat_map(page, report)
    _cases(page, case)
    st.caption(words("roi.note"))
    formulas(page, "§8")


def _headline(page: Page, report: Row) -> None:
    words, formats, outlook = page.words, page.formats, report["outlook"]
    payback, worth = outlook["payback_months"], outlook["npv"]
    key = "roi.never" if payback is None else "roi.pays" if (worth or 0) >= 0 else "roi.loses"
    answer = words(
        key,
        months=formats.count(None if payback is None else round(payback)),
        npv=formats.money_short(worth, report["currency"]),
        irr=formats.percent(report["rates"]["irr_year"]),
    )
    headline(words, answer, INVESTMENT)
    if report["rates"]["finding"]:
        st.caption(report["rates"]["finding"])


def _cases(page: Page, case: Row) -> None:
    """Saved cases side by side, and a button that keeps this one."""
    words = page.words
    (saved,) = page.reader.read(ask(CASES, rows=False, limit=CASES_MAX))
    heading(words, words("roi.saved"))
    may_save = "/v1/audit" in page.rights  # finance and operators keep cases
    label = words("roi.save", name=case["name"])
    if may_save and st.button(label, icon=":material/save:"):
        page.reader.client().post(CASES, {"case": case})
        forget()
        st.rerun()
    ids = [each["case_id"] for each in saved["items"]]
    if not ids:
        st.caption(words("roi.none_saved"))
        return
    (compared,) = page.reader.read(ask("/v1/roi/compare", rows=False, case_id=ids))
    columns = [
        Column("name", words("column.name")),
        Column("currency", words("column.currency")),
        Column("investment", words("roi.investment"), "money", formula=INVESTMENT),
        Column("npv", words("roi.npv"), "money", formula=INVESTMENT),
        Column("irr_year", words("roi.irr"), "ratio", formula=INVESTMENT),
        Column("payback_months", words("roi.payback"), "rate", formula=INVESTMENT),
        Column("utilization", "U", "ratio", formula=INVESTMENT),
        Column("hit_ratio", "r", "ratio", formula=INVESTMENT),
        Column("gross_margin", words("margin.gross"), "ratio", formula=INVESTMENT),
        Column("break_even_utilization", words("roi.break_even_u"), "ratio", formula=INVESTMENT),
    ]
    table(page, compared["items"], columns, name="roi")
