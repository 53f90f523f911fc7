"""The words of the dashboard: one catalogue a language, keys as dotted names."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any, Final

LANGUAGES: Final = {"en": "English", "zh": "中文"}
FOLDER: Final = Path(__file__).with_name("catalogue")


@cache
def catalogue(language: str) -> dict[str, str]:
    """Key → text of `language`."""
    text = (FOLDER / f"{language}.toml").read_text(encoding="utf-8")
    return dict(_flat(tomllib.loads(text), ""))


def language_of(asked: str | None, browser: str | None) -> str:
    """The language asked for, else the browser's if we speak it, else English."""
    if asked in LANGUAGES:
        return asked
    return "zh" if (browser or "").lower().startswith("zh") else "en"


class Words:
    """Texts in one language."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._texts = catalogue(language)

    def __call__(self, key: str, **values: Any) -> str:
        """The text of `key` with its values filled in."""
        return self._texts[key].format(**values)


def _flat(table: dict[str, Any], prefix: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for name, value in table.items():
        key = f"{prefix}{name}"
        found += _flat(value, f"{key}.") if isinstance(value, dict) else [(key, str(value))]
    return found
