"""Where exports and backups go: a folder, or a prefix of a bucket that speaks S3.

A file appears under its name whole or not at all: in a folder it is written beside its place and
renamed, in a bucket an upload is seen only once it is complete. Credentials come from the
environment alone (AWS_ACCESS_KEY_ID and so on, docs/operating.md), never from an address.
"""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

from pricing.errors import ConfigInvalid, NotFound, StoreUnavailable

S3: Final = "s3://"
BUCKET: Final = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
REMEDY: Final = "Write s3://bucket or s3://bucket/prefix; keys belong into the environment."


class Place(Protocol):
    """Files by name; a name may hold slashes."""

    def put(self, file: Path, name: str) -> None:
        """Store a file, in the place of one of that name. Raises StoreUnavailable."""

    def take(self, name: str, file: Path) -> None:
        """Write what is stored to `file`. Raises NotFound, StoreUnavailable."""

    def remove(self, name: str) -> None:
        """Remove what is stored, if it is. Raises StoreUnavailable."""

    def under(self, name: str) -> "Place":
        """The place below `name`."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of this machine."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)

    def put(self, file: Path, name: str) -> None:
        """Copy, make it durable, rename."""
        target = self.path / name
        partial = target.with_name(target.name + ".partial")
        with _explained(self):
            target.parent.mkdir(parents=True, exist_ok=True)
            with file.open("rb") as source, partial.open("wb") as copy:
                shutil.copyfileobj(source, copy)
                copy.flush()
                os.fsync(copy.fileno())
            partial.replace(target)

    def take(self, name: str, file: Path) -> None:
        """Copy."""
        with _explained(self, name):
            shutil.copyfile(self.path / name, file)

    def remove(self, name: str) -> None:
        """Unlink."""
        with _explained(self):
            (self.path / name).unlink(missing_ok=True)

    def under(self, name: str) -> "Folder":
        """A folder in it."""
        return Folder(self.path / name)


@dataclass(frozen=True, slots=True)
class Bucket:
    """A prefix of a bucket; endpoint, region and credentials as AWS_… variables say."""

    name: str
    prefix: str = ""

    def __str__(self) -> str:
        return "/".join(filter(None, (f"{S3}{self.name}", self.prefix)))

    def put(self, file: Path, name: str) -> None:
        """Upload; a large file in parts, which are seen once the last one has been confirmed."""
        with _explained(self):
            obstore.put(self._store(), name, file)

    def take(self, name: str, file: Path) -> None:
        """Download."""
        with _explained(self, name), file.open("wb") as copy:
            for chunk in obstore.get(self._store(), name).stream():
                copy.write(chunk)

    def remove(self, name: str) -> None:
        """Delete."""
        with _explained(self):
            obstore.delete(self._store(), name)

    def under(self, name: str) -> "Bucket":
        """A longer prefix."""
        return Bucket(self.name, "/".join(filter(None, (self.prefix, name))))

    def _store(self) -> S3Store:
        return S3Store(self.name, prefix=self.prefix or None)


def place_of(address: str | Path) -> Place:
    """A folder, or s3://bucket/prefix. Raises ConfigInvalid for any other address."""
    text = str(address)
    if "://" not in text:
        return Folder(Path(text))
    parts = urlsplit(text)
    is_plain = not (parts.query or parts.fragment or "@" in parts.netloc)
    if parts.scheme != "s3" or not is_plain or not BUCKET.fullmatch(parts.netloc):
        raise ConfigInvalid("An address of a bucket cannot be used.", remedy=REMEDY)
    return Bucket(parts.netloc, parts.path.strip("/"))


def is_bucket(address: str | Path) -> bool:
    """Whether an address is one of a bucket."""
    return str(address).startswith(S3)


@contextmanager
def _explained(place: Place, wanted: str | None = None) -> Iterator[None]:
    """What a place's failures mean. wanted: the name that is read."""
    try:
        yield
    except (OSError, BaseError) as error:
        if wanted is not None and isinstance(error, FileNotFoundError):
            raise NotFound(f"There is no {place}/{wanted}.") from error
        words = str(error).partition("\n")[0]  # what follows are the library's internals
        raise StoreUnavailable(
            f"{place} cannot be used: {words}.",
            remedy="Check that it is there, and that this process may write to it.",
        ) from error
