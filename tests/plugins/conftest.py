"""The plug-in is a distribution of its own; the tests run it from its folder."""

import sys
from pathlib import Path

PLUGIN = Path(__file__).resolve().parents[2] / "plugins" / "vllm"
sys.path.insert(0, str(PLUGIN))
