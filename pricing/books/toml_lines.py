"""On which line of a TOML file a table or key stands; tomllib does not say.

Only for messages: a key inside a multi-line string could be taken for a key, never the reverse.
"""

import re
from collections import defaultdict
from typing import Final

Path = tuple[str | int, ...]  # ("price", 2, "tier", 0, "input_tokens_above")

_HEADER: Final = re.compile(r"\s*(\[{1,2})\s*([^\[\]]+?)\s*\]{1,2}\s*(?:#.*)?$")
_KEY: Final = re.compile(r"\s*([A-Za-z0-9_\-\".' ]+?)\s*=")


class TomlLines:
    """Line numbers, from 1, of the tables and keys of one TOML text."""

    def __init__(self, text: str) -> None:
        self._lines: dict[Path, int] = {}
        counts: defaultdict[Path, int] = defaultdict(int)
        table: Path = ()
        for number, line in enumerate(text.splitlines(), 1):
            if header := _HEADER.match(line):
                table = self._table(_names(header[2]), counts, is_array=header[1] == "[[")
                self._lines.setdefault(table, number)
                if isinstance(table[-1], int):
                    self._lines.setdefault(table[:-1], number)  # the array begins here
            elif key := _KEY.match(line):
                self._lines.setdefault((*table, *_names(key[1])), number)

    @staticmethod
    def _table(names: list[str], counts: defaultdict[Path, int], *, is_array: bool) -> Path:
        """The path of a header, arrays of tables numbered from 0."""
        path: Path = ()
        for name in names[:-1]:
            path = (*path, name)
            if counts[path]:
                path = (*path, counts[path] - 1)
        path = (*path, names[-1])
        if is_array:
            counts[path] += 1
            path = (*path, counts[path] - 1)
        return path

    def of(self, path: Path) -> int | None:
        """Line of `path`, or of the nearest thing that holds it."""
        while path not in self._lines and path:
            path = path[:-1]
        return self._lines.get(path)


def _names(dotted: str) -> list[str]:
    """a."b c".d → its parts, without quotes."""
    return [part.strip(" \"'") for part in re.findall(r"\"[^\"]*\"|'[^']*'|[^.]+", dotted)]
