"""Match clauses of genai-prices as aliases and globs; the first model that matches owns a name."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pricing.books.imported import Unsaid

Raw = Mapping[str, Any]
_GLOB_CHARACTERS = re.compile(r"[*?]")


class Names:
    """The names of one provider's models, in the order of the file."""

    def __init__(self, models: Sequence[Raw]) -> None:
        self._models = models
        self._claimed: set[str] = {str(model["id"]) for model in models}

    def of(self, index: int, unsaid: list[Unsaid]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Aliases and globs of one model; clauses that are neither are listed."""
        model = self._models[index]
        model_id = str(model["id"])
        aliases: list[str] = []
        globs: list[str] = []
        self._owned(model_id, index, unsaid)
        for clause in _alternatives(model["match"]):
            kind, text = _kind(clause)
            if kind == "equals":
                if text not in self._claimed and self._owned(text, index, unsaid):
                    self._claimed.add(text)
                    aliases.append(text)
            elif kind in _GLOBS and not _GLOB_CHARACTERS.search(text):
                glob = _GLOBS[kind].format(text)
                if glob not in self._claimed:
                    self._claimed.add(glob)
                    globs.append(glob)
            else:
                reason = "is no glob; add a match such as name-???????? by hand if it is needed"
                unsaid.append(Unsaid("name", model_id, f"{kind} {text}", reason))
        return tuple(aliases), tuple(globs)

    def _owned(self, name: str, index: int, unsaid: list[Unsaid]) -> bool:
        """Whether the model is the first in the file to match `name`; listed if it is not."""
        first = next((i for i, m in enumerate(self._models) if matches(m["match"], name)), index)
        if first != index:
            owner = self._models[first]["id"]
            reason = f"genai-prices finds {owner} first under this name; the book finds this model"
            unsaid.append(Unsaid("name", str(self._models[index]["id"]), name, reason))
        return first == index


_GLOBS = {"starts_with": "{}*", "ends_with": "*{}", "contains": "*{}*"}


def _alternatives(clause: Raw) -> list[Raw]:
    """The clauses of which one must match."""
    return (
        [c for part in clause["or_"] for c in _alternatives(part)] if "or_" in clause else [clause]
    )


def _kind(clause: Raw) -> tuple[str, str]:
    """Name and text of a clause; one that is not a name with a text matches nothing."""
    for key, value in clause.items():
        if key != "_type" and isinstance(value, str):
            return key, value
    return "clause", json.dumps({k: v for k, v in clause.items() if k != "_type"}, default=str)


def matches(clause: Raw, name: str) -> bool:
    """Whether a clause matches `name`, as genai-prices does: letters of either case are equal."""
    if "or_" in clause:
        return any(matches(part, name) for part in clause["or_"])
    if "and_" in clause:
        return all(matches(part, name) for part in clause["and_"])
    kind, text = _kind(clause)
    lowered, text_lowered = name.lower(), text.lower()
    if kind == "regex":
        return _found(text, lowered)
    tests = {
        "equals": lowered == text_lowered,
        "starts_with": lowered.startswith(text_lowered),
        "ends_with": lowered.endswith(text_lowered),
        "contains": text_lowered in lowered,
    }
    return tests.get(kind, False)


def _found(regex: str, name: str) -> bool:
    """Whether `regex` is found in `name`; one that cannot be read finds nothing."""
    try:
        return re.search(regex, name) is not None
    except re.error:
        return False
