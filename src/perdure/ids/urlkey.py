"""The canonical key of a URL, in sort-friendly order (SURT): `dk,dr)/nyheder?a=1`.

How it works: indexes of web archives sort by this key, so that the captures of a page, a site and
a domain are each next to each other. The rules are those of the Internet Archive's canonicaliser,
as the Python package `surt` 0.3.1 implements them (a test compares both): escapes are decoded and
encoded again, the host is reversed and loses its `www`, everything is in lower case, session ids,
the default port and the fragment are dropped, and the query is sorted. Most URLs are plain and need
one match of one pattern; the others go through the rules one by one.

What must stay true: the key only finds candidates, the recorded URI decides; time is linear in the
length of the URL; a key has no space and no control character; the network is never used (`surt`
asks a name server about `1.2`; perdure reads the digits as the C function `inet_aton` does).
"""

from __future__ import annotations

import re
from collections import deque
from contextlib import suppress
from functools import lru_cache
from urllib.parse import quote_from_bytes, unquote_to_bytes

_SAFE = b"!\"$&'()*+,-./:;<=>?@[\\]^_`{|}~"
_HOST = r"(?:[A-Za-z0-9_-]+\.)*[A-Za-z_-][A-Za-z0-9_-]*"
_PLAIN = re.compile(
    rf"http(?:s://({_HOST})(?::443)?|://({_HOST})(?::80)?)"
    r"(/[!\"$&')*+,\-./0-:;<=>@A-Z\[\\\]^_`a-z{|}~]*)?"
    r"(?:\?([!\"$&'()*+,\-./0-9:;<=>?@A-Z\[\\\]^_`a-z{|}~]*))?(?:#.*)?"
)
_SESSION = re.compile(r"sid=|sessionid|cfid=")
_LONGEST_HOST = 255
"""Characters of the longest domain name (RFC 1035 section 2.3.4)."""
_WWW = re.compile(r"^www\d*\.", re.ASCII)

_SCHEME = re.compile(rb"[a-zA-Z][a-zA-Z0-9+.-]*:")
_PROTOCOLS = re.compile(rb"(https?://)+")
_PARTS = re.compile(rb"([a-zA-Z][a-zA-Z0-9+.-]*):(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#.*)?")
_NUMERIC_HOST = re.compile(rb"(?:[1-9][0-9]*|0[0-7]*)(?:\.[0-9]+){0,3}")
_OCTAL = re.compile(rb"[0-7]+")
_LONGEST_NUMBER = 11
"""Digits of 2^32 as an octal number."""
_OCTAL_HOST = re.compile(rb"0[0-7]*(?:\.[0-7]+){0,3}")
_WWW_BYTES = re.compile(rb"www\d*\.")
_PATH_SESSIONS = (
    re.compile(rb"\((?:[a-z]\([0-9a-z]{24}\))+\)"),
    re.compile(rb"\([0-9a-z]{24}\)"),
)
_QUERY_SESSIONS = (
    re.compile(rb"jsessionid=[0-9a-z]{32}(?=&|\Z)", re.IGNORECASE),
    re.compile(rb"phpsessid=[0-9a-z]{32}(?=&|\Z)", re.IGNORECASE),
    re.compile(rb"sid=[0-9a-z]{32}(?=&|\Z)", re.IGNORECASE),
    re.compile(rb"aspsessionid[a-z]{8}=[a-z]{24}(?=&|\Z)", re.IGNORECASE),
)
_DEFAULT_PORTS = {b"http": 80, b"https": 443}
_PASSES = 3


def make_url_key(url: str) -> str:
    """Return the key of a URL, or the text itself, escaped, if it is not a URL.

    >>> make_url_key("http://www.dr.dk/Nyheder/?b=2&a=1#top")
    'dk,dr)/nyheder?a=1&b=2'
    >>> make_url_key("https://Example.org:443")
    'org,example)/'
    """
    plain = _PLAIN.fullmatch(url)
    if plain is None:
        return _apply_rules(url)
    secure_host, host, path, query = plain.groups()
    host, path = host or secure_host, path or "/"
    if "//" in path or "/." in path or len(host) > _LONGEST_HOST:
        return _apply_rules(url)
    if query:
        query = query.lower()
        if _SESSION.search(query):
            return _apply_rules(url)
        if "&" in query:
            query = _sort_query(query)
    path = path.lower()
    if path[-1] == "/" and len(path) > 1:
        path = path[:-1]
    return f"{_reverse_site(host)}){path}?{query}" if query else f"{_reverse_site(host)}){path}"


