"""Logs of the server: one event a line on stderr, with what was measured and without secrets."""

import logging
import sys
from typing import Any

import structlog

from metering.logs import Stderr
from pricing.settings import LogSettings


def configure_logs(settings: LogSettings) -> None:
    """Send every log, ours and the libraries', to stderr in one form."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        # plain stacks: the values of local variables may hold keys and customers' amounts
        structlog.processors.format_exc_info,
    ]
    as_text = settings.format == "text" or (settings.format == "auto" and sys.stderr.isatty())
    renderer = (
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
        if as_text
        else structlog.processors.JSONRenderer()
    )
    level = getattr(logging, settings.level.upper())
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *_: Stderr(),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
            foreign_pre_chain=shared,
        )
    )
    logging.basicConfig(level=max(level, logging.WARNING), handlers=[handler], force=True)
