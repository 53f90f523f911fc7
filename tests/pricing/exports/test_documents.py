"""Documents read back by independent readers: openpyxl, pypdf, DuckDB and pyarrow."""

import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from operator import attrgetter

import duckdb
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pypdf import PdfReader

from pricing.errors import ConfigInvalid, RequestInvalid
from pricing.exports import render as documents
from pricing.exports.focus import FOCUS, focus_table
from pricing.exports.invoice_pdf import fonts_for
from pricing.exports.render import RENDERERS
from pricing.exports.streams import STREAMS, Workbook
from pricing.exports.tables import MONEY
from pricing.invoices import InvoiceLine
from pricing.ledger.invoices import Invoice

JUNE = date(2026, 6, 1)


def line(tokens, price, **change):
    """A line of so many tokens at a price."""
    amount = Decimal(tokens) * Decimal(price) / 10**6
    given = {
        "kind": "usage",
        "service_month": JUNE,
        "model_id": "=m",
        "line": "input",
        "tokens": tokens,
        "unit_price": Decimal(price),
        "amount": amount,
        "rounded_amount": round(amount, 2),
        "price_key": 2**62,
    }
    return InvoiceLine(**given | change)


LINES = [
    line(13_700_000, "1.5003"),
    line(-100_000, "2", kind="adjustment", service_month=date(2026, 5, 1)),
]


def invoice(**change):
    """By hand: 20.55411 + -0.20 = 20.35411 exact, 20.35 net, 6 % tax 1.22, 21.57 gross."""
    moment = datetime(2026, 7, 1, 0, 0, 0, 5, tzinfo=UTC)
    given = {
        "number": "INV-000001",
        "kind": "invoice",
        "issuer_id": "house",
        "currency": "CNY",
        "tenant_id": "t-alder",
        "month": JUNE,
        "billing_zone": "Asia/Shanghai",
        "start_at": datetime(2026, 5, 31, 16, tzinfo=UTC),
        "end_at": datetime(2026, 6, 30, 16, tzinfo=UTC),
        "state": "final",
        "made_at": moment,
        "issued_at": moment,
        "due_on": date(2026, 7, 31),
        "tax_rate": Decimal("0.06"),
        "tax_place": "上海",
        "exact_amount": Decimal("20.35411"),
        "net_amount": Decimal("20.35"),
        "rounding_amount": Decimal("-0.00411"),
        "tax_amount": Decimal("1.22"),
        "gross_amount": Decimal("21.57"),
        "settle_mark": 7,
        "adjusted_after_mark": 0,
        "digest_requests": 9,
        **{f"digest_{n}": Decimal(n) for n in range(1, 5)},
        "seller": {"legal_name": "云算科技", "tax_id": "91310000"},
        "buyer": {"legal_name": "Alder GmbH", "language": "zh", "payment_days": 30},
        "annex": [{"project_id": "p", "cost_centre_id": None, "tokens": 1, "amount": "20.35411"}],
        **dict.fromkeys(("corrects_number", "reason", "paid_at")),
        "content_sha256": "ab" * 32,
        "payment_state": "open",
    }
    return Invoice(**given | change)


PAID = attrgetter("unit_price")  # nobody here has a contract


def render(found, lines, format_):
    """A document whose list prices are those that are paid."""
    return documents.render(found, lines, format_, list_price=PAID)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_pdf_says_the_total_and_the_parties(language):
    """Text as a PDF reader extracts it; the same document gives the same bytes."""
    found = invoice(buyer=invoice().buyer | {"language": language})
    body = render(found, LINES, "pdf")
    text = PdfReader(io.BytesIO(body)).pages[0].extract_text()
    for words in ("INV-000001", "21.57", "CNY", "云算科技", "Alder GmbH", "13,700,000", "1.5003"):
        assert words in text
    assert ("价税合计" in text) == (language == "zh")
    assert render(found, LINES, "pdf") == body


def test_a_draft_says_so():
    """Nobody pays a draft by mistake."""
    found = invoice(state="draft", issued_at=None, buyer=invoice().buyer | {"language": "en"})
    assert "DRAFT" in PdfReader(io.BytesIO(render(found, LINES, "pdf"))).pages[0].extract_text()


