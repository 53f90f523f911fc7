"""Under what a command prints: the window of its figures, their unit, and their formulas."""

from typing import Final

import typer

from metering.windows import Window

PAGE: Final = "docs/formulas.md"


def footnote(unit: str, *anchors: str, window: Window | None = None) -> None:
    """Say on stderr in what the figures are, for which window, and how they are computed.

    anchors: headings of docs/formulas.md. The JSON of a command carries the same per figure.
    """
    parts = [unit]
    if window is not None:
        start, end = (f"{at:%Y-%m-%dT%H:%MZ}" for at in (window.start_at, window.end_at))
        parts.append(f"{start} to {end}")
    parts += [f"{PAGE}#{anchor}" for anchor in anchors]
    typer.echo("; ".join(parts), err=True)
