"""Caches: what one credential read, another never sees."""

from dashboard.kept import Kept
from dashboard.reads import Reader, ask
from dashboard.sign_in import LISTS


def tenants(reader):
    """Ids of the tenants that the reader sees."""
    (page,) = reader.read(ask("/v1/tenants", rows=False, limit=10))
    return [tenant["tenant_id"] for tenant in page["items"]]


def test_the_cache_is_keyed_by_credential(house):
    """The operator reads first; the tenant's key asks the same and sees itself alone."""
    assert tenants(Reader(house.url, house.key)) == ["t-alder", "t-birch"]
    assert tenants(Reader(house.url, house.tenant)) == ["t-alder"]
    assert tenants(Reader(house.url, house.key)) == ["t-alder", "t-birch"]


def test_a_credential_does_not_show_its_key():
    """The cache's key is a digest: it holds neither the address nor the secret."""
    digest = Reader("http://a", "tk_secret").credential
    assert "secret" not in digest
    assert digest != Reader("http://b", "tk_secret").credential


def test_rights_are_what_the_api_grants(house):
    """pricing/scope.py: a viewer reads neither keys nor audit log; a tenant no servers."""
    viewer = Reader(house.url, house.viewer).allowed(LISTS)
    tenant = Reader(house.url, house.tenant).allowed(LISTS)
    assert {"/v1/servers", "/v1/quarantine"} <= viewer
    assert not {"/v1/keys", "/v1/audit"} & viewer
    assert tenant == {"/v1/tenants", "/v1/keys", "/v1/invoices"}


def test_questions_with_the_same_values_are_the_same():
    """The cache finds an answer again whatever the order of the words."""
    assert ask("/v1/usage", a=1, b=[2], c=None) == ask("/v1/usage", b=[2], a=1)


def test_answers_are_kept_for_a_while_and_make_room():
    """15 s and two answers at most: the third puts out the first, time puts out the rest."""
    now = [0.0]
    kept = Kept(15.0, 2, clock=lambda: now[0])
    for name in "abc":
        kept.put(name, name.upper())
    assert [kept.get(name) for name in "abc"] == [None, "B", "C"]
    now[0] = 15.0
    assert kept.get("c") is None


def test_what_is_too_old_is_let_go():
    """Of three answers only the new one is held once the others have run out."""
    now = [0.0]
    kept = Kept(15.0, 100, clock=lambda: now[0])
    for name in "ab":
        kept.put(name, name.upper())
    now[0] = 15.0
    kept.put("c", "C")
    assert list(kept._answers) == ["c"]


def test_a_page_cannot_change_what_another_is_given(house):
    """JSON is handed out as a copy."""
    question, reader = ask("/v1/tenants", rows=False, limit=10), Reader(house.url, house.key)
    reader.read(question)[0]["items"].clear()
    assert tenants(reader) == ["t-alder", "t-birch"]
