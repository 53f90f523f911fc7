"""One /metrics endpoint per node, all in this process, on loopback."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Thread
from typing import Final
from wsgiref.simple_server import WSGIServer

from prometheus_client import CollectorRegistry, start_http_server

from metering.errors import ConfigInvalid
from metering.replay.metrics import NodeMetrics

LOOPBACK: Final = "127.0.0.1"


@contextmanager
def serving(metrics: Sequence[NodeMetrics], first_port: int) -> Iterator[list[str]]:
    """URLs of the nodes' endpoints: ports from `first_port` on; 0: whichever are free."""
    servers: list[tuple[WSGIServer, Thread]] = []
    try:
        for place, node_metrics in enumerate(metrics):
            port = first_port + place if first_port else 0
            registry = CollectorRegistry(auto_describe=False)
            registry.register(node_metrics)
            try:
                servers.append(start_http_server(port, LOOPBACK, registry))
            except (OSError, OverflowError) as error:
                raise ConfigInvalid(
                    f"port {port} of {LOOPBACK} for {node_metrics.node.node_id} cannot be opened "
                    f"({error}). Pass another --serve-metrics-port, or 0 for free ones."
                ) from error
        yield [f"http://{LOOPBACK}:{server.server_port}/metrics" for server, _ in servers]
    finally:
        with ThreadPoolExecutor(max_workers=len(servers) or 1) as pool:  # each takes half a second
            list(pool.map(_stop, servers))


def _stop(running: tuple[WSGIServer, Thread]) -> None:
    server, thread = running
    server.shutdown()
    server.server_close()
    thread.join()
