"""The devices of a replayed node, as the Moore Threads DCGM exporter shows them.

Names and labels as in facts/engines.md §5 (second-hand there): no energy counter, so power has to
be integrated. The watts are the hardware profile's assumptions, not measurements.
"""

from collections.abc import Iterable

from prometheus_client.core import GaugeMetricFamily

from metering.replay.cluster import NodeLoad
from metering.replay.hardware import HardwareProfile
from metering.replay.nodes import EngineNode
from metering.usage import Stage

LABELS = ("Hostname", "gpu", "device", "UUID", "modelName")
MODEL_NAME = "MTT S5000"


class DeviceMetrics:
    """Utilisation and power of the devices of one node."""

    def __init__(self, node: EngineNode, hardware: HardwareProfile) -> None:
        self._node = node
        self._hardware = hardware

    def families(self, load: NodeLoad) -> Iterable[GaugeMetricFamily]:
        """The exporter's gauges under `load`."""
        hardware = self._hardware
        busy_ratio = self._busy_ratio(load)
        dynamic_watts = hardware.busy_watts_per_device - hardware.idle_watts_per_device
        watts = hardware.idle_watts_per_device + busy_ratio * dynamic_watts
        yield self._family("GPU_UTIL", "GPU utilization (in %).", round(100 * busy_ratio))
        yield self._family("POWER_USAGE", "Power draw (in W).", round(watts, 1))

    def _busy_ratio(self, load: NodeLoad) -> float:
        """A prefill node computes or does not; a decode node fills with requests."""
        if self._node.stage is Stage.PREFILL:
            return float(load.running_requests > 0)
        return min(load.running_requests / self._hardware.decode_requests_at_full_load, 1.0)

    def _family(self, name: str, meaning: str, value: float) -> GaugeMetricFamily:
        family = GaugeMetricFamily(f"DCGM_FI_DEV_{name}", meaning, labels=LABELS)
        for device in range(self._hardware.devices):
            uuid = f"{self._node.node_id}-{device}"
            values = (self._node.node_id, str(device), f"mtgpu{device}", uuid, MODEL_NAME)
            family.add_metric(values, value)
        return family
