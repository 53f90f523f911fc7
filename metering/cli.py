"""Commands of metering: name → the module that registers it."""

from typing import Final

COMMANDS: Final = {
    "import": "metering.sidecar.cli_import",
    "sidecar": "metering.sidecar.cli",
    "replay": "metering.replay.cli",
}
