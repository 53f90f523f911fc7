"""docs/formulas.md: every numbered row is computed again; a figure that drifts fails the page."""

import re
from decimal import Decimal
from fractions import Fraction

import pytest

from pricing import plausibility as pl
from tests.pricing.economics.formula_rows import TABLES, investment

F = Fraction
ROW = re.compile(r"^\| (\d+\.\d+) \| .* \| ([−\d.,]+) \| [^|]* \|$", re.MULTILINE)


@pytest.fixture(scope="module")
def page(root):
    """Value text of each numbered row of the page."""
    found = ROW.findall((root / "docs/formulas.md").read_text(encoding="utf-8"))
    assert len(found) == len(dict(found)), "two rows have the same number"
    return dict(found)


@pytest.fixture(scope="module")
def computed(synth):
    """How each row is computed."""
    return {row: how for table in TABLES for row, how in table.items()} | investment(synth)


def test_every_row_is_computed_and_every_computation_is_shown(page, computed):
    """No number on the page without its check, no check without its number."""
    assert sorted(page) == sorted(computed)


def test_every_number_of_the_page_is_right(page, computed):
    """Each value equals its computation, rounded to the digits that are written."""
    wrong = {}
    for row, text in page.items():
        shown = Decimal(text.replace(",", "").replace("−", "-"))
        half_digit = F(1, 2) * F(10) ** shown.as_tuple().exponent
        value = F(computed[row]())
        if abs(F(shown) - value) > half_digit * F("1.000001"):
            wrong[row] = (text, float(value))
    assert not wrong


def test_published_figures_of_the_design_are_on_the_page(page):
    """The white papers' and DeepSeek's figures that the product must reproduce."""
    published = {"563,872.90752", "225,549.163008", "5,020,236", "562,100", "87,072.00", "545.47"}
    assert published <= set(page.values())


def test_the_inconsistent_pair_is_said(root):
    """White paper 2: TPOT 0.020 s and 40.00 tokens/s."""
    text = (root / "docs/formulas.md").read_text(encoding="utf-8")
    assert "TPOT and TPS of white paper 2 contradict each other" in text
    assert pl.speed_finding(F("0.020"), 40) is not None
