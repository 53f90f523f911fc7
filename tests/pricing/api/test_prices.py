"""Publishing a book: checked, reviewed by a second person, tried before and accounted for after."""

import pytest

from pricing.runs.reprice import reprice_open
from pricing.scope import Role
from tests.pricing.api.conftest import BOOK, NOW, furnish

DEARER = BOOK.replace('"2.00"', '"2.50"')
TODAY = {"start_at": "2026-10-01T00:00:00Z", "end_at": "2026-10-02T00:00:00Z"}


def post(house, toml, state="published", key=None):
    """Publish, or keep in another state."""
    return house.send("POST", "/v1/prices", key=key, json={"toml": toml, "state": state})


def require_review(house):
    """Put book_review = second_person in force."""
    text = 'book_review = "second_person"'
    body = {"toml": text, "effective_from": NOW.isoformat()}
    assert house.send("POST", "/v1/policies", json=body).status_code == 201


def rerate(house):
    """What the settler does once a book was published."""
    cursor = house.store.cursor()
    list(reprice_open(cursor, house.rules.at(house.clock.now), now=house.clock.now))
    cursor.close()


@pytest.mark.parametrize("revision", [0, -1, 2**31, 10**30])
def test_a_revision_that_no_column_holds_is_none(house, revision):
    """404 as for any other that is not there; 2**31 is more than an INTEGER's most."""
    for path in (f"/v1/prices/list-cny/{revision}", f"/v1/prices/list-cny/{revision}/effects"):
        assert house.get(path).status_code == 404


def test_a_second_person_reviews_before_a_book_is_published(house):
    """Draft by one key, review by another, then published: by either of them."""
    require_review(house)
    second = house.key(Role.FINANCE)
    assert post(house, BOOK).status_code == 409
    assert post(house, BOOK, "draft").status_code == 201
    assert "another key" in post(house, BOOK).json()["remedy"]
    assert "second person" in post(house, BOOK, "reviewed").json()["remedy"]
    assert post(house, BOOK, "reviewed", second).json()["state"] == "reviewed"
    assert post(house, BOOK).json()["state"] == "published"


def test_nobody_reviews_a_text_that_is_no_draft(house):
    """A review of the own first version would be none."""
    assert post(house, BOOK, "reviewed").status_code == 409


def test_without_the_policy_one_person_publishes(house):
    """The default: book_review = "none"."""
    assert post(house, BOOK).json()["state"] == "published"


def test_an_older_text_does_not_silently_stay_without_effect(house):
    """Revision 1 again while 2 prices usage: said, instead of accepted and ignored."""
    post(house, BOOK)
    post(house, DEARER)
    refused = post(house, BOOK)
    assert refused.status_code == 409
    assert "revision 2 is published since" in refused.json()["detail"]


def test_a_book_with_mistakes_is_refused_with_every_line_and_remedy(house):
    """As a whole, nothing is kept: one overlap and one missing cached_input."""
    entry = BOOK[BOOK.index("[[price]]") :]
    wrong = BOOK + entry + entry.replace("m-river", "m-sea").replace('cached_input = "0.20", ', "")
    refused = post(house, wrong)
    assert refused.status_code == 422
    assert [each["field"] for each in refused.json()["errors"]] == [
        "line 9, m-river",
        "line 13, m-sea",
    ]
    assert 'Write cached_input = "same"' in refused.json()["errors"][1]["reason"]
    assert house.get("/v1/prices").json()["items"] == []


def test_what_only_looks_wrong_is_said_and_kept(house):
    """A price per token instead of per million: a warning with its line."""
    made = post(house, BOOK.replace('"0.20"', '"0.0000002"')).json()
    assert [(each["line"], each["where"]) for each in made["warnings"]] == [(5, "m-river")]


def test_holidays_are_in_the_stored_text(house):
    """Dates instead of a name: another version of the calendar cannot move a price later."""
    band = '[[price.band]]\nfrom = "00:30"\nuntil = "08:30"\nholidays = "CN"\n'
    made = post(house, BOOK + band + 'per_million_tokens = { input = "1" }\n').json()
    assert "2026-10-01" in made["toml_text"]


def test_what_if_and_effects_say_the_same_money(house):
    """500,000 tokens × 0.5 more: t-alder 10 × 0.25, t-birch 99 × 0.25, nobody 0.25 = 27.50 CNY."""
    furnish(house)
    body = {"toml": DEARER, **TODAY}
    tried = house.send("POST", "/v1/prices/what-if", json=body).json()
    changes = {each["tenant_id"]: each["difference"] for each in tried["items"]}
    assert changes == {"t-alder": "2.5", "t-birch": "24.75", None: "0.25"}
    assert post(house, DEARER).json()["revision"] == 2
    path = "/v1/prices/list-cny/2/effects"
    assert house.get(path).json()["finished"] is False
    rerate(house)
    effects = house.get(path).json()
    assert effects["finished"] is True
    assert {each["tenant_id"]: each["difference"] for each in effects["items"]} == changes
    assert effects["totals"] == tried["totals"]
    assert effects["totals"][0]["difference"] == "27.5"


def test_effects_belong_to_their_own_publication(house):
    """A later publication's changes are its own: 27.50 up, then 27.50 down again."""
    furnish(house)
    for text in (DEARER, BOOK.replace("[[price]]", '[[price]]\nsource = "back"')):
        house.clock.now = house.clock.now.replace(minute=house.clock.now.minute + 1)
        post(house, text)
        rerate(house)
    sums = [house.get(f"/v1/prices/list-cny/{n}/effects").json()["totals"] for n in (2, 3)]
    assert [each[0]["difference"] for each in sums] == ["27.5", "-27.5"]


def test_effects_of_a_draft_are_not_there_yet(house):
    """404, with what to ask instead."""
    post(house, BOOK, "draft")
    answer = house.get("/v1/prices/list-cny/1/effects")
    assert answer.status_code == 404
    assert "what-if" in answer.json()["remedy"]


@pytest.mark.parametrize("role", [Role.TENANT, Role.NODE])
def test_a_tenant_sees_neither(house, role):
    """Both show every tenant's money (V10)."""
    furnish(house)
    own = {"tenant_id": "t-alder"} if role is Role.TENANT else {"node_id": "u01"}
    key = house.key(role, **own)
    assert house.get("/v1/prices/list-cny/1/effects", key).status_code == 403
    body = {"toml": BOOK, **TODAY}
    assert house.send("POST", "/v1/prices/what-if", key=key, json=body).status_code == 403


def test_a_review_is_on_record(house):
    """The audit log says who reviewed which revision."""
    second = house.key(Role.FINANCE)
    post(house, BOOK, "draft")
    post(house, BOOK, "reviewed", second)
    rows = house.get("/v1/audit", params={"subject": "book_revision"}).json()["items"]
    assert rows[0]["after"] == {"state": "reviewed"}
    assert rows[0]["actor"] != rows[1]["actor"]
