"""Figures of the economics pages say where their formula is, and it is there."""

import ast
import json
import re
from pathlib import Path

import pytest

from dashboard import formulas
from dashboard.table import NUMBERS
from pricing.api import figures

PAGES = ("servers", "cache", "slo", "roi", "capacity", "tenants")
FOLDER = Path(formulas.__file__).parent
DRAWN = [*(FOLDER / "views" / f"{page}.py" for page in PAGES),
         *(FOLDER / f"{name}.py" for name in ("margin", "compared", "demand"))]  # fmt: skip
LINK = re.compile(r"docs/formulas\.md#([^\s]+)$")


@pytest.fixture(scope="module")
def anchors(root):
    """What a reader of docs/formulas.md can jump to."""
    lines = (root / formulas.PAGE).read_text(encoding="utf-8").splitlines()
    headings = [line.lstrip("# ").lower() for line in lines if line.startswith("#")]
    kept = ["".join(c for c in each if c.isalnum() or c in " -") for each in headings]
    return {each.replace(" ", "-") for each in kept}


def named(module):
    """The anchors that a module names, by constant."""
    return {
        name: value
        for name, value in vars(module).items()
        if name.isupper() and isinstance(value, str) and re.match(r"\d+-", value)
    }


@pytest.mark.parametrize("module", [formulas, figures])
def test_every_anchor_is_a_heading(anchors, module):
    """A renamed section would leave its figures without a formula."""
    assert named(module)
    assert {k: v for k, v in named(module).items() if v not in anchors} == {}


def test_every_column_of_numbers_has_its_formula():
    """Written beside the column: a new one without it is seen here."""
    silent = [
        f"{path.name}: {ast.unparse(node)}"
        for path in DRAWN
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) == "Column"
        and len(node.args) > 2
        and ast.literal_eval(node.args[2]) in NUMBERS
        and not any(keyword.arg == "formula" for keyword in node.keywords)
    ]
    assert silent == []


def shown(test):
    """Name and tooltip of the first line, the key figures and the columns of numbers of a page."""
    yield "first line", test.subheader[0].proto.help
    yield from ((metric.label, metric.proto.help) for metric in test.metric)
    for frame in test.dataframe:
        for name, column in json.loads(frame.proto.columns).items():
            if column.get("type_config", {}).get("type") == "number":
                yield name, column.get("help")


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_each_figure_leads_to_its_formula(show, house, anchors, path, language):
    """Each tooltip ends with a section of docs/formulas.md that exists (Column(…, formula=…))."""
    tooltips = list(shown(show(house, path, window="today", lang=language)))
    assert [name for name, text in tooltips if not LINK.search(text or "")] == []
    assert {LINK.search(text)[1] for _, text in tooltips} <= anchors
