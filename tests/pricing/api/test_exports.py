"""Exports through the API: each key gets its own rows and no others (C09)."""

import csv
import io
from decimal import Decimal

import pytest

KINDS = ("chargeback", "requests", "invoices", "lines", "focus")


def total(house, kind, key=None, column="amount", **asked):
    """Sum of a column of a CSV export of October."""
    query = "&".join(f"{name}={value}" for name, value in asked.items())
    answer = house.get(f"/v1/exports/{kind}?month=2026-10&{query}", key=key)
    assert answer.status_code == 200, answer.text
    rows = csv.DictReader(io.StringIO(answer.text))
    return sum((Decimal(row[column] or 0) for row in rows), Decimal(0))


@pytest.mark.parametrize("kind", ["chargeback", "requests"])
def test_an_export_without_filter_is_the_tenants_own(furnished, kind):
    """C09: t-alder's key exports 10.00, the house's 110.00 with what names nobody."""
    assert total(furnished, kind, furnished.tenant["t-alder"]) == 10
    assert total(furnished, kind) == 110
    assert total(furnished, kind, tenant_id="t-birch") == 99


@pytest.mark.parametrize("kind", KINDS)
def test_another_tenant_cannot_be_named(furnished, kind):
    """403, whatever is exported."""
    path = f"/v1/exports/{kind}?month=2026-10&tenant_id=t-birch"
    assert furnished.get(path, key=furnished.tenant["t-alder"]).status_code == 403


def test_what_servers_earn_is_the_houses(furnished):
    """A tenant's key gets 403."""
    path = "/v1/exports/servers?month=2026-10"
    assert furnished.get(path, key=furnished.tenant["t-alder"]).status_code == 403
    assert total(furnished, "servers") == 110


@pytest.mark.parametrize(
    "wrong", ["/v1/exports/x?month=2026-10", "/v1/exports/focus?month=2026-10&format=x"]
)
def test_unknown_words_are_named(furnished, wrong):
    """422 with those that there are."""
    answer = furnished.get(wrong)
    assert (answer.status_code, "are: " in answer.json()["remedy"]) == (422, True)


def test_a_byte_order_mark_comes_on_request(furnished):
    """Three bytes before the same CSV; no other format has one."""
    path = "/v1/exports/chargeback?month=2026-10"
    plain, marked = furnished.get(path).content, furnished.get(f"{path}&bom=true").content
    assert marked == b"\xef\xbb\xbf" + plain
    assert furnished.get(f"{path}&bom=true&format=parquet").status_code == 422
