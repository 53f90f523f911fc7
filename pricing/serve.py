"""`tokentill serve`: one process that owns both stores, and everything that runs in it.

Event loop (never calls DuckDB), one ingest writer, one settler, a pool of readers, the jobs'
wake-up. It starts from the stores outwards and stops from the API inwards, so that whatever was
answered is durable and whatever was accepted is written.
"""

import hashlib
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import structlog
import uvicorn

from metering.collector.writer import IngestWriter
from metering.store.connect import Store, open_store
from metering.store.maintenance import checkpoint
from metering.store.readers import Readers
from pricing.api.app import create_app
from pricing.api.auth import Authenticator
from pricing.api.oidc import TokenReader
from pricing.api.services import Services
from pricing.api.usage_metrics import UsageMetrics
from pricing.backup import back_up_home
from pricing.errors import ConfigInvalid
from pricing.exports.places import place_of
from pricing.home import own_home
from pricing.jobs import Jobs
from pricing.ledger.connect import Ledger
from pricing.ledger.keys import NewKey, create_key, has_operator_key
from pricing.ledger.policies import add_policy, every_policy
from pricing.ledger.tenants import zone
from pricing.ledger.upgrade import upgrade_ledger, upgrade_usage
from pricing.policy import Policy, PolicyInvalid
from pricing.price_book import Catalogue
from pricing.readiness import Gauges
from pricing.runs.close_jobs import (
    DailyCheck,
    DailyReconciliation,
    Job,
    MonthlyClose,
    WeeklyBackup,
)
from pricing.runs.ledger_rules import LedgerRules
from pricing.runs.rerate import rerate_month
from pricing.runs.settler import Settler
from pricing.scope import Role
from pricing.settings import ServerSettings, Settings

LOG: Final = structlog.get_logger()
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
BACKLOG: Final = 128
Clock = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class House:
    """What is running below the API."""

    ledger: Ledger
    store: Store
    writer: IngestWriter
    settler: Settler
    readers: Readers
    jobs: Jobs


def serve(settings: Settings, *, clock: Clock, announce: Callable[[str], None]) -> None:
    """Run until SIGTERM or Ctrl-C. announce: shows a person the first operator key, once."""
    with own_home(settings.home), listening(settings.server) as listener:
        upgrade_ledger(settings.ledger_url)
        upgrade_usage(settings.usage_path)
        with open_house(settings, clock) as house:
            _first_key(house.ledger, clock, announce)
            services = services_of(house, settings, clock)
            config = _config(services, settings.server)
            LOG.info("serve_started", host=settings.server.host, port=listener.getsockname()[1])
            _run(uvicorn.Server(config), listener)
    LOG.info("serve_stopped")


@contextmanager
def open_house(settings: Settings, clock: Clock) -> Iterator[House]:
    """The stores and their threads; at the end everything that was accepted is written."""
    with ExitStack() as closing:
        ledger = Ledger(settings.ledger_url)
        closing.callback(ledger.close)
        _keep_policy(ledger, settings, clock)
        limits = settings.store
        store = open_store(
            settings.usage_path,
            memory_limit=limits.memory_limit,
            threads=limits.threads_beside_writers(),
        )
        closing.callback(store.close)
        closing.callback(checkpoint, store)
        rules = LedgerRules(ledger, default_book=settings.prices.default_book)
        settler = Settler(store, rules.at, clock)
        settler.start()
        closing.callback(settler.close)
        readers = Readers(store, readers=limits.readers, seconds_max=limits.read_seconds_max)
        jobs = Jobs(
            ledger=ledger,
            read_usage=readers.read,
            clock=clock,
            exports=place_of(settings.exports_address),
            zone=zone(settings.jobs.zone),
            more=tuple(
                _ledger_jobs(
                    ledger, store, settler=settler, readers=readers, settings=settings, clock=clock
                )
            ),
        )
        scheduler = jobs.scheduler(settings.jobs.wake_seconds)
        scheduler.start()
        closing.callback(scheduler.shutdown)
        writer = IngestWriter(store, clock, committed=settler.woken)
        closing.callback(writer.close)
        yield House(ledger, store, writer, settler, readers, jobs)


def _ledger_jobs(
    ledger: Ledger,
    store: Store,
    *,
    settler: Settler,
    readers: Readers,
    settings: Settings,
    clock: Clock,
) -> Iterator[Job]:
    """The jobs that the settings switch on."""
    if settings.jobs.monthly_close:
        yield MonthlyClose(
            ledger=ledger,
            read_usage=readers.read,
            write_usage=lambda task: settler.call(lambda cursor, _: task(cursor)).result(),
            house_zone=zone(settings.jobs.zone),
        )
    if settings.jobs.daily_check:
        yield DailyReconciliation(ledger=ledger, read_usage=readers.read)
        yield DailyCheck(ledger=ledger, read_usage=readers.read)
    if settings.jobs.weekly_backup:
        yield WeeklyBackup(back_up=lambda: back_up_home(store, settings, now=clock()))


