"""Foreign identifiers that a PDI encapsulates as its unique-id (section 2.4.1 of the draft).

How it works: a unique-id is such an identifier if it percent-decodes to a URI with one of the
schemes listed here (ruling pdi-foreign). `http` and `https` URLs are converted to the normal form
of RFC 3986 section 6.2.2, so that step 4 of section 3.6.4 can compare them; every other URI stays
opaque. `canonicalise_foreign` goes further, for the question whether two names are equal (ruling
pdi-foreign-equal): an identifier of a scheme that perdure reads is compared as that scheme compares
it, and URLs also by their ports and empty paths (RFC 3986 section 6.2.3).

What must stay true: normalising a text twice has the same result as once, and never makes it
longer; keys depend on the normal form, which is never changed, and not on the canonical one.
The list of schemes determines which PDIs share a record, so a scheme may be added only if its URIs
stay opaque.
"""

from __future__ import annotations

import re
from contextlib import suppress
from urllib.parse import unquote_to_bytes

from perdure.errors import MalformedIdentifier, UnknownScheme
from perdure.ids import parse

# Schemes of IANA's registry that name or locate documents, and those of this library.
_KNOWN = (
    "ark cid data doi file ftp geo gopher hdl http https imap info ipfs magnet mailto mid news nfs "
    "ni nih nntp oid pdi pwid sftp tag tel urn wais z39.50r z39.50s"
)
_KNOWN_SCHEMES = frozenset(_KNOWN.split())

# RFC 3986 section 2 and 3.1
_ESCAPE = "%[0-9A-Fa-f]{2}"
_URI = re.compile(
    rf"([A-Za-z][A-Za-z0-9+.-]*+):(?:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]++|{_ESCAPE})+", re.ASCII
)

# RFC 3986 appendix B, for URLs with an authority
_URL = re.compile(r"(https?)://([^/?#]++)([^?#]*+)(.*+)", re.ASCII | re.IGNORECASE)


def find_foreign_identifier(uid: str) -> str | None:
    """Return the foreign identifier that a canonical unique-id encapsulates, normalised, or None.

    >>> find_foreign_identifier("http:%2f%2fWWW%2eexample%2ecom%2f%257ejcma")
    'http://www.example.com/~jcma'
    """
    if ":" not in uid:  # the most common case: a serial number
        return None
    decoded = unquote_to_bytes(uid)
    text = decoded.decode("ascii", "replace")
    uri = _URI.fullmatch(text)
    if uri is None or uri[1].lower() not in _KNOWN_SCHEMES:
        return None
    url = _URL.fullmatch(text)
    return _normalise_url(url) if url else text


def _normalise_url(url: re.Match[str]) -> str:
    """Normalise case, then percent-encoding, then path segments (RFC 3986 section 6.2.2)."""
    scheme, authority, path, rest = url.groups()
    userinfo, at, host = authority.rpartition("@")
    host = _capitalise_escapes(_unescape_unreserved(host).lower())
    return (
        f"{scheme.lower()}://{_unescape_unreserved(userinfo)}{at}{host}"
        f"{_remove_dot_segments(_unescape_unreserved(path))}{_unescape_unreserved(rest)}"
    )


_WEB = re.compile(r"(https?)://([^/?#]++)(.*+)")
_PORTS = {"http": ":80", "https": ":443"}


def canonicalise_foreign(foreign: str) -> str:
    """Return a text that equal foreign identifiers share. `foreign` is in normal form.

    >>> canonicalise_foreign("http://a.example:80"), canonicalise_foreign("doi:10.1000/ABC")
    ('http://a.example/', 'hdl:10.1000/abc')
    """
    url = _WEB.fullmatch(foreign)
    if url is None:
        with suppress(MalformedIdentifier, UnknownScheme):
            return " ".join(parse(foreign).list_equality_texts()).strip()
        return foreign
    scheme, authority, rest = url.groups()
    authority = authority.removesuffix(_PORTS[scheme]).removesuffix(":")
    return f"{scheme}://{authority}{'' if rest.startswith('/') else '/'}{rest}"


_ESCAPES = re.compile(_ESCAPE)
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def _unescape_unreserved(text: str) -> str:
    """Decode escapes of unreserved characters, write others in upper case (section 6.2.2.2)."""
    return _ESCAPES.sub(_normalise_escape, text)


def _normalise_escape(escape: re.Match[str]) -> str:
    octet = int(escape[0][1:], 16)
    return chr(octet) if octet in _UNRESERVED else escape[0].upper()


def _capitalise_escapes(text: str) -> str:
    return _ESCAPES.sub(lambda escape: escape[0].upper(), text)


def _remove_dot_segments(path: str) -> str:
    """Apply `.` and `..` in a path that is empty or begins with `/` (section 5.2.4)."""
    if "/." not in path:
        return path
    kept: list[str] = []
    segments = path.split("/")
    for segment in segments:
        if segment == "..":
            del kept[max(1, len(kept) - 1) :]  # the root stays
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in {".", ".."}:
        kept.append("")
    return "/".join(kept)
