"""/v1/exports: a month as one file."""

import hashlib
import tempfile
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field
from starlette.background import BackgroundTask
from starlette.responses import FileResponse, Response

from metering.windows import parse_month
from pricing.api.call import Call, may
from pricing.api.invoice_shapes import Month
from pricing.api.representation import has_already
from pricing.api.shapes import Id, Text
from pricing.exports.streams import MEDIA_TYPES
from pricing.ledger.tenants import zone
from pricing.runs.export_file import ExportOrder, export_file

router = APIRouter(tags=["invoices"])
BYTES: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/csv": {"schema": {"type": "string", "format": "binary"}}}}
}


class ExportAsked(BaseModel):
    """Which month, in which form."""

    month: Month
    format: str = Field("csv", max_length=20, examples=["parquet"])
    zone: Text = Field("UTC", description="IANA name; cuts what is not cut by tenant")
    tenant_id: Id | None = None
    bom: bool = Field(default=False, description="a byte order mark before CSV")


@router.get(
    "/v1/exports/{kind}", summary="Export a month", response_class=Response, responses=BYTES
)
def get_export(
    call: Annotated[Call, may("invoices:read")], kind: Id, *, asked: Annotated[ExportAsked, Query()]
) -> Response:
    """chargeback, servers, requests, invoices, lines or focus; csv, parquet, xlsx or jsonl."""
    order = ExportOrder(
        kind=kind,
        month=parse_month(asked.month),
        zone=zone(asked.zone),
        scope=call.scope(asked.tenant_id),
        bom=asked.bom,
    )
    with tempfile.NamedTemporaryFile(prefix="tokentill-export-", delete=False) as file:
        path = Path(file.name)
    try:
        with call.ledger() as connection:
            call.usage(
                lambda cursor: export_file(
                    cursor, connection, order, format_=asked.format, path=path
                )
            )
        with path.open("rb") as written:
            tag = f'"{hashlib.file_digest(written, "sha256").hexdigest()[:32]}"'
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    if has_already(call.request, tag):
        path.unlink()
        return Response(status_code=304, headers={"ETag": tag})
    return FileResponse(
        path,
        headers={"ETag": tag},
        media_type=MEDIA_TYPES[asked.format],
        filename=f"{kind}-{asked.month}.{asked.format}",
        background=BackgroundTask(path.unlink, missing_ok=True),
    )
