"""/v1/servers: what each node is, how fast it is rated, when it was in service, what it costs."""

from decimal import Decimal
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter
from pydantic import AfterValidator, Field
from starlette.responses import Response

from pricing.api.call import Call, may
from pricing.api.cost_assumptions import CostAssumptions
from pricing.api.listing import ledger_list
from pricing.api.paging import Paged
from pricing.api.representation import LIST_CONTENT, one
from pricing.api.shapes import DecimalText, Id, Listing, Shape, Shown, Text, Time
from pricing.ledger.servers import Server, add_server, change_server, get_server, list_servers

router = APIRouter(tags=["servers"])
Reading = Annotated[Call, may("servers:read")]
Writing = Annotated[Call, may("servers:write")]
WEIGHT_MAX: Final = 10**6


def _weight(value: Decimal) -> Decimal:
    if not 0 < value <= WEIGHT_MAX:
        raise ValueError(f"expected a weight above 0 and at most {WEIGHT_MAX}, got {value}")
    return value


Weight = Annotated[DecimalText, AfterValidator(_weight)]
Stage = Literal["prefill", "decode", "unified", "gateway"]
RATED = Field(
    None,
    examples=["83670.6"],
    description="tokens per second at full load: input of a prefill or unified server, output of a "
    "decode one; null: utilisation is unknown",
)
INSTANCE = Field(
    None,
    examples=["glm-a"],
    description="engine instance that this server holds together with others; what its usage "
    "earned is booked once and shared by weight; null: an instance of its own",
)
WEIGHT = Field(None, examples=["1"], description="share of the instance, any unit; null: 1")
COSTS = Field(None, description="what it costs; null: its cost is not known, and asked for")


class ServerShown(Shown):
    """A server."""

    node_id: Id = Field(examples=["p01"])
    name: str
    stage: Stage
    pool: str | None = None
    hardware: str | None = Field(None, examples=["8 × MTT S5000"])
    rated_tokens_per_second: DecimalText | None = RATED
    in_service_from: Time
    in_service_until: Time | None = None
    cost_assumptions: CostAssumptions | None = COSTS
    instance_id: Id | None = INSTANCE
    instance_weight: DecimalText | None = WEIGHT


class NewServer(Shape):
    """A server to register; node_id is the id that usage carries."""

    node_id: Id = Field(examples=["p01"])
    name: Text = Field(examples=["p01"])
    stage: Stage
    pool: Text | None = None
    hardware: Text | None = Field(None, examples=["8 × MTT S5000"])
    rated_tokens_per_second: DecimalText | None = RATED
    in_service_from: Time
    in_service_until: Time | None = Field(None, description="exclusive")
    cost_assumptions: CostAssumptions | None = COSTS
    instance_id: Id | None = INSTANCE
    instance_weight: Weight | None = WEIGHT


class ServerChanges(Shape):
    """What to change of a server; what is left out stays."""

    name: Text | None = Field(None, examples=["p01"])
    stage: Stage | None = None
    pool: Text | None = None
    hardware: Text | None = None
    rated_tokens_per_second: DecimalText | None = RATED
    in_service_from: Time | None = None
    in_service_until: Time | None = None
    cost_assumptions: CostAssumptions | None = COSTS
    instance_id: Id | None = INSTANCE
    instance_weight: Weight | None = WEIGHT


@router.get(
    "/v1/servers",
    summary="List servers",
    response_model=Listing[ServerShown],
    responses=LIST_CONTENT,
)
def get_servers(call: Reading, paging: Paged) -> Response:
    """Servers by node id."""
    return ledger_list(call, ServerShown, paging, list_servers, node_id=str)


@router.post(
    "/v1/servers", summary="Register a server", response_model=ServerShown, status_code=201
)
def post_server(call: Writing, new: NewServer) -> Response:
    """Usage of a node that is not registered is metered and priced all the same."""
    return call.created(
        lambda change: ServerShown.model_validate(add_server(change, Server(**_plain(new)))), new
    )


@router.get("/v1/servers/{node_id}", summary="Read a server", response_model=ServerShown)
def get_one_server(call: Reading, node_id: Id) -> Response:
    """One server."""
    with call.ledger() as connection:
        found = get_server(connection, node_id)
    return one(call.request, ServerShown.model_validate(found))


@router.patch("/v1/servers/{node_id}", summary="Change a server", response_model=ServerShown)
def patch_server(call: Writing, node_id: Id, *, changes: ServerChanges) -> Response:
    """A new rating or price assumption shows in every window that is asked for afterwards."""
    with call.change() as change:
        found = change_server(change, node_id, _plain(changes))
    return one(call.request, ServerShown.model_validate(found))


def _plain(given: NewServer | ServerChanges) -> dict[str, Any]:
    """The fields that were given; assumptions as the text that JSON keeps exact."""
    values = given.model_dump(exclude_unset=True)
    if values.get("cost_assumptions") is not None:
        stated = given.model_dump(mode="json", exclude_unset=True)
        values["cost_assumptions"] = stated["cost_assumptions"]
    return values
