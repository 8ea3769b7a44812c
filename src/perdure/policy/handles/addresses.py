"""Addresses in the values of handles: the location that a text means, if any. Pure.

How it works: servers of the Handle System accept any text in a `URL` value, so registries contain
addresses with spaces and with letters outside ASCII, host names without a scheme, and mail
addresses. `read_address` returns the location that a client would open: surrounding spaces are
removed, other characters that no URI has are escaped (RFC 3987 section 3.1), and the host is
converted to its ASCII form. Other texts are values, but not locations.

>>> read_address(" https://a.example/caf\\u00e9 1 ")
'https://a.example/caf%C3%A9%201'
>>> read_address("www.a.example"), read_address("mailto:a@b.example"), read_address("")
(None, None, None)

What must stay true: an address that readers can open is returned unchanged; a result is a valid
location.
"""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import quote, urlsplit

from perdure.errors import InvalidRequest
from perdure.policy.binding import check_uri

_LONGEST = 8192  # characters
_HOSTED = ("http", "https", "ftp", "ftps")
_AROUND = " \t\r\n\f"
_SCHEME_AND_REST = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*:)(?://([^/?#]*))?(.*)", re.DOTALL)
_PLAIN = re.compile(r"https?://[0-9A-Za-z.-]+(?:[/?#][!-~]*)?", re.ASCII)
"""The usual spelling, which is a location without a doubt: a host of ASCII letters, digits, dots
and hyphens, without a port or a user."""
_URI_CHARACTERS = "!#$%&'()*+,/:;=?@[]~"


def read_address(text: str) -> str | None:
    """The location that a text means, or None if it is not an address that readers can open."""
    if len(text) > _LONGEST:
        return None
    return text if _PLAIN.fullmatch(text) else _read_unusual(text)


@lru_cache(maxsize=1024)
def _read_unusual(text: str) -> str | None:
    if _is_location(text):
        return text
    address = _escape_address(text.strip(_AROUND))
    return address if address is not None and _is_location(address) else None


def _is_location(address: str) -> bool:
    """Return True for a valid location whose host and port a client can use."""
    try:
        check_uri(address)
        parts = urlsplit(address)
        port = parts.port  # raises ValueError if it is not a number up to 65535
    except (InvalidRequest, ValueError):
        return False
    return port != 0 and (parts.scheme not in _HOSTED or bool(parts.hostname))


def _escape_address(text: str) -> str | None:
    """The text with everything escaped that no URI has; None if it cannot be an address."""
    found = _SCHEME_AND_REST.fullmatch(text)
    if found is None or not all(one.isprintable() for one in text):
        return None
    scheme, host, rest = found.groups()
    try:
        before = scheme if host is None else f"{scheme}//{_encode_host(host)}"
        return before + quote(rest, safe=_URI_CHARACTERS)
    except UnicodeError:  # no host has such a name
        return None


def _encode_host(authority: str) -> str:
    """A host, with its port and user, in ASCII. Raises UnicodeError."""
    if authority.isascii():
        return quote(authority, safe=_URI_CHARACTERS)
    user, at, host = authority.rpartition("@")
    name, colon, port = host.partition(":")
    return quote(user, safe=_URI_CHARACTERS) + at + name.encode("idna").decode() + colon + port
