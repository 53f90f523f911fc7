"""Numbers as command-line options: exact decimals from their text."""

import re
from decimal import Decimal
from typing import Any, Final

import typer

DECIMAL_TEXT: Final = re.compile(r"[0-9]{1,30}(\.[0-9]{1,30})?")


def decimal_amount(given: str | Decimal) -> Decimal:
    """A number of 0 or more from its decimal text, exactly as written."""
    text = str(given)  # a default arrives as the Decimal that it is
    if not DECIMAL_TEXT.fullmatch(text):
        raise typer.BadParameter(
            f"expected a decimal number of 0 or more, such as 83670.6, got {text!r}"
        )
    return Decimal(text)


def decimal_ratio(given: str | Decimal) -> Decimal:
    """A ratio in 0..1 from its decimal text."""
    ratio = decimal_amount(given)
    if ratio > 1:
        raise typer.BadParameter(f"expected a ratio from 0 to 1, such as 0.9, got '{given}'")
    return ratio


def amount_option(help_text: str) -> Any:
    """An option that takes a number of 0 or more."""
    return typer.Option(parser=decimal_amount, metavar="NUMBER", help=help_text)


def ratio_option(help_text: str) -> Any:
    """An option that takes a ratio in 0..1."""
    return typer.Option(parser=decimal_ratio, metavar="RATIO", help=help_text)
