"""Configuration: tokentill.toml, and each key as TOKENTILL_SECTION_KEY (docs/configuration.md).

The environment wins over the file, the file over the defaults. Of --config, ./tokentill.toml and
/etc/tokentill/tokentill.toml the first that is named or exists is read, and no other.
"""

import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from pricing.errors import ConfigInvalid

# not ours to judge: the sidecar's own settings, and what Kubernetes sets for a service "tokentill"
FOREIGN_PREFIXES = ("TOKENTILL_SIDECAR_", "TOKENTILL_SERVICE_", "TOKENTILL_PORT")
PLACES = (Path("tokentill.toml"), Path("/etc/tokentill/tokentill.toml"))
ONE_WORKER = (
    "exactly one process may own the usage store (DuckDB lets no second one open it), so there is "
    "one worker; it spreads reads over store.readers threads. Set 1, or leave it out"
)


class Section(BaseModel):
    """A table of tokentill.toml; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ServerSettings(Section):
    """[server]: the API."""

    host: str = Field(
        default="127.0.0.1", description="address to listen on; loopback unless you say so"
    )
    port: int = Field(
        default=8080, ge=0, le=65535, description="port of the API; 0 takes a free one"
    )
    workers: int = Field(default=1, description="always 1: one process owns the usage store")
    tls_certificate: Path | None = Field(
        default=None, description="PEM file; with tls_key it turns TLS on"
    )
    tls_key: Path | None = Field(default=None, description="PEM file of the private key")
    body_bytes_max: int = Field(
        default=32 << 20, ge=1024, description="largest request body, in bytes"
    )
    requests_per_second_max: int = Field(
        default=100, ge=1, description="rate limit of one key, requests per second"
    )
    drain_seconds_max: int = Field(
        default=20, ge=1, description="longest wait for open work at shutdown"
    )

    @model_validator(mode="after")
    def _consistent(self) -> "ServerSettings":
        if self.workers != 1:
            raise ValueError(f"workers = {self.workers}: {ONE_WORKER}")
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise ValueError("tls_certificate and tls_key go together: set both or neither")
        return self


class DashboardSettings(Section):
    """[dashboard]: the Streamlit process."""

    host: str = Field(default="127.0.0.1", description="address to listen on")
    port: int = Field(default=8501, ge=0, le=65535, description="port of the dashboard")


class StoreSettings(Section):
    """[store]: the usage store (DuckDB)."""

    memory_limit: str = Field(
        default="2GB", pattern=r"^[1-9][0-9]*(MB|GB)$", description="DuckDB's memory limit"
    )
    threads: int | None = Field(
        default=None,
        ge=1,
        le=256,
        description="DuckDB's threads; unset: cores less one",
    )
    readers: int = Field(default=2, ge=1, le=64, description="reads that run at the same time")
    read_seconds_max: float = Field(
        default=30, gt=0, description="time limit of one read, in seconds"
    )

    def threads_beside_writers(self) -> int:
        """DuckDB's threads where ingest and settlement work beside each other.

        Each of the two brings its own thread; more than the cores cost a third of the ingest.
        """
        return self.threads or max(1, (os.cpu_count() or 1) - 1)

    def threads_alone(self) -> int:
        """DuckDB's threads where one command has the store for itself."""
        return self.threads or (os.cpu_count() or 1)


class LedgerSettings(Section):
    """[ledger]: tenants, prices, documents (SQLite or PostgreSQL)."""

    url: SecretStr | None = Field(
        default=None, description="postgresql+psycopg://…; unset: ledger.sqlite in the home folder"
    )


class PriceSettings(Section):
    """[prices]: which of the published books counts."""

    default_book: str | None = Field(
        default=None, description="book of those without a contract; unset: the first by name"
    )


class JobSettings(Section):
    """[jobs]: what runs by itself."""

    zone: str = Field(default="UTC", description="IANA zone of the house's own months")
    wake_seconds: int = Field(default=60, ge=1, description="how often jobs look for work")
    monthly_close: bool = Field(
        default=False, description="close each month by itself, six hours after it ended"
    )
    daily_check: bool = Field(
        default=True, description="reconcile each day; check chains, documents and sums"
    )
    weekly_backup: bool = Field(default=False, description="copy both stores once a week")
    exports_folder: str | None = Field(
        default=None, description="folder or s3://bucket/prefix; unset: exports in the home"
    )
    backups_folder: str | None = Field(
        default=None, description="folder or s3://bucket/prefix; unset: backups in the home"
    )


class PolicySettings(Section):
    """[policy]: how usage becomes money (docs/policies.md)."""

    file: Path | None = Field(
        default=None, description="TOML file of policies; unset: the defaults"
    )


class OidcSettings(Section):
    """[oidc]: access tokens of an OpenID Connect provider beside our own keys."""

    issuer: str = Field(default="", description="issuer of the tokens; unset: tokens are refused")
    audience: str = Field(default="tokentill", description="audience that a token must be for")
    jwks_url: str | None = Field(
        default=None, description="the provider's keys; unset: from its discovery document"
    )
    role_claim: str = Field(
        default="tokentill_role", description="claim with the role; a.b leads into objects"
    )
    role_prefix: str = Field(default="", description="what stands before a role's name there")
    tenant_claim: str = Field(
        default="tokentill_tenant", description="claim with the tenant of the role tenant"
    )


