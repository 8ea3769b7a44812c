"""JSON-LD in the vocabulary of schema.org, which search engines read on landing pages.

Specifications: JSON-LD 1.1 (the compact form with one `@context`), https://schema.org/ and the
guidelines of science-on-schema.org for datasets.

How it works: `perdure.metadata.jsonld_writing` makes the node of a resource, and
`perdure.metadata.jsonld_reading` reads one, also those of other repositories. A word that
schema.org lacks, such as the contributor role `DataCurator`, is the `roleName` of a `Role`, which
schema.org allows for every property.

What must stay true: no context is ever fetched, so only the plain names of schema.org are
understood; no record can end the script element of the page that contains it; what is written is
read again without a loss.
"""

from __future__ import annotations

from typing import Any

import msgspec

from perdure.errors.limits import MetadataTooLarge
from perdure.errors.records import NotOneNode, quote_parser
from perdure.metadata.jsonld_node import Node
from perdure.metadata.jsonld_reading import read_about
from perdure.metadata.jsonld_writing import CONTEXT, make_node
from perdure.metadata.port import LARGEST, DescribedResource, Format, Signature
from perdure.model.about import About, check_description

_NAME = "jsonld"


def write_record(described: DescribedResource) -> bytes:
    """Write one node, as a JSON object that is safe inside a script element."""
    text = msgspec.json.format(msgspec.json.encode(make_node(described)), indent=2) + b"\n"
    # these three occur only inside strings
    return text.replace(b"<", b"\\u003c").replace(b">", b"\\u003e").replace(b"&", b"\\u0026")


def read_record(data: bytes) -> About:
    """Read a node, or the first node of a graph. Raises InvalidMetadata or TooLarge."""
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
        found: Any = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise quote_parser(_NAME, "msgspec", error) from None
    graph = found.get("@graph") if isinstance(found, dict) else found
    if isinstance(graph, list) and graph:
        found = graph[0]
    node = Node(found) if isinstance(found, dict) else Node({})
    if not node.read_first("@type"):
        raise NotOneNode()
    return node


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