@lru_cache(maxsize=4096)
def _reverse_site(host: str) -> str:
    """Reverse the labels of a plain host and drop its `www`."""
    labels = _WWW.sub("", host.lower(), count=1).split(".")
    return ",".join(reversed(labels))


def _sort_query(query: str) -> str:
    pairs = [argument.split("=", 1) for argument in query.split("&")]
    pairs.sort()
    return "&".join(["=".join(pair) for pair in pairs])


def _apply_rules(url: str) -> str:
    if not url:
        return "-"
    text = url.encode("utf-8", "surrogatepass")
    if text.startswith(b"filedesc"):
        return _escape_text(text)
    try:
        return _canonicalise_url(text).decode("ascii")
    except ValueError:
        return _escape_text(text)


def _escape_text(text: bytes) -> str:
    """Return the key of a text that is not a URL, with characters that break an index escaped."""
    return quote_from_bytes(text, safe=_SAFE + b"%#")


def _canonicalise_url(text: bytes) -> bytes:
    """Apply the rules. Raises ValueError if the text cannot be split into the parts of a URL."""
    text = text.strip().translate(None, b"\n\r\t")
    if not _SCHEME.match(text):
        text = b"http://" + text
    protocols = _PROTOCOLS.match(text)  # "http://https://example.org/" does occur
    if protocols:
        text = text[protocols.start(1) :]
    parts = _PARTS.fullmatch(text)
    if parts is None:
        raise ValueError("not a URL")
    scheme, authority, path, query = parts.groups()
    host, port = _split_authority((authority or b"").rstrip(b":"))
    if not host and path and scheme.startswith(b"http"):
        host, _, rest = path.lstrip(b"/").partition(b"/")
        path = b"/" + rest
    host = _canonicalise_host(host, scheme)
    path = _canonicalise_path(path, hosted=bool(host))
    key = b",".join(reversed(host.split(b"."))) if host else scheme + b":"
    if host:
        if port and port != _DEFAULT_PORTS.get(scheme.lower()):
            key += b":%d" % port
        key += b")"
    found = _canonicalise_query(query) if query else b""
    if found:
        return key + (path or b"/") + b"?" + found
    return key + path


def _split_authority(authority: bytes) -> tuple[bytes, int]:
    place = authority.rpartition(b"@")[2]
    before, bracket, inside = place.partition(b"[")
    if bracket:
        host, _, rest = inside.partition(b"]")
        port = rest.partition(b":")[2]
    else:
        host, _, port = before.partition(b":")
    if not port:
        return host, 0
    if not port.isdigit() or len(port) > 5 + port.count(b"0") or int(port) > 65535:
        raise ValueError("not a port")
    return host, int(port)


def _canonicalise_host(host: bytes, scheme: bytes) -> bytes:
    host = _unescape_bytes(host)
    if not host.isascii():
        with suppress(ValueError):  # an internationalised name of an unknown form stays as it is
            host = host.decode("utf-8", "ignore").encode("idna")
    host = host.replace(b"..", b".").strip(b".")
    host = _read_address(host) or _escape_bytes(host).lower()
    if scheme != b"dns":
        found = _WWW_BYTES.match(host)
        if found:
            host = host[found.end() :]
    return host


def _read_address(host: bytes) -> bytes:
    """Return the dotted form of an IPv4 address; empty if the host is not an address."""
    if not host:
        return b""
    if host.isdigit():
        # Python does not convert more than 4,300 digits, and no such host exists.
        return _write_address(int(host[-4000:]) & 0xFFFFFFFF)
    if _NUMERIC_HOST.fullmatch(host) and (host[0] != 48 or _OCTAL_HOST.fullmatch(host)):
        return _read_dotted(host.split(b"."))
    return b""


