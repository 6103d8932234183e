"""Logging: structlog for our events and for what the libraries say, to standard error, for people or machines."""

from __future__ import annotations

import logging
import sys

import structlog

from headrace.settings import LogSettings

_SHARED: list[structlog.types.Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]

#: Libraries that report every retry and every rebalance at levels meant for us.
_QUIETER = {
    "aiokafka": logging.ERROR,
    "faust": logging.WARNING,
    "mode": logging.WARNING,
    "aiohttp.access": logging.ERROR,
}


def configure(settings: LogSettings) -> None:
    """Set up logging for the process."""
    renderer: structlog.types.Processor = (
        structlog.processors.JSONRenderer()
        if settings.format == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    structlog.configure(
        processors=[*_SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=_SHARED,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                renderer,
            ],
        )
    )
    level = settings.level.upper()
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for name, least in _QUIETER.items():
        logging.getLogger(name).setLevel(level if settings.level == "debug" else least)
