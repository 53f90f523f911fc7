"""`tokentill sidecar check`: what can be read, what the engine leaves out, who takes it."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from metering.errors import MeteringError
from metering.sidecar.agent import read_key
from metering.sidecar.batch import Gathered, LegReader
from metering.sidecar.clock import Clock
from metering.sidecar.config import SidecarConfig, SourceConfig
from metering.sidecar.followed import Line
from metering.sidecar.part import empty_legs
from metering.sidecar.scrape import fetch, format_of, samples
from metering.sidecar.ship import Shipper, Verdict
from metering.sidecar.tail import TailedFolder, TailLimits
from metering.sources import engine_flags, sglang_export, sglang_loads, vllm_stats

Level = Literal["ok", "warning", "error"]
SAMPLE_LINES: Final = 200
SAMPLE_BYTES: Final = 4 * 1024 * 1024
SKEW_SECONDS_MAX: Final = 5.0


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at. cost: what is lost as it is. remedy: what to do."""

    level: Level
    subject: str
    text: str
    cost: str = ""
    remedy: str = ""


def check(config: SidecarConfig, clock: Clock) -> list[Finding]:
    """Every finding, in the order of the configuration."""
    findings = list(_key(config))
    for source in config.source:
        findings += _scrape(source, config, clock) if source.is_scraped else _files(source, config)
    for url in config.collectors:
        findings += _collector(url, config, clock)
    return findings


def _key(config: SidecarConfig) -> Iterator[Finding]:
    if not config.key_file:
        return
    try:
        read_key(config)
        mode = Path(config.key_file).stat().st_mode
    except (MeteringError, OSError) as error:
        yield Finding("error", "key_file", str(error), "nothing can be sent")
        return
    if mode & (stat.S_IRGRP | stat.S_IROTH):
        yield Finding(
            "warning",
            "key_file",
            f"{config.key_file} can be read by others",
            "they can send usage as this node",
            f"chmod 600 {config.key_file}",
        )


def _files(source: SourceConfig, config: SidecarConfig) -> Iterator[Finding]:
    """Whether the folder can be read, and what its newest lines say."""
    tail = TailedFolder(
        Path(source.dir), source.glob, limits=TailLimits(config.limits.line_bytes, 3600.0)
    )
    try:
        tail.scan(0.0)
        newest = max(tail.marks(), key=lambda mark: mark.mtime_ns, default=None)
        if newest is None:
            yield Finding(
                "warning",
                source.name,
                f"no file matches {source.dir}/{source.glob}",
                "nothing is metered until the engine writes one",
                _how_to_write(source.kind),
            )
            return
        size = sum(mark.size for mark in tail.marks())
        text = f"{len(tail.marks())} files, {size} bytes, newest {newest.name}"
        yield Finding("ok", source.name, text)
        lines = last_lines(Path(source.dir) / newest.name)
    except (MeteringError, OSError) as error:
        yield Finding("error", source.name, str(error), "nothing is metered from here")
        return
    finally:
        tail.close()
    yield from _lines(source, config, lines)


def _lines(source: SourceConfig, config: SidecarConfig, lines: list[Line]) -> Iterator[Finding]:
    gathered = Gathered()
    reader = LegReader(source.kind, config.identity())
    reader.gather(lines, gathered)
    reader.finish(gathered)
    if gathered.rejects:
        yield Finding(
            "warning",
            source.name,
            f"{len(gathered.rejects)} of the last {len(lines)} lines cannot be read, "
            f"the last as {gathered.rejects[-1].decode()[:500]}",
            "they go to the quarantine",
        )
    for told in engine_flags.findings(source.kind, [line[0] for line in lines], config.identity()):
        level: Level = "error" if told.severity == "wrong" else "warning"
        yield Finding(level, source.name, f"{told.flag}: {told.severity}", told.cost, told.remedy)


def last_lines(path: Path) -> list[Line]:
    """The last complete lines of a file, at most SAMPLE_LINES of them."""
    with path.open("rb") as file:
        start = max(0, os.fstat(file.fileno()).st_size - SAMPLE_BYTES)
        file.seek(start)
        *complete, _ = file.read(SAMPLE_BYTES).split(b"\n")
    if start:
        complete = complete[1:]  # the first is cut
    return [(record, f"{path.name}:0", None) for record in complete[-SAMPLE_LINES:] if record]


def _how_to_write(kind: str) -> str:
    if kind == sglang_export.FORMAT:
        return (
            "start SGLang with --export-metrics-to-file --export-metrics-to-file-dir DIR "
            "--enable-metrics --log-requests --log-requests-level 1"
        )
    if kind == vllm_stats.FORMAT:
        return "pip install tokentill-vllm beside vLLM and set TOKENTILL_VLLM_DIR"
    return "look at the writer's own settings"


def _scrape(source: SourceConfig, config: SidecarConfig, clock: Clock) -> Iterator[Finding]:
    try:
        text = fetch(source)
        rows = samples(source, text, config.identity(), clock.utc())
    except MeteringError as error:
        yield Finding(
            "warning",
            source.name,
            str(error)[:500],
            "no samples: utilisation, energy and reconciliation stay unknown",
            "start SGLang with --enable-metrics" if source.kind == "metrics" else "",
        )
        return
    if not rows:
        yield Finding("warning", source.name, "the answer holds no sample", "no samples from here")
        return
    said = sorted({name for row in rows for name, value in row.items() if value is not None})
    yield Finding("ok", source.name, f"{format_of(source.kind, text)} gives {', '.join(said)}")
    if format_of(source.kind, text) == sglang_loads.FORMAT:
        yield from _engine(source, config, sglang_loads.engine_of(text))


def _engine(
    source: SourceConfig, config: SidecarConfig, engine: sglang_loads.Engine
) -> Iterator[Finding]:
    for key, said in (("stage", engine.stage), ("engine_version", engine.version)):
        told = getattr(config, key)
        if said and told and said != told:
            yield Finding(
                "error" if key == "stage" else "warning",
                source.name,
                f"the engine says {key} {said!r}, the configuration {told!r}",
                "usage is recorded under the wrong name",
                f'set {key} = "{said}"',
            )


def _collector(url: str, config: SidecarConfig, clock: Clock) -> Iterator[Finding]:
    try:
        shipper = Shipper((url,), lambda: read_key(config), ca_file=config.ca_file, clock=clock)
    except MeteringError as error:
        yield Finding("error", url, str(error), "nothing can be sent")
        return
    answer = shipper.post(empty_legs(), {"Tokentill-Node": config.node})
    shipper.close()
    if answer.verdict is not Verdict.DELIVERED:
        refused = answer.verdict is Verdict.KEY_REFUSED
        yield Finding(
            "error",
            url,
            f"{answer.status or 'no answer'}: {answer.detail}",
            "batches wait in the engine's files until it answers",
            "make a key with: tokentill keys create" if refused else "is tokentill serve running?",
        )
        return
    skew = shipper.collector_clock.skew_seconds
    yield Finding("ok", url, f"answers, takes the key; its clock is {skew or 0:+.1f} s from here")
    if skew is not None and abs(skew) > SKEW_SECONDS_MAX:
        yield Finding(
            "warning",
            url,
            f"the clocks differ by {skew:+.1f} s",
            "halves of a request finish in the wrong order",
            "synchronise the clocks (chrony, systemd-timesyncd)",
        )
    if url.startswith("http://") and not _is_loopback(url):
        yield Finding("warning", url, "is not TLS", "the key travels in clear", "use https://")


def _is_loopback(url: str) -> bool:
    return url.removeprefix("http://").startswith(("127.", "localhost", "[::1]"))
