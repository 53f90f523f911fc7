"""pricing/client over a real connection: typed, exact, all pages, and errors that teach."""

import asyncio
import inspect
from datetime import UTC, datetime
from decimal import Decimal

import pandas as pd
import pytest

from pricing.client import ApiError, ApiUnreachable, AsyncClient, Client
from tests.pricing.api.served import served

START, END = datetime(2026, 10, 1, tzinfo=UTC), datetime(2026, 10, 2, tzinfo=UTC)


@pytest.fixture(scope="module")
def address(furnished):
    """The furnished application on a port of its own."""
    with served(furnished.client.app) as url:
        yield url


@pytest.fixture
def till(address, furnished):
    """A client with the operator's key."""
    with Client(address, furnished.operator) as client:
        yield client


def test_a_frame_is_exact(till):
    """10 + 99 + 1 = 110 CNY as Arrow decimals; a float column could not hold 15 digits."""
    frame = till.usage(START, END, group_by=["tenant_id"]).to_pandas()
    assert frame["amount"].sum() == Decimal(110)
    assert isinstance(frame["amount"].dtype, pd.ArrowDtype)
    assert list(frame.sort_values("amount")["tenant_id"])[1:] == ["t-alder", "t-birch"]


def test_a_list_is_read_over_all_its_pages(till):
    """110 requests in pages of 30."""
    rows = till.rows("/v1/requests", start_at=START, end_at=END, limit=30)
    assert len({row["request_id"] for row in rows}) == 110


def test_every_method_has_its_route(till):
    """Each answers rows or a value of this house."""
    assert [row["node_id"] for row in till.server_revenue(START, END)] == ["u01"]
    assert len(till.unbilled(START, END)) == 0
    assert sum(row["amount"] for row in till.chargeback(START, END)) == 110
    assert "unattributed" in [row["kind"] for row in till.findings(START, END)]
    assert [row["tenant_id"] for row in till.tenants()] == ["t-alder", "t-birch"]
    assert [row["node_id"] for row in till.servers()] == ["u01"]
    assert len(till.api_keys()) >= 6
    assert till.quote("m-river")["per_million_tokens"]["input"] == "2"
    (first, *_) = till.requests(START, END, tenant_id="t-alder")
    assert till.request(first["request_id"])["amount"] == "1"
    assert till.ready()["status"] == "ready"


def test_a_refusal_says_what_and_what_to_do(till):
    """Status, stable type, remedy and request id of the problem."""
    with pytest.raises(ApiError, match="Check the id") as caught:
        till.get("/v1/tenants/t-oak")
    assert (caught.value.status, caught.value.type.rpartition(":")[2]) == (404, "not-found")
    assert caught.value.request_id


def test_both_clients_answer_alike(till, address, furnished):
    """The same rows, the same problem, at once; usage exact as a frame."""

    async def ask():
        async with AsyncClient(address, furnished.operator) as other:
            return await asyncio.gather(
                other.rows("/v1/requests", start_at=START, end_at=END, limit=30),
                other.usage(START, END, group_by=["tenant_id"]),
                other.quote("m-river"),
                other.ready(),
                other.get("/v1/tenants/t-oak"),
                return_exceptions=True,
            )

    rows, usage, quoted, ready, refused = asyncio.run(ask())
    assert rows.table == till.rows("/v1/requests", start_at=START, end_at=END).table
    assert usage.to_pandas()["amount"].sum() == Decimal(110)
    assert (quoted, ready["status"]) == (till.quote("m-river"), "ready")
    assert (refused.status, refused.remedy != "") == (404, True)


def test_both_clients_have_the_same_methods():
    """Routes are written once; what they stand on, in both."""
    named = [
        {name for name, _ in inspect.getmembers(kind, inspect.isfunction) if name[0] != "_"}
        for kind in (Client, AsyncClient)
    ]
    assert named[0] == named[1]


def both(address, key, ask):
    """ask(client) of the client that waits, and of the one that awaits."""

    async def awaited():
        async with AsyncClient(address, key) as client:
            return await ask(client)

    with Client(address, key) as client:
        return ask(client), asyncio.run(awaited())


def test_both_clients_read_files_alike(address, furnished, tmp_path):
    """An export as bytes, and every request as a file: 110 lines and their header."""
    key, month = furnished.operator, {"month": "2026-10"}
    waited, awaited = both(address, key, lambda till: till.get_bytes("/v1/exports/lines", **month))
    assert waited == awaited
    asked = {"start_at": START, "end_at": END, "accept": "text/csv"}
    out = tmp_path / "requests.csv"
    for _ in both(address, key, lambda till: till.get_file("/v1/requests", out, **asked)):
        assert len(out.read_text("utf-8").splitlines()) == 111


def test_a_refused_file_is_not_there(till, tmp_path):
    """The problem is raised, and nothing of it is written."""
    with pytest.raises(ApiError, match="tenant"):
        till.get_file("/v1/tenants/t-oak", tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


def test_a_frame_of_the_awaiting_client_is_exact(address, furnished):
    """The same decimals to the last digit, as Arrow; counts as integers."""
    asked = {"group_by": ["tenant_id"]}
    waited, awaited = both(address, furnished.operator, lambda t: t.usage(START, END, **asked))
    frames = [rows.to_pandas() for rows in (waited, awaited)]
    assert frames[0].equals(frames[1])
    assert str(frames[1].dtypes["amount"]) == "decimal128(38, 15)[pyarrow]"
    assert str(frames[1].dtypes["uncached_tokens"]) == "int64[pyarrow]"


def test_nobody_there_is_said():
    """Not a stack of the HTTP library."""
    with Client("http://127.0.0.1:9", "tk_x") as client, pytest.raises(ApiUnreachable):
        client.ready()
