"""`tokentill sidecar run`: the lock, and the configuration read again when it changes."""

import gc
from collections.abc import Callable, Mapping
from pathlib import Path

import structlog

from metering.errors import ConfigInvalid
from metering.logs import Stderr
from metering.sidecar.agent import Agent, read_key
from metering.sidecar.clock import Clock
from metering.sidecar.config import SidecarConfig, read_config
from metering.sidecar.health import Health, serve_metrics
from metering.sidecar.lock import StateLock
from metering.sidecar.ship import Shipper
from metering.sidecar.wake import Wake

log = structlog.get_logger()


def configure_logging() -> None:
    """One line of JSON per event, on stderr."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(ensure_ascii=False),
        ],
        logger_factory=lambda *_: Stderr(),
    )


class Service:
    """A sidecar that follows its configuration file."""

    def __init__(
        self, path: Path, environment: Mapping[str, str], *, clock: Clock, wake: Wake
    ) -> None:
        """Raises ConfigInvalid and StateLocked."""
        self._path, self._environment = path, environment
        self._clock, self._wake = clock, wake
        self._stamp = self._stamps()
        self._config = read_config(path, environment)
        self._lock = StateLock(Path(self._config.state_dir))
        self._agent = Agent(self._config, clock, wake)

    def run(self) -> None:
        """Work until told to stop."""
        gc.freeze()
        gc.disable()  # rows hold no cycles; the agent collects what does, between two batches
        log.info(
            "sidecar_started",
            node=self._config.node,
            stage=self._config.stage,
            hardware=self._config.hardware,
            sources=[source.name for source in self._config.source],
            collectors=self._config.collectors,
        )
        close_metrics = self._serve_metrics()
        while not self._wake.stopping:
            self._agent.run(self._is_changed)
            if self._wake.reloading:
                self._wake.reloading = False
                close_metrics()
                self._reload()
                close_metrics = self._serve_metrics()
        close_metrics()
        self.close()
        log.info("sidecar_stopped", node=self._config.node)

    def close(self) -> None:
        """Let go of the sources, the connections and the state folder."""
        self._agent.close()
        self._lock.close()

    def _health(self) -> Health | None:
        return self._agent.health

    def _serve_metrics(self) -> Callable[[], None]:
        """Metrics are worth less than metering: a taken port is told, and the sidecar works on."""
        port = self._config.metrics_port
        if not port:
            return lambda: None
        try:
            return serve_metrics(port, self._health)
        except OSError as error:
            log.warning(
                "metrics_not_served",
                detail=f"metrics_port {port}: {error.strerror}; choose another port",
            )
            return lambda: None

    def _stamps(self) -> tuple[int, ...]:
        """Changes when the configuration file does."""
        try:
            status = self._path.stat()
        except OSError:
            return ()
        return (status.st_mtime_ns, status.st_size, status.st_ino)

    def _is_changed(self) -> bool:
        return self._stamps() not in {self._stamp, ()}

    def _reload(self) -> None:
        """Take the new configuration if it is sound; else keep the old one and say why."""
        self._stamp = self._stamps()
        try:
            config = read_config(self._path, self._environment)
            self._require_usable(config)
        except ConfigInvalid as error:
            log.warning("config_kept", detail=str(error))
            return
        self._agent.close()
        self._config = config
        self._agent = Agent(config, self._clock, self._wake)
        log.info("config_reloaded", node=config.node)

    def _require_usable(self, config: SidecarConfig) -> None:
        read_key(config)
        if config.state_dir != self._config.state_dir:
            raise ConfigInvalid(
                f"state_dir cannot change while the sidecar runs (it is {self._config.state_dir}); "
                f"restart it"
            )
        Shipper(config.collectors, str, ca_file=config.ca_file, clock=self._clock).close()
