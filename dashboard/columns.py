"""What a table shows: its columns, and rows that can be clicked."""

from dataclasses import dataclass
from typing import Any, Literal

Row = dict[str, Any]
Kind = Literal["text", "money", "count", "ratio", "rate", "moment", "fine", "second", "change"]


@dataclass(frozen=True, slots=True)
class Column:
    """One column: the field of a row, its heading, and what its values are.

    formula: of dashboard.formulas, where the values are figures.
    """

    field: str
    label: str
    kind: Kind = "text"
    help: str | None = None
    formula: str | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """A row that can be clicked. param: its name in the URL; fields: what tells rows apart."""

    param: str
    fields: tuple[str, ...]

    def identity(self, row: Row) -> str:
        """The row in the URL."""
        return " ".join(str(row[field] or "") for field in self.fields)
