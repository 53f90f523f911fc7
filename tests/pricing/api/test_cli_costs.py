"""`tokentill costs`: the same rows over HTTP and on the stores themselves."""

import json
from datetime import UTC, datetime

import pytest
import typer
from typer.testing import CliRunner

from pricing import cli_costs
from pricing.ledger.connect import Ledger
from pricing.ledger.servers import Server, add_server
from pricing.ledger.upgrade import upgrade_ledger

WINDOW = ["--start", "2026-10-01T00:00:00Z", "--end", "2026-10-02T00:00:00Z"]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """`tokentill costs` on a home with one server at 10 an hour, by the month of 744 hours."""
    monkeypatch.setenv("TOKENTILL_HOME", str(tmp_path))
    monkeypatch.delenv("TOKENTILL_API_URL", raising=False)
    url = f"sqlite:///{tmp_path / 'ledger.sqlite'}"
    upgrade_ledger(url)
    ledger, since = Ledger(url), datetime(2026, 10, 1, tzinfo=UTC)
    with ledger.write(actor="test", at=since) as change:
        for node_id, costs in (
            ("p01", {"currency": "CNY", "monthly": {"all": "7440"}}),
            ("p02", None),
        ):
            add_server(
                change,
                Server(
                    node_id=node_id, name=node_id, stage="prefill", in_service_from=since,
                    cost_assumptions=costs, hardware="mtt-s5000",
                ),
            )  # fmt: skip
    ledger.close()
    app = typer.Typer()
    cli_costs.register(app)
    app.callback()(lambda: None)
    return lambda *arguments: CliRunner().invoke(app, ["costs", *arguments])


def test_cost_without_revenue_is_a_loss(run):
    """24 hours at 10: 240; nothing earned, so no ratio to revenue."""
    rows = {row["group"]: row for row in json.loads(run(*WINDOW, "--json").stdout)["servers"]}
    assert (rows["p01"]["cost"], rows["p01"]["profit"]) == ("240", "-240")
    assert rows["p01"]["gross_margin"] is None


def test_what_is_missing_is_said_on_stderr(run):
    """The price of an S5000 is not public: ask the vendor."""
    result = run(*WINDOW)
    assert "240.00" in result.stdout
    assert "p02: missing assets or rent: server_price" in result.stderr


def test_a_window_that_ends_before_it_starts_is_refused(run):
    """Exit 1 with the remedy."""
    result = run("--start", "2026-10-02T00:00:00Z", "--end", "2026-10-01T00:00:00Z")
    assert (result.exit_code, "--start" in result.stderr) == (1, True)
