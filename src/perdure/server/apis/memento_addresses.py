"""The addresses of mementos and of their lists, read and written."""

from __future__ import annotations

import re
from urllib.parse import unquote

from perdure.archives.port import Capture
from perdure.errors.requests import MissingUri
from perdure.reading.targets import is_escaped
from perdure.server.common.answers import (
    escape_uri,
)
from perdure.server.common.request import Request
from perdure.server.common.service import Service

DIGEST = r"[a-z0-9-]{1,16}:[A-Za-z0-9+=_-]{16,128}"
_PATH_DIGEST = re.compile(DIGEST)
_SCHEME = re.compile(r"(https?):/+", re.IGNORECASE)


def read_original_uri(request: Request, prefix: str) -> str:
    """The URI after the name of a page, with its query. Raises InvalidRequest.

    Proxies fold `http://` in a path into `http:/`, and some clients escape the complete URI. A URI
    without a scheme gets `http`.
    """
    text = request.target.text.removeprefix(prefix)
    if is_escaped(text):
        text = escape_for_path(unquote(text))
    if request.target.question is not None:
        text = f"{text}?{request.target.question}"
    if not text:
        raise MissingUri()
    if _SCHEME.match(text):
        return _SCHEME.sub(r"\1://", text, count=1)
    return text if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:(?![0-9])", text) else f"http://{text}"


def escape_for_path(recorded: str) -> str:
    """A recorded URI, escaped as the end of a path at this resolver.

    >>> escape_for_path("http://a.dk/b c#d")
    'http://a.dk/b%20c%23d'
    """
    return escape_uri(recorded).decode("ascii").replace("#", "%23")


def write_raw_path(capture: Capture) -> str:
    """The path of the bytes of a capture. One of another method than GET is named by its digest."""
    chosen = (
        f"~{capture.digest}" if capture.method and _PATH_DIGEST.fullmatch(capture.digest) else ""
    )
    return f"/replay/{capture.time}id_{chosen}/{escape_for_path(capture.uri)}"


def write_replay_path(capture: Capture) -> str:
    """The path of the page of a capture on the replay origin."""
    return f"/replay/{capture.time}/{escape_for_path(capture.uri)}"


def write_framed_path(capture: Capture) -> str:
    """The path of the page that shows a capture in a frame, with a bar above it."""
    return f"/replay/{capture.time}bar_/{escape_for_path(capture.uri)}"


def write_memento_uri(service: Service, request: Request, capture: Capture) -> str:
    """The address of a capture as a memento."""
    replay = service.settings.content_origin
    return (
        f"{replay}{write_replay_path(capture)}"
        if replay
        else f"{request.base_url}{write_raw_path(capture)}"
    )
