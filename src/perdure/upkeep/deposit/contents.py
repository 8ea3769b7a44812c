"""The contents of a deposit: bytes of files and of members of packages, as they are planned."""

from __future__ import annotations

from contextlib import ExitStack
from typing import BinaryIO, NamedTuple

from perdure import formats
from perdure.errors import PerdureError
from perdure.errors.depositing import FileChanged
from perdure.formats import MediaType
from perdure.formats.detect import DetectedType, Sampler, detect_type
from perdure.model import collection as members
from perdure.model.collection import Collection, CollectionMember
from perdure.model.commands import Content
from perdure.registry import Registry
from perdure.storage.spool import Spool, discard_content
from perdure.upkeep.collection.making import store_document
from perdure.upkeep.deposit.packages import PackageOpener
from perdure.upkeep.deposit.plan import PlannedFile
from perdure.upkeep.deposit.taking import FileRoot
from perdure.upkeep.transfer.contents import PIECE, DeclaredKind, settle_kind


class MemberName(NamedTuple):
    """A member of a collection to mint."""

    identifier: str
    title: str
    name: str


class ContentTaker:
    """Takes in what a plan names."""

    def __init__(self, registry: Registry, root: FileRoot) -> None:
        self._registry = registry
        self._root = root
        self._packages = PackageOpener(root)

    def close(self) -> None:
        self._packages.close()

    def take_file(self, row: PlannedFile) -> Content:
        """Take in the bytes of a row.

        Raises FileNotTaken if they cannot be read, or are not those that were planned;
        InvalidRequest or MalformedIdentifier if its type is not valid; StorageFailed, TooLarge.
        """
        with ExitStack() as opened:
            if row.member:
                file = opened.enter_context(self._packages.open_member(row.file, row.member))
            else:
                file = opened.enter_context(self._root.open_file(row.file))
            spool = opened.enter_context(self._registry.spool())
            content = _take_stream(file, spool, row)
            try:
                opened.pop_all().close()  # raises if the file has changed meanwhile
                differs = row.size >= 0 and content.length != row.size
                if differs or (row.sha512 and content.sha512 != row.sha512):
                    raise FileChanged(path=row.name)
            except PerdureError:
                discard_content(self._registry.incoming, content)
                raise
        return content

    def write_collection(self, row: PlannedFile, names: list[MemberName]) -> Content:
        """Store the document of a collection. Raises StorageFailed, InvalidMetadata or TooLarge."""
        known: dict[str, CollectionMember] = {}
        taken: set[str] = set()
        for one in names:
            name = one.name if members.is_name(one.name) and one.name not in taken else ""
            taken.add(name)
            title = "" if one.title == name else one.title
            member = CollectionMember(identifier=one.identifier, name=name, title=title)
            known.setdefault(one.identifier, member)
        date = row.date if "/" not in row.date else ""
        creators = tuple(one.strip() for one in row.creator.split(";") if one.strip())
        made = Collection(
            title=row.title or row.name, creators=creators, date=date, members=tuple(known.values())
        )
        members.check_collection(made)
        return store_document(self._registry, made)


def _take_stream(file: BinaryIO, spool: Spool, row: PlannedFile) -> Content:
    """Take in a stream with the type that the plan gives it; detect it if the plan has none."""
    settled = bool(row.media_type) and (bool(row.charset) or not formats.is_text(row.media_type))
    sampler = None if settled else Sampler()
    while piece := file.read(PIECE):
        spool.write(piece)
        if sampler is not None:
            sampler.feed(piece)
    said = DeclaredKind(
        format=row.format or None,
        media_type=row.media_type or None,
        charset=row.charset or None,
        language=row.language or None,
    )
    if sampler is None:
        kind = settle_kind(said, _never)
    elif row.media_type:  # a text without a charset: only what is certain
        sample = sampler.take_sample()
        charset = "us-ascii" if not sample.odd else "utf-8" if sample.utf_8 else None
        certain = DetectedType(MediaType.parse(row.media_type), charset, "name")
        kind = settle_kind(said, lambda: certain)
    else:
        sample = sampler.take_sample()
        kind = settle_kind(said, lambda: detect_type(sample, name=row.name))
    facts = {name: getattr(kind, name) for name in ("format", "media_type", "charset", "language")}
    return spool.finish_content(**facts)


def _never() -> DetectedType:
    raise AssertionError("a settled type is not detected")