def _read_dotted(parts: list[bytes]) -> bytes:
    """Read numbers as `inet_aton` does: the last one fills all bytes that the others leave.

    A number that begins with 0 is octal. Returns nothing if a number is too large, or malformed.
    """
    address = 0
    for at, part in enumerate(parts):
        is_octal = part[:1] == b"0" and len(part) > 1
        if len(part.lstrip(b"0")) > _LONGEST_NUMBER or (
            is_octal and _OCTAL.fullmatch(part) is None
        ):
            return b""
        number = int(part, 8 if is_octal else 10)
        width = 8 if at + 1 < len(parts) else 8 * (5 - len(parts))
        if number >> width:
            return b""
        address = address << width | number
    return _write_address(address)


def _write_address(address: int) -> bytes:
    return b".".join(b"%d" % byte for byte in address.to_bytes(4, "big"))


def _canonicalise_path(path: bytes, *, hosted: bool) -> bytes:
    path = _unescape_bytes(path)
    if hosted:
        path = _straighten_path(path)
    path = _escape_bytes(path).lower()
    for pattern in _PATH_SESSIONS:
        path = _drop_path_session(path, pattern)
    return path[:-1] if path.endswith(b"/") and len(path) > 1 else path


def _straighten_path(path: bytes) -> bytes:
    """Remove `.`, `..` and all empty segments except the last."""
    kept: list[bytes] = []
    for segment in path.split(b"/")[1:]:
        if segment == b"..":
            if kept:
                kept.pop()
            else:
                kept.append(segment)
        elif segment != b".":
            kept.append(segment)
    if not kept:
        return b"/"
    return b"/" + b"".join([segment + b"/" for segment in kept[:-1] if segment]) + kept[-1]


def _drop_path_session(path: bytes, pattern: re.Pattern[bytes]) -> bytes:
    """Drop the last segment that is an ASP.NET session id, before a page `….aspx`."""
    last = path.rfind(b".aspx")
    end = path.rfind(b")/", 0, last)
    while end >= 0:
        start = path.rfind(b"/", 0, end) + 1
        rest = end + 2
        if start and pattern.fullmatch(path, start, end + 1):
            query = path.find(b"?", rest)
            if path.find(b".aspx", rest + 1, len(path) if query < 0 else query + 5) >= 0:
                return path[:start] + path[rest:]
        end = path.rfind(b")/", 0, end)
    return path


def _canonicalise_query(query: bytes) -> bytes:
    query = _escape_bytes(_unescape_bytes(query))
    for pattern in _QUERY_SESSIONS:
        for last in deque(pattern.finditer(query), maxlen=1):
            query = query[: last.start()] + query[last.end() + 1 :]
    query = _drop_coldfusion_session(query).lower()
    if len(query) <= 1:
        return query
    pairs = [argument.split(b"=", 1) for argument in query.split(b"&")]
    pairs.sort()
    return b"&".join([b"=".join(pair) for pair in pairs])


def _drop_coldfusion_session(query: bytes) -> bytes:
    """Drop the last `cfid=…&cftoken=…`."""
    arguments = query.split(b"&")
    for at in range(len(arguments) - 1, 0, -1):
        token = arguments[at].lower()
        if token.startswith(b"cftoken=") and len(token) > 8:
            before = arguments[at - 1]
            start = before.lower().rfind(b"cfid=", 0, len(before) - 1)
            if start >= 0:
                head = b"&".join([*arguments[: at - 1], before[:start]])
                return head + b"&".join(arguments[at + 1 :])
    return query


def _escape_bytes(text: bytes) -> bytes:
    return quote_from_bytes(text, safe=_SAFE).encode("ascii")


def _unescape_bytes(text: bytes) -> bytes:
    """Decode escapes until none is left: `%2541` is `A`.

    Escapes do not overlap, so the order in which they are decoded makes no difference. A few
    passes are enough for real URLs; a pass with a stack handles deeper nesting.
    """
    for _ in range(_PASSES):
        if b"%" not in text:
            return text
        before, text = text, unquote_to_bytes(text)
        if before == text:
            return text
    done = bytearray()
    for byte in text:
        done.append(byte)
        while len(done) >= 3 and done[-3] == 0x25:
            pair = done[-2:]
            if not pair.isalnum() or not set(pair.lower()) <= _HEXADECIMAL:
                break
            done[-3:] = bytes([int(pair, 16)])
    return bytes(done)


_HEXADECIMAL = frozenset(b"0123456789abcdef")
