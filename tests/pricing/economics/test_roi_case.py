"""Case files: read, checked at the door, compared on the command line; hardware asked for."""

import csv
import json
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import get_args

import pytest
import typer
from pydantic import BaseModel
from typer.testing import CliRunner

from pricing import cli_roi
from pricing.economics import Measured
from pricing.errors import ConfigInvalid
from pricing.estimates import capacity_sheet, case_file
from pricing.estimates.case_file import packaged_catalogue, read_case
from pricing.hardware_catalogue import FIGURES, FigureUnknown, read_catalogue
from pricing.metered_case import with_metered_months
from pricing.roi import outlook
from pricing.variance import SegmentSales


@pytest.fixture
def example(root):
    """The example case of the documentation: SYNTH-1 B."""
    return root / "docs/examples/roi_case.toml"


def run(*arguments: str):
    """Result of `tokentill roi` with `arguments`."""
    app = typer.Typer()
    cli_roi.register(app)
    app.callback()(lambda: None)
    return CliRunner().invoke(app, ["roi", *arguments])


def test_the_example_is_synth_1_b(example, synth):
    """NPV 699,884.77 (economics.md §4.2); its Monte Carlo is the reference run."""
    read = read_case(example.read_text(), name_of_file="x.toml")
    assert outlook(read.case).npv == pytest.approx(outlook(synth["B"]).npv)
    assert (read.draws.paths, read.draws.seed) == (5_000, 20260822)
    assert read.case.start == date(2026, 9, 1)


def test_json_of_the_command(example):
    """Every figure as a number; unknown as null, never nan."""
    result = run(str(example), "--json")
    (case,) = json.loads(result.stdout)["cases"]
    assert case["outlook"]["npv"] == pytest.approx(699_884.77, abs=0.005)
    assert case["rates"]["xirr"] == pytest.approx(0.2692452, abs=5e-8)
    assert case["monte_carlo"]["seed"] == 20260822
    assert len(case["cash_flows"]) == 61


def test_cases_stand_side_by_side(example, tmp_path):
    """Two cases, one column each; the unconventional one is flagged on stderr."""
    poor = tmp_path / "poor.toml"
    text = example.read_text().replace("vat_rate = 0.06", "vat_rate = 0.06\nrevenue_kept = 0.35")
    poor.write_text(text.replace('"SYNTH-1 B"', '"=poor"'))
    flows = tmp_path / "flows.csv"
    result = run(str(example), str(poor), "--flows", str(flows))
    assert "699,884.77" in result.stdout
    assert "-2,298,160.16" in result.stdout
    assert "=poor: the flows change sign 3 times" in result.stderr
    rows = list(csv.DictReader(flows.read_text().splitlines()))
    assert len(rows) == 122
    assert rows[-1]["case"] == "'=poor"  # a sheet must not run it


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("hit_ratio = 0.9", "hit_ratio = 1.9", "traffic.hit_ratio"),
        ("kappa", "kapa", "traffic.kapa"),
        ('"CNY"', '"yuan"', "currency"),
        ("name =", "name", "is no TOML"),
        ("hosting = 6400", "energy = 1", "not both"),
        ("{ uniform = [0.2, 0.4] }", "{ uniform = [0.4, 0.2] }", "rising numbers"),
        ("{ uniform = [0.2, 0.4] }", "{}", "give one of"),
        ("utilization = {", "mood = {", "'mood' cannot vary"),
        ("months = 60", 'hardware = "abacus"', "'abacus' is not in the catalogue"),
    ],
)
def test_a_wrong_case_names_the_key_and_exits_2(example, tmp_path, old, new, message):
    """Every wrong key with its place and the page that lists them."""
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(example.read_text().replace(old, new))
    result = run(str(wrong))
    assert result.exit_code == 2
    assert message in result.stderr
    assert "docs/roi.md" in result.stderr


@pytest.mark.parametrize(
    ("hardware", "message"),
    [
        ("", "capital.assets.server is missing"),
        ('hardware = "mtt-s5000"\n', r"server_price .* MTT S5000 is not public: ask the vendor"),
        ('hardware = "h200"\n', "the catalogue knows server_price 1500000 CNY"),
        ('hardware = "b200"\n', "server_price .* B200 is not public"),
    ],
)
def test_a_price_that_is_not_public_is_asked_for(example, hardware, message):
    """What the S5000 costs is in no public source: it is asked for, never invented."""
    text = hardware + example.read_text().replace("server = 2500000, network = 120000, ", "")
    text = text.replace("spares = 75000", "")
    with pytest.raises(ConfigInvalid, match=message):
        read_case(text, name_of_file="x.toml")


def test_rented_hardware_needs_no_asset(example):
    """Rent per month stands for what was bought; energy and Monte Carlo may be left out."""
    head, rest = example.read_text().split("[energy]")
    text = head.replace("{ server = 2500000, network = 120000, spares = 75000 }", "{}")
    read = read_case(text.replace("hosting = 6400", "rent = 90000"), name_of_file="x.toml")
    assert read.case.investment == 0
    assert read.draws is None
    assert outlook(read.case).profitability_index is None
    assert "rated_kw" in rest


