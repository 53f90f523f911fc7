"""`tokentill capacity`: white paper 2's shape, links, and findings that name what cannot be."""

import json

import pytest
import typer
from typer.testing import CliRunner

from pricing import cli_capacity
from pricing.errors import ConfigInvalid
from pricing.estimates.capacity_sheet import capacity_report


@pytest.fixture
def sheet(root):
    """The example sheet of the documentation."""
    return root / "docs/examples/capacity_sheet.toml"


def run(*arguments: str):
    """Result of `tokentill capacity` with `arguments`."""
    app = typer.Typer()
    cli_capacity.register(app)
    app.callback()(lambda: None)
    return CliRunner().invoke(app, ["capacity", *arguments])


def changed(sheet, *changes):
    """The report of the example with texts replaced."""
    text = sheet.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return capacity_report(text, name_of_file="x.toml")


def test_json_of_the_command(sheet):
    """T_eq = 1/(0.5/95,920.5 + 0.3/80,000 + 0.2/60,000) = 81,327.4; 260,000 need 4 at 80 %."""
    report = json.loads(run(str(sheet), "--json").stdout)
    prefill = report["pools"]["prefill"]
    assert prefill["equivalent_tokens_per_second"] == pytest.approx(81_327.4, abs=0.05)
    assert prefill["servers"] == 4
    assert prefill["replaces"]["fast_equivalents"] == 2
    assert report["kv_links"]["gbps"] == pytest.approx(260_000 * 51_168 * 8 / 1e9)


def test_text_for_people(sheet):
    """Servers, links and every finding, among them the inconsistent pair of white paper 2."""
    text = run(str(sheet)).stdout
    assert "4 servers in 4 instances" in text
    assert "worth 2.00 of the faster servers" in text
    assert "TPOT 0.02 s and 40 tokens/s contradict each other" in text
    assert "744 GB do not fit into 640 GB" in text


def test_less_than_half_does_not_cover(sheet):
    """White paper 2: at 46 % per card four replace 1.84: 8 % are missing."""
    report = changed(sheet, ("[191841, 160000, 120000]", "[208522.83, 173913.04, 130434.78]"))
    assert report["pools"]["prefill"]["replaces"]["shortfall"] == pytest.approx(0.08, abs=1e-6)
    assert "prefill: replaces too little, 8.0% are missing" in report["findings"]


def test_links_that_are_too_small(sheet):
    """A 25G port cannot carry 26.6 Gbit/s."""
    report = changed(sheet, ("prefill_ports_gbps = [400]", "prefill_ports_gbps = [25]"))
    assert "prefill: KV transfer needs 106% of the ports" in report["findings"]


def test_without_the_optional_tables(sheet):
    """No links, no benchmark: nothing is said about them; costs are servers × cost."""
    text = sheet.read_text().split("[kv]")[0]
    text = text.replace("spare_instances = 1", "spare_instances = 1\ncost_per_server_month = 9.5")
    report = capacity_report(text, name_of_file="x.toml")
    assert report["kv_links"] is None
    assert report["pools"]["decode"]["cost_per_month"] == 19
    assert report["pools"]["prefill"]["cost_per_month"] is None
    assert not [finding for finding in report["findings"] if "benchmark" in finding]


def test_a_pool_without_demand_has_empty_links(sheet):
    """Nothing to prefill: no server, no traffic per server, nothing to lose."""
    report = changed(sheet, ("= 260000", "= 0"), ("= { servers = 2,", "= { servers = 1,"))
    assert report["pools"]["prefill"]["servers"] == 0
    assert report["kv_links"]["prefill"]["gbps_per_server"] == 0


def test_a_benchmark_alone(sheet):
    """Only the throughput claim: with a hit ratio of 0.9 nothing is wrong with it."""
    text = sheet.read_text().split("weight_bytes")[0] + "hit_ratio = 0.9\n"
    report = capacity_report(text, name_of_file="x.toml")
    assert not [finding for finding in report["findings"] if "benchmark" in finding]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("target_utilization = 0.8", "target_utilization = 80", "prefill.target_utilization"),
        ("token_share = 0.5", "token_share = 0.4", "sum to 1"),
        ("[191841, 160000, 120000]", "[191841]", "one rate per class"),
        ("name =", "name", "is no TOML"),
        ("prefill_ports_gbps = [400]", "prefill_ports_gbps = []", "without ports"),
    ],
)
def test_a_wrong_sheet_names_the_key_and_exits_2(sheet, tmp_path, old, new, message):
    """The place, what was expected, and the page that lists the keys."""
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(sheet.read_text().replace(old, new))
    result = run(str(wrong))
    assert result.exit_code == 2
    assert message in result.stderr
    assert "docs/roi.md" in result.stderr


def test_a_sheet_that_is_too_long_is_refused():
    """A bound on everything."""
    with pytest.raises(ConfigInvalid, match="longer than"):
        capacity_report("#" * 1_000_001, name_of_file="x.toml")
