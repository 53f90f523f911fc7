"""Hardware facts with their sources; what is not public is asked for, never invented.

The facts are data (pricing/data/hardware.toml), one table per accelerator (docs/roi.md).
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

FIGURES = {
    "memory_gb": "GB per device",
    "memory_bandwidth_gb_per_second": "GB/s per device",
    "link_gb_per_second": "GB/s per device",
    "fp8_tflops": "dense TFLOPS per device",
    "bf16_tflops": "dense TFLOPS per device",
    "power_watts": "W per device",
    "allin_kw": "kW per device, server, network and cooling included",
    "device_price": "per device",
    "server_price": "per server",
    "rent_per_device_hour": "per device-hour",
    "prefill_tokens_per_second": "tokens/s per device",
    "decode_tokens_per_second": "tokens/s per device",
}


class FigureUnknown(LookupError):
    """A figure that no public source gives; the message says what to ask for and where."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure in the unit that FIGURES names, its source, and its currency if it is money."""

    value: Decimal
    source: str
    currency: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Accelerator:
    """A kind of device: its public figures by name, and those that are known not to be public."""

    id: str
    name: str
    devices_per_server: int
    figures: Mapping[str, Figure]
    not_public: frozenset[str]

    def figure(self, name: str) -> Figure:
        """The figure `name`, in the unit that FIGURES names.

        Raises FigureUnknown where there is none: the user's own value must take its place.
        """
        if name in self.figures:
            return self.figures[name]
        known = "is not public" if name in self.not_public else "is not in the catalogue"
        raise FigureUnknown(
            f"{name} ({FIGURES[name]}) of {self.name} {known}: ask the vendor and give your own "
            f"figure; it is never guessed"
        )


def read_catalogue(text: str) -> dict[str, Accelerator]:
    """Accelerators by id from the catalogue's TOML.

    Raises ValueError for a figure without source or with an unknown name.
    """
    tables = tomllib.loads(text, parse_float=Decimal)["accelerator"]
    return {key: _accelerator(key, table) for key, table in tables.items()}


def _accelerator(key: str, table: Mapping[str, Any]) -> Accelerator:
    fields = {"name", "devices_per_server", "not_public"}
    not_public = frozenset(table.get("not_public", ()))
    figures = {name: value for name, value in table.items() if name not in fields}
    unknown = (figures.keys() | not_public) - FIGURES.keys()
    if unknown:
        raise ValueError(f"{key}: unknown figures {sorted(unknown)}; known are {sorted(FIGURES)}")
    return Accelerator(
        id=key,
        name=table["name"],
        devices_per_server=table["devices_per_server"],
        figures={name: _figure(f"{key}.{name}", value) for name, value in figures.items()},
        not_public=not_public,
    )


def _figure(place: str, value: Mapping[str, Any]) -> Figure:
    if not value.get("source"):
        raise ValueError(f"{place}: a fact needs its source")
    return Figure(Decimal(value["value"]), value["source"], value.get("currency"))
