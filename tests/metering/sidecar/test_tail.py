"""A folder of growing files, whatever happens to names and inodes. Times are monotonic seconds."""

import os
from pathlib import Path

import pytest

from metering.errors import SourceUnreadable
from metering.sidecar.cursor import FileMark
from metering.sidecar.tail import TailedFolder, TailEvent, TailLimits

ROWS = BYTES = 1_000_000


class Reader:
    """A folder under reading, with a clock that moves by hand."""

    def __init__(self, folder: Path, marks: list[FileMark] | None = None, **limits: float) -> None:
        all_limits = {"line_bytes": 200_000, "torn_seconds": 3600.0} | limits
        self.tail = TailedFolder(folder, "*.log", limits=TailLimits(**all_limits))
        self.now = 0.0
        self.tail.resume(marks or [], self.now)

    def lines(self, rows_max: int = ROWS) -> list[str]:
        """Everything that can be read now."""
        self.tail.scan(self.now)
        found: list[str] = []
        while (lines := self.tail.read(rows_max, BYTES, self.now)) is not None:
            found += [record.decode() for record, _, _ in lines]
        return found

    def restarted(self, folder: Path) -> "Reader":
        """A new process with the cursor that this one would have stored."""
        self.tail.close()
        return Reader(folder, self.tail.marks())


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def test_a_half_written_line_waits_for_its_end(tmp_path: Path) -> None:
    """By hand: 'b' has no line end yet, so only 'a' is read; then the whole of 'bc'."""
    reader = Reader(tmp_path)
    append(tmp_path / "1.log", "a\nb")
    assert reader.lines() == ["a"]
    append(tmp_path / "1.log", "c\n")
    assert reader.lines() == ["bc"]


def test_positions_name_file_and_byte(tmp_path: Path) -> None:
    """By hand: 'aa' at 0, a blank line at 3, 'b' at 4; carriage returns belong to the line end."""
    (tmp_path / "1.log").write_bytes(b"aa\n\nb\r\n")
    reader = Reader(tmp_path)
    reader.tail.scan(0.0)
    assert reader.tail.read(ROWS, BYTES, 0.0) == [
        (b"aa", "1.log:0", None),
        (b"b", "1.log:4", None),
    ]


def test_files_are_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    """Hourly names sort by time."""
    append(tmp_path / "m_10.log", "late\n")
    append(tmp_path / "m_09.log", "early\n")
    append(tmp_path / "other.txt", "no\n")
    assert Reader(tmp_path).lines() == ["early", "late"]


def test_rows_are_bounded(tmp_path: Path) -> None:
    """By hand: of three lines at most two at once, and the rest afterwards."""
    append(tmp_path / "1.log", "a\nb\nc\n")
    reader = Reader(tmp_path)
    reader.tail.scan(0.0)
    lengths = [len(reader.tail.read(2, BYTES, 0.0) or ()) for _ in range(3)]
    assert lengths == [2, 1, 0]


def test_a_restart_goes_on_where_the_cursor_is(tmp_path: Path) -> None:
    """Lines before the cursor are not read again; what came meanwhile is."""
    append(tmp_path / "1.log", "a\n")
    reader = Reader(tmp_path)
    assert reader.lines() == ["a"]
    append(tmp_path / "1.log", "b\n")
    assert reader.restarted(tmp_path).lines() == ["b"]


def test_an_engine_restart_appends_to_the_same_file(tmp_path: Path) -> None:
    """The same hour, the same file, a new writer: just more lines."""
    reader = Reader(tmp_path)
    for text in ("a\n", "b\n"):
        append(tmp_path / "1.log", text)
        reader.lines()
    assert reader.lines() == []
    assert reader.tail.events == []


def test_a_renamed_file_is_not_read_again(tmp_path: Path) -> None:
    """The inode is the file; an hour that repeats after a clock change only adds a name."""
    append(tmp_path / "1.log", "a\n")
    reader = Reader(tmp_path)
    reader.lines()
    (tmp_path / "1.log").rename(tmp_path / "1.old.log")
    append(tmp_path / "1.log", "b\n")
    assert reader.lines() == ["b"]


def test_a_file_deleted_under_the_reader_is_read_to_its_end(tmp_path: Path) -> None:
    """The writer still holds the deleted file; so does the reader."""
    reader = Reader(tmp_path)
    with (tmp_path / "1.log").open("w") as writer:
        writer.write("a\n")
        writer.flush()
        assert reader.lines() == ["a"]
        (tmp_path / "1.log").unlink()
        writer.write("b\n")
        writer.flush()
        assert reader.lines() == ["b"]
    assert reader.tail.events == [TailEvent("file_unlinked", "1.log", 0, "still held open")]


def test_a_file_moved_out_of_the_folder_is_read_to_its_end(tmp_path: Path) -> None:
    """Rotation by rename: the writer goes on in the moved file for a while."""
    folder = tmp_path / "engine"
    folder.mkdir()
    append(folder / "1.log", "a\n")
    reader = Reader(folder)
    reader.lines()
    (folder / "1.log").rename(tmp_path / "elsewhere")
    append(tmp_path / "elsewhere", "b\n")
    assert reader.lines() == ["b"]


def test_what_is_deleted_while_the_reader_is_away_is_counted(tmp_path: Path) -> None:
    """By hand: 'b\\n' was seen and not read: 2 bytes lost, said once."""
    append(tmp_path / "1.log", "a\nb\n")
    reader = Reader(tmp_path)
    reader.tail.scan(0.0)
    reader.tail.read(1, BYTES, 0.0)
    later = reader.restarted(tmp_path)
    (tmp_path / "1.log").unlink()
    later.lines()
    later.lines()
    assert [(e.name, e.lost_bytes) for e in later.tail.events] == [("lines_lost", 2)]


