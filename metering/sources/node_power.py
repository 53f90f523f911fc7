"""Power of a whole server: Kepler's platform meter, else the BMC through ipmi_exporter."""

from datetime import datetime
from typing import Final

from metering.sources.prometheus import Exposition, read_exposition, sample_row, total
from metering.sources.record import NodeIdentity, Row

FORMAT: Final = "node_power"
_POWER: Final = (
    "kepler_node_platform_watts",
    "ipmi_dcmi_power_consumption_watts",
    "ipmi_power_watts",
)
_ENERGY: Final = ("kepler_node_platform_joules_total",)


def parse(text: str, node: NodeIdentity, sampled_at: datetime) -> list[Row]:
    """One row with the server's power; none where the body has no meter of the whole server."""
    exposition = read_exposition(text)
    power, energy = _first(exposition, _POWER), _first(exposition, _ENERGY)
    if power is None and energy is None:
        return []
    row = sample_row(node, sampled_at, FORMAT)
    return [row | {"power_watts": power, "energy_joules": energy}]


def _first(exposition: Exposition, names: tuple[str, ...]) -> float | None:
    return next((v for name in names if (v := total(exposition.series(name))) is not None), None)
