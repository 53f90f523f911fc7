"""A typed client of tokentill's API: httpx, pyarrow and, where frames are asked for, pandas.

with Client("http://127.0.0.1:8080", key) as till:
    frame = till.usage(start_at, end_at, interval="day", group_by=["tenant_id"]).to_pandas()

async with AsyncClient("http://127.0.0.1:8080", key) as till:
    usage, servers = await gather(till.usage(start_at, end_at), till.servers())
"""

from pricing.client.api import Client
from pricing.client.async_api import AsyncClient
from pricing.client.errors import ApiError, ApiUnreachable
from pricing.client.rows import Rows

__all__ = ["ApiError", "ApiUnreachable", "AsyncClient", "Client", "Rows"]
