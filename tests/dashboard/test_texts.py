"""The catalogues: complete in both languages, nothing unused."""

import ast
import re
from pathlib import Path

import pytest

from dashboard.texts import LANGUAGES, Words, catalogue, language_of

SOURCES = sorted((Path(__file__).resolve().parents[2] / "dashboard").rglob("*.py"))
PLACE = re.compile(r"\{(\w+)\}")


def texts(source):
    """Every literal text of a source file."""
    tree = ast.parse(source.read_text(encoding="utf-8"))
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


LITERALS = set().union(*map(texts, SOURCES))


def test_both_languages_have_the_same_keys_and_values():
    """A text that is missing in one language, or names another value, would show a hole."""
    english, chinese = (catalogue(language) for language in LANGUAGES)
    assert english.keys() == chinese.keys()
    for key, text in english.items():
        assert set(PLACE.findall(text)) == set(PLACE.findall(chinese[key])), key


def test_every_text_is_used():
    """A key that no source file names is dead weight for whoever translates."""
    assert sorted(catalogue("en").keys() - LITERALS) == []


def test_every_key_in_use_exists():
    """Literal arguments of words(…) are keys of the catalogue."""
    called = {
        node.args[0].value
        for source in SOURCES
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).rpartition(".")[2] == "words"
        and node.args
        and isinstance(node.args[0], ast.Constant)
    }
    assert sorted(called - catalogue("en").keys()) == []


def test_chinese_texts_are_chinese():
    """Every sentence has a Chinese character; names and signs alone may have none."""
    plain = {key for key, text in catalogue("zh").items() if not re.search("[一-鿿]", text)}
    assert plain <= {"column.sign", "column.tokens", "over_time.tokens", "unit.tokens",
                     "headline.stop"}  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "browser", "right"),
    [("zh", "en-GB", "zh"), (None, "zh-CN", "zh"), (None, "de", "en"), ("xx", None, "en")],
)
def test_the_url_goes_before_the_browser(asked, browser, right):
    """Asked for in the URL, else spoken by the browser, else English."""
    assert language_of(asked, browser) == right


def test_values_are_filled_in():
    """By hand: the template of the catalogue with one value."""
    assert Words("en")("problem.refused", status=403) == "The API refused (status 403)."
