"""Parse a URL to fetch: its scheme, host, port and path. Pure.

How it works: an untrusted URL is split once. Each part of a request is made from these parts, with
only the characters that it may contain, so that nothing else gets onto the wire.

What must stay true: only `http` and `https`; no user names and passwords; no port of another
protocol, whose server might read a request as commands (Fetch standard, section 2.9).
"""

from __future__ import annotations

import re
from urllib.parse import quote, urljoin, urlsplit

import msgspec

from perdure.errors.captures import (
    HostImpossible,
    PortForbidden,
    UrlHasPassword,
    UrlMalformed,
    UrlNotOfWeb,
    UrlTooLong,
    UrlWithoutHost,
)

_PORTS = {"http": 80, "https": 443}
_SAFE = "!$%&'()*+,-./:;=?@[]_~|^{}`\\\""  # not escaped, because a request may contain them
_AROUND = "".join(map(chr, range(0x21)))
_HOST = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_.])?|[0-9a-f:.]+", re.ASCII)
_LONGEST = 8192
_USER = re.compile(r"(?<=//)[^/?#]*@")
OTHER_PROTOCOLS = frozenset(
    (0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101,
     102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427,
     465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990,
     993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6379, 6566, 6665, 6666,
     6667, 6668, 6669, 6679, 6697, 10080)
)  # fmt: skip
"""The "bad ports" of the Fetch standard, and Redis."""


class FetchTarget(msgspec.Struct, frozen=True, kw_only=True):
    """A server, and the path to request from it."""

    scheme: str
    host: str
    """In lower case and ASCII, an IPv6 address without its brackets."""
    port: int
    path: str
    """With the query, as in the request line."""

    @property
    def authority(self) -> str:
        """The value of the `Host` field."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"


def parse_target(url: str) -> FetchTarget:
    """Parse a URL. Raises InvalidRequest if it may not be fetched.

    >>> parse_target("HTTP://Example.org:80?a b#top").url
    'http://example.org/?a%20b'
    """
    if len(url) > _LONGEST:
        raise UrlTooLong(url=_hide_user(url), longest=_LONGEST)
    text = url.strip(_AROUND)
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise UrlMalformed(url=_hide_user(url), fault=str(error)) from error
    if parts.scheme not in _PORTS:
        raise UrlNotOfWeb(url=_hide_user(url))
    if "@" in parts.netloc:
        raise UrlHasPassword(url=_hide_user(url))
    if port is None:
        port = _PORTS[parts.scheme]
    if port in OTHER_PROTOCOLS:
        raise PortForbidden(url=_hide_user(url), port=port)
    path = quote(parts.path or "/", safe=_SAFE)
    query = f"?{quote(parts.query, safe=_SAFE)}" if parts.query else ""
    return FetchTarget(
        scheme=parts.scheme, host=_encode_host(url, host), port=port, path=path + query
    )


def join_url(base: str, reference: str) -> str:
    """Return the URL that a reference on a page or in a redirect means, without its fragment.

    A reference that cannot be parsed is returned unchanged; `parse_target` refuses it.
    """
    try:
        return urljoin(base, reference.strip(_AROUND)).partition("#")[0]
    except ValueError:
        return reference


def _encode_host(url: str, host: str) -> str:
    try:
        name = host if host.isascii() else host.encode("idna").decode("ascii").lower()
    except UnicodeError as error:
        raise HostImpossible(url=_hide_user(url), fault=str(error)) from error
    if not _HOST.fullmatch(name):
        raise UrlWithoutHost(url=_hide_user(url))
    return name


def _hide_user(url: str) -> str:
    """Return the start of a URL without the user, so that a password does not get into a log."""
    return _USER.sub("", url[: 2 * _LONGEST], count=1)
