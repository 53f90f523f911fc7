"""Settings and keys: who may do what, and who changed what."""

import json
from datetime import timedelta
from typing import Any, Final

import streamlit as st

from dashboard.columns import Column, Link
from dashboard.formats import instant
from dashboard.page import Page
from dashboard.reads import ask, forget
from dashboard.table import table

Row = dict[str, Any]
ROWS_MAX: Final = 500
KEY: Final = Link("key", ("key_id",))
ROLES: Final = ("viewer", "finance", "tenant", "node", "gateway", "operator")


def show(page: Page) -> None:
    """Draw the page."""
    words = page.words
    keys, audit, policies = page.reader.read(
        ask("/v1/keys", rows=False, limit=ROWS_MAX),
        ask("/v1/audit", rows=False, limit=ROWS_MAX),
        ask("/v1/policies", rows=False, limit=ROWS_MAX),
    )
    times = ("created_at", "expires_at", "revoked_at", "last_used_at")
    rows = [key | {name: instant(key[name]) for name in times} for key in keys["items"]]
    active = [row for row in rows if _active(page, row)]
    stale = [row for row in active if not row["last_used_at"]]
    st.subheader(words("settings.headline", active=len(active), unused=len(stale)), anchor=False)
    _keys(page, rows)
    _new_key(page)
    _policies(page, policies["items"])
    _audit(page, audit["items"])


def _active(page: Page, row: Row) -> bool:
    ends = [at for at in (row["expires_at"], row["revoked_at"]) if at]
    return all(at > page.now for at in ends)


def _keys(page: Page, rows: list[Row]) -> None:
    words = page.words
    st.markdown(f"##### {words('settings.keys')}")
    columns = [
        Column("name", words("column.name")),
        Column("role", words("column.role")),
        Column("tenant_id", words("column.tenant")),
        Column("node_id", words("column.server")),
        Column("prefix", words("column.prefix")),
        Column("created_at", words("column.created"), "moment"),
        Column("last_used_at", words("column.last_used"), "moment"),
        Column("expires_at", words("column.expires"), "moment"),
        Column("revoked_at", words("column.revoked"), "moment"),
    ]
    picked = table(page, rows, columns, name="keys", choose=KEY)
    if not picked or not _active(page, picked):
        return
    with st.container(horizontal=True):
        if st.button(words("settings.rotate", name=picked["name"]), icon=":material/autorenew:"):
            path = f"/v1/keys/{picked['key_id']}/rotate"
            made = page.reader.client().post(path, {"overlap_seconds": 86_400})
            _secret(page, made)
        if st.button(words("settings.revoke", name=picked["name"]), icon=":material/block:"):
            page.reader.client().delete(f"/v1/keys/{picked['key_id']}")
            forget()
            st.rerun()


def _new_key(page: Page) -> None:
    words = page.words
    with st.expander(words("settings.new_key"), icon=":material/key:"), st.form("new_key"):
        name = st.text_input(words("column.name"), max_chars=200)
        role = st.selectbox(words("column.role"), ROLES)
        owner = st.text_input(words("settings.owner"), help=words("settings.owner_help"))
        days = st.number_input(words("settings.days"), 0, 3650, 0)
        if st.form_submit_button(words("settings.create")) and name.strip():
            body: Row = {"name": name.strip(), "role": role}
            if role in ("tenant", "node"):
                body[f"{role}_id"] = owner.strip()
            if days:
                body["expires_at"] = (page.now + timedelta(days=days)).isoformat()
            _secret(page, page.reader.client().post("/v1/keys", body))


def _secret(page: Page, made: Row) -> None:
    """Shown once: the API does not keep it."""
    st.success(page.words("settings.secret"))
    st.code(made["secret"], language=None)
    forget()


def _policies(page: Page, rows: list[Row]) -> None:
    words, formats = page.words, page.formats
    st.markdown(f"##### {words('settings.policies')}")
    if not rows:
        st.caption(words("settings.defaults"))
        return
    last = rows[-1]
    since = formats.moment(instant(last["effective_from"]))
    st.caption(words("settings.policy", revision=last["revision"], since=since))
    st.code(last["toml_text"], language="toml")


def _audit(page: Page, items: list[Row]) -> None:
    words = page.words
    st.markdown(f"##### {words('settings.audit')}")
    rows = [
        item
        | {"at": instant(item["at"])}
        | {name: json.dumps(item[name], ensure_ascii=False) if item[name] else None
           for name in ("before", "after")}
        for item in items
    ]  # fmt: skip
    columns = [
        Column("at", words("column.time"), "moment"),
        Column("actor", words("column.by")),
        Column("action", words("column.action")),
        Column("subject", words("column.subject")),
        Column("subject_key", words("column.key")),
        Column("before", words("column.before")),
        Column("after", words("column.after")),
    ]
    table(page, rows, columns, name="audit")
