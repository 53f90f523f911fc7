"""Where the migrations of the usage store lie: inside the wheel, or in a checkout."""

from pathlib import Path

_SITE = Path(__file__).resolve().parents[2]
_PLACES = (_SITE / "pricing" / "migrations", _SITE / "migrations")  # wheel, checkout


def usage_versions() -> Path:
    """The folder of the usage store's *_up.sql and *_down.sql files."""
    for place in _PLACES:
        versions = place / "usage" / "versions"
        if versions.is_dir():
            return versions
    looked = " or ".join(str(place) for place in _PLACES)
    raise FileNotFoundError(
        f"migrations of the usage store not found in {looked}; "
        "the installation is incomplete: install the tokentill package again"
    )
