"""A backup of both stores that is whole or is not there, and its way back.

The manifest is written last, so a folder without one is no backup. The ledger is copied before the
usage store: a month that the ledger calls closed is then always settled in the usage beside it.
"""

import hashlib
import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from metering.store.backup import back_up, row_counts, row_sums
from metering.store.connect import Store, open_store
from pricing.errors import Conflict, NotFound, StoreUnavailable
from pricing.exports.places import Folder, Place, is_bucket, place_of
from pricing.settings import Settings

MANIFEST: Final = "manifest.json"
LEDGER_FILE: Final = "ledger.sqlite"
SQLITE_PREFIX: Final = "sqlite:///"
STAGING: Final = "staging"  # of the home: backups on their way to or from a bucket
STEPS: Final = 3
CHUNK_BYTES: Final = 1 << 20
Progress = Callable[[int, int], None]  # steps done, steps to do


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupFile:
    """One file of a backup. rows: of each table; sums: of the hashes of a table's rows."""

    name: str
    sha256: str
    rows: dict[str, int]
    sums: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a backup holds. ledger: None where PostgreSQL keeps it, which has its own backups."""

    made_at: str
    usage: BackupFile
    ledger: BackupFile | None

    @property
    def files(self) -> list[str]:
        """Names of the files beside the manifest."""
        return [each.name for each in (self.ledger, self.usage) if each is not None]


def back_up_home(
    store: Store,
    settings: Settings,
    *,
    now: datetime,
    progress: Progress = lambda _done, _all: None,
) -> str:
    """Copy both stores during traffic; where they are now. `now`, UTC, names it.

    To a bucket they go by way of a folder in the home, the manifest last.
    """
    name = f"{now.astimezone(UTC):%Y%m%dT%H%M%SZ}"
    place = place_of(settings.backups_address).under(name)
    if isinstance(place, Folder):
        _fill(store, settings, place.path, now=now, progress=progress)
        return str(place)
    staging = settings.home / STAGING / name
    try:
        manifest = _fill(store, settings, staging, now=now, progress=progress)
        for file in (*manifest.files, MANIFEST):
            place.put(staging / file, file)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return str(place)


def _fill(
    store: Store, settings: Settings, folder: Path, *, now: datetime, progress: Progress
) -> Manifest:
    """A backup in a new folder: ledger, usage, manifest."""
    if (folder / MANIFEST).exists():
        raise Conflict(f"There is a backup {folder} already.", remedy="Wait a second.")
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    progress(0, STEPS)
    ledger = _copy_ledger(settings, folder)
    progress(1, STEPS)
    usage = back_up(store, folder, now)
    progress(2, STEPS)
    contents = _usage_contents(usage)
    manifest = Manifest(
        made_at=now.astimezone(UTC).isoformat(),
        usage=BackupFile(name=usage.name, sha256=_sha256(usage), **contents),
        ledger=ledger,
    )
    _write_durably(folder / MANIFEST, json.dumps(asdict(manifest), indent=1))
    progress(STEPS, STEPS)
    return manifest


def restore_home(address: str, settings: Settings) -> Manifest:
    """Put the stores of a backup into the home, whose own stores are kept beside them.

    The caller owns the home. Raises StoreUnavailable for a backup that is not whole: then the home
    is as it was.
    """
    if not is_bucket(address):
        return _restore_folder(Path(address), settings)
    staging = settings.home / STAGING / "restore"
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(parents=True, mode=0o700)
    try:
        _take_backup(place_of(address), staging)
        return _restore_folder(staging, settings)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _take_backup(place: Place, folder: Path) -> None:
    """Bring a backup from a bucket; what is missing there is missing here."""
    try:
        place.take(MANIFEST, folder / MANIFEST)
        for name in _manifest_of(folder).files:
            place.take(name, folder / name)
    except NotFound as error:
        raise StoreUnavailable(
            f"{place} holds no whole backup: {error}",
            remedy="Name an address that `tokentill db backup` printed.",
        ) from error


def _restore_folder(folder: Path, settings: Settings) -> Manifest:
    manifest = read_manifest(folder)
    targets = {manifest.usage.name: settings.usage_path}
    if manifest.ledger is not None:
        targets[manifest.ledger.name] = settings.home / LEDGER_FILE
    fresh = {}
    for name, target in targets.items():
        fresh[target] = target.with_name(target.name + ".restored")
        shutil.copyfile(folder / name, fresh[target])
    _check_contents(fresh[settings.usage_path], manifest.usage)
    for target, copy in fresh.items():
        for leftover in (target, *_logs_of(target)):
            if leftover.exists():
                leftover.rename(leftover.with_name(leftover.name + ".before-restore"))
        copy.rename(target)
    return manifest


def _check_contents(usage: Path, kept: BackupFile) -> None:
    """Count and sum the copy that will be the store."""
    if _usage_contents(usage) != {"rows": kept.rows, "sums": kept.sums}:
        usage.unlink()
        raise StoreUnavailable(
            f"{kept.name} holds other rows than the manifest says.", remedy="Use another backup."
        )


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a backup whose files are whole. Raises StoreUnavailable."""
    manifest = _manifest_of(folder)
    for kept in (manifest.usage, manifest.ledger):
        if kept is None:
            continue
        path = folder / kept.name
        if not path.is_file() or _sha256(path) != kept.sha256:
            raise StoreUnavailable(
                f"{path} is not what the manifest says.",
                remedy="It is missing, was changed or cut short: use another backup.",
            )
    return manifest


