"""`tokentill prices`: import, check, show, diff as a user runs them."""

import json

import pytest
from typer.testing import CliRunner

from pricing.books.toml_book import read_book
from tokentill import command_line

BOOK = """book = "list-cny"
currency = "CNY"
timezone = "Asia/Shanghai"
[[price]]
model = "m-river"
aliases = ["river"]
effective_from = 2026-06-01
per_million_tokens = { input = "2.50", cached_input = "0.25", output = "10.00" }
[[price.tier]]
input_tokens_above = 200000
per_million_tokens = { input = "5.00", cached_input = "0.50", output = "15.00" }
"""
LITELLM = {
    "p/m": {"litellm_provider": "p", "input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06},
    "p/image": {"litellm_provider": "p", "output_cost_per_image": 0.04},
}


def run(*words: object):
    """The command's result: exit code, stdout, stderr."""
    return CliRunner().invoke(command_line("prices"), ["prices", *map(str, words)])


@pytest.fixture
def book(tmp_path):
    """A book on disk."""
    path = tmp_path / "list.toml"
    path.write_text(BOOK, "utf-8")
    return path


def test_check_of_a_good_book_says_so(book):
    """Nothing on stdout, a word on stderr, exit 0."""
    result = run("check", book)
    assert (result.exit_code, result.stdout) == (0, "")
    assert "0 errors, 0 warnings" in result.stderr


def test_check_names_file_line_and_remedy(book):
    """A misspelt key is an error at its line; exit 1."""
    book.write_text(BOOK.replace('cached_input = "0.25"', 'cached = "0.25"'), "utf-8")
    result = run("check", book)
    assert result.exit_code == 1
    assert "list.toml:8: error: price[1].per_million_tokens.cached: unknown key." in result.stdout
    assert "Did you mean cached_input?" in result.stdout


def test_check_fails_on_warnings_unless_told_otherwise(book):
    """A price per token is a warning: exit 1, or 0 with --errors-only; --json lists it."""
    book.write_text(BOOK.replace('"10.00"', '"0.00001"'), "utf-8")
    assert run("check", book).exit_code == 1
    result = run("check", book, "--errors-only", "--json")
    assert result.exit_code == 0
    (found,) = json.loads(result.stdout)
    assert (found["severity"], found["line"]) == ("warning", 4)


def test_show_case_c18_step_by_step(book):
    """Case C18 c: 50,000 × 5 + 200,000 × 0.50 + 1,000 × 15 = 0.365; the tier is named."""
    words = ("--model", "river", "--at", "2026-08-20T00:00:00Z", "--input-tokens", 250_000)
    more = ("--cached-tokens", 200_000, "--output-tokens", 1000)
    result = run("show", "--book", book, *words, *more, "--json")
    shown = json.loads(result.stdout)
    assert (shown["total"], shown["currency"]) == ("0.365", "CNY")
    assert [(s["rule"], s["name"]) for s in shown["steps"]] == [
        ("entry", "m-river@2026-05-31T16:00:00Z"),
        ("context_tier", "input>200000"),
    ]
    text = run("show", "--book", book, *words, *more).stdout
    assert "cached_input  200000 × 0.5 = 0.1" in text
    assert text.endswith("total         0.365 CNY\n")


def test_show_of_an_unknown_model_says_what_to_do(book):
    """Unpriced is an answer, not a zero: exit 1 with the reason."""
    result = run("show", "--book", book, "--model", "x", "--at", "2026-08-20T00:00:00Z")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "unpriced (no_price): book 'list-cny' has no entry for 'x'" in result.stderr


def test_show_needs_a_time_with_a_zone(book):
    """A local time is refused: wrong usage, exit 2."""
    result = run("show", "--book", book, "--model", "river", "--at", "2026-08-20T00:00:00")
    assert result.exit_code == 2
    assert "needs a zone" in result.stderr.replace("\n", " ")


def test_import_writes_a_book_and_lists_the_rest(tmp_path):
    """One model imported, one listed with its reason; the currency is asked for, not guessed."""
    source, out = tmp_path / "map.json", tmp_path / "book.toml"
    source.write_text(json.dumps(LITELLM), "utf-8")
    base = ("import", "litellm", source, "--provider", "p", "--out", out)
    assert run(*base).exit_code == 2  # no --currency
    result = run(*base, "--currency", "USD", "--effective-from", "2026-01-01T00:00:00Z")
    assert result.exit_code == 0
    assert "model\tp/image\ttoken prices\tonly priced by output_cost_per_image" in result.stdout
    assert "1 models imported" in result.stderr
    (entry,) = read_book(out.read_text("utf-8")).entries
    assert "2026-01-01T00:00:00Z assumed" in entry.source
    assert run("check", out).exit_code == 0


@pytest.mark.parametrize(("currency", "provider"), [("RMB", "p"), ("USD", "q")])
def test_import_refuses_what_it_cannot_know(tmp_path, currency, provider):
    """A currency that ISO 4217 lacks, a provider that the file lacks: exit 2, nothing written."""
    source, out = tmp_path / "map.json", tmp_path / "book.toml"
    source.write_text(json.dumps(LITELLM), "utf-8")
    words = ("--provider", provider, "--currency", currency, "--out", out)
    result = run("import", "litellm", source, *words)
    assert result.exit_code == 2
    assert not out.exists()


def test_diff_shows_changes_and_writes_a_draft(book, tmp_path):
    """Output 10 to 11 from October on: one difference, one more entry, September untouched."""
    newer, out = tmp_path / "newer.toml", tmp_path / "draft.toml"
    newer.write_text(BOOK.replace('"10.00"', '"11.00"'), "utf-8")
    result = run("diff", book, newer)
    assert result.stdout == "changed\tm-river@2026-05-31T16:00:00Z\toutput\t10\t11\n"
    draft = ("--effective-from", "2026-10-01T00:00:00+08:00", "--out", out)
    assert run("diff", book, newer, *draft).exit_code == 0
    assert [str(e.prices["output"]) for e in read_book(out.read_text("utf-8")).entries] == [
        "10",
        "11",
    ]


def test_a_missing_file_is_wrong_usage(tmp_path):
    """Exit 2 with the path."""
    result = run("check", tmp_path / "none.toml")
    assert result.exit_code == 2
    assert "none.toml" in result.stderr
