"""End to end: Arrow batches over HTTP into `tokentill serve`, deduplicated and settled.

Prints records/s from the first POST until every leg is settled and rolled up, the same rows' bare
Arrow → DuckDB insert in the same run (once before and once after), their ratio, and the server's
peak memory. The server is a real process on loopback; the load is bounded by --batches.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import httpx
import pyarrow as pa

from bench.ingest import BATCH_ROWS, insert_bare, legs
from metering.store.connect import open_store
from metering.wire import to_ipc
from pricing.demo.plan import free_port

SENDERS = 2
SECRET = re.compile(r"tk_[A-Za-z0-9_-]{20,}")
BOOK = """
book = "bench"
currency = "CNY"
timezone = "Asia/Shanghai"
[[price]]
model = "glm-5.2"
effective_from = 2020-01-01T00:00:00+08:00
per_million_tokens = { input = "8", cached_input = "2", output = "28" }
"""
SAME_REQUEST = """
SELECT * REPLACE (
    '10.0.0.1:8998:' || split_part(join_key, ':', 3)                      AS join_key,
    200 + (hash(split_part(join_key, ':', 3)) % 65000)::BIGINT AS input_tokens,
    't-' || (hash(split_part(join_key, ':', 3)) % 1000)        AS tenant_id
)
FROM made
"""
WAIT_SECONDS_MAX = 600


def pairs(number: int, rows: int = BATCH_ROWS) -> pa.Table:
    """Batch `number` of bench/ingest.py; both legs of a request agree in key, input and owner."""
    table = legs(number, rows)
    with duckdb.connect() as maker:
        maker.register("made", table)
        made = maker.execute(SAME_REQUEST).to_arrow_table()
    return made.cast(table.schema).combine_chunks()


def bare_seconds(tables: list[pa.Table], folder: Path) -> tuple[float, float]:
    """What anybody would do with the same rows and batches: wall and CPU seconds."""
    store = open_store(folder / "bare.duckdb")
    cursor = store.cursor()
    begun, worked = time.perf_counter(), time.process_time()
    for table in tables:
        insert_bare(cursor, table)
    spent = time.perf_counter() - begun, time.process_time() - worked
    store.close()
    (folder / "bare.duckdb").unlink()
    return spent


class Server:
    """`tokentill serve` on a home of its own."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port(0)
        self.log = folder / "serve.log"
        environment = {
            **os.environ,
            "TOKENTILL_HOME": str(folder / "home"),
            "TOKENTILL_SERVER_PORT": str(self.port),
            "TOKENTILL_SERVER_BODY_BYTES_MAX": str(64 << 20),
            "TOKENTILL_LOG_LEVEL": "warning",
        }
        command = [sys.executable, "-m", "tokentill", "serve"]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        secret = self._until(lambda: SECRET.search(self.log.read_text("utf-8")))
        headers = {"Authorization": f"Bearer {secret.group()}"}
        url = f"http://127.0.0.1:{self.port}"
        self.api = httpx.Client(base_url=url, headers=headers, timeout=120)
        self._until(self._ready)

    def _ready(self) -> bool:
        try:
            return self.api.get("/health/ready").status_code == httpx.codes.OK
        except httpx.TransportError:
            return False

    def _until(self, probe: Any) -> Any:
        deadline = time.monotonic() + WAIT_SECONDS_MAX
        while time.monotonic() < deadline:
            if found := probe():
                return found
            time.sleep(0.05)
        raise TimeoutError(self.log.read_text("utf-8")[-2000:])

    def send(self, body: bytes) -> None:
        """One batch; full queues are waited for."""
        while True:
            kind = {"Content-Type": "application/vnd.apache.arrow.stream"}
            answer = self.api.post("/v1/usage/legs", content=body, headers=kind)
            if answer.status_code != httpx.codes.TOO_MANY_REQUESTS:
                answer.raise_for_status()
                return
            time.sleep(0.1)

    def wait_until_settled(self) -> None:
        """Return once every leg is settled."""
        self._until(self._settled)

    def _settled(self) -> bool:
        details = self.api.get("/health/ready").json()["details"]
        return details.get("unsettled_legs") == 0

    def require_paired(self) -> None:
        """A bench whose legs do not pair would measure the waiting room."""
        waiting = self.api.get("/health/ready").json()["details"]["pending_legs"]
        if waiting:
            raise RuntimeError(f"{waiting} legs wait for their other half")

    def peak_bytes(self) -> int:
        """Highest resident memory of the process."""
        text = Path(f"/proc/{self.process.pid}/status").read_text("utf-8")
        return int(re.search(r"VmHWM:\s+(\d+)", text).group(1)) * 1024  # type: ignore[union-attr] # Linux has it

    def cpu_seconds(self) -> float:
        """CPU time of the process so far, all threads."""
        fields = (
            Path(f"/proc/{self.process.pid}/stat").read_text("utf-8").rpartition(")")[2].split()
        )
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        """End it."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)


def main() -> None:
    """Send, settle, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=20)
    batches = parser.parse_args().batches
    tables = [pairs(number) for number in range(batches)]
    bodies = [to_ipc(table.to_batches()[0]) for table in tables]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        before = bare_seconds(tables, folder)
        server = Server(folder)
        try:
            published = server.api.post("/v1/prices", json={"toml": BOOK, "state": "published"})
            published.raise_for_status()
            begun, worked = time.perf_counter(), server.cpu_seconds()
            with ThreadPoolExecutor(SENDERS) as senders:
                list(senders.map(server.send, bodies))
            sent = time.perf_counter() - begun
            server.wait_until_settled()
            spent = time.perf_counter() - begun
            worked = server.cpu_seconds() - worked
            server.require_paired()
            peak = server.peak_bytes()
        finally:
            server.stop()
        after = bare_seconds(tables, folder)
    records = batches * BATCH_ROWS
    bare = records / ((before[0] + after[0]) / 2)
    bare_cpu = (before[1] + after[1]) / 2
    print(
        json.dumps(
            {
                "records": records,
                "records_per_second": records / spent,
                "accepted_records_per_second": records / sent,
                "bare_insert_records_per_second": bare,
                "ratio": records / spent / bare,
                "serve_cpu_seconds": worked,
                "bare_insert_cpu_seconds": bare_cpu,
                "cpu_ratio": bare_cpu / worked,
                "serve_peak_memory_mb": peak / 2**20,
            }
        )
    )


if __name__ == "__main__":
    main()
