"""Where a visitor wanted to go, kept in the browser over the way through the provider.

The provider sends everybody back to the address without a page, in a new session. A cookie of this
host holds the link for ten minutes: the path of an own page and values of known names, nothing
else; whatever it says, it can only open a page of this dashboard.
"""

import json
import re
from collections.abc import Collection, Mapping
from typing import Final
from urllib.parse import parse_qsl, quote, unquote, urlencode

import streamlit as st

from dashboard.filters import NAMES

COOKIE: Final = "tokentill_asked"
SECONDS: Final = 600
LENGTH_MAX: Final = 3_000  # a browser keeps 4 KB a cookie
VALUE_MAX: Final = 500
FIELDS_MAX: Final = 60
ROWS: Final = ("request", "row", "document", "book", "finding", "record", "key", "server", "day",
               "rerate")  # fmt: skip
CHOICES: Final = ("show", "heat", "apart", "kappa", "measure", "target", "by", "versus")
KNOWN: Final = re.compile(
    rf"(?:{'|'.join((*NAMES, *ROWS, *CHOICES))}|(?:case|quote|what_if|limit)_[a-z_]{{1,40}})"
)
COOKIE_SCRIPT: Final = (
    "<script>document.cookie = {text} + (location.protocol === 'https:' ? '; Secure' : '')</script>"
)


def link_of(path: str, params: Mapping[str, str]) -> str:
    """The link as a cookie can hold it: known names, as many as there is room for."""
    kept: dict[str, str] = {}
    for name, value in params.items():
        longer = kept | {name: value}
        if KNOWN.fullmatch(name) and len(value) <= VALUE_MAX and _size(path, longer) <= LENGTH_MAX:
            kept = longer
    return f"{path}?{urlencode(kept)}"


def read_link(link: str, paths: Collection[str]) -> tuple[str, dict[str, str]] | None:
    """Path and values of a link to one of `paths`; None for anything else."""
    path, _, query = link.partition("?")
    if len(link) > LENGTH_MAX or path not in paths:
        return None
    try:
        said = parse_qsl(query, max_num_fields=FIELDS_MAX)
    except ValueError:
        return None
    return path, {
        name: value for name, value in said if KNOWN.fullmatch(name) and len(value) <= VALUE_MAX
    }


def remember(path: str) -> None:
    """Keep where the visitor is, before the provider is asked."""
    link = link_of(path, st.query_params.to_dict())
    _write(f"{COOKIE}={quote(link, safe='')}; Max-Age={SECONDS}")
    st.session_state["asked_kept"] = True


def recalled(paths: Collection[str]) -> tuple[str, dict[str, str]] | None:
    """Where this visitor wanted to go, once a visit."""
    kept = st.context.cookies.get(COOKIE)
    if kept is None or st.session_state.get("landed"):
        return None
    st.session_state["landed"] = True
    return read_link(unquote(kept), paths)


def forget() -> None:
    """Drop what the browser keeps: the visitor has arrived."""
    came_with_it = COOKIE in st.context.cookies and not st.session_state.get("asked_forgotten")
    if came_with_it or st.session_state.pop("asked_kept", False):
        st.session_state["asked_forgotten"] = True
        _write(f"{COOKIE}=; Max-Age=0")


def _size(path: str, params: Mapping[str, str]) -> int:
    return len(quote(f"{path}?{urlencode(params)}", safe=""))


def _write(cookie: str) -> None:
    """A cookie that a page of this host may set; its text is quoted, so no script can be in it."""
    text = json.dumps(f"{cookie}; Path=/; SameSite=Lax")
    st.html(COOKIE_SCRIPT.format(text=text), unsafe_allow_javascript=True)
