"""Structured logs: one JSON object per line on stderr.

How it works: structlog writes our own events, and formats those of uvicorn and of everybody else
who uses `logging` in the same way. Starts, stops, refusals of tokens and failures are logged at
`info` and above; a line for every request, and those of connections that were cut, at `debug`: a
resolver answers too many to write each down, and `/metrics` counts them.

What must stay true: a target is logged as JSON, which escapes it; secrets and header fields are not
logged at all.
"""

from __future__ import annotations

import logging
import sys
from typing import Any, Protocol

import structlog


class Log(Protocol):
    """A logger of ours."""

    def debug(self, event: str, **values: object) -> None: ...
    def info(self, event: str, **values: object) -> None: ...
    def warning(self, event: str, **values: object) -> None: ...
    def error(self, event: str, **values: object) -> None: ...


def configure(level: str) -> None:
    """Send all logs of this process to stderr; `level` as in `perdure.settings`."""
    shared: list[Any] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(),
            ],
            foreign_pre_chain=[structlog.stdlib.PositionalArgumentsFormatter(), *shared],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    logging.getLogger("uvicorn.access").propagate = False  # ours say the same, and more
    if level != "debug":
        # what uvicorn says of requests that are refused concerns their senders
        logging.getLogger("uvicorn.error").setLevel(max(logging.WARNING, root.level))


def log() -> Log:
    """The logger to use."""
    found: Log = structlog.get_logger("perdure.server")
    return found


def chatty() -> bool:
    """Whether a line for every request is wanted, which keeps all of them on the plain way."""
    return logging.getLogger("perdure.server").isEnabledFor(logging.DEBUG)