def _manifest_of(folder: Path) -> Manifest:
    """What the manifest says; the files are not looked at."""
    try:
        raw = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        ledger = BackupFile(**raw["ledger"]) if raw["ledger"] else None
        found = Manifest(made_at=raw["made_at"], usage=BackupFile(**raw["usage"]), ledger=ledger)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreUnavailable(
            f"{folder} holds no whole backup: {error}.",
            remedy="Name a folder that `tokentill db backup` printed.",
        ) from error
    if any(Path(name).name != name for name in found.files):
        raise StoreUnavailable(f"{folder} names files outside of it.")
    return found


def _copy_ledger(settings: Settings, folder: Path) -> BackupFile | None:
    """SQLite's own online backup: one snapshot, while others write."""
    if not settings.ledger_url.startswith(SQLITE_PREFIX):
        return None
    target = folder / LEDGER_FILE
    with (
        closing(sqlite3.connect(settings.ledger_url.removeprefix(SQLITE_PREFIX))) as source,
        closing(sqlite3.connect(target)) as copy,
    ):
        source.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")  # one file, without a log beside it
        if copy.execute("PRAGMA integrity_check").fetchone() != ("ok",):
            raise StoreUnavailable(f"The copy of the ledger in {folder} is damaged.")
        names = [
            name for (name,) in copy.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        rows = {name: _sqlite_count(copy, name) for name in names}
    return BackupFile(name=LEDGER_FILE, sha256=_sha256(target), rows=rows)


def _sqlite_count(connection: sqlite3.Connection, table: str) -> int:
    (count,) = connection.execute(f'SELECT count(*) FROM "{table}"').fetchone()  # noqa: S608 - a name of sqlite_master
    return int(count)


def _usage_contents(path: Path) -> dict[str, dict[str, int]]:
    """Rows, and the sum of the hashes of all rows, of each table of a usage store."""
    store = open_store(path)
    try:
        with store.cursor() as cursor:
            (own,) = cursor.execute("SELECT current_database()").fetchall()[0]
            return {"rows": row_counts(cursor, own), "sums": row_sums(cursor, own)}
    finally:
        store.close()


def _logs_of(path: Path) -> list[Path]:
    return [path.with_name(path.name + end) for end in (".wal", "-wal", "-shm")]


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def _write_durably(path: Path, text: str) -> None:
    partial = path.with_name(path.name + ".partial")
    with partial.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    partial.rename(path)
