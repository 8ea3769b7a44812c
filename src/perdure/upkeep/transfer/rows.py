"""From a line to a row: the data that the registry loads, checked and encoded.

How it works: most lines of a large import bind a PDI to a URL, or add its first document or the
values of a handle, and nothing else. They take a short way. Every other line goes through the rules
that `bind` and `commit` follow too. Both ways lead to the same record (a test compares them).

What must stay true: a row depends only on its line, on the files at its paths and on the time, so
that any process can make it; a path never leads out of the directory that was named for paths.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from contextlib import ExitStack
from functools import lru_cache
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from perdure.errors.importing import (
    LineCorrectionsUnclear,
    LineDateNotCome,
)
from perdure.formats import MediaType
from perdure.ids import Identifier, parse
from perdure.ids.pdi import Pdi
from perdure.ids.pdi_key import make_resource_key
from perdure.model import description_checks, stored
from perdure.model.commands import NOWHERE, Content, LoadRow, make_representation
from perdure.model.records import (
    WHOLE_RESOURCE,
    Correction,
    Level,
    Location,
    LocationDrift,
    NarrowDescription,
    Record,
    Representation,
    Tombstone,
    Version,
)
from perdure.model.references import list_references
from perdure.policy import binding, levels, naming, rules
from perdure.policy.handles import changes, values
from perdure.policy.joining import REPLACEABLE, join_records
from perdure.storage.reference_hashes import reference_hash
from perdure.upkeep.transfer.line_contents import Terms, discard_content, take_content
from perdure.upkeep.transfer.lines import (
    Line,
    LineContent,
    LineDescription,
    LineDrift,
    LineEnding,
    LinePlace,
    PlainLine,
)
from perdure.upkeep.transfer.plain_rows import BY, make_plain_row
from perdure.writing.content_targets import find_targets, may_have_targets

HIGHEST_TODAY = 999_999_999
"""Highest serial number of today that a line can have. Above it there must be more numbers than one
day can use. A line cannot know which numbers were issued: it may precede those that lead to it.
"""
_OF_LEVELS = ("about", "attached", "locations")  # fields of a line that its name can narrow
_HANDLES = "handle"  # the scheme whose names have neither versions nor formats
_FIRST = {None, 1}  # version numbers that mean the first version


def make_row(given: Line | PlainLine, number: int, terms: Terms) -> LoadRow:
    """Make the row of a line. Raises PerdureError if anything is wrong with the line."""
    plain = given if isinstance(given, PlainLine) else None
    if plain is not None:
        row = make_plain_row(plain, number, now=terms.now, today=terms.today, series=terms.series)
        if row is not None:
            return row
    identifier = parse(given.id)
    line = given if isinstance(given, Line) else Line(id=given.id, locations=given.locations)
    if isinstance(identifier, Pdi):
        if identifier.series in terms.series:
            rules.check_day(identifier, terms.today)
            rules.check_serial(identifier, terms.today, HIGHEST_TODAY)
        if line.content is not None and _is_document(identifier, line, line.content):
            return _make_document_row(identifier, line.content, number, terms)
    elif plain is not None:
        row = _make_named_row(identifier, plain.locations[0], number, terms)
        if row is not None:
            return row
    if identifier.kind == _HANDLES and line == Line(id=line.id, values=line.values):
        return _make_handle_row(naming.check_bindable(identifier), line, number, terms)
    return _make_full_row(naming.check_bindable(identifier), line, number, terms)


# The short way
# -------------


def _is_usual(identifier: Pdi) -> bool:
    """Return whether a PDI names a complete resource with a key that consists of its parts."""
    uid = identifier.uid
    return (
        uid is not None
        and ":" not in uid  # a URL may be encapsulated, which the key normalises
        and "*" not in identifier.text
        and identifier.fragment is None
        and identifier.citation is None
    )


def _make_named_row(identifier: Identifier, url: str, number: int, terms: Terms) -> LoadRow | None:
    """Make the row of a whole resource of another scheme and a URL. None for anything else."""
    name = naming.spell_name(identifier)
    if (
        not name
        or identifier.is_pattern
        or identifier.whole is not identifier
        or identifier.equal_key
        or naming.read_qualifiers(identifier) != (None, None)
        or not binding.are_plain_urls((url,))
    ):
        return None
    record = Record(name=name, at=terms.now, by=BY, locations=(Location(uri=url),))
    hashes = (reference_hash(f"location:{url}"),)
    return LoadRow(identifier.key, stored.encode_stored(record), number, hashes)


def _is_document(identifier: Pdi, line: Line, held: LineContent) -> bool:
    """Return whether a line adds a first version, and nothing else."""
    return (
        _is_usual(identifier)
        and {identifier.version, held.version} <= _FIRST
        and held.at is None
        and not held.corrections
        and line == Line(id=line.id, content=held)
    )


def _make_document_row(identifier: Pdi, held: LineContent, number: int, terms: Terms) -> LoadRow:
    one = take_content(held, identifier, 1, terms)
    record = _document_template(terms.now, one.format, one.media_type, one.charset, one.language)
    key = make_resource_key(identifier.series, identifier.date, identifier.uid)
    text = record(one.length, one.sha512, NOWHERE, 0)
    refers: tuple[int, ...] = (reference_hash(f"sha512:{one.sha512}"),)
    encoded = text.encode()
    if may_have_targets(one):
        full = replace(stored.decode_stored(text), targets=find_targets((one,)))
        encoded = stored.encode_stored(full)
        refers = tuple(map(reference_hash, sorted(list_references(full))))
    return LoadRow(key, encoded, number, refers, ((1, one),))


@lru_cache(maxsize=1024)
def _document_template(
    now: str, format: str, media_type: str, charset: str | None, language: str | None
) -> stored.Alike:
    """Return the stored form that documents with these properties share."""
    one = Representation(
        format=format,
        media_type=media_type,
        charset=charset,
        language=language,
        length=0,
        sha512="",
        segment=NOWHERE,
        offset=0,
    )
    return stored.encode_alike(now, BY, one)


def _make_handle_row(identifier: Identifier, line: Line, number: int, terms: Terms) -> LoadRow:
    """Make the row of a line that has a handle and its values, and nothing else."""
    record = Record(name=naming.spell_name(identifier), at=terms.now, by=BY)
    prepared = values.prepare_values(line.values, terms.now)
    record = changes.join_values(identifier, record, prepared)
    refers = tuple(map(reference_hash, sorted(list_references(record))))
    return LoadRow(identifier.key, stored.encode_stored(record), number, refers)


# The long way
# ------------


def _make_full_row(identifier: Identifier, line: Line, number: int, terms: Terms) -> LoadRow:
    version, format = naming.read_qualifiers(identifier)
    record = Record(
        name=naming.spell_name(identifier),
        at=terms.now,
        by=BY,
        minted=_reserved_format(line, version, format),
        metadata=line.metadata,
        targets=tuple(str(parse(target)) for target in line.targets),
        drifted=tuple(_read_drift(one, terms) for one in line.drifted),
        delegates=line.delegates,
    )
    for said in _list_descriptions(identifier, line):
        record = levels.put_description(record, said)
    if line.locations:
        record, _ = binding.bind_locations(
            identifier, record, tuple(map(_read_location, line.locations))
        )
    if line.values:
        record = changes.join_values(
            identifier, record, values.prepare_values(line.values, terms.now)
        )
    others = (naming.check_bindable(parse(other)) for other in line.aliases)
    record, _ = binding.add_aliases(identifier, record, *others)
    with ExitStack() as refused:
        taken: list[_Taken] = []
        for held in _list_contents(line):
            place = held.version or version or 1
            one = take_content(held, identifier, place, terms)
            refused.callback(discard_content, one, terms)
            corrections = _read_corrections(held, one, terms)
            taken.append(_Taken(place, _check_date(held.at, terms), one, corrections))
        versions = tuple(_list_versions(taken))
        if len(versions) == 1 and not record.locations:
            record = replace(record, versions=versions)
        else:  # a version may have a format twice, or a location have promised other bytes
            for each in versions:
                record = join_records(identifier, record, Record(versions=(each,)))
        targets = (*record.targets, *find_targets(one.content for one in taken))
        record = replace(record, targets=tuple(dict.fromkeys(targets)))
        record = _end_versions(identifier, record, line, terms)
        refused.pop_all()
    contents = tuple((one.version, one.content) for one in taken)
    refers = tuple(map(reference_hash, sorted(list_references(record))))
    return LoadRow(identifier.key, stored.encode_stored(record), number, refers, contents)


def _list_descriptions(identifier: Identifier, line: Line) -> Iterable[NarrowDescription]:
    """Yield what a line says of each level: first of what its `id` names.

    # ruling: version-metadata
    """
    level = levels.find_level(identifier)
    own = LineDescription(
        version=level.version, format=level.format, about=line.about, attached=line.attached
    )
    for one in (own, *line.narrower):
        yield NarrowDescription(
            version=one.version,
            format=None if one.format is None else naming.canonical_format(one.format),
            part=one.part,
            about=None if one.about is None else description_checks.check_description(one.about),
            attached=description_checks.check_attached(one.attached),
        )


def name_given_fields(row: LoadRow, text: bytes) -> LoadRow:
    """Note in the row of a line which replaceable fields it gives, also if they are empty."""
    names = msgspec.json.decode(text.lstrip(codecs.BOM_UTF8), type=dict[str, msgspec.Raw])
    given = tuple(name for name in REPLACEABLE if name in names)
    level = levels.find_level(parse(msgspec.json.decode(names["id"])))
    located: tuple[Level, ...] = ()
    if level != WHOLE_RESOURCE:
        located = (level,) if "locations" in given else ()
        given = tuple(name for name in given if name not in _OF_LEVELS)
    return LoadRow(row.key, row.record, row.line, row.refers, row.contents, given, located)


def merge_rows(one: LoadRow, other: LoadRow) -> LoadRow:
    """Merge two rows of one identifier.

    Raises Conflict if they contradict each other, InvalidRequest or TooLarge if the result is not a
    valid record.
    """
    first, second = (stored.decode_stored(row.record.decode()) for row in (one, other))
    record = join_records(naming.identify_record(one.key, first), first, second)
    known = {(version, content.format) for version, content in one.contents}
    more = tuple(pair for pair in other.contents if (pair[0], pair[1].format) not in known)
    return LoadRow(
        one.key,
        stored.encode_stored(record),
        one.line,
        tuple(dict.fromkeys((*one.refers, *other.refers))),
        one.contents + more,
        tuple(dict.fromkeys((*one.given, *other.given))),
        tuple(dict.fromkeys((*one.located, *other.located))),
    )


# The parts of a record
# ---------------------


def _reserved_format(line: Line, version: int | None, format: str | None) -> str:
    """Return the format of a name that has neither bytes nor locations yet.

    A line that describes a format, or a format of a version, reserves nothing: it may be about
    bytes that are held.  # ruling: version-metadata
    """
    if line.minted:
        return naming.canonical_format(line.minted)
    if version not in (None, 1) or format in (None, "*") or line.about or line.attached:
        return ""
    has_more = line.locations or line.content or line.contents or line.values
    return "" if has_more else str(format)


def _read_location(given: str | LinePlace) -> Location:
    return Location(uri=given) if isinstance(given, str) else given.as_location()


def _read_drift(given: LineDrift, terms: Terms) -> LocationDrift:
    binding.check_uri(given.uri)
    facts = msgspec.structs.asdict(given) | {"at": _check_date(given.at, terms)}
    if given.format is not None:
        facts["format"] = naming.canonical_format(given.format)
    return LocationDrift(**facts)


def _list_contents(line: Line) -> Iterable[LineContent]:
    return line.contents if line.content is None else (line.content, *line.contents)


def _check_date(given: str | None, terms: Terms) -> str:
    if given is not None and given > terms.now:
        raise LineDateNotCome(date=given)
    return given or terms.now


class _Taken(NamedTuple):
    """A content that was taken in, with the facts of its line."""

    version: int
    at: str
    content: Content
    corrections: tuple[Correction, ...]


def _read_corrections(held: LineContent, one: Content, terms: Terms) -> tuple[Correction, ...]:
    """Read the corrections of a content. Raises InvalidRequest if they do not lead to its type."""
    found: list[Correction] = []
    for each in held.corrections:
        correction = msgspec.convert(msgspec.to_builtins(each), Correction)
        _check_date(correction.at, terms)
        for reading in (correction.before, correction.after):
            MediaType.parse(reading.media_type)
            rules.check_token("charset", reading.charset)
        if found and found[-1].after != correction.before:
            raise LineCorrectionsUnclear()
        found.append(correction)
    if found and found[-1].after != make_representation(one).reading:
        raise LineCorrectionsUnclear()
    return tuple(found)


def _list_versions(taken: list[_Taken]) -> Iterable[Version]:
    """Yield a version with one representation for each content. Its date is the earliest one."""
    first: dict[int, str] = {}
    for number, at, _, _ in taken:
        first[number] = min(at, first.get(number, at))
    for number, at, one, corrections in taken:
        held = make_representation(one)
        if corrections:
            held = replace(held, corrections=corrections)
        if at != first[number]:
            held = replace(held, at=at)
        yield Version(number=number, at=first[number], representations=(held,))


def _end_versions(identifier: Identifier, record: Record, line: Line, terms: Terms) -> Record:
    for one in line.withdrawn:
        if one.version and one.since and record.version(one.version) is None:
            held = Version(number=one.version, at=_check_date(one.since, terms))
            record = rules.with_version(record, held)
    for one in line.broken:
        record = binding.mark_unbound(record, one.version, _make_tombstone(one, terms))
    for one in line.withdrawn:
        tombstone = _make_tombstone(one, terms)
        record, _ = rules.withdraw_record(identifier, record, tombstone, one.version)
    return record


def _make_tombstone(end: LineEnding, terms: Terms) -> Tombstone:
    return Tombstone(
        reason=end.reason,
        at=_check_date(end.at, terms),
        by=end.by or BY,
        silent=end.silent,
        erased=end.erased or "",
    )
