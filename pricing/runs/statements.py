"""Running the settler's SQL files: one file, one statement, parameters by name."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import duckdb

from metering.store.sql_text import read_sql
from pricing.flags import FLAGS, flag_bits

FLAG_PARAMETERS: Final[Mapping[str, int]] = {f"flag_{name}": flag_bits([name]) for name in FLAGS}


@cache
def _parameters(name: str) -> frozenset[str]:
    """Names of the $parameters in a statement; comments do not count."""
    code = re.sub(r"--[^\n]*", "", read_sql("pricing", name))
    return frozenset(re.findall(r"\$([a-z_0-9]+)", code))


def run(
    cursor: duckdb.DuckDBPyConnection, name: str, values: Mapping[str, Any] | None = None
) -> duckdb.DuckDBPyConnection:
    """Execute pricing/sql/<name>.sql with those of `values` and the flag bits that it names."""
    known = {**FLAG_PARAMETERS, **(values or {})}
    chosen = {key: known[key] for key in _parameters(name)}
    sql = read_sql("pricing", name)
    return cursor.execute(sql, chosen) if chosen else cursor.execute(sql)
