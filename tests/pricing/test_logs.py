"""Logs tell what failed and where, never the values that were at hand."""

import subprocess
import sys

import pytest

SCRIPT = """
import structlog
from pricing.logs import configure_logs
from pricing.settings import LogSettings

def charge(secret, rows):
    raise ValueError("no such price")

configure_logs(LogSettings(format=FORMAT))
try:
    charge("tk_" + "s" * 30, ["t-alder pays " + "7" * 9])
except ValueError:
    structlog.get_logger().exception("rating_failed")
    import logging
    logging.getLogger("library").exception("library_failed")
"""


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_traceback_names_the_line_and_no_value(form):
    """A key or a customer's rows in a local variable must not reach the log."""
    command = [sys.executable, "-c", SCRIPT.replace("FORMAT", repr(form))]
    log = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    assert log.count("ValueError: no such price") == 2
    assert "in charge" in log
    assert "s" * 30 not in log
    assert "7" * 9 not in log
