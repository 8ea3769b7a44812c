"""The subjects of questions about citations: a resource, a version, a part, a series, a pattern.

How it works: `make_subject` reads it from a resolved name. Of a part, `CitedPart` decides whether a
cited part overlaps it, and `CitingPart` whether a reference is in it: by their positions or, if
these are of different kinds, by the stored bytes of both.

What must stay true: a part of a document that is held here must be in it (ruling: part-exists).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from perdure.errors import PerdureError
from perdure.extractors.port import Source, Span
from perdure.extractors.text.characters import find_characters
from perdure.ids import Identifier, parse
from perdure.ids.name_set import NameSet, make_set
from perdure.model.queries import Fetch
from perdure.model.records import Record
from perdure.parts import ByteRange, CharRange, Page, Selector, select_part
from perdure.policy.part_relations import relate_parts
from perdure.policy.reading_rights import PartRelation
from perdure.reading.citations.origins import Medium, find_medium
from perdure.reading.resolved import Resolved
from perdure.registry import Registry
from perdure.upkeep.citations.citation_index import IndexedCitation


class CitationSubject(NamedTuple):
    """The names of a set, or one resource and the version, format or part of it."""

    about: str
    names: NameSet
    keys: tuple[str, ...] = ()
    """The keys of one resource: that of its record, and those of its aliases."""
    version: int | None = None
    format: str | None = None
    part: str | None = None
    source: Source | None = None
    """The document of the part, if it is held here."""
    selector: Selector | None = None
    read: Mapping[str, Record] = {}
    """The record that answers, by its key, so that it is not read again."""

    @property
    def is_set(self) -> bool:
        """True for a series, an interval or a pattern."""
        return not self.keys

    def covers_cited(self, row: IndexedCitation) -> bool:
        """Return True if the cited name of a row is one of those that are asked about."""
        if self.is_set:
            return self._covers(row.cited)
        return self._has_level(row.version, row.format)

    def covers_citing(self, name: str) -> bool:
        """Return True if a citing document is one of those that are asked about."""
        if self.is_set:
            return self._covers(name)
        citing = parse(name)
        return self._has_level(citing.version, citing.format)

    def _covers(self, name: str) -> bool:
        pattern = self.names.pattern
        return pattern is None or pattern.is_interval or pattern.matches(parse(name).whole)

    def _has_level(self, version: int | str | None, format: str | None) -> bool:
        return self.version in (None, version) and self.format in (None, format)


def make_subject(registry: Registry, resolved: Resolved) -> CitationSubject:
    """Return what a resolved name asks about.

    Raises NotFound, NoSuchVersion or NotAcceptable if it names nothing, the errors of cutting a
    part of a document that is held here, CitationUnresolved for a citation.
    """
    asked = resolved.identifier
    if resolved.names is not None:
        if resolved.record is not None:
            resolved.require_known()
        return CitationSubject(str(resolved.names), resolved.names)
    record = resolved.require_known()
    aliases = [parse(one).key for one in record.aliases]
    keys = tuple(dict.fromkeys((resolved.whole.key, *aliases)))
    version = asked.version if isinstance(asked.version, int) else None
    subject = CitationSubject(
        about=_spell(resolved),
        names=make_set(resolved.whole.resource),
        keys=keys,
        version=version,
        format=asked.format,
        read=resolved.records_read,
    )
    if resolved.part is None:
        return subject
    step = resolved.require_usual_step()
    source = None
    if isinstance(step, Fetch):
        source = registry.documents.open_source(step.identifier, step.representation)
        pinned = step.identifier.version
        subject = subject._replace(
            version=pinned if isinstance(pinned, int) else None, format=step.identifier.format
        )
    selector = registry.documents.select_part(resolved)
    part = resolved.part_beside or str(asked.fragment or asked.part)
    return subject._replace(part=part, source=source, selector=selector)


def list_everything() -> CitationSubject:
    """Return the set of all names."""
    everything = NameSet("*", "", "\U0010ffff", parse("pdi://example.us/"))
    return CitationSubject("*", everything)


def make_foreign_subject(name: Identifier) -> CitationSubject:
    """Return a name that is not registered here as what is asked about."""
    version = name.version if isinstance(name.version, int) else None
    part = str(name.fragment) if name.fragment is not None else name.part
    return CitationSubject(
        about=str(name),
        names=make_set(name.resource),
        keys=(name.key,),
        version=version,
        format=name.format,
        part=part,
        selector=_read_selector(name, None),
    )


def _spell(resolved: Resolved) -> str:
    part = resolved.part_beside
    return str(resolved.identifier) if part is None else f"{resolved.identifier}#{part}"


# parts
# -----


def _read_selector(name: Identifier, source: Source | None) -> Selector | None:
    """Return the part that a name names, or None if it names none or it cannot be read."""
    kind = "text/plain" if source is None else source.essence
    try:
        return select_part(name, kind)
    except PerdureError:
        return None


class CitedPart:
    """The part that is asked about, compared with cited parts."""

    def __init__(self, registry: Registry, subject: CitationSubject) -> None:
        self._registry = registry
        self._subject = subject
        self._known: dict[str, bool] = {}

    def overlaps(self, row: IndexedCitation) -> bool:
        """Return True if a row is about a part that overlaps, or if no part is asked about."""
        if self._subject.part is None:
            return True
        if row.part is None:
            return False
        if row.part not in self._known:
            self._known[row.part] = self._compare(row)
        return self._known[row.part]

    def _compare(self, row: IndexedCitation) -> bool:
        subject = self._subject
        other = _read_selector(parse(row.cited), subject.source)
        if other is None or subject.selector is None:
            return row.part == subject.part
        relation = relate_parts(subject.selector, other)
        if relation is not PartRelation.UNKNOWN:
            return relation is not PartRelation.APART
        return self._compare_slices(subject.selector, other)

    def _compare_slices(self, one: Selector, other: Selector) -> bool:
        """Return True if two parts of the document have bytes in common."""
        source = self._subject.source
        if source is None:
            return _may_overlap(one, other)
        try:
            slices = [
                self._registry.parts.outline_part(source, part).slices for part in (one, other)
            ]
        except PerdureError:  # the cited part does not exist
            return False
        if not all(slices):
            return _may_overlap(one, other)
        return any(a.start < b.stop and b.start < a.stop for a in slices[0] for b in slices[1])


def _may_overlap(one: Selector, other: Selector) -> bool:
    """Return True for parts of the same kind that are neither apart nor one inside the other."""
    return type(one) is type(other)


class CitingPart:
    """The part of a citing document that is asked about."""

    def __init__(self, registry: Registry, subject: CitationSubject) -> None:
        self._subject = subject
        self._place = None if subject.part is None else _find_places(registry, subject)

    def contains(self, row: IndexedCitation) -> bool:
        """Return True if a reference is at least partly in it, or if no part is asked about."""
        if self._subject.part is None:
            return True
        if self._place is None or row.origin is None or not row.origin.isdigit():
            return False
        start = int(row.origin)
        return start < self._place.stop and self._place.start < start + max(row.extent, 1)


def _find_places(registry: Registry, subject: CitationSubject) -> Span | None:
    """Return the origins that are in a part: characters of the canonical source, a page, bytes."""
    selector, source = subject.selector, subject.source
    if isinstance(selector, CharRange):
        return Span(selector.start, selector.end)
    if isinstance(selector, Page):
        return Span(selector.number, selector.number + 1)
    if selector is None or source is None:
        return None
    medium = find_medium(source.essence)
    if medium is Medium.BYTES and isinstance(selector, ByteRange):
        return Span(selector.start, selector.end)
    if medium is not Medium.TEXT:
        return None
    slices = registry.parts.outline_part(source, selector).slices
    if not slices:
        return None
    span = Span(slices[0].start, slices[-1].stop)
    found = find_characters(source, span, registry.parts.indexes)
    return Span(found.start, found.end)
