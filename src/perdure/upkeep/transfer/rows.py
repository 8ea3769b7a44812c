"""From a line to a row: what the registry loads, checked and encoded.

How it works: most lines of a large import bind a PDI to a URL, or bring its first document, and say
nothing else. They take a short way; every other line is put together by the rules that `bind` and
`commit` follow too. Both ways lead to the same record (a test compares them).

What must stay true: a function of the line, of what lies at its paths and of the time, so that it
can run in any process; a path never leads out of the directory that was named for paths.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack, suppress
from functools import lru_cache
from pathlib import Path

import msgspec
from msgspec.structs import replace

from perdure.errors import DigestMismatch, InvalidRequest, PerdureError
from perdure.errors.importing import (
    LineContentUnclear,
    LineDateNotCome,
    LinePathOutside,
    LinePathUnreadable,
    LineTextUnwritable,
)
from perdure.formats import python_codec
from perdure.formats.detect import detect
from perdure.ids import Identifier, grammar, parse
from perdure.ids.pdi import Pdi
from perdure.ids.pdi_key import resource_key
from perdure.model import about as description
from perdure.model import stored
from perdure.model.commands import Content, Row
from perdure.model.records import LOCAL, Location, Record, Representation, Tombstone, Version
from perdure.policy import binding, naming, rules
from perdure.policy.handles import changes, values
from perdure.storage.reference_hashes import reference_hash
from perdure.storage.segments.spool import IN_MEMORY, Spool, content
from perdure.upkeep.transfer.contents import Said, settle, take_in
from perdure.upkeep.transfer.lines import Ended, Held, Line, Plain
from perdure.writing.ledger import NOWHERE, representation
from perdure.writing.load import joined

BY = LOCAL  # as all commands of this machine
HIGHEST_TODAY = 999_999_999
"""Serial number of today that a line can have: after it there must be more to mint than a day can
use up. Which numbers were handed out, a line cannot know: it may come before those that lead to it.
"""
_LONGEST_USUAL = grammar.LONGEST // 2  # of a name with a format: beyond, it may be too long
_FIRST = {None, 1}  # what may be said of a version, so that it is the first


class Terms(msgspec.Struct, frozen=True):
    """What holds for a whole import."""

    now: str
    """`2026-11-21T01:02:03Z`."""
    today: str
    """The same day, as it stands in a PDI."""
    incoming: str
    """Directory of the registry where long content waits."""
    files: str
    """Directory in which the paths of lines lie."""
    series: tuple[str, ...] = ()
    """Those that are minted here."""


def row_of(line: Line | Plain, number: int, terms: Terms) -> Row:
    """The row of a line. Raises PerdureError for whatever is wrong with it."""
    identifier = parse(line.id)
    if isinstance(identifier, Pdi):
        if identifier.series in terms.series:
            rules.check_day(identifier, terms.today)
            rules.check_serial(identifier, terms.today, HIGHEST_TODAY)
        if _is_usual(identifier):
            if isinstance(line, Plain):
                return _usual_row(identifier, line.locations[0], number, terms)
            if line.content is not None and _is_document(identifier, line, line.content):
                return _document_row(identifier, line.content, number, terms)
    if isinstance(line, Plain):
        line = Line(id=line.id, locations=line.locations)
    return _full_row(naming.bindable(identifier), line, number, terms)


# The short way
# -------------


def _is_usual(identifier: Pdi) -> bool:
    """Whether a PDI names a whole resource, and its key is spelled by its parts."""
    uid = identifier.uid
    return (
        uid is not None
        and ":" not in uid  # else it may encapsulate a URL, which is normalised in the key
        and "*" not in identifier.text
        and identifier.fragment is None
        and identifier.citation is None
    )


def _usual_row(identifier: Pdi, uri: str, number: int, terms: Terms) -> Row:
    binding.check_uri(uri)
    key = resource_key(identifier.series, identifier.date, identifier.uid)
    hashes = (reference_hash(f"location:{uri}"),)
    before = _before_uri(terms.now, identifier.version, identifier.format)
    return Row(key, before + uri.encode(), number, hashes)


@lru_cache(maxsize=1024)
def _before_uri(now: str, version: int | str | None, format: str | None) -> bytes:
    """The record of a usual line, as it is stored, without its URI: all else in it is common."""
    number = version if isinstance(version, int) else None
    bound = Location(uri="", version=number, format=format)
    return stored.encode(Record(at=now, by=BY, locations=(bound,)))


def _is_document(identifier: Pdi, line: Line, held: Held) -> bool:
    """Whether a line brings a first version, and says nothing else."""
    return (
        {identifier.version, held.version} <= _FIRST
        and held.at is None
        and line == Line(id=line.id, content=held)
    )


def _document_row(identifier: Pdi, held: Held, number: int, terms: Terms) -> Row:
    one = _taken(held, identifier, 1, terms)
    record = _alike(terms.now, one.format, one.media_type, one.charset, one.language)
    key = resource_key(identifier.series, identifier.date, identifier.uid)
    text = record(one.length, one.sha512, NOWHERE, 0)
    refers = (reference_hash(f"sha512:{one.sha512}"),)
    return Row(key, text.encode(), number, refers, ((1, one),))


@lru_cache(maxsize=1024)
def _alike(
    now: str, format: str, media_type: str, charset: str | None, language: str | None
) -> stored.Alike:
    """How documents are stored of which this is said: of many it is the same."""
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
    return stored.alike(now, BY, one)


# The long way
# ------------


def _full_row(identifier: Identifier, line: Line, number: int, terms: Terms) -> Row:
    version, format = naming.wanted(identifier)
    record = Record(
        name=naming.spelled(identifier),
        at=terms.now,
        by=BY,
        minted=_minted(line, format),
        metadata=line.metadata,
        about=None if line.about is None else description.checked(line.about),
        attached=description.checked_attached(line.attached),
    )
    if line.locations:
        record, _ = binding.bind(identifier, record, tuple(map(_location, line.locations)))
    if line.values:
        record = changes.joined(identifier, record, values.kept(line.values, terms.now))
    others = (naming.bindable(parse(other)) for other in line.aliases)
    record, _ = binding.alias(identifier, record, *others)
    with ExitStack() as refused:
        taken: list[tuple[int, str, Content]] = []
        for held in _contents(line):
            place = held.version or version or 1
            one = _taken(held, identifier, place, terms)
            refused.callback(discard, one, terms)
            taken.append((place, _date(held.at, terms), one))
        versions = tuple(_versions(taken))
        if len(versions) == 1 and not record.locations:
            record = replace(record, versions=versions)
        else:  # a format may stand twice in a version, or a location have promised something else
            for each in versions:
                record = joined(identifier, record, Record(versions=(each,)))
        record = _ended(identifier, record, line, terms)
        refused.pop_all()
    contents = tuple((place, one) for place, _, one in taken)
    refers = tuple(map(reference_hash, sorted(naming.references(record))))
    return Row(identifier.key, stored.encode(record), number, refers, contents)


def merged(one: Row, other: Row) -> Row:
    """One row that says what both say of an identifier.

    Raises Conflict where they contradict, InvalidRequest or TooLarge for what no record can have.
    """
    first, second = (stored.decode(row.record.decode()) for row in (one, other))
    record = joined(naming.identify(one.key, first), first, second)
    known = {(version, content.format) for version, content in one.contents}
    more = tuple(pair for pair in other.contents if (pair[0], pair[1].format) not in known)
    return Row(
        one.key,
        stored.encode(record),
        one.line,
        tuple(dict.fromkeys((*one.refers, *other.refers))),
        one.contents + more,
    )


# The parts of a record
# ---------------------


def _minted(line: Line, format: str | None) -> str:
    """The format of a name that has neither bytes nor locations yet."""
    if line.minted:
        return naming.canonical_format(line.minted)
    reserved = not (line.locations or line.content or line.contents or line.values)
    return format if reserved and format and format != "*" else ""


def _location(given: object) -> Location:
    return Location(uri=given) if isinstance(given, str) else given.location()  # type: ignore[attr-defined]


def _contents(line: Line) -> Iterable[Held]:
    return line.contents if line.content is None else (line.content, *line.contents)


def _date(given: str | None, terms: Terms) -> str:
    if given is not None and given > terms.now:
        raise LineDateNotCome(date=given)
    return given or terms.now


def _versions(taken: list[tuple[int, str, Content]]) -> Iterable[Version]:
    """One version with one representation for each content, dated as their whole version is."""
    first: dict[int, str] = {}
    for number, at, _ in taken:
        first[number] = min(at, first.get(number, at))
    for number, at, one in taken:
        held = representation(one)
        if at != first[number]:
            held = replace(held, at=at)
        yield Version(number=number, at=first[number], representations=(held,))


def _ended(identifier: Identifier, record: Record, line: Line, terms: Terms) -> Record:
    for one in line.broken:
        record = binding.unbound(record, one.version, _why(one, terms))
    for one in line.withdrawn:
        record, _ = rules.withdraw(identifier, record, _why(one, terms), one.version)
    return record


def _why(end: Ended, terms: Terms) -> Tombstone:
    return Tombstone(reason=end.reason, at=_date(end.at, terms), by=end.by or BY)


# Bytes
# -----


def _taken(held: Held, identifier: Identifier, version: int, terms: Terms) -> Content:
    """The content, which becomes this version of what the identifier names."""
    said = Said(
        format=held.format or naming.wanted(identifier)[1],
        media_type=held.type,
        charset=held.charset or None,
        language=held.language,
    )
    given = [one for one in (held.path, held.text, held.base64) if one is not None]
    if len(given) != 1:
        raise LineContentUnclear()
    if held.path is not None:
        found = _from_file(held.path, said, terms)
    elif held.text is not None:
        found = _from_text(held.text, said, terms)
    else:
        found = _from_memory(held.base64 or b"", said, terms)
    if held.charset is None:
        found = replace(found, charset=None)
    try:
        if held.sha512 not in (None, found.sha512):
            raise DigestMismatch(algorithm="sha-512", promised=str(held.sha512), found=found.sha512)
        if len(identifier.written) + len(found.format) > _LONGEST_USUAL:
            naming.qualified(identifier, version, found.format)  # raises, where it is too long
    except PerdureError:
        discard(found, terms)
        raise
    return found


def _from_file(path: str, said: Said, terms: Terms) -> Content:
    root = Path(terms.files).resolve()
    try:
        file = (root / path).resolve()
        if not file.is_relative_to(root):
            raise LinePathOutside(path=path, root=str(root))
        with file.open("rb") as source, Spool(Path(terms.incoming)) as spool:
            return take_in(source, spool, name=file.name, said=said)
    except (OSError, ValueError) as error:
        if isinstance(error, InvalidRequest):
            raise
        raise LinePathUnreadable(path=path, fault=str(error)) from error


def _from_text(text: str, said: Said, terms: Terms) -> Content:
    """Text in the charset that is said, else in ASCII or UTF-8."""
    charset = said.charset or ("us-ascii" if text.isascii() else "utf-8")
    codec = python_codec(charset)
    try:
        data = text.encode(codec or charset)
    except (LookupError, UnicodeEncodeError) as error:
        raise LineTextUnwritable(charset=charset, fault=str(error)) from error
    media_type = said.media_type or (None if said.format else "text/plain")
    return _from_memory(data, replace(said, charset=charset, media_type=media_type), terms)


def _from_memory(data: bytes, said: Said, terms: Terms) -> Content:
    kind = settle(said, lambda: detect(data))
    if len(data) <= IN_MEMORY:
        return content(data, **msgspec.structs.asdict(kind))
    with Spool(Path(terms.incoming)) as spool:
        spool.write(data)
        return spool.finish(**msgspec.structs.asdict(kind))


def discard(one: Content, terms: Terms) -> None:
    """Removes what waits in a file, if it was not committed."""
    if one.spooled:
        with suppress(OSError):
            (Path(terms.incoming) / one.spooled).unlink(missing_ok=True)