def test_power_is_asked_for(example):
    """Nameplate power of the S5000 is not public either."""
    text = 'hardware = "mtt-s5000"\n' + example.read_text().replace("rated_kw = 8\n", "")
    with pytest.raises(ConfigInvalid, match=r"energy.rated_kw is missing; power_watts"):
        read_case(text, name_of_file="x.toml")


def test_a_file_that_is_too_long_is_refused():
    """A bound on everything."""
    with pytest.raises(ConfigInvalid, match="longer than"):
        read_case("#" * 1_000_001, name_of_file="x.toml")


def test_every_figure_of_the_catalogue_has_a_source():
    """Facts with sources; the S5000's price and power are marked as not public."""
    catalogue = packaged_catalogue()
    assert {"mtt-s5000", "h20", "h800", "h100", "h200", "b200"} <= set(catalogue)
    for device in catalogue.values():
        for name, figure in device.figures.items():
            assert figure.value > 0
            assert len(figure.source) > 10
            assert (figure.currency is not None) == (name in MONEY)
    assert {"power_watts", "server_price"} <= catalogue["mtt-s5000"].not_public


MONEY = {"device_price", "server_price", "rent_per_device_hour"}


def test_catalogue_agrees_with_inferencex(shared):
    """Rent and all-in power of the shared InferenceX table, device by device."""
    path = shared / "data/economics/gpu_tco_inferencex_2026-04-03.csv"
    rows = {row["gpu"]: row for row in csv.DictReader(path.read_text().splitlines())}
    for device in ("h100", "h200", "b200"):
        figures = packaged_catalogue()[device].figures
        assert figures["allin_kw"].value == Decimal(rows[device]["allin_power_kw_per_gpu"])
        rent = Decimal(rows[device]["usd_per_gpu_hour_3yr_rental"])
        assert figures["rent_per_device_hour"].value == rent


def test_an_unknown_figure_teaches():
    """Neither known nor listed: the message still says what to do."""
    with pytest.raises(FigureUnknown, match="not in the catalogue: ask the vendor"):
        packaged_catalogue()["b200"].figure("memory_gb")
    assert "memory_gb" in FIGURES


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('speed = { value = "1", source = "x" }', "unknown figures"),
        ('memory_gb = { value = "1" }', "source"),
    ],
)
def test_a_catalogue_without_sources_is_refused(line, message):
    """A fact needs its source."""
    with pytest.raises(ValueError, match=message):
        read_catalogue(f'[accelerator.x]\nname = "X"\ndevices_per_server = 8\n{line}')


def test_a_case_from_metered_months(synth):
    """Half of the rating was billed at r 0.8; the mean cached price was 1.5."""
    seconds = 86_400
    measured = Measured(
        seconds=seconds,
        input_tokens=50_000 * seconds,
        cached_tokens=40_000 * seconds,
        rated_tokens_per_second=100_000,
    )
    sales = SegmentSales(cached_tokens=2_000_000, cached_amount=Decimal(3))
    case = with_metered_months(synth["A"], measured, sales)
    assert (case.utilization, case.hit_ratio) == (0.5, 0.8)
    assert case.input_tokens_per_second == pytest.approx(100_000)
    assert (case.price_input, case.price_cached) == (8, 1.5)


def test_an_unrated_server_counts_as_fully_loaded(synth):
    """Without a rated throughput the measured rate is the full load."""
    measured = Measured(seconds=10, input_tokens=1_000)
    case = with_metered_months(synth["A"], measured, SegmentSales())
    assert (case.utilization, case.input_tokens_per_second) == (1, 100)


@pytest.mark.parametrize(
    "measured",
    [
        Measured(seconds=10),
        Measured(
            seconds=10, input_tokens=5, rated_tokens_per_second=Fraction(9), output_is_work=True
        ),
    ],
)
def test_an_empty_window_makes_no_case(synth, measured):
    """No input, or no work of the rated kind: take another window."""
    with pytest.raises(ValueError, match="the metered window has no"):
        with_metered_months(synth["A"], measured, SegmentSales())


def keys(model, path=""):
    """Dotted keys of a file's model, tables by their name."""
    for name, field in model.model_fields.items():
        table = next(
            (t for t in (field.annotation, *get_args(field.annotation)) if is_table(t)), None
        )
        yield from keys(table, f"{path}{name}.") if table else [f"{path}{name}"]


def is_table(candidate):
    """Whether a type is a table of the file."""
    return isinstance(candidate, type) and issubclass(candidate, BaseModel)


@pytest.mark.parametrize("model", [case_file.CaseStated, capacity_sheet.Sheet])
def test_every_key_is_in_the_docs(root, model):
    """docs/roi.md names each key; a pool's keys are shown once, for prefill."""
    page = (root / "docs/roi.md").read_text(encoding="utf-8")
    missing = [
        key
        for key in keys(model)
        if f"`{key}`" not in page
        and f"`{key.rpartition('.')[2]}`" not in page
        and not key.startswith("decode.")
    ]
    assert not missing
