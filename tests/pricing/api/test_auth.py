"""pricing/api/auth.py: keys, their rate, guesses, and what a revocation does."""

from datetime import timedelta

import pytest

from pricing.api.auth import GUESSES_FREE, Authenticator
from pricing.errors import TooManyRequests
from pricing.scope import Role

HERE = "192.0.2.1"


def guess(house, number):
    return house.get("/v1/tenants", f"tk_{number:043d}")


@pytest.mark.parametrize(
    "header", ["", "Basic dGs6", "Bearer", "Bearer ", "Bearer tk_wrong", "tk_x"]
)
def test_anything_but_a_valid_key_is_401(house, header):
    """With the scheme to use, and no word on what was wrong with the key."""
    answer = house.get("/v1/tenants", "", headers={"Authorization": header} if header else {})
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert answer.json()["type"] == "urn:tokentill:problem:not-authenticated"


def test_a_revoked_key_is_refused_by_the_next_request(house):
    """Although it has just been used and is remembered."""
    made = house.send("POST", "/v1/keys", json={"name": "v", "role": "viewer"}).json()
    assert house.get("/v1/tenants", made["secret"]).status_code == 200
    assert house.send("DELETE", f"/v1/keys/{made['key_id']}").status_code == 200
    assert house.get("/v1/tenants", made["secret"]).status_code == 401


def test_a_key_is_cut_down_to_its_scopes(house):
    """usage:read alone opens /v1/usage and not /v1/tenants."""
    key = house.key(Role.VIEWER, scopes=("usage:read",))
    day = {"start_at": "2026-10-01T00:00:00Z", "end_at": "2026-10-02T00:00:00Z"}
    assert house.get("/v1/usage", key, params=day).status_code == 200
    answer = house.get("/v1/tenants", key)
    assert answer.status_code == 403
    assert "tenants:read" in answer.json()["detail"]


def test_guessing_is_slowed_down_and_a_working_key_is_not(house):
    """After GUESSES_FREE wrong keys the address waits 1, 3, 7 … seconds; a known key goes on."""
    assert house.get("/v1/tenants").status_code == 200
    for number in range(GUESSES_FREE + 1):
        assert guess(house, number).status_code == 401
    answer = guess(house, 99)
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "1")
    assert house.get("/v1/tenants").status_code == 200
    house.clock.now += timedelta(seconds=2)
    assert guess(house, 100).status_code == 401


def test_a_key_has_a_rate(house):
    """3 a second: a burst of 6, then 429 with Retry-After, and 3 more a second later."""
    door = Authenticator(house.ledger, house.clock, requests_per_second_max=3)
    header = f"Bearer {house.operator}"
    for _ in range(6):
        door.principal(header, HERE)
    with pytest.raises(TooManyRequests) as caught:
        door.principal(header, HERE)
    assert caught.value.retry_after_seconds == 1
    house.clock.now += timedelta(seconds=1)
    for _ in range(3):
        door.principal(header, HERE)
    with pytest.raises(TooManyRequests):
        door.principal(header, HERE)


def test_last_use_is_shown(house):
    """To find keys that nobody uses any more."""
    (key,) = house.get("/v1/keys").json()["items"]
    assert key["last_used_at"] == "2026-10-01T12:00:00Z"


def test_a_secret_is_shown_once(house):
    """In the answer that created it, and in no later one, whatever is asked."""
    made = house.send("POST", "/v1/keys", json={"name": "v", "role": "viewer"}).json()
    for path in ("/v1/keys", f"/v1/keys/{made['key_id']}", "/v1/audit"):
        assert made["secret"] not in house.get(path).text


def test_a_rotated_key_keeps_its_role(house):
    """The successor is another key with the same rights."""
    made = house.send("POST", "/v1/keys", json={"name": "v", "role": "viewer"}).json()
    path = f"/v1/keys/{made['key_id']}/rotate"
    successor = house.send("POST", path, json={"overlap_seconds": 0}).json()
    assert (successor["role"], successor["replaces_key_id"]) == ("viewer", made["key_id"])
    assert house.get("/v1/tenants", made["secret"]).status_code == 401
    assert house.get("/v1/tenants", successor["secret"]).status_code == 200
