"""Readings of a node's accelerators → one sample: mean utilisation, summed power and energy."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple

from metering.sources.prometheus import sample_row
from metering.sources.record import NodeIdentity, Row


class Device(NamedTuple):
    """One accelerator: utilisation in percent, power in W, energy in J since some start.

    names: its index, UUID and the like, any of which a configuration may use.
    """

    names: Collection[str]
    utilization_percent: float | None
    power_watts: float | None
    energy_joules: float | None


def device_rows(
    devices: Sequence[Device],
    node: NodeIdentity,
    sampled_at: datetime,
    *,
    source: str,
    used: Collection[str] | None = None,
) -> list[Row]:
    """One row for the node, none without devices.

    used: index or UUID of the devices that belong to the node; None for all. A sum is only given
    where every device reported, because a part of a node's power is not its power.
    """
    mine = [d for d in devices if used is None or not set(used).isdisjoint(d.names)]
    if not mine:
        return []
    utilization = _complete([d.utilization_percent for d in mine])
    power = _complete([d.power_watts for d in mine])
    energy = _complete([d.energy_joules for d in mine])
    row = sample_row(node, sampled_at, source)
    row["gpu_utilization_ratio"] = (
        None if utilization is None else min(sum(utilization) / len(utilization) / 100, 1.0)
    )
    row["power_watts"] = None if power is None else sum(power)
    row["energy_joules"] = None if energy is None else sum(energy)
    row["device_count"] = len(mine)
    return [row]


def _complete(values: Sequence[float | None]) -> list[float] | None:
    known = [value for value in values if value is not None]
    return known if len(known) == len(values) else None
