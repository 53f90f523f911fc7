"""Places: folders and buckets of a real S3 server do the same; nothing half is ever seen."""

import signal
import subprocess
import sys
import time

import pytest

from pricing.errors import ConfigInvalid, NotFound, StoreUnavailable
from pricing.exports.places import Bucket, Folder, place_of

PUT = "import sys; from pathlib import Path; from pricing.exports.places import place_of; "
PUT += "print('go', flush=True); place_of(sys.argv[1]).put(Path(sys.argv[2]), 'big')"


def stored(place, name, tmp_path):
    """What a place holds under a name."""
    place.take(name, tmp_path / "taken")
    return (tmp_path / "taken").read_bytes()


def file_of(tmp_path, content, name="given"):
    """A file to put."""
    path = tmp_path / name
    path.write_bytes(content)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("size", [0, 5, 12_000_001])
def test_what_is_put_is_taken(place, tmp_path, size):
    """Empty, small, and in several parts; under a name with a slash."""
    content = bytes(range(251)) * (size // 251 + 1)
    place.put(file_of(tmp_path, content[:size]), "2026-10/a.csv")
    assert stored(place.under("2026-10"), "a.csv", tmp_path) == content[:size]


@pytest.mark.slow
def test_a_second_put_replaces_and_remove_removes(place, tmp_path):
    """Also what is not there can be removed."""
    for content in (b"first", b"second"):
        place.put(file_of(tmp_path, content), "a")
    assert stored(place, "a", tmp_path) == b"second"
    for _ in range(2):
        place.remove("a")
    with pytest.raises(NotFound, match="There is no"):
        stored(place, "a", tmp_path)


@pytest.mark.slow
def test_a_killed_put_leaves_the_whole_file_or_none(place, tmp_path):
    """SIGKILL 0 to 200 ms into a put of 48 MB over an older file: the old one, or the new one."""
    place.put(file_of(tmp_path, b"old"), "big")
    new = file_of(tmp_path, bytes(48_000_000))
    for delay_seconds in (0, 0.02, 0.05, 0.1, 0.2):
        command = [sys.executable, "-c", PUT, str(place), str(new)]
        child = subprocess.Popen(command, stdout=subprocess.PIPE)
        child.stdout.readline()
        time.sleep(delay_seconds)
        child.send_signal(signal.SIGKILL)
        child.communicate()
        assert stored(place, "big", tmp_path) in (b"old", new.read_bytes())


@pytest.mark.slow
def test_wrong_credentials_are_named_and_not_shown(s3, monkeypatch, tmp_path):
    """403 of the server: what failed, and neither key."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong-and-secret")
    with pytest.raises(StoreUnavailable) as raised:
        place_of("s3://tokentill/x").put(file_of(tmp_path, b"1"), "a")
    words = str(raised.value)
    assert "s3://tokentill/x cannot be used" in words
    assert "wrong-and-secret" not in words
    assert s3.secret not in words


def test_a_folder_that_cannot_be_written(tmp_path):
    """A file is in its place."""
    file = file_of(tmp_path, b"1")
    with pytest.raises(StoreUnavailable, match="cannot be used"):
        place_of(file).put(file, "a")


def test_addresses():
    """A path is a folder; s3:// is a bucket and a prefix."""
    assert place_of("exports") == Folder(place_of("exports").path)
    assert place_of("s3://books/a/b/") == Bucket("books", "a/b")
    assert str(place_of("s3://books").under("2026-10")) == "s3://books/2026-10"


@pytest.mark.parametrize(
    "address",
    ["s3://key:secret@books/a", "s3://books?secret=1", "s3://", "gs://books", "s3://B o"],
)
def test_an_address_holds_no_secret_and_is_never_repeated(address):
    """Credentials come from the environment: an address that may hold one is not printed."""
    with pytest.raises(ConfigInvalid) as raised:
        place_of(address)
    assert "secret" not in str(raised.value)
