"""The bounded queue on disk."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from metering.sidecar.spool import Place, Spool

START = Place(0, 0)


def spool(folder: Path, bytes_max: int = 1_000_000, delivered: Place = START) -> Spool:
    return Spool(folder, bytes_max, delivered)


def test_records_come_out_in_order(tmp_path: Path) -> None:
    """By hand: two of three, then the third from the place behind them."""
    queue = spool(tmp_path)
    for record in (b"a", b"b", b"c"):
        queue.append(record)
    records, place = queue.read(START, 2)
    assert records == [b"a", b"b"]
    assert queue.read(place, 2)[0] == [b"c"]


def test_a_restart_reads_what_was_not_acknowledged(tmp_path: Path) -> None:
    """The place kept by the cursor is where a new process goes on."""
    queue = spool(tmp_path)
    queue.append(b"a")
    _, place = queue.read(START, 10)
    queue.append(b"b")
    later = spool(tmp_path, delivered=place)
    later.append(b"c")
    assert later.read(place, 10)[0] == [b"b", b"c"]


def test_acknowledged_segments_are_deleted(tmp_path: Path) -> None:
    """Disk use goes back once all is delivered; new records are still found."""
    queue = spool(tmp_path, bytes_max=800)
    for number in range(10):
        queue.append(b"%050d" % number)
    _, place = queue.read(START, 100)
    queue.acknowledge(place)
    assert len(list(tmp_path.iterdir())) == 1
    queue.append(b"new")
    assert queue.read(place, 10)[0] == [b"new"]
    assert queue.pending_bytes(place) == len(b"new") + 8


def test_new_records_are_found_after_everything_was_deleted(tmp_path: Path) -> None:
    """Segments are numbered on from the cursor, or a reader would wait behind them for ever."""
    later = spool(tmp_path, delivered=Place(7, 120))
    later.append(b"a")
    assert later.read(Place(7, 120), 10)[0] == [b"a"]


@pytest.mark.parametrize("cut", [1, 5, 9])
def test_a_torn_tail_is_ignored(tmp_path: Path, cut: int) -> None:
    """By hand: frames of 8 + 4 bytes; any cut into the second leaves the first and what follows."""
    queue = spool(tmp_path)
    queue.append(b"1111")
    queue.append(b"2222")
    (segment,) = tmp_path.iterdir()
    os.truncate(segment, 24 - cut)
    later = spool(tmp_path)
    later.append(b"3333")
    assert later.read(START, 10)[0] == [b"1111", b"3333"]


def test_a_flipped_bit_is_no_record(tmp_path: Path) -> None:
    """The checksum does not match; nothing behind it in that file is trusted."""
    queue = spool(tmp_path)
    queue.append(b"1111")
    (segment,) = tmp_path.iterdir()
    segment.write_bytes(segment.read_bytes().replace(b"1111", b"1121"))
    assert queue.read(START, 10)[0] == []


def test_beyond_its_size_the_oldest_are_dropped_and_counted(tmp_path: Path) -> None:
    """What is kept plus what is counted as dropped is what was appended: 100."""
    queue = spool(tmp_path, bytes_max=1_000)
    for number in range(100):
        queue.append(b"%030d" % number)
    records, _ = queue.read(START, 1_000)
    assert records[-1] == b"%030d" % 99
    assert len(records) + queue.dropped_records == 100
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 1_000


def test_delivered_records_are_not_counted_as_dropped(tmp_path: Path) -> None:
    """The oldest segment was half delivered: only its other half is a loss."""
    queue = spool(tmp_path, bytes_max=1_000)
    for number in range(3):
        queue.append(b"%030d" % number)
    _, place = queue.read(START, 2)
    queue.acknowledge(place)
    for number in range(3, 60):
        queue.append(b"%030d" % number)
    records, _ = queue.read(place, 1_000)
    assert len(records) + queue.dropped_records == 58


FILL = """
import sys
from pathlib import Path
from metering.sidecar.spool import Place, Spool
queue = Spool(Path(sys.argv[1]), 1_000_000, Place(0, 0))
refused = 0
for number in range(100):
    try:
        queue.append(b"%050d" % number)
    except OSError:
        refused += 1
print(len(queue.read(Place(0, 0), 1000)[0]), refused)
"""


def test_a_full_disk_refuses_records_and_harms_none(tmp_path: Path, root: Path) -> None:
    """By hand: 1,000 bytes a file hold 17 frames of 58 bytes; the other 83 are refused."""
    done = subprocess.run(
        [sys.executable, "-c", FILL, str(tmp_path / "spool")],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, 1_000)),
    )
    assert done.stdout.split() == ["17", "83"]
