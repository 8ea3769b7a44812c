"""JSON-LD in the vocabulary of schema.org, which search engines read on landing pages.

Specifications: JSON-LD 1.1 (the compact form with one `@context`), https://schema.org/ and the
guidelines of science-on-schema.org for datasets.

How it works: `perdure.metadata.jsonld_writing` makes the node of a resource, and
`perdure.metadata.jsonld_reading` reads one, also those of other repositories. A word that
schema.org lacks, such as the contributor role `DataCurator`, is the `roleName` of a `Role`, which
schema.org allows for every property.

Names may be plain, complete (`https://schema.org/name`) or have a prefix that `@context` declares.
In a graph, the record is the first node that no other node refers to.

What must stay true: no context is ever fetched, so only the names of schema.org are understood, and
all others are reported as unread; no record can end the script element of the page that contains
it; what is written is read again without a loss.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from perdure.errors.limits import MetadataTooLarge
from perdure.errors.records import NotOneNode, quote_parser
from perdure.metadata.jsonld_node import Node
from perdure.metadata.jsonld_reading import read_about
from perdure.metadata.jsonld_writing import CONTEXT, make_node
from perdure.metadata.port import LARGEST, DescribedResource, Format, Signature
from perdure.model.about import About
from perdure.model.description_checks import check_description

_NAME = "jsonld"
_ADDRESSES = (
    "https://schema.org/",
    "http://schema.org/",
    "https://schema.org",
    "http://schema.org",
)


def write_record(described: DescribedResource) -> bytes:
    """Write one node, as a JSON object that is safe inside a script element."""
    text = msgspec.json.format(msgspec.json.encode(make_node(described)), indent=2) + b"\n"
    # these three occur only inside strings
    return text.replace(b"<", b"\\u003c").replace(b">", b"\\u003e").replace(b"&", b"\\u0026")


def read_record(data: bytes) -> About:
    """Read a node, or that of a graph. Raises InvalidMetadata or TooLarge."""
    return check_description(read_about(_load_node(data)))


def list_unread(data: bytes) -> tuple[str, ...]:
    """List the properties of a record that `read_record` does not keep, such as `audience`."""
    node = _load_node(data)
    read_about(node)
    return tuple(dict.fromkeys(node.list_unread()))


def _load_node(data: bytes) -> Node:
    if len(data) > LARGEST:
        raise MetadataTooLarge(format=_NAME, limit=LARGEST)
    try:
        found: Any = _spell_plainly(msgspec.json.decode(data))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise quote_parser(_NAME, "msgspec", error) from None
    graph = found.get("@graph") if isinstance(found, dict) else found
    if isinstance(graph, list) and graph:
        found = _find_root(graph)
    node = Node(found) if isinstance(found, dict) else Node({})
    if not node.read_first("@type"):
        raise NotOneNode()
    return node


def _spell_plainly(tree: Any, prefixes: frozenset[str] = frozenset(("schema",))) -> Any:
    """Replace the names of properties and types in schema.org by their plain forms.

    >>> _spell_plainly({"@context": {"s": "http://schema.org/"}, "@type": "s:Book", "s:name": "N"})
    {'@context': {'s': 'http://schema.org/'}, '@type': 'Book', 'name': 'N'}
    """
    if isinstance(tree, list):
        return [_spell_plainly(one, prefixes) for one in tree]
    if not isinstance(tree, dict):
        return tree
    if "@context" in tree:
        prefixes |= frozenset(_list_prefixes(tree["@context"]))
    plain: dict[str, Any] = {}
    for name, value in tree.items():
        if name == "@context":
            plain[name] = value
        elif name == "@type":
            kinds = value if isinstance(value, list) else [value]
            names = [_drop_prefix(one, prefixes) if isinstance(one, str) else one for one in kinds]
            plain[name] = names if isinstance(value, list) else names[0]
        else:
            plain[_drop_prefix(name, prefixes)] = _spell_plainly(value, prefixes)
    return plain


def _list_prefixes(context: Any) -> Iterator[str]:
    """Yield the prefixes that a context declares for schema.org."""
    for one in context if isinstance(context, list) else [context]:
        for name, address in one.items() if isinstance(one, dict) else ():
            if isinstance(address, str) and address in _ADDRESSES:
                yield name


def _drop_prefix(name: str, prefixes: frozenset[str]) -> str:
    prefix, _, rest = name.partition(":")
    if prefix in prefixes:
        return rest or name
    address, slash, word = name.rpartition("/")
    return word if slash and word and f"{address}/" in _ADDRESSES else name


def _find_root(graph: list[Any]) -> Any:
    """The first node of a graph that no other node refers to, or else the first node."""
    referred = {address for one in graph for address in _list_references(one)}
    nodes = [one for one in graph if isinstance(one, dict) and "@type" in one]
    roots = (one for one in nodes if str(one.get("@id", "")) not in referred)
    return next(roots, graph[0])


def _list_references(tree: Any) -> Iterator[str]:
    """Yield the addresses of other nodes in a node."""
    for one in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        if isinstance(one, dict) and isinstance(one.get("@id"), str):
            yield one["@id"]
        yield from _list_references(one)


FORMAT = Format(
    name=_NAME,
    title="JSON-LD (schema.org)",
    media_types=("application/ld+json", "application/vnd.schemaorg.ld+json"),
    write=write_record,
    read=read_record,
    list_unread=list_unread,
    schema=CONTEXT,
    aliases=("schemaorg", "schema.org"),
    signature=Signature(opening=(b"{", b"["), marks=(b'"@context"', b'"@type"'), reach=LARGEST + 1),
    place=30,
)
