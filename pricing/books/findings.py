"""Findings about a price book, and the refusal that carries them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pricing.errors import BookInvalid

FINDINGS_SHOWN_MAX: Final = 20


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to correct or to look at. line: of the book's file, None if it has none."""

    severity: Literal["error", "warning"]
    line: int | None
    where: str
    message: str
    remedy: str

    def text(self, name_of_file: str) -> str:
        """The finding on one line, as compilers print it."""
        place = name_of_file if self.line is None else f"{name_of_file}:{self.line}"
        return f"{place}: {self.severity}: {self.where}: {self.message} {self.remedy}"


class BookRefused(BookInvalid):
    """A book with errors; `findings` holds all of them."""

    def __init__(self, findings: Sequence[Finding], name_of_file: str) -> None:
        lines = [finding.text(name_of_file) for finding in findings[:FINDINGS_SHOWN_MAX]]
        if len(findings) > FINDINGS_SHOWN_MAX:
            lines.append(f"… and {len(findings) - FINDINGS_SHOWN_MAX} more.")
        super().__init__("\n".join(lines), remedy="")
        self.findings = tuple(findings)

    def __str__(self) -> str:
        return str(self.args[0])
