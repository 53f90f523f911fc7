"""`tokentill serve` as real processes: case C22, one owner, ports, signals, restarts."""

import json
import signal
import threading
import time
from datetime import UTC, datetime, timedelta

import pytest

from metering.store.backup import row_counts
from metering.store.connect import open_store
from pricing.client import Client
from tests.pricing.serve.conftest import BOOK, serve, tokentill

pytestmark = pytest.mark.slow
EVENTS = 100


def event(number, at):
    """One unified leg with 1,000 uncached input tokens (case C22)."""
    return {
        "event_id": f"e{number}",
        "stage": "unified",
        "node_id": "u01",
        "tenant_id": "t-alder",
        "model_id": "m-river",
        "started_at": at.isoformat(),
        "finished_at": (at + timedelta(seconds=1)).isoformat(),
        "input_tokens": 1000,
        "cached_input_tokens": 0,
        "output_tokens": 0,
        "status": "ok",
    }


def send(server, events):
    """POST them as NDJSON; the counts of the answer."""
    body = "".join(json.dumps(each) + "\n" for each in events).encode()
    with Client(server.url, server.key) as client:
        answer = client._http.post(
            "/v1/usage/legs", content=body, headers={"Content-Type": "application/x-ndjson"}
        )
    assert answer.status_code == 200, answer.text
    return answer.json()


def day():
    """The UTC day of now, with an hour to spare on both sides."""
    now = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    return now - timedelta(hours=4), now + timedelta(hours=2)


def settled(client, requests):
    """The one usage row, once it has so many requests."""
    for _ in range(600):
        rows = list(client.usage(*day()))
        if rows and rows[0]["requests"] >= requests:
            return rows[0]
        time.sleep(0.1)
    raise AssertionError(rows)


def test_case_c22_many_processes_and_one_store(server):
    """100 × 1,000 tokens × 2.00 per million = 0.20 CNY, read by others while it is written.

    Two commands and a reader run beside the 100 writes: no lock error for any of them.
    """
    at = datetime.now(UTC) - timedelta(hours=1)
    seen = []

    def read():
        with Client(server.url, server.key) as client:
            seen.extend(sum(row["requests"] for row in client.usage(*day())) for _ in range(40))

    with Client(server.url, server.key) as client:
        client.publish_prices(BOOK)
        reader = threading.Thread(target=read)
        reader.start()
        accepted = sum(send(server, [event(n, at)])["accepted"] for n in range(EVENTS))
        api = {"TOKENTILL_API_URL": server.url, "TOKENTILL_API_KEY": server.key}
        listed = tokentill(server.home, "keys", "list", **api)
        reader.join()
        row = settled(client, EVENTS)
    assert (accepted, row["uncached_tokens"], str(row["amount"].normalize())) == (
        100,
        100_000,
        "0.2",
    )
    assert seen == sorted(seen)
    assert listed.exit_code == 0, listed.stderr


def test_a_second_server_is_told_who_owns_the_home(server, free_port):
    """Exit 1, the owner's process id, and what to do."""
    second = serve(server.home, "--port", str(free_port()))
    assert second.returncode == 1
    assert f"owned by process {server.process.pid}" in second.stderr
    assert "TOKENTILL_HOME" in second.stderr


def test_a_taken_port_is_named(server, tmp_path):
    """Before anything of the home is touched."""
    second = serve(tmp_path / "other", "--port", str(server.port))
    assert second.returncode == 1
    assert f"Port {server.port} of 127.0.0.1 cannot be used" in second.stderr
    assert not (tmp_path / "other" / "usage.duckdb").exists()


@pytest.mark.parametrize(
    ("words", "change"),
    [(["--workers", "4"], {}), ([], {"TOKENTILL_SERVER_WORKERS": "4"})],
)
def test_four_workers_are_refused(tmp_path, words, change):
    """Case C22: a message that says why; never half of the requests failing."""
    refused = serve(tmp_path / "home", *words, **change)
    assert refused.returncode == 1
    assert "exactly one process may own the usage store" in refused.stderr


def test_commands_that_need_the_stores_to_themselves_say_so(server):
    """`db upgrade` and `db restore` while serve runs: no lock error of the database."""
    for words in (["db", "upgrade"], ["db", "restore", "x"], ["db", "backup"]):
        refused = tokentill(server.home, *words)
        assert refused.exit_code == 1
        assert "owned by process" in refused.stderr
        assert "Could not set lock" not in refused.stderr


def test_the_log_holds_no_secret(server):
    """Neither the operator's key in a header nor that of a created key."""
    with Client(server.url, server.key) as client:
        made = client.post("/v1/keys", {"name": "v", "role": "viewer"})
        client.get("/v1/keys")
    lines = [line for line in server.log.read_text().splitlines() if "operator key" not in line]
    assert made["secret"] not in "\n".join(lines)
    assert server.key not in "\n".join(lines)


def test_servers_by_the_ledger_and_by_the_formula(server):
    """By hand: 1,000 uncached tokens at 2.00 a million = 0.002 CNY; the command reads the same."""
    at = datetime.now(UTC) - timedelta(hours=1)
    with Client(server.url, server.key) as client:
        client.publish_prices(BOOK)
        send(server, [event(5000, at) | {"node_id": "u77"}])
        settled(client, 1)
    api = {"TOKENTILL_API_URL": server.url, "TOKENTILL_API_KEY": server.key}
    start, end = (edge.isoformat() for edge in day())
    words = ["revenue", "servers", f"{start}/{end}", "--json"]
    for _ in range(100):
        asked = tokentill(server.home, *words, **api)
        rows = {row["node_id"]: row for row in json.loads(asked.stdout)}
        if "u77" in rows:
            break
        time.sleep(0.1)
    row = rows["u77"]
    assert (row["amount"], row["formula"], row["difference"]) == ("0.002", "0.002", "0")


def test_a_backup_during_traffic_survives_the_end_of_everything(server, tmp_path):
    """Killed after the answer, started again, backed up, ended, restored elsewhere: all is there.

    SIGKILL right after the answer loses nothing and a resend is a duplicate; a second start prints
    no second operator key; SIGTERM ends with 0; the restored home has the rows of the manifest.
    """
    at = datetime.now(UTC) - timedelta(hours=1)
    send(server, [event(number, at) for number in range(1000, 1010)])
    assert server.end(signal.SIGKILL) == -signal.SIGKILL
    server.start()
    assert server.log.read_text().count("operator key") == 1
    assert send(server, [event(1000, at)])["duplicate"] == 1
    with Client(server.url, server.key) as client:
        legs = len(client.requests(*day()))
    api = {"TOKENTILL_API_URL": server.url, "TOKENTILL_API_KEY": server.key}
    made = tokentill(server.home, "db", "backup", **api)
    assert made.exit_code == 0, made.stderr
    assert server.end() == 0
    restored = tokentill(tmp_path / "new", "db", "restore", made.stdout.strip())
    assert restored.exit_code == 0, restored.stderr
    rows = json.loads(restored.stdout)["usage"]["rows"]
    assert rows["main.leg"] >= max(legs, 10)
    store = open_store(tmp_path / "new" / "usage.duckdb")
    with store.cursor() as cursor:
        assert row_counts(cursor, "usage") == rows
    store.close()
