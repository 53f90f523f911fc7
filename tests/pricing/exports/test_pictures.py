"""The pictures of documents in docs/finance: made by the script beside them, small, and shown."""

import io
import subprocess
import sys

import pytest
from pypdf import PdfReader

from pricing.exports.invoice_pdf import invoice_pages, invoice_pdf
from tests.pricing.exports.test_documents import LINES, invoice

BYTES_MAX = 150_000


def test_pictures_of_a_document_are_its_pages():
    """The same source: as many PNG pages as the PDF has, of A4 at 40 pixels an inch (331 × 468)."""
    found, lines = invoice(), LINES * 40
    pages = invoice_pages(found, lines, pixels_per_inch=40)
    assert len(pages) == len(PdfReader(io.BytesIO(invoice_pdf(found, lines))).pages) > 1
    for page in pages:
        assert page.startswith(b"\x89PNG\r\n\x1a\n")
        assert [int.from_bytes(page[at : at + 4]) for at in (16, 20)] == [331, 468]


def test_every_picture_is_small_and_shown(root):
    """A page of documentation that loads; no picture that nobody sees."""
    text = (root / "docs/finance/month.md").read_text("utf-8")
    for path in (root / "docs/finance").glob("*.png"):
        assert path.stat().st_size < BYTES_MAX
        assert f"({path.name})" in text


@pytest.mark.slow
def test_the_script_takes_each_picture_there_is(root, tmp_path):
    """Two months closed, credited, re-rated and disputed by the product, as pictures."""
    script = root / "docs/pictures/documents.py"
    subprocess.run([sys.executable, script, "--folder", tmp_path], check=True, capture_output=True)
    made, kept = (
        {path.name for path in folder.glob("*.png")} for folder in (tmp_path, root / "docs/finance")
    )
    assert made == kept
