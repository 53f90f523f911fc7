"""Monthly exports, exports by command, backups and their way back, with a real S3 server."""

import hashlib
import json
import secrets
from datetime import date
from decimal import Decimal
from zoneinfo import ZoneInfo

import obstore
import pytest

from pricing.exports.places import place_of
from pricing.ledger.connect import Ledger
from pricing.ledger.upgrade import upgrade_ledger, upgrade_usage
from pricing.runs.export_month import gather_month, write_month
from tests.pricing.ledger.test_close_races import fill
from tests.pricing.places.conftest import BUCKET
from tests.pricing.serve.conftest import tokentill
from tests.pricing.settle.legs import at, fed, leg

pytestmark = pytest.mark.slow
JUNE = date(2026, 6, 1)


@pytest.fixture
def prefix():
    """A part of the bucket for this test alone."""
    return secrets.token_hex(6)


@pytest.fixture
def home(tmp_path):
    """A home with June's usage of six tenants, 42 CNY together."""
    folder = tmp_path / "home"
    folder.mkdir()
    upgrade_ledger(f"sqlite:///{folder / 'ledger.sqlite'}")
    upgrade_usage(folder / "usage.duckdb")
    ledger = Ledger(f"sqlite:///{folder / 'ledger.sqlite'}")
    fill(ledger, folder / "usage.duckdb")
    ledger.close()
    return folder


def content(s3, name):
    """An object's bytes, by a client of its own."""
    return obstore.get(s3.store(), name).bytes().to_bytes()


def test_a_month_is_exported_with_its_digests(s3, prefix):
    """Four files and a manifest that says the SHA-256 of each."""
    till = fed(leg("a"), leg("b", tenant_id="t-birch", started_at=at(60)))
    tables = gather_month(till.cursor, JUNE, ZoneInfo("UTC"))
    write_month(tables, JUNE, place_of(f"s3://{BUCKET}/{prefix}"))
    manifest = json.loads(content(s3, f"{prefix}/2026-06/manifest.json"))
    for name, told in manifest["files"].items():
        stored = content(s3, f"{prefix}/2026-06/{name}")
        assert hashlib.sha256(stored).hexdigest() == told["sha256"]
    names = {f"{prefix}/2026-06/{name}" for name in (*manifest["files"], "manifest.json")}
    assert s3.names(prefix) == names
    assert len(names) == 5


def test_a_run_that_did_not_end_leaves_no_manifest(s3, prefix):
    """The second run fails at its second file: the first run's manifest is gone, as it must."""
    till = fed(leg("a"))
    place = place_of(f"s3://{BUCKET}/{prefix}")
    tables = gather_month(till.cursor, JUNE, ZoneInfo("UTC"))
    write_month(tables, JUNE, place)
    tables["servers"] = "no table"
    with pytest.raises(AttributeError):
        write_month(tables, JUNE, place)
    assert f"{prefix}/2026-06/manifest.json" not in s3.names(prefix)


def test_an_export_by_command(s3, prefix, home):
    """The same bytes as into a folder."""
    words = ("export", "2026-06", "--kind", "chargeback", "--out")
    for out in (str(home / "a.csv"), f"s3://{BUCKET}/{prefix}/a.csv"):
        done = tokentill(home, *words, out)
        assert (done.exit_code, done.stdout.strip()) == (0, out), done.stderr
    assert content(s3, f"{prefix}/a.csv") == (home / "a.csv").read_bytes()


def test_a_backup_goes_to_a_bucket_and_comes_back(s3, prefix, home, tmp_path):
    """Restored into another home it closes June like the first one would: 42 CNY."""
    variables = {"TOKENTILL_JOBS_BACKUPS_FOLDER": f"s3://{BUCKET}/{prefix}"}
    made = tokentill(home, "db", "backup", **variables)
    assert made.exit_code == 0, made.stderr
    address = made.stdout.strip()
    assert address.startswith(f"s3://{BUCKET}/{prefix}/")
    assert not list(home.glob("staging/*"))
    assert s3.secret not in made.stdout + made.stderr
    restored = tokentill(tmp_path / "new", "db", "restore", address)
    assert restored.exit_code == 0, restored.stderr
    assert json.loads(restored.stdout)["usage"]["rows"]["main.request"] == 6
    closed = json.loads(tokentill(tmp_path / "new", "close", "2026-06", "--json").stdout)
    documents = [made for each in closed["tenants"] for made in each["documents"]]
    assert sum(Decimal(made["net_amount"]) for made in documents) == 42


@pytest.mark.parametrize("lost", ["manifest.json", "ledger.sqlite"])
def test_half_a_backup_in_a_bucket_is_refused(s3, prefix, home, lost):
    """Without its manifest, or without one of its files: the home stays as it is."""
    variables = {"TOKENTILL_JOBS_BACKUPS_FOLDER": f"s3://{BUCKET}/{prefix}"}
    address = tokentill(home, "db", "backup", **variables).stdout.strip()
    name = address.removeprefix(f"s3://{BUCKET}/")
    obstore.delete(s3.store(), f"{name}/{lost}")
    before = (home / "ledger.sqlite").read_bytes()
    refused = tokentill(home, "db", "restore", address)
    assert (refused.exit_code, "no whole backup" in refused.stderr) == (1, True)
    assert (home / "ledger.sqlite").read_bytes() == before
