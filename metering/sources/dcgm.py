"""GPU exporters in Prometheus' format: DCGM, Moore Threads' MT DCGM, AMD's device metrics.

MT DCGM reuses DCGM's names with a capital Hostname and has no energy counter; DCGM's label became
lower-case in 4.5.3. A GPU cut into MIG instances repeats its power and energy per instance and is
taken once.
"""

from collections.abc import Collection
from datetime import datetime
from typing import Final, NamedTuple

from metering.errors import UsageInvalid
from metering.sources.devices import Device, device_rows
from metering.sources.prometheus import Exposition, Series, read_exposition
from metering.sources.record import NodeIdentity, Row

FORMAT: Final = "dcgm"
AMD_FORMAT: Final = "amd_metrics"
_HOST_LABELS: Final = ("hostname", "Hostname")
_JOULES_PER_MILLIJOULE: Final = 0.001
_JOULES_PER_MICROJOULE: Final = 0.000001


class Names(NamedTuple):
    """What an exporter calls its labels and metrics; the first metric that exists is read."""

    identity: tuple[str, ...]
    utilization: tuple[str, ...]
    power: tuple[str, ...]
    energy: tuple[str, ...]
    joules_per_energy_unit: float


_DCGM: Final = Names(
    ("UUID", "gpu", "device"),
    ("DCGM_FI_DEV_GPU_UTIL",),
    ("DCGM_FI_DEV_POWER_USAGE",),
    # the parser gives a counter the suffix that its name lacks
    ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION_total", "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"),
    _JOULES_PER_MILLIJOULE,
)
_AMD: Final = Names(
    ("gpu_uuid", "gpu_id"),
    ("gpu_gfx_activity",),
    ("gpu_package_power", "gpu_average_package_power", "gpu_power_usage"),
    ("gpu_energy_consumed",),
    _JOULES_PER_MICROJOULE,
)


def parse(
    text: str, node: NodeIdentity, sampled_at: datetime, *, used: Collection[str] | None = None
) -> list[Row]:
    """One row for the node's GPUs. used: UUID, index or device name of those that count."""
    devices = _devices(read_exposition(text), _DCGM, node)
    return device_rows(devices, node, sampled_at, source=FORMAT, used=used)


def parse_amd(
    text: str, node: NodeIdentity, sampled_at: datetime, *, used: Collection[str] | None = None
) -> list[Row]:
    """One row for the node's GPUs, from AMD's device-metrics-exporter."""
    devices = _devices(read_exposition(text), _AMD, node)
    return device_rows(devices, node, sampled_at, source=AMD_FORMAT, used=used)


def _devices(exposition: Exposition, names: Names, node: NodeIdentity) -> list[Device]:
    utilization = _by_device(exposition, names.utilization, names, node)
    power = _by_device(exposition, names.power, names, node)
    energy = _by_device(exposition, names.energy, names, node)
    known = {**utilization, **power, **energy}
    return [
        Device(
            [series.labels[label] for label in names.identity if label in series.labels],
            _value(utilization.get(device)),
            _value(power.get(device)),
            _value(energy.get(device), names.joules_per_energy_unit),
        )
        for device, series in sorted(known.items())
    ]


def _by_device(
    exposition: Exposition, metrics: tuple[str, ...], names: Names, node: NodeIdentity
) -> dict[str, Series]:
    series = next((found for name in metrics if (found := exposition.series(name))), [])
    hosts = {_host(one) for one in series}
    if len(hosts) > 1:
        series = [one for one in series if _host(one) == node.node_id]
        if not series:
            raise UsageInvalid("hostname", f"several hosts, and none of them is {node.node_id!r}")
    first: dict[str, Series] = {}
    for one in series:
        device = next((one.labels[n] for n in names.identity if one.labels.get(n)), "")
        first.setdefault(device, one)
    return first


def _host(series: Series) -> str:
    return next((series.labels[name] for name in _HOST_LABELS if name in series.labels), "")


def _value(series: Series | None, scale: float = 1.0) -> float | None:
    return None if series is None else series.value * scale
