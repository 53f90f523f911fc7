"""Capacity: how many servers does a demand need?"""

import tomllib
from typing import Any, Final

import streamlit as st

from dashboard.columns import Column
from dashboard.demand import STAGES, demand_beside
from dashboard.foot import formulas
from dashboard.formulas import KV_LINKS, MIX, SERVERS, headline, small_print
from dashboard.page import Page
from dashboard.reads import ask
from dashboard.table import table

Row = dict[str, Any]
TEXT_MAX: Final = 8_000  # it stands in the URL
EXAMPLE: Final = """\
name = "2 prefill for 130,000 tok/s"

[prefill]
demand_tokens_per_second = 130000       # hits and misses together
target_utilization = 0.8
classes = [{ tokens_per_second = 83670.6, token_share = 1 }]

[decode]
demand_tokens_per_second = 2500
target_utilization = 0.8
spare_instances = 1
classes = [{ tokens_per_second = 6500, token_share = 1 }]

[kv]
bytes_per_token = 51168
prefill_ports_gbps = [400]
decode_ports_gbps = [400]
"""


def show(page: Page) -> None:
    """Draw the page."""
    words = page.words
    place = st.container()
    with st.form("sheet_form", border=False):
        text = st.text_area(
            words("capacity.sheet"),
            EXAMPLE,
            height=340,
            max_chars=TEXT_MAX,
            key="sheet",
            bind="query-params",
        )
        st.form_submit_button(words("capacity.size"), type="primary")
    st.caption(words("capacity.help"))
    with place:
        try:
            sheet = tomllib.loads(text, parse_float=str)
        except tomllib.TOMLDecodeError as error:
            st.warning(words("capacity.unreadable", reason=error))
            return
        (found,) = page.reader.read(ask("/v1/capacity", body=sheet))
        _answer(page, found)
        demand_beside(page, sheet)
        formulas(page, "§2, §12")


def _answer(page: Page, found: Row) -> None:
    words, formats = page.words, page.formats
    pools = [
        {"pool": words(STAGES[name]) if name in STAGES else name, **pool}
        for name, pool in found["pools"].items()
    ]
    counts = ", ".join(f"{formats.count(pool['servers'])} {pool['pool']}" for pool in pools)
    headline(words, words("capacity.headline", name=found["name"], servers=counts), SERVERS)
    for finding in found["findings"]:
        st.warning(finding, icon=":material/warning:")
    columns = [
        Column("pool", words("column.stage")),
        Column("servers", words("capacity.servers"), "count", formula=SERVERS),
        Column("instances", words("capacity.instances"), "count", formula=SERVERS),
        Column("servers_exact", words("capacity.exact"), "rate", formula=SERVERS),
        Column("utilization", words("column.utilization"), "ratio", formula=SERVERS),
        Column("utilization_after_loss", words("capacity.after_loss"), "ratio", formula=SERVERS),
        Column("equivalent_tokens_per_second", words("capacity.throughput"), "rate", formula=MIX),
    ]
    table(page, pools, columns, name="capacity")
    if links := found["kv_links"]:
        told = words(
            "capacity.links",
            gbps=formats.short(links["gbps"]),
            prefill=formats.percent(links["prefill"]["port_use"]),
            decode=formats.percent(links["decode"]["port_use"]),
        )
        small_print(words, told, KV_LINKS)
