"""Makes the package of a hand-over from a predecessor that can be asked.

How it works: the successor reads the changes of the predecessor, as a mirror does, and looks for
the newest statement that hands something over to it. Then it writes the same package that the
predecessor would have written, so the signature covers it.

What must stay true: what is fetched is checked as a package that came by post.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from perdure.errors import PerdureError
from perdure.errors.succession import NoHandOver
from perdure.model import stored
from perdure.model.changes import Line
from perdure.model.delegations import Delegation, read_resolver
from perdure.model.hand_overs import HandOver
from perdure.model.mirroring import SoughtContent
from perdure.model.timestamps import format_timestamp
from perdure.registry import Registry
from perdure.upkeep.mirroring.client import RegistryClient, check_url
from perdure.upkeep.succession.acts import (
    NamedDocument,
    SignedAct,
    read_successor,
    try_hand_over,
)
from perdure.upkeep.succession.packing import list_sought, write_package
from perdure.upkeep.succession.selecting import list_records
from perdure.upkeep.succession.sources import RemoteSource

DIRECTORY = "succession"
"""Where a registry keeps the packages that it fetched."""


def fetch_package(registry: Registry, url: str, secret: str) -> Path:
    """Make the package of what a registry hands over to this one, and return its place.

    Raises OriginSpelling, OriginUnusable, NoHandOver, HandOverOutdated, StorageFailed.
    """
    with closing(RegistryClient(check_url(url), secret)) as client:
        source = RemoteSource(client, registry.incoming)
        act = _find_act(source, url, registry.settings.base_url)
        name = act.hand_over.changes[:32]
        place = registry.root / DIRECTORY / name
        if not place.exists():
            place.parent.mkdir(exist_ok=True)
            created = format_timestamp(registry.clock())
            write_package(place, source, act, created=created)
    return place


def _find_act(source: RemoteSource, url: str, own: str) -> SignedAct:
    """Find the newest statement that is addressed to this registry. Raises NoHandOver."""
    lines: dict[str, Line] = {}
    signatures: dict[str, Line] = {}
    for _, (key, text) in list_records(source.walk_changes()):
        if text[:1] != stored.JSON or '"targets"' not in text:
            continue
        record = stored.decode_stored(text)
        if record.delegates and key not in lines:
            lines[key] = (key, text)
        for target in record.targets:
            signatures.setdefault(target, (key, text))
    documents = _read_documents(source, list(lines.values()))
    for statement in reversed(documents.values()):
        said = try_hand_over(statement.data)
        delegation = _find_delegation(said, documents, own) if said is not None else None
        if said is None or delegation is None:
            continue
        line = signatures.get(str(statement.identifier))
        signature = _read_documents(source, [line])[line[0]] if line is not None else None
        return SignedAct(
            statement=statement, signature=signature, hand_over=said, delegation=delegation
        )
    raise NoHandOver(source=url, own=own)


def _read_documents(source: RemoteSource, lines: list[Line]) -> dict[str, NamedDocument]:
    """By key: the documents of these lines, as far as they are there."""
    wanted = {}
    for line in lines:
        sought = list_sought(line[0], stored.decode_stored(line[1]))
        if len(sought) == 1:
            wanted[sought[0]] = line
    found: dict[SoughtContent, bytes] = {}
    for one, pieces in source.read_contents(list(wanted)):
        if not isinstance(pieces, str):
            found[one] = b"".join(pieces)
    return {
        line[0]: NamedDocument(line, found[one]) for one, line in wanted.items() if one in found
    }


def _find_delegation(
    said: HandOver, documents: dict[str, NamedDocument], own: str
) -> Delegation | None:
    """The delegation of a statement, if it is to the resolver with the address `own`."""
    document = documents.get(said.delegation.key)
    if document is None or not own:
        return None
    try:
        found = read_successor(document.data)
        base = read_resolver(own).base
    except PerdureError:
        return None
    return found if base in {one.base for one in found.resolvers} else None
