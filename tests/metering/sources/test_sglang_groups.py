"""Samples, beams and the lines around them: what of SGLang's lines is one request."""

from pathlib import Path

from metering.sources.record import utc
from tests.metering.sources.sglang_lines import ENGINE_FILES, REAL_FILES, row, rows_of


def test_samples_of_one_call_are_one_group(shared: Path) -> None:
    """The sample's n=2 call: a prefix warm-up line without output and two samples."""
    rows = [r for r in rows_of(shared / ENGINE_FILES.format("unified")) if r["group_id"]]
    assert [r["output_tokens"] for r in rows] == [0, 50, 61]
    assert len({r["group_id"] for r in rows}) == 1
    assert {r["group_size"] for r in rows} == {2}


def test_list_prompts_with_n_are_a_group_each(shared: Path) -> None:
    """A real call with n=2 of two prompts, 3 and 5 tokens: equal received_time, two groups."""
    rows = rows_of(shared / REAL_FILES.format("exporter"))[-6:]
    groups = {r["group_id"]: r["input_tokens"] for r in rows}
    assert sorted(groups.values()) == [3, 5]
    assert all(sum(r["group_id"] == g for r in rows) == 3 for g in groups)


def test_a_group_without_a_logged_prompt_uses_its_length() -> None:
    """--log-requests-level 1 drops the prompt; the same call and token count are one group."""
    call = {"received_time": 2762.394566454, "sampling_params": {"n": 2}}
    ids = [row(call, prompt_tokens=count)["group_id"] for count in (128, 128, 129)]
    assert ids[0] == ids[1] != ids[2]


GENERATE = {"sampling_params": {"n": 2, "max_new_tokens": 4}}  # no received_time on /generate
NO_OUTPUT = {"completion_tokens": 0, "finish_reason": {"type": "length", "length": 0}}


def test_samples_of_generate_are_requests() -> None:
    """SGLang 0.5.23, run: n=2 gives request_received_ts of their own; each tells 12 / 4."""
    for at in (1796068107.7688296, 1796068107.7690208):
        read = row(GENERATE, prompt_tokens=12, completion_tokens=4, request_received_ts=at)
        assert (read["group_id"], read["group_size"], read["status"]) == (None, None, "ok")


def test_the_request_before_samples_of_generate_is_the_engines() -> None:
    """SGLang 0.5.23, run: one line more than samples, without output; asking for none is other."""
    assert row(GENERATE, **NO_OUTPUT)["status"] == "warmup"
    asked = {"sampling_params": {"n": 2, "max_new_tokens": 0}}
    assert row(asked, **NO_OUTPUT)["status"] == "ok"
    assert row({"received_time": 1.5} | GENERATE, **NO_OUTPUT)["status"] == "ok"


def test_a_beam_search_is_one_request() -> None:
    """SGLang 0.5.23, run: beam_width 3 and n=3 give one line with the tokens of all beams.

    It lacks received, finished and latency; by hand: queued at 253.3969755 - 0.0005533 = .3964222.
    """
    beams = {"sampling_params": {"n": 3, "beam_width": 3, "max_new_tokens": 4}}
    missing = dict.fromkeys(("request_received_ts", "request_finished_ts", "e2e_latency"), ...)
    times = {"forward_entry_time": 1796069253.3969755, "queue_time": 0.0005533}
    sent = {"response_sent_to_client_ts": 1796069253.4664562}
    read = row(beams, prompt_tokens=12, completion_tokens=12, **missing, **times, **sent)
    assert (read["group_id"], read["group_size"], read["output_tokens"]) == (None, None, 12)
    assert utc(read["started_at"]).isoformat() == "2026-11-30T20:07:33.396422+00:00"
    assert utc(read["finished_at"]).isoformat() == "2026-11-30T20:07:33.466456+00:00"


def test_in_pd_the_group_is_the_join_key() -> None:
    """All n+1 lines share one room in 0.5.23."""
    parameters = {"bootstrap_host": "h", "bootstrap_room": 5, "sampling_params": {"n": 2}}
    read = row(parameters, stage="decode")
    assert (read["group_id"], read["group_size"]) == (read["join_key"], 2)


def test_an_absurd_n_is_no_group() -> None:
    """A client may ask for any n; what no engine samples groups nothing."""
    read = row({"received_time": 1.5, "sampling_params": {"n": 10**13}})
    assert (read["group_id"], read["group_size"]) == (None, None)
