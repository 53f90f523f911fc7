"""What runs beside an engine stays small: no database, no frame, no web framework."""

import subprocess
import sys

from tests.house.tree import ROOT, SOURCES, require_none

HEAVY = ("duckdb", "sqlalchemy", "alembic", "pandas", "fastapi", "pydantic", "streamlit", "pricing")


def test_the_sidecar_loads_nothing_heavy() -> None:
    """Every module of the sidecar and the parsers, imported together in a fresh Python."""
    modules = [
        source.module
        for source in SOURCES
        if source.module.startswith(("metering.sidecar", "metering.sources"))
    ]
    script = f"import {', '.join(modules)}, sys\nprint(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert loaded.returncode == 0, loaded.stderr
    offences = sorted(set(loaded.stdout.split()) & set(HEAVY))
    require_none(offences, "The sidecar loads these; move what needs them out of its imports:")
