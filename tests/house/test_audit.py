"""The audit of dependencies counts faults and versions that nobody knows apart."""

from tests.house.audit import report


def test_a_fault_is_told_with_its_remedy_and_an_unknown_version_is_not_called_clean() -> None:
    """Three versions in pip-audit's own shape of JSON: one faulty, one clean, one unknown."""
    fault = {"id": "PYSEC-2099-1", "fix_versions": ["1.1"], "aliases": [], "description": "…"}
    told = [
        {"name": "faulty", "version": "1.0", "vulns": [fault]},
        {"name": "clean", "version": "2.0", "vulns": []},
        {"name": "unknown", "skip_reason": "Dependency not found on PyPI"},
    ]
    assert report(told) == (["faulty 1.0: PYSEC-2099-1, fixed in 1.1"], 2)
