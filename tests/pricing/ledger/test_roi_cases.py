"""Saved investment cases on SQLite and PostgreSQL: as stated, in order, archived, not changed."""

import json
import tomllib
from datetime import UTC, datetime, timedelta

import pytest

from pricing.errors import NotFound
from pricing.estimates.case_file import CaseStated, case_of
from pricing.ledger.roi_cases import add_case, archive_case, get_case, list_cases
from pricing.ledger.rows import Page
from pricing.roi import outlook

NOW = datetime(2026, 10, 1, 12, tzinfo=UTC)


@pytest.fixture
def stated(root):
    """SYNTH-1 B as JSON keeps it."""
    text = (root / "docs/examples/roi_case.toml").read_text(encoding="utf-8")
    return json.loads(json.dumps(tomllib.loads(text), default=str))


def save(ledger, name, stated, *, later=0):
    with ledger.write(actor="ann", at=NOW + timedelta(seconds=later)) as change:
        return add_case(change, name, currency="CNY", stated=stated, note="as offered")


def test_a_case_comes_back_as_it_was_stated(ledger, stated):
    """Every key and digit, who and when; its NPV is still 699,884.77 (economics.md §4.2)."""
    made = save(ledger, "base", stated)
    with ledger.read() as connection:
        found = get_case(connection, made.case_id)
    assert found == made
    assert (found.stated, found.created_by, found.created_at) == (stated, "ann", NOW)
    assert outlook(
        case_of(CaseStated.model_validate(found.stated), named="x").case
    ).npv == pytest.approx(699_884.77, abs=0.005)


def test_cases_are_listed_in_the_order_of_saving(ledger, stated):
    """Pages of two of three, none twice."""
    ids = [save(ledger, f"case {n}", stated, later=n).case_id for n in range(3)]
    with ledger.read() as connection:
        first = list_cases(connection, Page(2, None))
        last = first[1]
        second = list_cases(connection, Page(2, (last.created_at, last.case_id)))
    assert [case.case_id for case in [*first[:2], *second]] == ids


def test_an_archived_case_leaves_the_list_and_stays_readable(ledger, stated):
    """What was decided upon can still be explained."""
    made = save(ledger, "old", stated)
    with ledger.write(actor="ann", at=NOW) as change:
        archive_case(change, made.case_id)
    with ledger.read() as connection:
        assert list_cases(connection, Page(9, None)) == []
        assert get_case(connection, made.case_id).archived_at == NOW
        with pytest.raises(NotFound):
            get_case(connection, "roi_none")
