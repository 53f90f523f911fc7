"""`tokentill sidecar status`: how far the sidecar is, from its state folder; it need not run."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from metering.errors import SourceUnreadable
from metering.sidecar.agent import HEALTH_FILE
from metering.sidecar.config import SidecarConfig, SourceConfig
from metering.sidecar.cursor import CursorFile, TailCursor
from metering.sidecar.health import Health
from metering.sidecar.lock import is_locked
from metering.sidecar.rejected import RejectedFolder
from metering.sidecar.tail import TailedFolder, TailLimits


def status(config: SidecarConfig, now: datetime) -> dict[str, Any]:
    """The state as plain values. now: aware UTC."""
    state_dir = Path(config.state_dir)
    health = _health(state_dir / HEALTH_FILE)
    rejected = RejectedFolder(state_dir / "rejected", config.limits.rejected_bytes)
    told = {source.name: source for source in health.sources} if health else {}
    sources = []
    for source in config.source:
        entry: dict[str, Any] = {"name": source.name, "kind": source.kind}
        if not source.is_scraped:
            entry |= _file_source(source, state_dir, now)
        if source.name in told:
            entry["trouble"] = told[source.name].trouble
        sources.append(entry)
    if "samples" in told:
        sources.append({"name": "samples", "kind": "spool", **msgspec.to_builtins(told["samples"])})
    return {
        "node": config.node,
        "stage": config.stage,
        "running": is_locked(state_dir),
        "seen_at": health.at if health else None,
        "collector": health.collector if health else None,
        "watermark_at": health.watermark_at if health else None,
        "clock_skew_seconds": health.clock_skew_seconds if health else None,
        "rejected_files": [str(path) for path in rejected.files()],
        "sources": sources,
    }


def _health(path: Path) -> Health | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Health)
    except (OSError, msgspec.DecodeError):
        return None


def _file_source(source: SourceConfig, state_dir: Path, now: datetime) -> dict[str, Any]:
    """Cursor and lag of a folder, from the durable cursor and the files as they are now."""
    cursor = CursorFile(state_dir / f"{source.name}.cursor").load(TailCursor)
    tail = TailedFolder(Path(source.dir), source.glob, limits=TailLimits(1, 1.0))
    tail.resume(cursor.files, 0.0)
    try:
        tail.scan(0.0)
    except SourceUnreadable as error:
        return {"trouble": str(error)}
    finally:
        tail.close()
    behind = [mark for mark in tail.marks() if mark.size > mark.offset]
    delivered_at = datetime.fromisoformat(cursor.delivered_at) if cursor.delivered_at else None
    newest = max((mark.mtime_ns for mark in behind), default=None)
    lag = None if newest is None else (now - datetime.fromtimestamp(newest / 1e9, UTC))
    if behind and delivered_at:
        lag = now - delivered_at
    return {
        "lag_bytes": sum(mark.size - mark.offset for mark in behind),
        "lag_seconds": round(lag.total_seconds(), 1) if lag else 0.0,
        "delivered_at": cursor.delivered_at,
        "totals": cursor.totals,
        "files": [
            {"name": mark.name, "offset": mark.offset, "size": mark.size} for mark in behind[:20]
        ],
    }
