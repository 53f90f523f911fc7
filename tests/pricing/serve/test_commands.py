"""`tokentill keys` and `tokentill db` without a server."""

import json
from pathlib import Path

from tests.pricing.serve.conftest import tokentill


def test_a_key_is_created_listed_rotated_and_revoked(tmp_path):
    """The secret on stdout alone; words on stderr; the list without secrets."""
    made = tokentill(tmp_path, "keys", "create", "ops", "--role", "operator", "--json")
    key = json.loads(made.stdout)
    assert key["secret"] not in made.stderr
    rotated = tokentill(tmp_path, "keys", "rotate", key["key_id"], "--overlap-hours", "0")
    assert rotated.stdout.startswith("tk_")
    assert tokentill(tmp_path, "keys", "revoke", key["key_id"]).exit_code == 0
    listed = json.loads(tokentill(tmp_path, "keys", "list", "--json").stdout)
    assert [each["revoked_at"] is None for each in listed].count(False) == 1
    assert key["secret"] not in str(listed)


def test_a_key_that_makes_no_sense_is_refused_with_the_remedy(tmp_path):
    """A tenant's key needs its tenant; exit 1 and no stack."""
    refused = tokentill(tmp_path, "keys", "create", "x", "--role", "tenant")
    assert refused.exit_code == 1
    assert "Set tenant_id if and only if the role is tenant" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_an_api_that_is_not_there_is_named(tmp_path):
    """With TOKENTILL_API_URL set the command asks there and nowhere else."""
    api = {"TOKENTILL_API_URL": "http://127.0.0.1:9", "TOKENTILL_API_KEY": "tk_x"}
    refused = tokentill(tmp_path, "keys", "list", **api)
    assert refused.exit_code == 1
    assert "Is tokentill serve running there?" in refused.stderr


def test_a_half_backup_is_refused(tmp_path):
    """Without a manifest, and with a file that is not what the manifest says."""
    home = tmp_path / "home"
    tokentill(home, "keys", "create", "ops", "--role", "operator")
    folder = tmp_path / "home" / "backups"
    made = tokentill(home, "db", "backup")
    assert made.exit_code == 0, made.stderr
    (backup,) = folder.iterdir()
    with (backup / "ledger.sqlite").open("r+b") as file:
        file.truncate(8192)
    refused = tokentill(home, "db", "restore", str(backup))
    assert (refused.exit_code, "not what the manifest says" in refused.stderr) == (1, True)
    (backup / "manifest.json").unlink()
    refused = tokentill(home, "db", "restore", str(backup))
    assert (refused.exit_code, "no whole backup" in refused.stderr) == (1, True)


def test_a_backup_whose_rows_are_not_those_of_the_manifest_is_refused(tmp_path):
    """Whoever changes a file and its digest still has to answer for its rows; the home stays."""
    home = tmp_path / "home"
    tokentill(home, "keys", "create", "ops", "--role", "operator")
    backup = Path(tokentill(home, "db", "backup").stdout.strip())
    manifest = json.loads((backup / "manifest.json").read_text("utf-8"))
    manifest["usage"]["sums"]["main.progress"] += 1
    (backup / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    refused = tokentill(home, "db", "restore", str(backup))
    assert (refused.exit_code, "other rows" in refused.stderr) == (1, True)
    assert not list(home.glob("*.before-restore"))


def test_both_stores_are_upgraded(tmp_path):
    """An empty home becomes one with both stores; again changes nothing."""
    for _ in range(2):
        assert tokentill(tmp_path / "home", "db", "upgrade").exit_code == 0
    assert (tmp_path / "home" / "usage.duckdb").exists()
    assert (tmp_path / "home" / "ledger.sqlite").exists()
