"""Arrow without pandas: pyarrow loads pandas on its first array, to recognise its types.

Where pandas is installed that costs a sidecar 60 MB and a second, for types it never meets.
"""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

import pyarrow as pa


class _NoPandas(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        if fullname == "pandas":
            raise ImportError("pandas is kept out of the sidecar")
        return None


def use_arrow_alone() -> None:
    """Let pyarrow look for pandas once, now, and not find it; others may still import it."""
    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(finder)
    pa.set_memory_pool(pa.system_memory_pool())  # gives freed batches back; others keep them
