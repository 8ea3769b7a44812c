"""Conversion of identifiers to addresses that a browser can follow, and back. Pure.

How it works: an address is the URL of a resolver followed by the identifier. `urlify` uses our own
resolver or, if there is none, the public one (`perdure.ids.public_resolvers`). `deurlify`
recognises public resolvers by their hosts, and our own by its address, and returns the identifier
in the address. Any host can be a resolver of PDIs and ARKs. `normalise_url` converts URLs for
comparison, and `list_spellings` lists the forms to look up, because a URL is stored as given.

>>> urlify(parse("doi:10.1000/182"))
'https://doi.org/10.1000/182'
>>> str(deurlify("http://dx.doi.org/10.1000/182"))
'doi:10.1000/182'

What must stay true: `deurlify(urlify(x, …)) == x` for every whole identifier x that has an address.

Specification: ISO 24619 section 5.2.6; RFC 3986 section 6.2; the proxies' own documentation.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache
from urllib.parse import unquote, urlsplit

import msgspec

from perdure.errors.locations import MalformedAddress, NoPublicResolver, UnknownResolver
from perdure.ids import Identifier, parse
from perdure.ids.pdi import Pdi
from perdure.ids.pdi_foreign import find_foreign_identifier
from perdure.ids.public_resolvers import (
    find_resolvers,
    list_public_resolvers,
    read_address,
    split_address,
)

_WEB = re.compile(r"(https?)://([^/?#]+)(.*)")
_OF_PDI = re.compile(
    r"https?://[^/?#]+/((?:urn(?::|%3a))?pdi(?::|%3a).*)", re.ASCII | re.IGNORECASE | re.DOTALL
)
_PLAIN_ADDRESS = re.compile(
    r"https?://([a-z0-9.-]+)/(?!(?i:(?:urn:)?pdi|hdl|doi):)([A-Za-z0-9./:();_-]+)", re.ASCII
)
_QUESTION = re.compile("[?#]")
_HALF_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})", re.ASCII)
_SLASHES = 3  # of a URL with no path but the root
_PORTS = {"http": ":80", "https": ":443"}


class Proxy(msgspec.Struct, frozen=True):
    """A public resolver of which every path is a name."""

    host: str
    label: str
    """The label that turns the path into an identifier."""


@cache
def _index_hosts() -> dict[str, Proxy]:
    """Return the public resolvers by their hosts, with other and former hosts."""
    found: dict[str, Proxy] = {}
    for one in list_public_resolvers():
        label = "" if split_address(one.address)[1] == "{id}" else one.begins[0]
        found |= {host: Proxy(one.hosts[0], label) for host in one.hosts}
    return found


def is_known_host(host: str) -> bool:
    """Return True for the host of a public resolver, in lower case."""
    return host in _index_hosts()


_HANDLES = ("hdl:", "doi:")


def urlify(identifier: Identifier, base: str = "", path: str = "") -> str:
    """Return an address of an identifier: at the resolver `base`, else at the public proxy.

    `path` is its path at our own resolver. Raises InvalidRequest if no resolver is given and the
    scheme has no public one.
    """
    if base:
        return f"{base.rstrip('/')}/{path or identifier}"
    address = find_public_address(identifier)
    if address:
        return address
    raise NoPublicResolver(identifier=str(identifier))


def find_public_address(identifier: Identifier) -> str:
    """Return an identifier's address at the public resolver of its scheme, or an empty text.

    >>> find_public_address(parse("ark:12345/x6")), find_public_address(parse("urn:example:a"))
    ('https://n2t.net/ark:12345/x6', '')
    """
    official = (one for one in find_resolvers(identifier) if one.official)
    return next((one.locate(identifier) for one in official), "")


def deurlify(
    url: str, bases: tuple[str, ...] = (), read: Callable[[str], Identifier] = parse
) -> Identifier:
    """Return the identifier in an address. `read` parses the text after one of our `bases`.

    The address may also be an identifier itself, and of a PDI or an ARK it may be at any resolver.
    Raises InvalidRequest for an address that is not at a known resolver, MalformedIdentifier or
    UnknownScheme for an invalid identifier in an address.
    """
    plain = read_plain_address(url, bases)  # nearly always, and eight times as fast
    if plain is not None:
        return plain
    path = find_path(url, bases)
    if path is not None:
        return read(path)
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError as error:
        raise MalformedAddress(url=url, fault=str(error)) from error
    if parts.scheme not in ("http", "https"):
        return parse(url)
    proxy = _index_hosts().get(host)
    if proxy is not None:
        return parse(_read_proxy_path(proxy, parts.path, parts.query))
    named = read_address(url)
    if named:
        return parse(named)
    embedded = _find_embedded_ark(url)
    if embedded is not None:
        return embedded
    raise UnknownResolver(url=url)


def read_plain_address(url: str, bases: tuple[str, ...] = ()) -> Identifier | None:
    """Return the identifier in an address in the usual spelling at a public resolver.

    None for any other text. Raises MalformedIdentifier or UnknownScheme as `deurlify` does.
    """
    plain = _PLAIN_ADDRESS.fullmatch(url)
    proxy = _index_hosts().get(plain[1]) if plain is not None else None
    if plain is None or proxy is None or url.startswith(list_beginnings(bases)):
        return None
    return parse(proxy.label + plain[2])


@lru_cache(maxsize=64)
def list_beginnings(bases: tuple[str, ...]) -> tuple[str, ...]:
    """Return the beginnings of all addresses at our resolvers.

    >>> list_beginnings(("https://id.example", ""))
    ('https://id.example/',)
    """
    return tuple(f"{base.rstrip('/')}/" for base in bases if base)


def find_path(url: str, bases: tuple[str, ...] = ()) -> str | None:
    """Return the path, with its query, of an address at one of our `bases`, or of a PDI at any.

    >>> find_path("http://pid.example.org/pdi://oma.eop.gov.us/1997/?info")
    'pdi://oma.eop.gov.us/1997/?info'
    """
    for beginning in list_beginnings(bases):
        if url.startswith(beginning):
            return url.removeprefix(beginning)
    found = _OF_PDI.match(url)
    return found[1] if found else None


def normalise_url(url: str) -> str:
    """Normalise a URL (RFC 3986 sections 6.2.2 and 6.2.3); return any other text unchanged.

    >>> (normalise_url("HTTP://A.example:80"), normalise_url("https://a.example/%7Eb/../c"),
    ...  normalise_url("A b"))
    ('http://a.example/', 'https://a.example/c', 'A b')
    """
    known = find_foreign_identifier(Pdi.encapsulate(url)) if url.isascii() else None
    found = _WEB.fullmatch(known or "")
    if found is None:
        return known or url
    scheme, authority, rest = found.groups()
    authority = authority.removesuffix(_PORTS[scheme]).removesuffix(":")
    return f"{scheme}://{authority}{'' if rest.startswith('/') else '/'}{rest}"


def list_spellings(url: str) -> tuple[str, ...]:
    """Return the spellings under which an equivalent location may have been bound.

    They are the URL as given, its normal form, and the normal form without the slash of an empty
    path.
    """
    usual = normalise_url(url)
    short = usual[:-1] if usual.count("/") == _SLASHES and usual.endswith("/") else usual
    return tuple(dict.fromkeys((url, usual, short)))


def _read_proxy_path(proxy: Proxy, path: str, query: str) -> str:
    """Return the identifier in a proxy's address, without the query of a handle or an ARK."""
    if not proxy.label:
        text = path.removeprefix("/")
        return text + (f"?{query}" if query and not text.lower().startswith("ark:") else "")
    if proxy.label in _HANDLES and not _is_escaped_text(path):
        return f"https://{proxy.host}{path}"  # which the scheme refuses, and it says where
    text = unquote(path.removeprefix("/"))
    label = next((one for one in _HANDLES if text.lower().startswith(one)), "")
    return proxy.label + text[len(label) :]


def _is_escaped_text(path: str) -> bool:
    """Return True if the escapes of a path are complete, and those of text in UTF-8."""
    if _HALF_ESCAPE.search(path):
        return False
    try:
        unquote(path, errors="strict")
    except UnicodeDecodeError:
        return False
    return True


def _find_embedded_ark(url: str) -> Identifier | None:
    """Return an ARK found anywhere in an address, or None.

    `…/ark:/12345/x6` is an ARK at any resolver and with any query.
    """
    at = url.find("/ark:")
    return parse(_QUESTION.split(url[at + 1 :], maxsplit=1)[0]) if at >= 0 else None
