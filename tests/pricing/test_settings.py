"""pricing/settings.py: one file, the environment above it, and no key that is silently ignored."""

from pathlib import Path

import pytest

from pricing.errors import ConfigInvalid
from pricing.settings import load_settings


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_the_defaults_are_those_of_the_contract():
    """docs/configuration.md: ports 8080 and 8501, loopback, ./tokentill-data with its two files."""
    settings = load_settings()
    assert (settings.server.host, settings.server.port) == ("127.0.0.1", 8080)
    assert (settings.dashboard.host, settings.dashboard.port) == ("127.0.0.1", 8501)
    assert settings.usage_path == Path("tokentill-data/usage.duckdb")
    assert settings.ledger_url == "sqlite:///tokentill-data/ledger.sqlite"


def test_the_environment_wins_over_the_file(monkeypatch):
    """A container sets one variable without copying the file; other keys of the table stay."""
    Path("tokentill.toml").write_text("[store]\nmemory_limit = '3GB'\nthreads = 4\n")
    monkeypatch.setenv("TOKENTILL_STORE_MEMORY_LIMIT", "1GB")
    monkeypatch.setenv("TOKENTILL_HOME", "/srv/till")
    settings = load_settings()
    assert (settings.store.memory_limit, settings.store.threads) == ("1GB", 4)
    assert settings.usage_path == Path("/srv/till/usage.duckdb")


def test_a_named_file_is_the_only_one_read(tmp_path):
    """--config replaces ./tokentill.toml, it does not add to it."""
    Path("tokentill.toml").write_text("[server]\nport = 1\n")
    named = tmp_path / "other.toml"
    named.write_text("[dashboard]\nport = 2\n")
    settings = load_settings(named)
    assert (settings.server.port, settings.dashboard.port) == (8080, 2)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[server]\nprot = 1", "server.prot: no such key"),
        ("[sevrer]\nport = 1", "sevrer: no such key"),
        ("[server]\nport = 99999", "server.port"),
        ("[server]\nworkers = 4", "one worker"),
        ("[server]\ntls_key = 'key.pem'", "tls_certificate and tls_key go together"),
        ("[store]\nmemory_limit = 'lots'", "store.memory_limit"),
        ("server =", "is not TOML"),
    ],
)
def test_a_wrong_file_is_refused_by_name(text, named):
    """The message names the key, so that a typo is not a silent default."""
    Path("tokentill.toml").write_text(text)
    with pytest.raises(ConfigInvalid, match=named):
        load_settings()


@pytest.mark.parametrize("variable", ["TOKENTILL_STORE_MEMROY_LIMIT", "TOKENTILL_SEVRER_PORT"])
def test_an_unknown_variable_is_refused_by_name(variable, monkeypatch):
    """The same for the environment, which the settings library would ignore."""
    monkeypatch.setenv(variable, "1")
    with pytest.raises(ConfigInvalid, match=variable):
        load_settings()


def test_what_kubernetes_sets_for_a_service_is_not_a_setting(monkeypatch):
    """A service named tokentill puts TOKENTILL_PORT=tcp://… into every pod of its namespace."""
    monkeypatch.setenv("TOKENTILL_PORT", "tcp://10.0.0.7:8080")
    monkeypatch.setenv("TOKENTILL_SERVICE_HOST", "10.0.0.7")
    assert load_settings().server.port == 8080


def test_a_secret_is_not_in_the_message(monkeypatch):
    """Errors and logs never show a value that may be a password."""
    monkeypatch.setenv("TOKENTILL_LEDGER_URL", "postgresql+psycopg://till:s3cret@db/till")
    monkeypatch.setenv("TOKENTILL_SERVER_PORT", "x")
    with pytest.raises(ConfigInvalid) as caught:
        load_settings()
    assert "s3cret" not in str(caught.value)
    monkeypatch.delenv("TOKENTILL_SERVER_PORT")
    assert "s3cret" not in repr(load_settings())
