"""What went wrong, in words, with what to do."""

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from dashboard.texts import Words
from pricing.client import ApiError, ApiUnreachable


@contextmanager
def explained(words: Words) -> Iterator[None]:
    """Show a refusal or a silence of the API as a message with its remedy, and a way to retry."""
    try:
        yield
    except ApiError as error:
        detail, remedy = _plain(error.detail), _plain(error.remedy)
        shown = f"**{detail or words('problem.refused', status=error.status)}**  \n{remedy}"
        if error.request_id:
            shown += f"  \n:small[{words('problem.request', request_id=error.request_id)}]"
        st.error(shown)
        _again(words, str(error.request_id))
    except ApiUnreachable as error:
        st.error(f"**{words('problem.unreachable')}**  \n{_plain(str(error))}")
        st.caption(words("problem.start"))
        _again(words, "reach")


def _again(words: Words, key: str) -> None:
    if st.button(words("problem.again"), icon=":material/refresh:", key=f"again_{key}"):
        st.rerun()


def _plain(text: str) -> str:
    """Text that Markdown leaves alone."""
    return "".join(f"\\{c}" if c in "\\`*_[]$<>#~" else c for c in text)