def test_a_file_cut_to_nothing_is_read_from_its_beginning(tmp_path: Path) -> None:
    """copytruncate: the same inode, shorter than what was read."""
    append(tmp_path / "1.log", "first line\n")
    reader = Reader(tmp_path)
    reader.lines()
    (tmp_path / "1.log").write_text("new\n")
    assert reader.lines() == ["new"]
    assert [event.name for event in reader.tail.events] == ["file_rewritten"]


def test_a_file_written_anew_beyond_the_offset_is_noticed(tmp_path: Path) -> None:
    """Longer than before but beginning otherwise: the offset would point into a stranger's line."""
    append(tmp_path / "1.log", "first\n")
    reader = Reader(tmp_path)
    reader.lines()
    later = reader.restarted(tmp_path)
    (tmp_path / "1.log").write_text("another beginning\nand more\n")
    assert later.lines() == ["another beginning", "and more"]


def test_cut_off_unread_lines_are_counted(tmp_path: Path) -> None:
    """By hand: 'a\\n' read, 'bb\\n' seen: 3 bytes lost when the file is cut."""
    append(tmp_path / "1.log", "a\nbb\n")
    reader = Reader(tmp_path)
    reader.tail.scan(0.0)
    reader.tail.read(1, BYTES, 0.0)
    os.truncate(tmp_path / "1.log", 0)
    reader.lines()
    assert [(e.name, e.lost_bytes) for e in reader.tail.events] == [("file_rewritten", 3)]


def test_a_reused_inode_is_a_new_file(tmp_path: Path) -> None:
    """The cursor's inode with another beginning: read from 0."""
    append(tmp_path / "1.log", "what is there now\n")
    inode = (tmp_path / "1.log").stat().st_ino
    mark = FileMark(inode, 5, 5, 1, 5, "0" * 16, "gone.log")
    assert Reader(tmp_path, [mark]).lines() == ["what is there now"]


def test_a_line_that_is_too_long_is_cut_and_said(tmp_path: Path) -> None:
    """By hand: 300,000 bytes against a limit of 200,000; 64 KiB are kept; the next line is read."""
    append(tmp_path / "1.log", "x" * 300_000 + "\nb\n")
    reader = Reader(tmp_path)
    reader.tail.scan(0.0)
    ((record, position, fault),) = reader.tail.read(ROWS, 1, 0.0) or ()
    assert (len(record), position) == (65_536, "1.log:0")
    assert fault == "300000 bytes; limits.line_bytes is 200000"
    assert reader.tail.read(ROWS, BYTES, 0.0) == [(b"b", "1.log:300001", None)]


def test_a_long_line_within_the_limit_is_whole(tmp_path: Path) -> None:
    """Lines of MBs (log probabilities) exceed one read of the file."""
    append(tmp_path / "1.log", "x" * 1_500_000 + "\n")
    assert [len(line) for line in Reader(tmp_path, line_bytes=2_000_000).lines()] == [1_500_000]


def test_a_long_line_in_the_making_waits(tmp_path: Path) -> None:
    """Its end is searched for only in what is new."""
    append(tmp_path / "1.log", "x" * 1_500_000)
    reader = Reader(tmp_path, line_bytes=2_000_000)
    assert reader.lines() == []
    append(tmp_path / "1.log", "y\n")
    assert [len(line) for line in reader.lines()] == [1_500_001]


def test_an_unfinished_line_is_taken_after_long_silence(tmp_path: Path) -> None:
    """Its writer died: after torn_seconds without a change the rest is a line of its own."""
    append(tmp_path / "1.log", "a\nrest")
    reader = Reader(tmp_path, torn_seconds=60.0)
    assert reader.lines() == ["a"]
    reader.now = 59.0
    assert reader.lines() == []
    reader.now = 61.0
    assert reader.lines() == ["rest"]


def test_an_unfinished_line_waits_anew_after_a_restart(tmp_path: Path) -> None:
    """The reader's own absence is no silence of the writer."""
    append(tmp_path / "1.log", "a\nhal")
    reader = Reader(tmp_path)
    reader.lines()
    later = reader.restarted(tmp_path)
    assert later.lines() == []
    append(tmp_path / "1.log", "f\n")
    assert later.lines() == ["half"]


def test_a_missing_folder_says_what_to_do(tmp_path: Path) -> None:
    """The message names the folder and the permission."""
    with pytest.raises(SourceUnreadable, match=r"absent: No such file.*read and search permission"):
        Reader(tmp_path / "absent").lines()


def test_thousands_of_files_do_not_use_up_the_descriptors(tmp_path: Path) -> None:
    """Engines never delete their files: 300 of them, 64 held open at most."""
    for number in range(300):
        (tmp_path / f"{number:03}.log").write_text(f"{number}\n")
    reader = Reader(tmp_path)
    assert reader.lines() == [str(number) for number in range(300)]
    reader.tail.scan(0.0)
    held = [file for file in reader.tail._files.values() if file.descriptor is not None]
    assert len(held) == 64


def test_several_writers_may_share_a_file(tmp_path: Path) -> None:
    """Each line is written at once; lines of two writers follow each other."""
    with (tmp_path / "1.log").open("a") as one, (tmp_path / "1.log").open("a") as two:
        for number in range(100):
            (one if number % 2 else two).write(f"{number}\n")
            (one if number % 2 else two).flush()
    assert len(Reader(tmp_path).lines()) == 100
