"""The public resolvers of identifiers, read from one table: `data/public_resolvers.toml`.

How it works: the table lists the beginnings of names (`doi:`, `urn:nbn:fi`), and for each the
address at which its resolver resolves a name. The longest beginning of a name counts. A scheme of
another package can say its resolver in its labels instead (`perdure.ids.scheme.Label`).

An address is also read back: the name is in the place of `{id}` or `{name}`.

>>> [one.locate(parse("urn:nbn:se:kb-1")) for one in find_resolvers(parse("urn:nbn:se:kb-1"))]
['https://urn.kb.se/resolve?urn=urn:nbn:se:kb-1']
>>> read_address("https://www.rfc-editor.org/info/rfc8141")
'urn:ietf:rfc:8141'

What must stay true: `read_address(resolver.locate(x)) == str(x)` for every whole identifier x.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from urllib.parse import quote, unquote

import msgspec

from perdure.ids import Identifier, parse, scheme_of  # noqa: F401  (parse: for the examples)

_AFTER_COUNTRY = (":", "-")
_IN_QUERY = ":/"  # not escaped in a query, like letters, digits and -._~


class PublicResolver(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A public resolver; the table explains the fields."""

    begins: tuple[str, ...]
    name: str
    address: str
    hosts: tuple[str, ...] = ()
    handles: str = ""
    official: bool = True

    def locate(self, identifier: Identifier) -> str:
        """Return the address of an identifier of which a beginning is listed, without its part."""
        return self._fill_address(self.address, identifier.path)

    def locate_values(self, identifier: Identifier) -> str:
        """Return the address of the values of a handle, or an empty text."""
        return self._fill_address(self.handles, identifier.path) if self.handles else ""

    def _fill_address(self, address: str, path: str) -> str:
        lead, mark, end = split_address(address)
        text = path if mark == "{id}" else path[len(self._find_beginning(path)) :]
        return lead + (quote(text, safe=_IN_QUERY) if "?" in lead else text) + end

    def _find_beginning(self, path: str) -> str:
        return next(one for one in self.begins if path.lower().startswith(one))


def split_address(address: str) -> tuple[str, str, str]:
    """Split an address at the place of the name: what precedes it, the mark, what follows."""
    for mark in ("{id}", "{name}"):
        lead, found, end = address.partition(mark)
        if found:
            return lead, mark, end
    raise ValueError(f"an address without {{id}} or {{name}}: {address}")


class _Table(msgspec.Struct, forbid_unknown_fields=True):
    resolver: tuple[PublicResolver, ...]


@cache
def list_public_resolvers() -> tuple[PublicResolver, ...]:
    """Return all public resolvers, in the order of the table."""
    text = files("perdure.ids").joinpath("data/public_resolvers.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), _Table).resolver


@cache
def _index_beginnings() -> dict[str, tuple[tuple[str, tuple[PublicResolver, ...]], ...]]:
    """Return the resolvers of each beginning, the longest first, by the text up to the colon."""
    by_beginning: dict[str, list[PublicResolver]] = {}
    for one in list_public_resolvers():
        for beginning in one.begins:
            by_beginning.setdefault(beginning, []).append(one)
    index: dict[str, list[tuple[str, tuple[PublicResolver, ...]]]] = {}
    for beginning, found in sorted(by_beginning.items(), key=lambda item: -len(item[0])):
        entry = (beginning, tuple(found))
        index.setdefault(beginning.partition(":")[0], []).append(entry)
    return {scheme: tuple(entries) for scheme, entries in index.items()}


def find_resolvers(identifier: Identifier) -> tuple[PublicResolver, ...]:
    """Return the public resolvers of an identifier, in the order of the table; none for most.

    >>> [one.name for one in find_resolvers(parse("urn:nbn:fi-fe20"))]
    ['National Library of Finland']
    >>> find_resolvers(parse("pdi://oma.eop.gov.us/1997/09/01/1"))
    ()
    """
    found = list_resolvers_of(str(identifier.whole))
    if found:
        return found
    label = scheme_of(identifier).label_of(identifier)
    if not label.resolver:
        return ()
    mark = "{name}" if label.is_dropped else "{id}"
    own = PublicResolver(
        begins=(label.text,), name=label.datacite_type, address=label.resolver + mark
    )
    return (own,)


def list_resolvers_of(text: str) -> tuple[PublicResolver, ...]:
    """Return the listed resolvers of a canonical text, or of a beginning such as `orcid:`."""
    folded = text.lower()
    for beginning, found in _index_beginnings().get(folded.partition(":")[0], ()):
        if folded.startswith(beginning) and (
            beginning.endswith(":") or folded[len(beginning) :].startswith(_AFTER_COUNTRY)
        ):
            return found
    return ()


def read_address(url: str) -> str:
    """Return the name in an address at a public resolver that has no host of its own, or "".

    Hosts that resolve every path (`hosts` in the table) are read by `perdure.ids.urls`.
    """
    for one in list_public_resolvers():
        if one.hosts:
            continue
        lead, mark, end = split_address(one.address)
        if url.startswith(lead) and url.endswith(end) and len(url) > len(lead) + len(end):
            text = url[len(lead) : len(url) - len(end)]
            name = unquote(text) if "?" in lead else text
            return name if mark == "{id}" else one.begins[0] + name
    return ""
