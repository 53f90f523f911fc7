"""A real S3 server on the loopback, and folders, as places."""

import json
import secrets
import socket
import subprocess
import sys
import time
from pathlib import Path

import obstore
import pytest
from obstore.exceptions import BaseError
from obstore.store import S3Store

from pricing.exports.places import place_of

START_SECONDS_MAX = 90
BUCKET = "tokentill"  # SeaweedFS keeps volumes for each bucket: one is enough
QUICK = {"max_retries": 0}
PORTS = (
    *("master.port", "master.port.grpc", "volume.port", "volume.port.grpc"),
    *("filer.port", "filer.port.grpc", "s3.port", "s3.port.grpc"),
)


class S3Server:
    """SeaweedFS with one pair of keys. variables: of the environment that reach it."""

    def __init__(self, folder):
        self.folder, self.secret = folder, secrets.token_urlsafe(24)
        ports = _free_ports(len(PORTS))
        self.variables = {
            "AWS_ACCESS_KEY_ID": "TOKENTILL",
            "AWS_SECRET_ACCESS_KEY": self.secret,
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{ports[PORTS.index('s3.port')]}",
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
        }
        keys = {"accessKey": "TOKENTILL", "secretKey": self.secret}
        actions = ["Admin", "Read", "Write", "List"]
        identity = {"name": "tests", "credentials": [keys], "actions": actions}
        (folder / "s3.json").write_text(json.dumps({"identities": [identity]}), "utf-8")
        where = ["-dir", str(folder), "-ip", "127.0.0.1", "-ip.bind", "127.0.0.1"]
        flags = [f"-{name}={port}" for name, port in zip(PORTS, ports, strict=True)]
        parts = ["-filer", "-s3", "-s3.config", str(folder / "s3.json"), "-s3.port.iceberg=0"]
        parts += ["-s3.port.lance=0"]
        small = ["-volume.max=10", "-master.volumeSizeLimitMB=64", "-master.telemetry=false"]
        self.command = [str(Path(sys.executable).parent / "weed"), "server"]
        self.command += [*where, *flags, *parts, *small]

    def start(self):
        """Start, and wait until an object can be stored."""
        with (self.folder / "weed.log").open("wb") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log)
        deadline = time.monotonic() + START_SECONDS_MAX
        while not self._is_ready():
            log = (self.folder / "weed.log").read_text("utf-8")
            assert self.process.poll() is None, log
            assert time.monotonic() < deadline, log
            time.sleep(0.2)
        return self

    def store(self):
        """The bucket, by a client of its own."""
        return S3Store(BUCKET, retry_config=QUICK)

    def names(self, prefix):
        """Names of all objects under a prefix."""
        return {each["path"] for each in obstore.list(self.store(), prefix).collect()}

    def end(self):
        """Its data is thrown away: nothing needs to be shut down."""
        self.process.kill()
        self.process.wait()

    def _is_ready(self):
        try:
            obstore.put(self.store(), "probe", b"1")
        except BaseError:
            return False
        return True


def _free_ports(count):
    probes = [socket.socket() for _ in range(count)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory):
    """One server for all tests of a process."""
    made = S3Server(tmp_path_factory.mktemp("s3"))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in made.variables.items():
            patch.setenv(name, value)
        yield made.start()
        made.end()


@pytest.fixture
def s3(s3_server, monkeypatch):
    """The server, and this test's environment as its operator would set it."""
    for name, value in s3_server.variables.items():
        monkeypatch.setenv(name, value)
    return s3_server


@pytest.fixture(params=["folder", "bucket"])
def place(request, tmp_path):
    """An empty place of each kind."""
    if request.param == "folder":
        return place_of(tmp_path / "place")
    request.getfixturevalue("s3")
    return place_of(f"s3://{BUCKET}/{secrets.token_hex(8)}")
