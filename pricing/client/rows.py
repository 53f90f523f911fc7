"""Rows of a list, exact: counts int64, money decimal128(38, 15), times with their zone."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Rows:
    """What a list answered, as an Arrow table."""

    table: pa.Table

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Row by row: Decimal, int, datetime, str or None by column."""
        return iter(self.table.to_pylist())

    def to_pandas(self) -> "pd.DataFrame":
        """A frame with Arrow types, so that no decimal becomes a float."""
        import pandas as pd  # noqa: PLC0415 - takes a second, and commands need no frame

        frame: pd.DataFrame = self.table.to_pandas(types_mapper=pd.ArrowDtype)
        return frame
