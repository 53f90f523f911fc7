"""A backup of both stores that is whole or is not there, and its way back.

The manifest is written last, so a folder without one is no backup. The ledger is copied before the
usage store: a month that the ledger calls closed is then always settled in the usage beside it.
"""

import hashlib
import json
import os
import shutil
import sqlite3
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from metering.store.backup import back_up, row_counts
from metering.store.connect import Store, open_store
from pricing.errors import Conflict, StoreUnavailable
from pricing.settings import Settings

MANIFEST: Final = "manifest.json"
LEDGER_FILE: Final = "ledger.sqlite"
SQLITE_PREFIX: Final = "sqlite:///"
CHUNK_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupFile:
    """One file of a backup. rows: of each table."""

    name: str
    sha256: str
    rows: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a backup holds. ledger: None where PostgreSQL keeps it, which has its own backups."""

    made_at: str
    usage: BackupFile
    ledger: BackupFile | None


def back_up_home(store: Store, settings: Settings, *, now: datetime) -> Path:
    """Copy both stores during traffic into a new folder; `now`, UTC, names it."""
    folder = settings.backups_folder / f"{now.astimezone(UTC):%Y%m%dT%H%M%SZ}"
    if (folder / MANIFEST).exists():
        raise Conflict(f"There is a backup {folder} already.", remedy="Wait a second.")
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    ledger = _copy_ledger(settings, folder)
    usage = back_up(store, folder, now)
    rows = _usage_rows(usage)
    manifest = Manifest(
        made_at=now.astimezone(UTC).isoformat(),
        usage=BackupFile(name=usage.name, sha256=_sha256(usage), rows=rows),
        ledger=ledger,
    )
    _write_durably(folder / MANIFEST, json.dumps(asdict(manifest), indent=1))
    return folder


def restore_home(folder: Path, settings: Settings) -> Manifest:
    """Put the stores of a backup into the home, whose own stores are kept beside them.

    The caller owns the home. Raises StoreUnavailable for a backup that is not whole: then the home
    is as it was.
    """
    manifest = read_manifest(folder)
    targets = {manifest.usage.name: settings.usage_path}
    if manifest.ledger is not None:
        targets[manifest.ledger.name] = settings.home / LEDGER_FILE
    fresh = {}
    for name, target in targets.items():
        fresh[target] = target.with_name(target.name + ".restored")
        shutil.copyfile(folder / name, fresh[target])
    for target, copy in fresh.items():
        for leftover in (target, *_logs_of(target)):
            if leftover.exists():
                leftover.rename(leftover.with_name(leftover.name + ".before-restore"))
        copy.rename(target)
    return manifest


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a backup whose files are whole. Raises StoreUnavailable."""
    try:
        raw = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        files = {
            part: BackupFile(**raw[part]) if raw[part] else None for part in ("usage", "ledger")
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreUnavailable(
            f"{folder} holds no whole backup: {error}.",
            remedy="Name a folder that `tokentill db backup` printed.",
        ) from error
    for kept in files.values():
        if kept is not None and _sha256(folder / kept.name) != kept.sha256:
            raise StoreUnavailable(
                f"{folder / kept.name} is not what the manifest says.",
                remedy="It was changed or cut short: use another backup.",
            )
    usage = files["usage"]
    if usage is None:
        raise StoreUnavailable(f"{folder} holds no usage store.", remedy="Use another backup.")
    return Manifest(made_at=raw["made_at"], usage=usage, ledger=files["ledger"])


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


def _usage_rows(path: Path) -> dict[str, int]:
    store = open_store(path)
    try:
        with store.cursor() as cursor:
            (own,) = cursor.execute("SELECT current_database()").fetchall()[0]
            return row_counts(cursor, own)
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
