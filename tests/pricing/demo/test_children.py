"""A process of the demo is known from its first moment, whatever signal comes meanwhile."""

import signal

import pytest

from pricing.demo.children import signals_held


def test_a_signal_waits_until_the_process_is_known():
    """Ctrl-C in the middle of a start interrupts after it, once, and not in it."""
    known = []
    with pytest.raises(KeyboardInterrupt), signals_held():  # noqa: PT012 - the order is the test
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        known.append("process")
    assert known == ["process"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
