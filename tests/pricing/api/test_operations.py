"""/v1/jobs: what ran, and running it again."""

from datetime import UTC, datetime

from tests.pricing.api.conftest import leg

RETRY = "/v1/jobs/monthly_export/2026-09/retry"
SEPTEMBER = datetime(2026, 9, 3, tzinfo=UTC)


def test_a_failed_job_is_run_again(house):
    """The folder was a file: failed, with the reason; removed: done, at the second attempt."""
    house.settle(leg(1, "t-alder", started_at=SEPTEMBER, finished_at=SEPTEMBER))
    folder = house.jobs.exports.path
    folder.write_text("in the way")
    house.jobs.run_due()
    (run,) = house.get("/v1/jobs").json()["items"]
    assert (run["state"], bool(run["error"])) == ("failed", True)
    assert house.send("POST", RETRY, json={}).json()["state"] == "failed"
    folder.unlink()
    done = house.send("POST", RETRY, json={}).json()
    assert (done["state"], done["attempts"]) == ("done", 3)
    assert (folder / "2026-09" / "manifest.json").exists()


def test_a_done_job_is_repeated_only_on_demand(house):
    """409 with what to send; then its files are replaced. A job that never ran: 404."""
    house.settle(leg(1, "t-alder", started_at=SEPTEMBER, finished_at=SEPTEMBER))
    house.jobs.run_due()
    refused = house.send("POST", RETRY, json={})
    assert (refused.status_code, "again" in refused.json()["remedy"]) == (409, True)
    assert house.send("POST", RETRY, json={"again": True}).json()["attempts"] == 2
    never = RETRY.replace("2026-09", "2026-08")
    assert house.send("POST", never, json={"again": True}).status_code == 404