def services_of(house: House, settings: Settings, clock: Clock) -> Services:
    """What the API is given of the house."""
    server = settings.server
    authenticator = Authenticator(
        house.ledger,
        clock,
        requests_per_second_max=server.requests_per_second_max,
        tokens=TokenReader(settings.oidc) if settings.oidc.issuer else None,
    )
    gauges = Gauges(house.writer, house.settler, store=house.store, clock=clock)
    services = Services(
        ledger=house.ledger,
        read_usage=house.readers.read,
        write_usage=lambda task: house.settler.call(lambda cursor, _: task(cursor)).result(),
        clock=clock,
        authenticator=authenticator,
        readiness=gauges.readiness,
        catalogue=_Catalogues(house.ledger, settings, clock),
        changed=lambda what: authenticator.forget() if what == "keys" else house.settler.wake(),
        rerate=lambda order: house.settler.call(
            lambda cursor, _: rerate_month(
                cursor, house.ledger, house.settler.rules_at(clock()), order, now=clock()
            )
        ).result(),
        retry_job=house.jobs.retry,
        back_up=lambda: back_up_home(house.store, settings, now=clock()),
        writer=house.writer,
        body_bytes_max=server.body_bytes_max,
        tls=server.tls_certificate is not None,
    )
    gauges.register(services.registry)
    services.registry.register(UsageMetrics(house.readers.read, clock))
    return services


class _Catalogues:
    """The catalogue of the published books, parsed once for each set of revisions."""

    def __init__(self, ledger: Ledger, settings: Settings, clock: Clock) -> None:
        self._rules = LedgerRules(ledger, default_book=settings.prices.default_book)
        self._clock = clock
        self._turn = threading.Lock()

    def __call__(self) -> Catalogue:
        with self._turn:
            return self._rules.at(self._clock()).prices.catalogue


@contextmanager
def listening(settings: ServerSettings) -> Iterator[socket.socket]:
    """The port, taken before anything else is touched. Raises ConfigInvalid if it is taken."""
    try:
        found = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)
        family, kind, protocol, _, address = found[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise ConfigInvalid(
            f"server.host {settings.host!r} is no address: {error.strerror}.",
            remedy="Use an address of this machine, such as 127.0.0.1 or 0.0.0.0.",
        ) from error
    with listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(address)
            listener.listen(BACKLOG)
        except OSError as error:
            raise ConfigInvalid(
                f"Port {settings.port} of {settings.host} cannot be used: {error.strerror}.",
                remedy="Stop whoever listens there, or choose another one with --port or "
                "TOKENTILL_SERVER_PORT.",
            ) from error
        yield listener


def _run(server: uvicorn.Server, listener: socket.socket) -> None:
    """Serve until a signal; what is open may finish. The signal must not end us before that."""
    # uvicorn raises the signal again once it has drained: without a handler that would be the end
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        server.run(sockets=[listener])
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGTERM, before)


def _config(services: Services, server: ServerSettings) -> uvicorn.Config:
    return uvicorn.Config(
        create_app(services),
        workers=1,
        lifespan="off",
        log_config=None,
        access_log=False,  # the door writes one line a request
        server_header=False,
        proxy_headers=False,  # addresses count for guessing: a header must not choose one
        timeout_graceful_shutdown=server.drain_seconds_max,
        ssl_certfile=server.tls_certificate,
        ssl_keyfile=server.tls_key,
    )


def _first_key(ledger: Ledger, clock: Clock, announce: Callable[[str], None]) -> None:
    now = clock()
    with ledger.read() as connection:
        if has_operator_key(connection, at=now):
            return
    with ledger.write(actor="serve", at=now) as change:
        _, secret = create_key(change, NewKey(name="first operator key", role=Role.OPERATOR))
    announce(secret)


def _keep_policy(ledger: Ledger, settings: Settings, clock: Clock) -> None:
    """The policy file of the settings, as a revision from now on if its text is new."""
    path = settings.policy.file
    if path is None:
        return
    try:
        text = path.read_text(encoding="utf-8")
        Policy.from_toml(text)
    except (OSError, UnicodeDecodeError, PolicyInvalid) as error:
        raise ConfigInvalid(
            f"policy.file {path}: {error}.", remedy="docs/policies.md lists every key and value."
        ) from error
    digest = hashlib.sha256(text.encode()).hexdigest()
    now = clock()
    with ledger.write(actor="serve", at=now) as change:
        known = every_policy(change.connection)
        if not known or max(known, key=lambda each: each.revision).sha256 != digest:
            add_policy(change, text, effective_from=now if known else EPOCH)
