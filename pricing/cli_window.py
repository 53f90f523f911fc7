"""The window that a command is asked about: a month in a zone, or two times."""

from typing import Annotated, Final
from zoneinfo import ZoneInfo

import typer

from metering.windows import Window, month_window, parse_month, parse_time

FORM: Final = "YYYY-MM, or START/END as ISO 8601 with a zone."
AskedWindow = Annotated[str, typer.Argument(metavar="WINDOW", help=FORM)]
AskedZone = Annotated[str, typer.Option(help="Zone of a month (IANA name).")]


def asked_window(text: str, zone: str) -> Window:
    """A month as its zone cuts it, or the times as they stand. Raises typer.BadParameter."""
    start, slash, end = text.partition("/")
    try:
        if slash:
            return Window(parse_time(start), parse_time(end))
        return month_window(parse_month(text), ZoneInfo(zone))
    except (ValueError, OSError, KeyError) as error:
        raise typer.BadParameter(f"{error}. Expected: {FORM}") from error
