"""The documents' own examples, run as a reader would run them."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest


def blocks(page: str) -> list[tuple[str, str, str]]:
    """(line before, language, text) of every fenced block."""
    return re.findall(r"([^\n]*)\n\n```(\w+)\n(.*?)```", page, re.DOTALL)


@pytest.fixture
def started(root: Path, tmp_path: Path) -> tuple[str, Path]:
    """The text of docs/getting-started.md and a folder with the files that it shows."""
    page = (root / "docs/getting-started.md").read_text(encoding="utf-8")
    for before, _, text in blocks(page):
        if named := re.search(r"`([\w-]+\.\w+)`:$", before):
            (tmp_path / named.group(1)).write_text(text, encoding="utf-8")
    return page, tmp_path


def test_the_first_price_is_the_one_that_is_shown(started: tuple[str, Path]) -> None:
    """By hand: (1,216 × 8 + 10,944 × 2 + 350 × 28) ÷ 10⁶ = 0.041416; the page says the same."""
    page, folder = started
    command = re.search(r"^tokentill (rate .*)$", page, re.MULTILINE)
    assert command is not None
    done = subprocess.run(
        [sys.executable, "-m", "tokentill", *shlex.split(command.group(1))],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout in [text for _, language, text in blocks(page) if language == "text"]
    assert done.stdout.startswith("total  0.041416 CNY")


@pytest.mark.parametrize("page", ["README.md", "README.zh.md", "docs/architecture.md"])
def test_every_page_tells_the_same_money(root: Path, page: str) -> None:
    """By hand: p01 1,216 × 8 + 10,944 × 2 = 31,616; d03 350 × 28 = 9,800; together 41,416."""
    text = (root / page).read_text(encoding="utf-8")
    assert all(figure in text for figure in ("1,216", "10,944", "350", "0.041416"))
