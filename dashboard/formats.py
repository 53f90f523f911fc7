"""Numbers as people read them, in English and Chinese; what is unknown is an em dash."""

from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Final
from zoneinfo import ZoneInfo

from babel.dates import format_datetime
from babel.numbers import format_decimal, get_currency_precision

UNKNOWN: Final = "—"
SIGNS: Final = {
    "CNY": "¥", "USD": "$", "EUR": "€", "GBP": "£", "HKD": "HK$", "JPY": "JP¥", "SGD": "S$",
    "TWD": "NT$", "KRW": "₩", "INR": "₹",
}  # fmt: skip
STEPS: Final = {
    "en": ((10**12, "T"), (10**9, "B"), (10**6, "M"), (10**3, "k")),
    "zh": ((10**12, "万亿"), (10**8, "亿"), (10**4, "万")),
}
LOCALES: Final = {"en": "en_GB", "zh": "zh_CN"}
Number = Decimal | int | float | None


class Formats:
    """Formats of one language and zone."""

    def __init__(self, language: str, zone: ZoneInfo) -> None:
        self.language = language
        self.zone = zone
        self._locale = LOCALES[language]

    def sign(self, currency: str | None) -> str:
        """¥, $ … or the code with a space."""
        return "" if not currency else SIGNS.get(currency, f"{currency} ")

    def money(self, amount: Number, currency: str | None) -> str:
        """In minor units, thousands separated; what is less than one unit is said to be so."""
        if (value := exact(amount)) is None or currency is None:
            return UNKNOWN
        digits = get_currency_precision(currency)
        unit = Decimal(1).scaleb(-digits)
        sign = self.sign(currency)
        if value and abs(value) < unit:
            return f"{'−' if value < 0 else ''}<{sign}{unit}"
        shown = value.quantize(unit, rounding=ROUND_HALF_UP)
        pattern = "#,##0" + ("." + "0" * digits if digits else "")
        text = format_decimal(abs(shown), format=pattern, locale=self._locale)
        return f"{'−' if shown < 0 else ''}{sign}{text}"

    def money_exact(self, amount: Number, currency: str | None) -> str:
        """Every digit, for hover and documents."""
        if (value := exact(amount)) is None or currency is None:
            return UNKNOWN
        text = f"{abs(value):,f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
        return f"{'−' if value < 0 else ''}{self.sign(currency)}{text}"

    def money_short(self, amount: Number, currency: str | None) -> str:
        """Three or four digits for a headline: ¥1.28M, ¥128万."""
        if (value := exact(amount)) is None or currency is None:
            return UNKNOWN
        if abs(value) < STEPS[self.language][-1][0]:
            return self.money(value, currency)
        return f"{'−' if value < 0 else ''}{self.sign(currency)}{self._short(abs(value))}"

    def count(self, number: Number) -> str:
        """A whole number with separators."""
        value = exact(number)
        if value is None:
            return UNKNOWN
        return format_decimal(value, format="#,##0", locale=self._locale)

    def short(self, number: Number) -> str:
        """144.8M, 1.45亿."""
        value = exact(number)
        if value is None:
            return UNKNOWN
        return f"{'−' if value < 0 else ''}{self._short(abs(value))}"

    def rate(self, per_second: Number) -> str:
        """Tokens per second."""
        value = exact(per_second)
        if value is None:
            return UNKNOWN
        digits = "#,##0" if abs(value) >= 100 else "#,##0.#"  # noqa: PLR2004
        return f"{format_decimal(value, format=digits, locale=self._locale)} tok/s"

    def percent(self, ratio: Number, *, signed: bool = False) -> str:
        """A ratio 0–1 in percent with one digit."""
        value = exact(ratio)
        if value is None:
            return UNKNOWN
        shown = (value * 100).quantize(Decimal("0.1"), rounding=ROUND_HALF_UP)
        sign = "−" if shown < 0 else "+" if signed and shown > 0 else ""
        text = format_decimal(abs(shown), format="#,##0.0", locale=self._locale)
        return f"{sign}{text}{self._percent}"

    def seconds(self, seconds: Number) -> str:
        """84 ms, 0.84 s, 3 min 20 s, 5 h, 2 d."""
        value = exact(seconds)
        if value is None:
            return UNKNOWN
        if value < Decimal("0.1"):
            return f"{int(value * 1000)} ms"
        if value < 60:  # noqa: PLR2004 - a minute
            return f"{value.quantize(Decimal('0.01'), rounding=ROUND_HALF_UP)} s"
        minutes, rest = divmod(int(value), 60)
        if minutes < 60:  # noqa: PLR2004 - an hour
            return f"{minutes} min {rest} s"
        hours = minutes // 60
        return f"{hours} h" if hours < 48 else f"{hours // 24} d"  # noqa: PLR2004 - two days

    def moment(self, at: datetime | None) -> str:
        """A day and a time in the zone."""
        if at is None:
            return UNKNOWN
        return format_datetime(at, "yyyy-MM-dd HH:mm", tzinfo=self.zone, locale=self._locale)

    def clock(self, at: datetime | None) -> str:
        """HH:MM:SS in the zone."""
        return UNKNOWN if at is None else at.astimezone(self.zone).strftime("%H:%M:%S")

    def day(self, at: datetime | None) -> str:
        """A day in the zone."""
        return UNKNOWN if at is None else at.astimezone(self.zone).strftime("%Y-%m-%d")

    def ticks(self, *, by_day: bool) -> str:
        """How a time axis is labelled, in d3's format."""
        if not by_day:
            return "%H:%M"
        return "%d %b" if self.language == "en" else "%-m月%-d日"

    def axis(self) -> str:
        """How an axis labels a number, as an expression of Vega: 250k, 1.5B, 25万, 15亿."""
        shown = "format(datum.value, ',.4~r')"
        for size, name in reversed(STEPS[self.language]):
            scaled = f"format(datum.value / {size}, ',.4~r') + '{name}'"
            shown = f"abs(datum.value) >= {size} ? {scaled} : {shown}"
        return shown

    @property
    def _percent(self) -> str:
        return "\u00a0%" if self.language == "en" else "%"

    def _short(self, value: Decimal) -> str:
        for size, name in STEPS[self.language]:
            if value >= size:
                scaled = value / size
                digits = 2 if scaled < 10 else 1 if scaled < 1000 else 0  # noqa: PLR2004
                step = Decimal(1).scaleb(-digits)
                shown = scaled.quantize(step, rounding=ROUND_HALF_UP)
                return f"{format_decimal(shown, format='#,##0.##', locale=self._locale)}{name}"
        return format_decimal(value, format="#,##0.##", locale=self._locale)


def exact(number: Number) -> Decimal | None:
    """The number as a finite Decimal; None for what is no number."""
    if number is None:
        return None
    value = Decimal(str(number))
    return value if value.is_finite() else None


def instant(text: str | None) -> datetime | None:
    """A time of the API as aware UTC; None for what is no time."""
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found.astimezone(UTC) if found.tzinfo else None


def change(now: Number, before: Number) -> Decimal | None:
    """(now − before) ÷ before; None where there is nothing to compare with."""
    after, earlier = exact(now), exact(before)
    return None if after is None or not earlier else (after - earlier) / earlier
