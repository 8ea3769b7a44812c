"""Structured logs: one JSON object per line on stderr.

How it works: structlog writes perdure's own events, and formats the events of uvicorn and of other
users of `logging` in the same way. Starts, stops, refused tokens and failures are logged at `info`
and above. A line for every request, and lines for broken connections, are logged at `debug`: a
resolver answers too many requests to log each one, and `/metrics` counts them.

What must stay true: a target is logged as JSON, which escapes it; secrets and header fields are not
logged at all.
"""

from __future__ import annotations

import logging
import sys
from typing import Any, Protocol

import structlog


class ServerLog(Protocol):
    """A logger for the events of the server."""

    def debug(self, event: str, **values: object) -> None: ...
    def info(self, event: str, **values: object) -> None: ...
    def warning(self, event: str, **values: object) -> None: ...
    def error(self, event: str, **values: object) -> None: ...


def configure_logs(level: str) -> None:
    """Send all logs of this process to stderr; `level` is as in `perdure.settings`."""
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
    logging.getLogger("uvicorn.access").propagate = False  # perdure logs the same, and more
    if level != "debug":
        # uvicorn's messages about refused requests concern only their senders
        logging.getLogger("uvicorn.error").setLevel(max(logging.WARNING, root.level))


class _StoppedRequests:
    """Requests of this process that were waiting when it stopped."""

    count = 0


def count_stopped() -> None:
    """Count a request that is not finished because this process stops."""
    _StoppedRequests.count += 1


def report_stopped() -> None:
    """Log the number of requests that were not finished, if there are any."""
    count, _StoppedRequests.count = _StoppedRequests.count, 0
    if count:
        get_log().warning("stopped requests", count=count)


def get_log() -> ServerLog:
    """Return the logger of the server."""
    found: ServerLog = structlog.get_logger("perdure.server")
    return found


def logs_requests() -> bool:
    """Return True if every request is logged. Then none takes the fast path."""
    return logging.getLogger("perdure.server").isEnabledFor(logging.DEBUG)
