"""A real `tokentill serve` in a home of its own, ended by its own process id."""

import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import time

import httpx
import pytest
from typer.testing import CliRunner

from tokentill import command_line

START_SECONDS_MAX = 90
BOOK = """
book = "list-cny"
currency = "CNY"
[[price]]
model = "m-river"
effective_from = 2020-01-01T00:00:00+08:00
per_million_tokens = { input = "2.00", cached_input = "0.20", output = "8.00" }
"""


def environment(home, **change):
    """The environment of a command that works on `home`."""
    return os.environ | {"TOKENTILL_HOME": str(home), "TOKENTILL_LOG_FORMAT": "json"} | change


def tokentill(home, *words, **change):
    """Run a command to its end, in this process; stdout, stderr and exit_code."""
    return CliRunner().invoke(
        command_line(*map(str, words[:1])), words, env={"TOKENTILL_HOME": str(home), **change}
    )


def serve(home, *words, **change):
    """Run `tokentill serve`, which should refuse, as a process; stderr and returncode."""
    return subprocess.run(
        [sys.executable, "-m", "tokentill", "serve", *words],
        env=environment(home, **change),
        capture_output=True,
        text=True,
        check=False,
    )


class Server:
    """One process `tokentill serve`. authority: the certificate that signs its own."""

    def __init__(self, home, port, authority=None, **change):
        scheme = "https" if authority else "http"
        self.home, self.port, self.url = home, port, f"{scheme}://127.0.0.1:{port}"
        self.log, self.key, self.process = home.parent / "serve.log", None, None
        self.change = change
        self.verify = ssl.create_default_context(cafile=authority) if authority else True

    def start(self):
        """Start, and wait until it is ready; the first start says the operator's key."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tokentill", "serve", "--port", str(self.port)],
                env=environment(self.home, **self.change),
                stdout=log,
                stderr=log,
            )
        deadline = time.monotonic() + START_SECONDS_MAX
        while not self._is_ready():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.1)
        found = re.search(r"operator key: (tk_\S+)", self.log.read_text())
        self.key = found.group(1)
        return self

    def _is_ready(self):
        try:
            return httpx.get(f"{self.url}/health/ready", verify=self.verify).status_code == 200
        except httpx.TransportError:
            return False

    def end(self, with_signal=signal.SIGTERM):
        """Send a signal and wait; the exit code."""
        if self.process is None or self.process.poll() is not None:
            return None
        self.process.send_signal(with_signal)
        return self.process.wait(timeout=60)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A running server that the tests of a module share; stopped at the end."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    made = Server(tmp_path_factory.mktemp("served") / "home", port).start()
    yield made
    made.end()