def test_a_machine_without_chinese_fonts_says_what_to_install():
    """English still works there."""
    with pytest.raises(ConfigInvalid, match="fonts-noto-cjk"):
        fonts_for("zh", frozenset({"DejaVu Sans"}))
    assert fonts_for("en", frozenset({"DejaVu Sans"})) == ["DejaVu Sans"]


def test_a_workbook_has_typed_cells():
    """Names as text that no spreadsheet runs, amounts as numbers, days as days; frozen header."""
    book = openpyxl.load_workbook(io.BytesIO(render(invoice(), LINES, "xlsx")))
    assert book.sheetnames == ["summary", "lines", "projects"]
    sheet = book["lines"]
    header = [cell.value for cell in sheet[1]]
    row = dict(zip(header, sheet[2], strict=True))
    assert (row["model_id"].value, row["model_id"].data_type) == ("'=m", "s")
    assert (row["amount"].data_type, row["service_month"].is_date) == ("n", True)
    assert sum(cell.value for cell in sheet["O"][1:]) == pytest.approx(20.35)
    assert sheet.freeze_panes == "A2"


def test_focus_sums_to_the_gross_amount(tmp_path):
    """Lines exact, one row of rounding, one of tax: 21.57 by DuckDB's own CSV reader."""
    (tmp_path / "focus.csv").write_bytes(render(invoice(), LINES, "focus"))
    (found,) = duckdb.execute(
        "SELECT sum(BilledCost::DECIMAL(38,15)) FROM read_csv(?, all_varchar=true)",
        [str(tmp_path / "focus.csv")],
    ).fetchall()
    assert found[0] == Decimal("21.57")


def test_focus_names_periods_and_categories():
    """UTC, ends exclusive; late usage is a correction of its own month."""
    rows = focus_table(invoice(), LINES, PAID).to_pylist()
    assert [(row["ChargeCategory"], row["ChargeClass"]) for row in rows] == [
        ("Usage", None),
        ("Usage", "Correction"),
        ("Adjustment", None),
        ("Tax", None),
    ]
    assert rows[0]["BillingPeriodEnd"] == datetime(2026, 6, 30, 16, tzinfo=UTC)
    assert rows[1]["ChargePeriodEnd"] == datetime(2026, 5, 31, 16, tzinfo=UTC)
    assert FOCUS.names == sorted(FOCUS.names)


def test_focus_keeps_list_and_contract_apart():
    """By hand: 13.7 M at 2.00 listed, 1.5003 paid: 27.40; tax 6 % of 27.40 - 0.2 - 0.00411: 1.63.

    FOCUS 1.2: ListUnitPrice × PricingQuantity = ListCost, and the tax's ListCost follows theirs.
    """
    listed = [Decimal("2.00"), None]
    table = focus_table(invoice(), LINES, lambda line: listed[LINES.index(line)])
    row, corrected, rounding, tax = table.to_pylist()
    assert row["ListUnitPrice"] * row["PricingQuantity"] == row["ListCost"] == Decimal("27.40")
    assert row["ContractedUnitPrice"] * row["PricingQuantity"] == row["ContractedCost"]
    assert (row["BilledCost"], row["ContractedCost"]) == (Decimal("20.55411"),) * 2
    assert (corrected["ListUnitPrice"], corrected["ListCost"]) == (None, Decimal("-0.2"))
    assert rounding["ListCost"] == Decimal("-0.00411")
    costs = [tax[name] for name in ("BilledCost", "ContractedCost", "ListCost")]
    assert costs == [Decimal("1.22"), Decimal("1.22"), Decimal("1.63")]


def test_focus_names_a_price_by_what_it_depends_on():
    """FOCUS 1.2: SkuPriceId is the same over time, over accounts and over contracts."""
    one = line(1, "2", contract="t@2026-01-01 -10%", entry="=m@2026", band="00:30-08:30")
    other = line(1, "3", contract=None, entry="=m@2027", band="00:30-08:30", price_key=5)
    rows = focus_table(invoice(), [one, other], PAID).to_pylist()[:2]
    assert {row["SkuPriceId"] for row in rows} == {"=m · input · 00:30-08:30"}
    assert [row["x_PriceEntry"] for row in rows] == ["=m@2026", "=m@2027"]


