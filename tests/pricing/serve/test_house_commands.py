"""Commands of the house: the same through a running server as on the stores themselves."""

import json
import socket

import pytest

from pricing.ledger.connect import Ledger
from pricing.ledger.upgrade import upgrade_ledger, upgrade_usage
from tests.pricing.ledger.test_close_races import fill
from tests.pricing.serve.conftest import Server, tokentill

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=["stores", "server"])
def house(request, tmp_path_factory):
    """A home with June's usage of six tenants, closed; and how commands reach it."""
    home = tmp_path_factory.mktemp("house") / "home"
    home.mkdir()
    upgrade_ledger(f"sqlite:///{home / 'ledger.sqlite'}")
    upgrade_usage(home / "usage.duckdb")
    ledger = Ledger(f"sqlite:///{home / 'ledger.sqlite'}")
    fill(ledger, home / "usage.duckdb")
    ledger.close()
    run(home, {}, "close", "2026-06")
    run(home, {}, "invoice", "issue", "INV-000002")
    if request.param == "stores":
        yield home, {}
        return
    server = Server(home, request.getfixturevalue("port")).start()
    yield home, {"TOKENTILL_API_URL": server.url, "TOKENTILL_API_KEY": server.key}
    server.end()


@pytest.fixture(scope="module")
def port():
    """A free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def run(home, variables, *words):
    """The standard output of a command that must succeed."""
    done = tokentill(home, *words, **variables)
    assert done.exit_code == 0, done.stderr
    return done.stdout


def ask(house, *words):
    """The JSON of a command."""
    home, variables = house
    return json.loads(run(home, variables, *words, "--json"))


def refused(house, *words):
    """The words of a command that must fail, with its exit code."""
    home, variables = house
    done = tokentill(home, *words, **variables)
    return done.exit_code, done.stderr


def test_a_dispute_from_its_opening_to_the_next_invoice(house):
    """t-01 owes 4.00 on line 1 and gets 1.00 of it back in July."""
    made = ask(house, "dispute", "open", "INV-000002", "1", "--amount", "1.00", "--reason", "down")
    assert (made["state"], made["tenant_id"]) == ("open", "t-01")
    given = ("--credit", "1.00", "--reason", "agreed")
    assert ask(house, "dispute", "decide", made["dispute_id"], *given)["state"] == "credited"
    (listed,) = ask(house, "dispute", "list")
    assert (listed["credited_amount"], listed["decision_reason"]) == ("1", "agreed")
    report = ask(house, "close", "2026-07", "--tenant", "t-01")
    assert report["tenants"][0]["documents"][0]["net_amount"] == "-1"


def test_more_than_the_line_is_refused(house):
    """4.00 at most."""
    words = ("dispute", "open", "INV-000002", "1", "--amount", "4.01", "--reason", "x")
    code, said = refused(house, *words)
    assert (code, "at most 4" in said) == (1, True)


def test_seller_and_buyer(house):
    """What is given changes, what is left out stays, FIELD= empties."""
    ask(house, "issuer", "set", "house", "legal_name=云算", "tax_id=9131", "country=CN")
    ask(house, "issuer", "set", "house", "tax_id=")
    (seller,) = [e for e in ask(house, "issuer", "list") if e["issuer_id"] == "house"]
    assert (seller["legal_name"], seller["tax_id"], seller["country"]) == ("云算", None, "CN")
    ask(house, "buyer", "set", "t-01", "tax_rate=0.06", "language=zh", "payment_days=10")
    buyer = ask(house, "buyer", "show", "t-01")
    assert (buyer["tax_rate"], buyer["language"], buyer["payment_days"]) == ("0.06", "zh", 10)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("buyer", "set", "t-01", "tax=0.06"), "tax_rate"),
        (("buyer", "set", "t-01", "tax_rate"), "FIELD=VALUE"),
        (("tenant", "set", "t-01", "kind=friend"), "customer"),
    ],
)
def test_a_wrong_field_names_the_right_ones(house, words, says):
    """Exit 2, wrong usage."""
    code, said = refused(house, *words)
    assert (code, says in said) == (2, True)


def test_tenants(house):
    """Registered, changed, listed."""
    words = ("--name", "New", "--zone", "Asia/Kolkata", "--currency", "INR")
    ask(house, "tenant", "add", "t-new", *words)
    assert ask(house, "tenant", "set", "t-new", "kind=test")["kind"] == "test"
    (row,) = [each for each in ask(house, "tenant", "list") if each["tenant_id"] == "t-new"]
    assert (row["billing_zone"], row["kind"]) == ("Asia/Kolkata", "test")
    code, said = refused(house, "tenant", "set", "t-01", "billing_zone=Asia/Tokyo")
    assert (code, "was closed in UTC" in said) == (1, True)


def test_payment(house):
    """Noted on a final invoice, with its reason in the audit log."""
    home, variables = house
    run(home, variables, "invoice", "pay", "INV-000002", "--reason", "bank statement")
    (row,) = [e for e in ask(house, "invoice", "list") if e["number"] == "INV-000002"]
    assert row["payment"] == "paid"
    last = ask(house, "audit", "--subject", "invoice", "--last", "1")[0]
    assert (last["subject_key"], last["after"]["payment_state"]) == ("INV-000002", "paid")
    assert last["before"]["payment_state"] == "open"


def test_policies(house, tmp_path):
    """Checked, kept, listed; a wrong one is refused with what it may be."""
    for text, code in (('undelivered = "bill_input"', 0), ('undelivered = "free"', 1)):
        file = tmp_path / "policies.toml"
        file.write_text(text, "utf-8")
        words = ("policy", "set", str(file), "--effective-from", "2026-11-01T00:00:00Z")
        assert refused(house, *words)[0] == code
    assert [each["toml_text"] for each in ask(house, "policy", "list")] == [
        'undelivered = "bill_input"'
    ]


def test_jobs(house):
    """In a server they ran and can run again; without one the command says what to do."""
    _, variables = house
    code, said = refused(house, "job", "retry", "monthly_export", "2026-06", "--again")
    if variables:
        assert code == 0, said
        assert "monthly_export" in {each["job"] for each in ask(house, "job", "list")}
    else:
        assert (code, "TOKENTILL_API_URL" in said) == (1, True)
        assert ask(house, "job", "list") == []


def test_whose_work_it_was(house):
    """Tenant n did n + 1 million tokens of input and all of it was delivered, on either way."""
    rows = ask(house, "work", "2026-06")["work"]
    assert [row["delivered_tokens"] for row in rows] == [n * 1_000_000 for n in range(1, 7)]
    assert all(row["rest_tokens"] == 0 for row in rows)


def test_a_closed_month_rated_anew(house):
    """The price did not change: nothing to correct, on either way."""
    found = ask(house, "rerate", "2026-06", "--reason", "checked", "--trial")
    assert (found["items"], len(found["tenants"])) == ([], 6)
