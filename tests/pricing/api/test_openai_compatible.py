"""/v1/organization/…: what tools for OpenAI's usage and costs endpoints read.

Shape of an answer: OpenAI's API reference (developers.openai.com), organization usage and costs.
"""

import pytest

START = 1790812800  # 2026-10-01T00:00:00Z
DAY = 86_400
USAGE, COSTS = "/v1/organization/usage/completions", "/v1/organization/costs"


def buckets(answer):
    assert answer.status_code == 200, answer.text
    assert answer.json()["object"] == "page"
    return answer.json()["data"]


def test_a_day_of_usage(furnished):
    """110 requests × 500,000 input tokens, none cached; groups that nobody asked for are null."""
    (bucket,) = buckets(furnished.get(USAGE, params={"start_time": START, "limit": 1}))
    assert (bucket["start_time"], bucket["end_time"]) == (START, START + DAY)
    assert bucket["results"] == [
        {
            "object": "organization.usage.completions.result",
            "input_tokens": 55_000_000,
            "output_tokens": 0,
            "input_cached_tokens": 0,
            "input_uncached_tokens": 55_000_000,
            "input_cache_write_tokens": 0,
            "num_model_requests": 110,
            "input_audio_tokens": 0,
            "output_audio_tokens": 0,
            "project_id": None,
            "model": None,
            "user_id": None,
            "api_key_id": None,
            "batch": None,
            "service_tier": None,
        }
    ]


@pytest.mark.parametrize("name", ["group_by", "group_by[]"])
def test_groups_come_in_both_forms(furnished, name):
    """The house sees a project with its tenant: two tenants may both have a project 'search'."""
    params = [("start_time", START), ("limit", 1), (name, "project_id"), (name, "model")]
    (bucket,) = buckets(furnished.get(USAGE, params=params))
    found = {(each["project_id"], each["model"]) for each in bucket["results"]}
    assert found == {
        ("t-alder/search", "m-river"),
        ("t-birch/search", "m-river"),
        ("unattributed/search", "m-river"),
    }


def test_costs_are_exact_numbers(furnished):
    """110 CNY; a JSON number with the digits of the decimal, the currency in small letters."""
    answer = furnished.get(COSTS, params={"start_time": START, "limit": 1})
    (bucket,) = buckets(answer)
    (result,) = bucket["results"]
    assert result["amount"]["currency"] == "cny"
    assert '"value":110.000000000000000,' in answer.text


def test_costs_by_line(furnished):
    """One line: input of m-river."""
    params = {"start_time": START, "limit": 1, "group_by": "line_item"}
    (bucket,) = buckets(furnished.get(COSTS, params=params))
    assert [each["line_item"] for each in bucket["results"]] == ["m-river, input"]


def test_a_tenants_tool_sees_the_tenant(furnished):
    """10 CNY and its own project name; another tenant is refused."""
    alder = furnished.tenant["t-alder"]
    params = {"start_time": START, "limit": 1, "group_by": "project_id"}
    (bucket,) = buckets(furnished.get(COSTS, alder, params=params))
    assert [(each["project_id"], each["amount"]["value"]) for each in bucket["results"]] == [
        ("search", 10)
    ]
    assert furnished.get(COSTS, alder, params=params | {"tenant_id": "t-birch"}).status_code == 403


def test_pages_lead_from_day_to_day(furnished):
    """Three days in pages of one; empty days are buckets without results."""
    params = {"start_time": START - DAY, "end_time": START + 2 * DAY, "limit": 1}
    starts, sizes, page = [], [], {}
    while page is not None:
        answer = furnished.get(USAGE, params=params | page).json()
        starts += [bucket["start_time"] for bucket in answer["data"]]
        sizes += [len(bucket["results"]) for bucket in answer["data"]]
        page = {"page": answer["next_page"]} if answer["has_more"] else None
    assert starts == [START - DAY, START, START + DAY]
    assert sizes == [0, 1, 0]


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"start_time": START, "bucket_width": "1m"},
        {"start_time": START, "limit": 32},
        {"start_time": START, "end_time": START},
        {"start_time": START, "page": "x"},
    ],
)
def test_what_cannot_be_answered_is_refused(furnished, params):
    """Minutes are not kept; a page has its limit."""
    assert furnished.get(USAGE, params=params).status_code == 422