def test_focus_of_a_re_rate_sums_too():
    """10.00 back, 8.004 charged for May: -1.996, rounded -2.00; corrections of usage."""
    may = {"kind": "rerate", "service_month": date(2026, 5, 1), "corrects_number": "INV-000000"}
    lines = [line(-5_000_000, "2", **may), line(5_000_000, "1.6008", **may)]
    amounts = {"exact_amount": "-1.996", "net_amount": "-2.00", "rounding_amount": "-0.004"}
    amounts |= {"tax_amount": "0", "gross_amount": "-2.00"}
    found = invoice(**{name: Decimal(value) for name, value in amounts.items()})
    rows = focus_table(found, lines, PAID).to_pylist()
    kinds = [(row["ChargeCategory"], row["ChargeClass"]) for row in rows]
    assert kinds == [("Usage", "Correction"), ("Usage", "Correction"), ("Adjustment", None)]
    assert sum(row["BilledCost"] for row in rows) == found.gross_amount
    assert rows[0]["ChargePeriodEnd"] == datetime(2026, 5, 31, 16, tzinfo=UTC)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_printed_re_rate_names_month_and_invoice(language):
    """What was rated anew, and which invoice that corrects."""
    may = {"kind": "rerate", "service_month": date(2026, 5, 1), "corrects_number": "INV-000000"}
    buyer = invoice().buyer | {"language": language}
    body = render(invoice(buyer=buyer), [line(1_000_000, "2", **may)], "pdf")
    text = "".join(page.extract_text() for page in PdfReader(io.BytesIO(body)).pages)
    assert "2026-05" in text
    assert "INV-000000" in text


def test_parquet_and_json_lines_keep_every_digit():
    """DECIMAL(38, 15), and decimal text."""
    table = pq.read_table(io.BytesIO(render(invoice(), LINES, "parquet")))
    assert table.schema.field("amount").type == MONEY
    assert sum(table.column("amount").to_pylist()) == Decimal("20.35411")
    rows = [json.loads(text) for text in render(invoice(), LINES, "jsonl").splitlines()]
    assert sum(Decimal(row["amount"]) for row in rows) == Decimal("20.35411")


def test_a_format_that_there_is_not():
    """The answer names those that there are."""
    with pytest.raises(RequestInvalid, match=", ".join(RENDERERS)):
        render(invoice(), LINES, "docx")


@pytest.mark.parametrize("kind", sorted(STREAMS))
def test_rows_come_in_batches_and_are_all_written(kind, tmp_path):
    """25 batches of 1,000 rows from a generator: nothing asks for all of them at once."""
    schema = pa.schema([("n", pa.int64()), ("amount", MONEY)])
    batches = (
        pa.RecordBatch.from_arrays(
            [pa.array(range(start, start + 1000)), pa.array([Decimal("0.1")] * 1000, MONEY)],
            schema=schema,
        )
        for start in range(0, 25_000, 1000)
    )
    reader = pa.RecordBatchReader.from_batches(schema, batches)
    assert STREAMS[kind](tmp_path / "file", reader) == 25_000


def test_a_sheet_that_is_full_is_continued(tmp_path, monkeypatch):
    """Excel ends at 1,048,576 rows; here at 3."""
    monkeypatch.setattr("pricing.exports.streams.SHEET_ROWS_MAX", 3)
    table = pa.table({"n": list(range(7))})
    with Workbook(tmp_path / "book.xlsx") as book:
        assert book.add("data", table.to_reader()) == 7
    assert openpyxl.load_workbook(tmp_path / "book.xlsx").sheetnames == ["data", "data 2", "data 3"]


def test_c39_on_a_workbook(shared, tmp_path):
    """Five names that a spreadsheet would run; the amounts are numbers and sum to 13.30."""
    cases = json.loads((shared / "cases" / "cases.json").read_text("utf-8"))
    (rows,) = [case["input"]["rows"] for case in cases if case["id"] == "C39"]
    table = pa.table(
        {
            "tenant": pa.array([row["tenant"] for row in rows]),
            "amount": pa.array([Decimal(row["amount"]) for row in rows], MONEY),
        }
    )
    STREAMS["xlsx"](tmp_path / "c39.xlsx", table.to_reader())
    sheet = openpyxl.load_workbook(tmp_path / "c39.xlsx").active
    names, amounts = (list(column[1:]) for column in sheet.columns)
    assert not [cell for cell in names if cell.value[0] in "=+-@\t\r" or cell.data_type != "s"]
    assert [cell.value[1:] for cell in names] == [row["tenant"] for row in rows]
    assert sum(Decimal(str(cell.value)) for cell in amounts) == Decimal("13.30")
