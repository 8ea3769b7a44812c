"""The RO-Crate description of a package: what is in it, for people and programs.

https://www.researchobject.org/ro-crate/1.1/
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from perdure.errors.root import count_things
from perdure.upkeep.succession.acts import SignedAct

_FILES = {
    "changes.jsonl": ("Changes that are handed over", "application/jsonl"),
    "act.jsonl": ("Records of the statement and its signature", "application/jsonl"),
    "hand-over.jsonld": ("Statement of the predecessor", "application/ld+json"),
    "hand-over.signature": ("Signature of the statement", "text/plain"),
}


def describe_crate(act: SignedAct, sizes: Mapping[str, int], created: str) -> bytes:
    """Write `ro-crate-metadata.json`. `sizes`: of the files of the bag, by their paths."""
    said = act.hand_over
    successors = [{"@id": one.base} for one in act.delegation.resolvers]
    files = [name for name in _FILES if f"data/{name}" in sizes]
    graph: list[dict[str, object]] = [
        {
            "@id": "ro-crate-metadata.json",
            "@type": "CreativeWork",
            "about": {"@id": "./"},
            "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
        },
        {
            "@id": "./",
            "@type": "Dataset",
            "identifier": str(act.statement.identifier),
            "name": f"Hand-over of {act.delegation.names}",
            "description": (
                f"{count_things(said.records, 'record')} with their history, "
                f"{count_things(said.documents, 'document')} ({count_things(said.bytes, 'byte')}), "
                f"up to change {said.head.mark} of the predecessor"
            ),
            "datePublished": created,
            "license": "Rights in the documents are those of their authors; see each description.",
            "audience": successors,
            "hasPart": [*({"@id": name} for name in files), {"@id": "objects/"}],
        },
        {
            "@id": "objects/",
            "@type": "Dataset",
            "name": "Documents",
            "description": "An OCFL 1.1 storage root with one object for each record with bytes",
        },
    ]
    graph += (
        {
            "@id": name,
            "@type": "File",
            "name": _FILES[name][0],
            "encodingFormat": _FILES[name][1],
            "contentSize": str(sizes[f"data/{name}"]),
        }
        for name in files
    )
    graph += (
        {"@id": one.base, "@type": "Organization", "name": "Successor", "url": one.base}
        for one in act.delegation.resolvers
    )
    context = "https://w3id.org/ro/crate/1.1/context"
    document = {"@context": context, "@graph": graph}
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"
