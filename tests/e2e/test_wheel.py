"""The built wheel, installed in an empty environment outside the checkout, is the whole product."""

import json
import os
import subprocess
import sys
import venv
from decimal import Decimal
from pathlib import Path
from zipfile import ZipFile

import pytest

pytestmark = pytest.mark.slow

SIDECAR_DOES_WITHOUT = {"duckdb", "sqlalchemy", "pandas", "fastapi", "streamlit"}


def run(*command: str | Path, cwd: Path) -> str:
    """Standard output of `command`, run in `cwd` without the checkout on Python's path."""
    environment = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    done = subprocess.run(
        [*map(str, command)], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def install(wheel: Path, extra: str, *, lock: Path, into: Path) -> Path:
    """An empty environment in `into` with the wheel and its extra; returns its bin folder."""
    venv.create(into, with_pip=False)
    python = into / "bin" / "python"
    uv = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", python]
    run(*uv, "--constraint", lock, f"tokentill{extra} @ {wheel.as_uri()}", cwd=into)
    return python.parent


@pytest.fixture(scope="module")
def wheel(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, root, cwd=out)
    return next(out.glob("tokentill-*.whl"))


def test_the_wheel_holds_what_the_checkout_holds(root: Path, wheel: Path) -> None:
    """Every tracked file of the packages and the migrations, and nothing of the tests."""
    tracked = run(
        "git",
        "ls-files",
        "tokentill.py",
        "metering",
        "pricing",
        "dashboard",
        "migrations",
        cwd=root,
    ).splitlines()
    wanted = {f"pricing/{p}" if p.startswith("migrations/") else p for p in tracked}
    names = set(ZipFile(wheel).namelist())
    assert wanted - names == set()
    assert {n.partition("/")[0] for n in names if ".dist-info/" not in n} == {
        "tokentill.py", "metering", "pricing", "dashboard"
    }  # fmt: skip


def test_without_extras_it_is_the_sidecar(root: Path, wheel: Path, tmp_path: Path) -> None:
    """`pip install tokentill` beside an engine brings no database, frame or web framework."""
    installed = install(wheel, "", lock=root / "requirements.lock", into=tmp_path / "venv")
    words = run(installed / "tokentill", "--help", cwd=tmp_path)
    assert "sidecar" in words
    packages = {p.name for p in tmp_path.glob("venv/lib/python3*/site-packages/*")}
    assert packages & SIDECAR_DOES_WITHOUT == set()


def test_with_all_extras_it_runs_the_demo(root: Path, wheel: Path, tmp_path: Path) -> None:
    """`tokentill demo --once` outside the checkout: servers, tenants and ledger agree (V7)."""
    installed = install(wheel, "[all]", lock=root / "requirements.lock", into=tmp_path / "venv")
    told = json.loads(
        run(installed / "tokentill", "demo", "--once", "--json", "--requests", "60", cwd=tmp_path)
    )
    totals = Decimal(told["totals"]["amount"])
    assert totals > 0
    assert sum(Decimal(tenant["amount"]) for tenant in told["tenants"]) == totals
    assert sum(Decimal(server["amount"]) for server in told["servers"]) == totals
    assert {Decimal(server["difference"]) for server in told["servers"]} == {Decimal(0)}
