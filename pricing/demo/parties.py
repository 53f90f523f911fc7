"""Who sells and who buys in the demo; all of them are invented."""

from datetime import datetime
from typing import Any, Final

import httpx

from metering.replay.customers import Customers

ZONE: Final = "Asia/Shanghai"
CURRENCY: Final = "CNY"
SELLER: Final = {
    "legal_name": "云算科技有限公司", "tax_id": "91310000MA1FL0XXXX", "address": "上海市浦东新区",
    "bank_name": "招商银行", "bank_account": "1219 0000 1234", "country": "CN",
}  # fmt: skip
CHINESE: Final = {"country": "CN", "language": "zh", "tax_rate": "0.06", "tax_place": "上海"}
FOREIGN: Final = {"language": "en", "tax_rate": "0.06", "tax_place": "Shanghai"}
BUYERS: Final[dict[str, dict[str, Any]]] = {  # tenant → what its documents say
    "t-alder": FOREIGN | {"legal_name": "Alder Search GmbH", "country": "DE",
                          "tax_id": "DE123456789", "address": "Hauptstr. 1, 10115 Berlin"},
    "t-birch": CHINESE | {"legal_name": "桦木数据有限公司", "tax_id": "91110108MA01XXXX0X",
                          "address": "北京市海淀区"},
    "t-cedar": FOREIGN | {"legal_name": "Cedar Robotics Inc.", "country": "US"},
    "t-elm": CHINESE | {"legal_name": "榆树教育有限公司", "tax_id": "91440300MA5FXXXX1Y"},
    "t-fir": FOREIGN | {"legal_name": "Fir Legal LLP", "country": "GB"},
    "t-hazel": CHINESE | {"legal_name": "榛果游戏有限公司", "tax_id": "91330100MA2HXXXX2Z"},
    "t-juniper": FOREIGN | {"legal_name": "Juniper Health KK", "country": "JP"},
    "t-larch": {"legal_name": "Research", "language": "en"},  # the house's own people
}  # fmt: skip
NAMES: Final = {
    "t-alder": "Alder Search", "t-birch": "桦木数据", "t-cedar": "Cedar Robotics",
    "t-elm": "榆树教育", "t-fir": "Fir Legal", "t-hazel": "榛果游戏",
    "t-juniper": "Juniper Health", "t-larch": "Research",
}  # fmt: skip
INTERNAL: Final = frozenset({"t-larch"})  # gets statements, not invoices
CENTRES: Final = {  # tenant → project → cost centre
    "t-alder": {"search": "4711", "assistant": "4712", "coding": "4713", "batch": "4711"},
    "t-cedar": {"search": "RD-1", "assistant": "RD-2", "coding": "RD-2"},
}


def register_tenants(api: httpx.Client, since: datetime) -> None:
    """Tenants of the replay's customers, and which of their projects are charged to what.

    Before their usage comes: a request keeps the cost centre that it is settled with.
    """
    for tenant_id in dict.fromkeys(each.tenant_id for each in Customers(len(BUYERS), 1).all):
        kind = "internal" if tenant_id in INTERNAL else "customer"
        tenant = {"tenant_id": tenant_id, "name": NAMES[tenant_id], "kind": kind}
        _post(api, "/v1/tenants", tenant | {"billing_zone": ZONE, "currency": CURRENCY})
    for tenant_id, centres in CENTRES.items():
        place = f"/v1/tenants/{tenant_id}"
        for centre in sorted(set(centres.values())):
            _post(api, f"{place}/cost-centres", {"cost_centre_id": centre, "name": centre})
        for project, centre in centres.items():
            _post(api, f"{place}/projects", {"project_id": project, "name": project})
            charged = {"cost_centre_id": centre, "from_at": since.isoformat()}
            _post(api, f"{place}/projects/{project}/cost-centres", charged)


def name_parties(api: httpx.Client) -> None:
    """What documents say of the seller and of each buyer."""
    api.patch("/v1/issuers/house", json=SELLER).raise_for_status()
    for tenant_id, buyer in BUYERS.items():
        api.patch(f"/v1/tenants/{tenant_id}/billing", json=buyer).raise_for_status()


def _post(api: httpx.Client, path: str, body: dict[str, Any]) -> None:
    api.post(path, json=body).raise_for_status()
