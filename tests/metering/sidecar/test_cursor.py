"""Marks that survive a crash, and one sidecar per state folder."""

from pathlib import Path

import pytest

from metering.errors import SourceUnreadable
from metering.sidecar.cursor import CursorFile, FileMark, SpoolCursor, TailCursor
from metering.sidecar.lock import StateLock, StateLocked, is_locked

MARK = FileMark(2**63, 10, 20, 5, 10, "ab", "1.log")


def test_a_cursor_comes_back_as_it_was_stored(tmp_path: Path) -> None:
    """Inodes of 64 bits too."""
    file = CursorFile(tmp_path / "a.cursor")
    cursor = TailCursor([MARK], {"lines": 3}, "2026-11-30T00:00:00+00:00")
    file.save(cursor)
    assert file.load(TailCursor) == cursor


def test_before_the_first_delivery_a_cursor_is_empty(tmp_path: Path) -> None:
    """Everything is still to be read."""
    assert CursorFile(tmp_path / "a.cursor").load(SpoolCursor) == SpoolCursor()


def test_a_half_written_replacement_changes_nothing(tmp_path: Path) -> None:
    """A crash before the rename leaves the old cursor."""
    file = CursorFile(tmp_path / "a.cursor")
    file.save(SpoolCursor(3, 4))
    (tmp_path / "a.cursor.new").write_bytes(b'{"seg')
    assert file.load(SpoolCursor) == SpoolCursor(3, 4)


def test_a_damaged_cursor_says_what_to_do(tmp_path: Path) -> None:
    """Deleting it costs a resend, which the collector drops."""
    (tmp_path / "a.cursor").write_bytes(b"{")
    with pytest.raises(SourceUnreadable, match="Delete it"):
        CursorFile(tmp_path / "a.cursor").load(TailCursor)


def test_the_second_sidecar_is_told_who_is_first(tmp_path: Path) -> None:
    """The message names the process, the folder and the two ways out."""
    lock = StateLock(tmp_path)
    with pytest.raises(StateLocked, match=rf"process \d+\) already works on {tmp_path}"):
        StateLock(tmp_path, patience_seconds=0.0)
    assert is_locked(tmp_path)
    lock.close()
    assert not is_locked(tmp_path)
    StateLock(tmp_path).close()
