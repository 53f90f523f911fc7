"""SQL that lives in files: one query, one file (house style B.4)."""

from functools import cache
from importlib.resources import files


@cache
def read_sql(package: str, name: str) -> str:
    """Text of `sql/<name>.sql` beside the modules of `package`, e.g. ("metering.store", "leg")."""
    return (files(package) / "sql" / f"{name}.sql").read_text(encoding="utf-8")
