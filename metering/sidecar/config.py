"""The sidecar's one file: what it reads beside the engine, and where it sends it (docs/sidecar.md).

Every key can also be set in the environment: TOKENTILL_SIDECAR_NODE, TOKENTILL_SIDECAR_KEY,
TOKENTILL_SIDECAR_LIMITS_BATCH_ROWS …; lists are separated by commas.
"""

import difflib
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import msgspec

from metering.errors import ConfigInvalid
from metering.sources import METRICS_PARSERS, PARSERS
from metering.sources.record import NodeIdentity

ENVIRONMENT_PREFIX: Final = "TOKENTILL_SIDECAR_"
# Kubernetes puts the address of every Service into the environment of each container; a Service
# named tokentill-sidecar must not look like a misspelt setting.
_SERVICE_LINK: Final = re.compile(r"(SERVICE_(HOST|PORT\w*)|PORT(_\d+_(TCP|UDP|SCTP)\w*)?)$")
_HEADER_TEXT: Final = re.compile(r"[\x21-\x7e]([\x20-\x7e]{0,510}[\x21-\x7e])?")
_SOURCE_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

MEBIBYTE: Final = 1024 * 1024

Positive = Annotated[int, msgspec.Meta(ge=1)]
Seconds = Annotated[float, msgspec.Meta(gt=0, le=86_400)]
Port = Annotated[int, msgspec.Meta(ge=0, le=65_535)]

# metrics: SGLang's or vLLM's, told apart by what it says. loads: SGLang's /v1/loads.
SCRAPED_KINDS: Final = ("metrics", "loads", *METRICS_PARSERS)
GLOBS: Final[Mapping[str, str]] = {  # the names that each engine gives its files
    "sglang_export": "sglang-request-metrics-*.log",
    "sglang_request_log": "*.log",
    "vllm_stats": "tokentill-vllm-*.jsonl",
}


class _Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the file."""


class SourceConfig(_Table, frozen=True):
    """One thing to read. kind: a format of metering.sources (a file), or a kind of scrape."""

    kind: str
    name: str = ""
    dir: str = ""
    glob: str = ""
    url: str = ""
    command: tuple[str, ...] = ()
    interval_seconds: Seconds = 15.0
    timeout_seconds: Seconds = 5.0

    @property
    def is_scraped(self) -> bool:
        """Whether the source is asked on an interval, rather than read as a file."""
        return self.kind in SCRAPED_KINDS


class LabelsConfig(_Table, frozen=True):
    """Which of the engine's custom labels name the owner."""

    tenant: str = "tenant"
    project: str = "project"
    api_key: str = "api_key_id"
    service_tier: str | None = None


class LimitsConfig(_Table, frozen=True):
    """Bounds: what a batch, a line and the disk may take, and how often things happen."""

    batch_rows: Positive = 4_000
    batch_bytes: Positive = 8 * MEBIBYTE  # of lines as the engine wrote them
    line_bytes: Annotated[int, msgspec.Meta(ge=1024)] = 16 * MEBIBYTE
    spool_bytes: Annotated[int, msgspec.Meta(ge=4096)] = 64 * MEBIBYTE
    rejected_bytes: Annotated[int, msgspec.Meta(ge=4096)] = 256 * MEBIBYTE
    poll_seconds: Seconds = 1.0
    watermark_seconds: Seconds = 5.0
    health_seconds: Seconds = 60.0
    retry_seconds: Seconds = 0.5  # first wait after a failed attempt; doubles
    retry_seconds_max: Seconds = 60.0
    key_retry_seconds: Seconds = 60.0  # between attempts while the key is refused
    stop_seconds: Seconds = 10.0  # to send what is there after SIGTERM
    torn_seconds: Seconds = 3_600.0  # an unfinished last line older than this is taken as it is


class SidecarConfig(_Table, frozen=True):
    """The whole file, validated; docs/sidecar.md explains each key."""

    node: str
    stage: Literal["prefill", "decode", "unified", "gateway"]
    model: str
    state_dir: str
    collectors: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    source: Annotated[tuple[SourceConfig, ...], msgspec.Meta(min_length=1)]
    pool: str | None = None
    instance: str | None = None
    hardware: str | None = None
    engine: str | None = None
    engine_version: str | None = None
    region: str | None = None
    timezone: str = "UTC"
    key: str = ""
    key_file: str = ""
    ca_file: str = ""
    metrics_port: Port = 0  # 0: none; else Prometheus metrics on 127.0.0.1
    labels: LabelsConfig = LabelsConfig()
    limits: LimitsConfig = LimitsConfig()

    def identity(self) -> NodeIdentity:
        """What parsers add to each line."""
        return NodeIdentity(
            node_id=self.node,
            stage=self.stage,
            model_id=self.model,
            pool=self.pool,
            instance_id=self.instance,
            engine=self.engine,
            engine_version=self.engine_version,
            region=self.region,
            tenant_label=self.labels.tenant,
            project_label=self.labels.project,
            api_key_label=self.labels.api_key,
            service_tier_label=self.labels.service_tier,
        )


