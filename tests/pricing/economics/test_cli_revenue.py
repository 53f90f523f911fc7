"""`tokentill revenue formula`: exact text out, and errors that name the option."""

import json

import pytest
import typer
from typer.testing import CliRunner

from pricing import cli_revenue

ANCHOR = ["--throughput", "83670.6", "--hit-ratio", "0.9", "--price-input", "8"]


def run(*arguments: str):
    """Result of the command with `arguments`."""
    app = typer.Typer()
    cli_revenue.register(app)
    app.callback()(lambda: None)
    return CliRunner().invoke(app, ["revenue", "formula", *arguments])


def test_prints_the_anchor_exactly():
    """White paper 1: 563,872.90752 CNY a month; its cached line is 69.23 % of it."""
    result = run(*ANCHOR, "--price-cached", "2", "--json")
    figures = json.loads(result.stdout)
    assert figures["revenue"] == "563872.90752"
    assert figures["cached_revenue"] == "390373.55136"
    assert figures["service_factor"] == "2.592"


def test_text_for_people_holds_the_same_number():
    """Without --json each figure is a line."""
    assert "563872.90752" in run(*ANCHOR, "--price-cached", "2").stdout


def test_decode_line_and_partial_month():
    """5,000 tokens/s × 28 × 1.296 (15 days) = 181,440."""
    result = run(
        *["--throughput", "0", "--hit-ratio", "0", "--price-input", "0", "--price-cached", "0"],
        *["--output-throughput", "5000", "--price-output", "28", "--days", "15", "--json"],
    )
    assert json.loads(result.stdout)["revenue"] == "181440"


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--price-cached", "two"),
        ("--price-cached", "-2"),
        ("--price-cached", "1e9"),
        ("--price-cached", "NaN"),
        ("--hit-ratio", "1.01"),
        ("--utilization", "40"),
    ],
)
def test_wrong_input_names_the_option_and_exits_2(option, value):
    """The message tells which option, what was expected and what was found."""
    result = run(*ANCHOR, "--price-cached", "2", option, value)
    assert result.exit_code == 2
    assert f"'{option}'" in result.stderr
    assert value in result.stderr
