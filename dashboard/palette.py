"""Colours by meaning, for light and dark; contrast at least 3 : 1 on marks."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Palette:
    """One accent, grey for context, red for money at risk."""

    ink: str
    muted: str
    rule: str
    background: str
    accent: str
    uncached: str
    cached: str
    output: str
    cost: str
    risk: str


LIGHT: Final = Palette(
    ink="#1B2430", muted="#5F6B78", rule="#E4E8ED", background="#FFFFFF", accent="#0B6E75",
    uncached="#0B6E75", cached="#4C9F9B", output="#C77B12", cost="#7F8995", risk="#C8413B",
)  # fmt: skip
DARK: Final = Palette(
    ink="#E6EAEF", muted="#9AA5B1", rule="#2C3540", background="#11161D", accent="#3FB5B0",
    uncached="#2E9A9E", cached="#86CFC9", output="#E0A24A", cost="#68727E", risk="#F0736B",
)  # fmt: skip


def palette(theme: str | None) -> Palette:
    """The palette of Streamlit's theme type, light or dark."""
    return DARK if theme == "dark" else LIGHT