def read_config(path: Path, environment: Mapping[str, str]) -> SidecarConfig:
    """The configuration in `path`, with what `environment` sets on top of it.

    Raises ConfigInvalid naming the file, the key and what to write instead.
    """
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigInvalid(
            f"Cannot read {path}: {error.strerror}. Write it as docs/sidecar.md shows."
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigInvalid(f"{path} is not TOML: {error}") from error
    try:
        return parse_config(raw, environment)
    except ConfigInvalid as error:
        raise ConfigInvalid(f"{path}: {error}") from error


def parse_config(raw: dict[str, Any], environment: Mapping[str, str]) -> SidecarConfig:
    """A validated configuration from the tables of the file and the environment."""
    raw = dict(raw)
    if "role" in raw:  # the engines' own word for it
        raw.setdefault("stage", raw.pop("role"))
    _require_known_keys(raw)
    _apply_environment(raw, environment)
    try:
        config = msgspec.convert(raw, SidecarConfig, strict=False)
    except msgspec.ValidationError as error:
        raise ConfigInvalid(str(error).replace("$.", "").replace("Object", "The file")) from error
    return _checked(config)


def _field_names(table: type[_Table]) -> tuple[str, ...]:
    return table.__struct_fields__


def _require_known_keys(raw: Mapping[str, Any]) -> None:
    places: list[tuple[str, Any, type[_Table]]] = [("", raw, SidecarConfig)]
    places += [(f"{t}.", raw.get(t), _TABLES[t]) for t in _TABLES]
    sources = raw.get("source")
    if isinstance(sources, list):
        places += [(f"source[{i}].", table, SourceConfig) for i, table in enumerate(sources)]
    for prefix, table, kind in places:
        for key in table if isinstance(table, Mapping) else ():
            if key not in _field_names(kind):
                raise ConfigInvalid(_unknown(f"key {prefix}{key!r}", key, _field_names(kind)))


_TABLES: Final[Mapping[str, type[_Table]]] = {"labels": LabelsConfig, "limits": LimitsConfig}


def _unknown(place: str, key: str, known: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    hint = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(known)}."
    return f"{place} is not known. {hint}"


def _apply_environment(raw: dict[str, Any], environment: Mapping[str, str]) -> None:
    """Put TOKENTILL_SIDECAR_… over the file's values."""
    settings: dict[str, tuple[str, ...]] = {
        f.upper(): (f,) for f in _field_names(SidecarConfig) if f not in {"source", *_TABLES}
    }
    for table, kind in _TABLES.items():
        settings |= {f"{table}_{f}".upper(): (table, f) for f in _field_names(kind)}
    for variable, text in environment.items():
        name = variable.removeprefix(ENVIRONMENT_PREFIX)
        if name == variable or _SERVICE_LINK.match(name) or name == "CONFIG":
            continue
        if name not in settings:
            raise ConfigInvalid(_unknown(f"environment variable {variable}", name, tuple(settings)))
        *table_path, field = settings[name]
        value: Any = [part.strip() for part in text.split(",")] if field == "collectors" else text
        for table in table_path:
            raw[table] = dict(raw.get(table) or {})
        (raw[table_path[0]] if table_path else raw)[field] = value


def _checked(config: SidecarConfig) -> SidecarConfig:
    """The rules that types cannot say; sources get their names and globs."""
    for name in ("node", "pool"):
        value = getattr(config, name)
        if value is not None and not _HEADER_TEXT.fullmatch(value):
            raise ConfigInvalid(
                f"{name} travels as an HTTP header: write 1 to 512 printable ASCII characters, "
                f"not {value!r}"
            )
    if not config.model:
        raise ConfigInvalid("model is empty: write the name under which the engine serves")
    for url in config.collectors:
        _require_url("collectors", url)
    if bool(config.key) == bool(config.key_file):
        raise ConfigInvalid("set either key_file (a file that holds the node's key) or key")
    try:
        ZoneInfo(config.timezone)
    except (OSError, ValueError, KeyError) as error:
        raise ConfigInvalid(
            f"timezone {config.timezone!r} is unknown; write a name such as 'Asia/Shanghai'"
        ) from error
    sources = tuple(_named(source) for source in config.source)
    names = [source.name for source in sources]
    for name in names:
        if names.count(name) > 1:
            raise ConfigInvalid(f"two sources are named {name!r}: give each [[source]] its name")
    return msgspec.structs.replace(config, source=sources)


def _require_url(key: str, url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ConfigInvalid(f"{key}: expected an http:// or https:// address, got {url!r}")


def _named(source: SourceConfig) -> SourceConfig:
    """`source` with its defaults filled in, once it says where to read."""
    name = source.name or source.kind
    if not _SOURCE_NAME.fullmatch(name):
        raise ConfigInvalid(f"source name {name!r}: use letters, digits, '.', '_' and '-'")
    kinds = (*PARSERS, *SCRAPED_KINDS)
    if source.kind not in kinds:
        raise ConfigInvalid(_unknown(f"source kind {source.kind!r}", source.kind, kinds))
    if source.kind == "mthreads_gmi":
        command = source.command or ("mthreads-gmi", "-q", "-j")
        return msgspec.structs.replace(source, name=name, command=command)
    if source.is_scraped:
        _require_url(f"source {name!r}: url", source.url)
        return msgspec.structs.replace(source, name=name)
    if not source.dir:
        raise ConfigInvalid(f"source {name!r}: a file source needs dir, the folder to read")
    glob = source.glob or GLOBS.get(source.kind, "*.jsonl")
    if "/" in glob:
        raise ConfigInvalid(f"source {name!r}: glob names files inside dir, without '/'")
    return msgspec.structs.replace(source, name=name, glob=glob)
