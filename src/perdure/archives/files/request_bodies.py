"""Write the body of a request as a query, so that an index can tell requests of one URL apart.

How it works: this is the canonical form of pywb, wabac.js and cdxj-indexer
(https://specs.webrecorder.net/request-body-canonicalization/). Forms and JSON become names and
values, other data Base 64. In exchanged indexes, the method and this query are appended to the URL,
and the result gets a key as any URL does: `org,example)/api?__wb_method=post&q=1`.

What must stay true: the query of a body is at most `LONGEST_QUERY` characters; no body makes the
indexing of a file fail.
"""

from __future__ import annotations

import base64
import email.parser
import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote_plus, urlencode

LONGEST_QUERY = 4096
"""Characters, as in pywb."""
LONGEST_BODY = 1 << 20
"""Bytes of a body that are read to write its query."""
_WITH_BODY = ("POST", "PUT")
_METHOD = re.compile(rb"([A-Za-z][A-Za-z0-9-]{0,31}) ")
_PLAIN = ("", "GET")


def read_method(start: bytes) -> str:
    """Return the method of a request, given its first bytes; empty if it is GET or not readable.

    >>> read_method(b"POST /a HTTP/1.1"), read_method(b"GET / HTTP/1.1")
    ('POST', '')
    """
    found = _METHOD.match(start)
    method = found[1].decode().upper() if found else ""
    return "" if method in _PLAIN else method


def append_request(uri: str, method: str, query: str) -> str:
    """Return the URI under which an exchanged index has a response to another method than GET.

    >>> append_request("http://a.org/?b=1", "POST", "q=2")
    'http://a.org/?b=1&__wb_method=POST&q=2'
    """
    if not method:
        return uri
    mark = "&" if "?" in uri else "?"
    return f"{uri}{mark}__wb_method={method}" + (f"&{query}" if query else "")


def write_query(method: str, media_type: str, body: bytes) -> str:
    """Write the body of a request as a query. `media_type` may have parameters.

    >>> write_query("POST", "application/x-www-form-urlencoded", b"q=a+b")
    'q=a b'
    >>> write_query("PUT", "application/json", b'{"a": {"b": [true, 1.0]}}')
    'b=true&b.2_=1'
    >>> write_query("POST", "image/png", b"\\x89P")
    '__wb_post_data=iVA='
    """
    if method not in _WITH_BODY or not body:
        return ""
    kind = media_type.strip().lower()
    write = next((one for start, one in _WRITERS.items() if kind.startswith(start)), _write_data)
    try:
        query = write(media_type, body)
    except (ValueError, LookupError, RecursionError):
        query = "" if kind.startswith("application/json") else _write_data(media_type, body)
    return query[:LONGEST_QUERY]


def _write_data(_media_type: str, body: bytes) -> str:
    return "__wb_post_data=" + base64.b64encode(body).decode()


def _write_form(_media_type: str, body: bytes) -> str:
    return unquote_plus(body.decode("utf-8"))


def _write_parts(media_type: str, body: bytes) -> str:
    if "boundary=" not in media_type:
        raise ValueError(media_type)
    head = f"Content-Type: {media_type}\r\n\r\n".encode("latin-1", "replace")
    message = email.parser.BytesParser().parsebytes(head + body)
    values: list[tuple[str, bytes]] = []
    for part in message.walk():
        name = part.get_param("name", header="Content-Disposition")
        if isinstance(name, str):
            payload = part.get_payload(decode=True)
            values.append((name, payload if isinstance(payload, bytes) else b""))
    return urlencode(values)


def _write_json(_media_type: str, body: bytes) -> str:
    found: dict[str, str] = {}
    numbers: dict[str, int] = {}

    def add_value(value: Any, name: str) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                add_value(inner, key)
        elif isinstance(value, list):
            for inner in value:
                add_value(inner, name)
        elif name:
            free = name
            if name in found:
                numbers[name] = numbers.get(name, 1) + 1
                free = f"{name}.{numbers[name]}_"
            found[free] = _write_scalar(value)

    add_value(json.loads(body), "")
    return urlencode(found)


def _write_scalar(value: object) -> str:
    """Write a value as JavaScript does."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


_WRITERS: dict[str, Callable[[str, bytes], str]] = {
    "application/x-www-form-urlencoded": _write_form,
    "multipart/": _write_parts,
    "application/json": _write_json,
    "text/plain": _write_json,
}
"""By the beginning of the media type."""
