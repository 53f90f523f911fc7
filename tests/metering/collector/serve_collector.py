"""A collector as a process of its own: real HTTP, a real file, real signals.

python serve_collector.py PORT FILE [checkpoint threshold]. SIGUSR1 makes every write to a file
fail (a file may not grow beyond 0 bytes), SIGUSR2 lets it work again.
"""

import resource
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path

import uvicorn
from fastapi import FastAPI, Header, Request
from fastapi.responses import JSONResponse

from metering.collector.limits import Limits
from metering.collector.routes import router
from metering.collector.writer import IngestWriter
from metering.errors import MeteringError, NotYours
from metering.store.connect import open_store


class Key:
    """A credential: "key-…" is anybody's, "node-p1" belongs to node p1."""

    def __init__(self, text: str) -> None:
        self.key_id = text
        self.node_id = text.removeprefix("node-") if text.startswith("node-") else None

    def require(self, permission: str) -> None:
        """Keys of nobody may not write."""
        if self.key_id == "reader":
            raise NotYours(f"this needs {permission}")


def authenticate(authorization: str = Header(default="")) -> Key:
    """The key after Bearer."""
    return Key(authorization.removeprefix("Bearer "))


def collector_app(writer: IngestWriter, limits: Limits | None = None) -> FastAPI:
    """The ingest routes with the answers to expected failures."""
    app = FastAPI()
    app.include_router(router(writer, authenticate, limits=limits))

    @app.get("/failure")
    def failure() -> str | None:
        return writer.status().failure

    @app.exception_handler(MeteringError)
    def problem(_request: Request, error: MeteringError) -> JSONResponse:
        headers = {"Retry-After": "1"} if error.status == 429 else None
        return JSONResponse({"detail": str(error)}, error.status, headers)

    return app


def limit_files(size: int) -> None:
    """No file may grow beyond `size` bytes."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def main(port: str, file: str, checkpoint: str = "256MB") -> None:
    """Serve until SIGTERM; what waits is written before the end."""
    signal.signal(signal.SIGUSR1, lambda *_: limit_files(0))
    signal.signal(signal.SIGUSR2, lambda *_: limit_files(resource.RLIM_INFINITY))
    store = open_store(Path(file))
    store.cursor().execute("SET GLOBAL checkpoint_threshold = $size", {"size": checkpoint})
    writer = IngestWriter(store, lambda: datetime.now(UTC), probe_seconds=0.1)
    try:
        uvicorn.run(collector_app(writer), host="127.0.0.1", port=int(port), log_level="error")
    finally:
        writer.close()
        store.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
