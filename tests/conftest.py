"""What every test may ask for. Fixtures of one room live in that room's own conftest.py."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent

# The same examples everywhere and every time; a busy machine is no failure.
settings.register_profile(
    "tokentill",
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("tokentill")

# A developer's own settings must not reach the tests or the processes that they start.
for _name in [name for name in os.environ if name.startswith("TOKENTILL_")]:
    del os.environ[_name]


@pytest.fixture(scope="session")
def root() -> Path:
    """The project's root folder."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real traces, prices and cases beside the project; read by path, never copied.

    It is not part of a release: on a user's machine the tests that need it are skipped; in
    continuous integration its absence is a failure.
    """
    folder = ROOT.parent / "shared"
    if (folder / "data").is_dir():
        return folder
    reason = f"{folder} is absent: put the folder with data/ and cases/ beside the project"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture
def free_port() -> Callable[[], int]:
    """A function that names a TCP port of 127.0.0.1 that nobody listens on."""

    def find() -> int:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            return int(probe.getsockname()[1])

    return find


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty TOKENTILL_HOME for this test and the processes that it starts."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("TOKENTILL_HOME", str(folder))
    return folder
