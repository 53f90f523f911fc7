"""Commands of metering: name → the module that registers it."""

from typing import Final

COMMANDS: Final = {
    "sidecar": "metering.sidecar.cli",
    "replay": "metering.replay.cli",
}