class LogSettings(Section):
    """[log]: one event a line on stderr."""

    level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="least level that is written"
    )
    format: Literal["auto", "json", "text"] = Field(
        default="auto", description="json, text, or auto: text on a terminal and json elsewhere"
    )


class ApiSettings(Section):
    """[api]: how commands and the dashboard reach a running API."""

    url: str | None = Field(
        default=None, description="address of the API; unset: commands open the stores of `home`"
    )
    key: SecretStr | None = Field(default=None, description="key that commands send")


class Settings(BaseSettings):
    """Everything that can be configured."""

    model_config = SettingsConfigDict(
        env_prefix="TOKENTILL_",
        env_nested_delimiter="_",
        env_nested_max_split=1,
        extra="forbid",
        frozen=True,
    )

    home: Path = Field(
        default=Path("tokentill-data"), description="folder of usage.duckdb and ledger.sqlite"
    )
    server: ServerSettings = ServerSettings()
    dashboard: DashboardSettings = DashboardSettings()
    store: StoreSettings = StoreSettings()
    ledger: LedgerSettings = LedgerSettings()
    prices: PriceSettings = PriceSettings()
    policy: PolicySettings = PolicySettings()
    jobs: JobSettings = JobSettings()
    oidc: OidcSettings = OidcSettings()
    log: LogSettings = LogSettings()
    api: ApiSettings = ApiSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - the library names its arguments
        *_: PydanticBaseSettingsSource,
        **sources: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The environment before the file, whose tables come as arguments."""
        return sources["env_settings"], sources["init_settings"]

    @property
    def usage_path(self) -> Path:
        """The usage store's file."""
        return self.home / "usage.duckdb"

    @property
    def exports_address(self) -> str:
        """Where monthly exports go (pricing/exports/places.py)."""
        return self.jobs.exports_folder or str(self.home / "exports")

    @property
    def backups_address(self) -> str:
        """Where backups go."""
        return self.jobs.backups_folder or str(self.home / "backups")

    @property
    def ledger_url(self) -> str:
        """SQLAlchemy URL of the ledger."""
        if self.ledger.url is not None:
            return self.ledger.url.get_secret_value()
        return f"sqlite:///{self.home / 'ledger.sqlite'}"


class Key(NamedTuple):
    """One key of the configuration, for the reader of it and of its documentation."""

    name: str  # as in tokentill.toml: section.key
    variable: str  # of the environment
    default: Any
    meaning: str

    def row(self) -> str:
        """Its line in the table of docs/configuration.md."""
        default = "unset" if self.default in (None, "") else f"`{self.default}`"
        return f"| `{self.name}` | `{self.variable}` | {default} | {self.meaning} |"


def keys() -> Iterator[Key]:
    """Every key, in the order of the file."""
    for name, field in Settings.model_fields.items():
        kind = field.annotation
        if not (isinstance(kind, type) and issubclass(kind, Section)):
            yield Key(name, f"TOKENTILL_{name.upper()}", field.default, field.description or "")
            continue
        for key, inner in kind.model_fields.items():
            yield Key(
                f"{name}.{key}",
                f"TOKENTILL_{name.upper()}_{key.upper()}",
                inner.default,
                inner.description or "",
            )


def load_settings(config: Path | None = None, **given: Mapping[str, Any]) -> Settings:
    """The settings of `config` (or of the first of PLACES that exists) and of the environment.

    given: keys by section that a command was told; they win over both.

    Raises ConfigInvalid naming each key that is unknown or wrong, and where it came from.
    """
    path = config or next((place for place in PLACES if place.is_file()), None)
    values = _read_toml(path) if path else {}
    known = {key.variable for key in keys()}
    for variable in os.environ:
        ours = variable.startswith("TOKENTILL_") and not variable.startswith(FOREIGN_PREFIXES)
        if ours and variable not in known:
            raise ConfigInvalid(
                f"The environment variable {variable} names no setting.",
                remedy="Unset it, or spell it as docs/configuration.md does.",
            )
    try:
        settings = Settings(**values)
        return _with(settings, given) if given else settings
    except ValidationError as error:
        raise ConfigInvalid(
            f"Settings of {path or 'the environment'}: {_listed(error)}."
        ) from error


def _with(settings: Settings, given: Mapping[str, Mapping[str, Any]]) -> Settings:
    """The same settings with the sections of `given` changed, checked like those of a file."""
    changed = {
        name: type(section)(**{**section.model_dump(), **keys})
        for name, keys in given.items()
        if isinstance(section := getattr(settings, name), Section)
    }
    return settings.model_copy(update=changed)


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigInvalid(
            f"Cannot read the configuration file {path}: {error.strerror}.",
            remedy="Name a readable file with --config, or leave it out.",
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigInvalid(
            f"{path} is not TOML: {error}.", remedy="Correct the place that is named."
        ) from error


def _listed(error: ValidationError) -> str:
    """Each wrong key with what is wrong about it; never its value, which may be a secret."""
    return "; ".join(
        ": ".join(
            (
                *((".".join(map(str, item["loc"])),) if item["loc"] else ()),
                "no such key" if item["type"] == "extra_forbidden" else _words(item["msg"]),
            )
        )
        for item in error.errors(include_input=False, include_url=False)
    )


def _words(message: str) -> str:
    return message.removeprefix("Value error, ")
