"""Corrections of media type, charset and language: facts about bytes that never change. Pure.

How it works: what was detected or stated at the deposit may be wrong, and the parts of a text are
counted by its charset. A correction changes how the bytes are read, and keeps the earlier reading,
when, by whom and why. The bytes, their digest and their name stay: a name with a format was given
for ever. If the corrected reading has another format token, that token becomes a reading alias:
`…/5.utf-8.1` finds the bytes that were named `…/5.shift_jis.1` (`naming.list_reading_aliases`).

Two copies of a registry may know different numbers of corrections of the same bytes. The longer
list wins if the shorter one is its beginning.

What must stay true: no correction is lost, neither by a rebuild nor by an import; bytes that were
never corrected are read as they were deposited.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import msgspec

from perdure import formats
from perdure.errors.conflicts import NameWithdrawn, ReadingContradicted, VersionWithdrawn
from perdure.errors.contents import (
    CharsetOfNoText,
    MalformedLanguage,
    UnknownCharset,
)
from perdure.errors.lookup import NoSuchVersion, NotAcceptable
from perdure.errors.naming import NothingToCorrect, RepresentationNotNamed, VersionContradicted
from perdure.formats import MediaType
from perdure.ids import Identifier
from perdure.model.commands import Content, Correct
from perdure.model.description_checks import LANGUAGE
from perdure.model.records import Correction, Reading, Record, Representation, Version
from perdure.policy.naming import (
    list_reading_aliases,
    qualify_identifier,
    read_qualifiers,
    select_format,
)
from perdure.policy.versions import find_held_version

_ASCII = bytes(range(128))


class CorrectionPlan(NamedTuple):
    """A correction that can be carried out."""

    record: Record
    """The record after it; equal to the record before it if everything is said so already."""
    name: Identifier
    """The full name of the bytes."""
    version: int
    format: str
    correction: Correction | None
    """None if there is nothing to correct."""
    aliases: tuple[str, ...]
    """Further full names by which the bytes are found."""


def plan_correction(
    identifier: Identifier, record: Record, command: Correct, at: str
) -> CorrectionPlan:
    """Plan a correction.

    Raises NoSuchVersion, NotAcceptable, Conflict if the bytes were withdrawn, or InvalidRequest if
    the new reading is impossible or it is unclear which bytes are meant.
    """
    version, held = choose_representation(identifier, record, command.version, command.format)
    after = make_reading(held.reading, command)
    name = qualify_identifier(identifier, version.number, held.format)
    correction, changed, corrected = None, record, held
    if after != held.reading:
        correction = Correction(
            before=held.reading, after=after, at=at, by=command.by, reason=command.reason
        )
        corrected = apply_correction(held, correction)
        changed = replace_representation(record, version, held, corrected)
    others = (
        qualify_identifier(identifier, version.number, one)
        for one in list_reading_aliases(corrected)
        if select_format(version.representations, one) in ((), (held,))
    )
    aliases = tuple(dict.fromkeys(str(one) for one in others if one != name))
    return CorrectionPlan(changed, name, version.number, held.format, correction, aliases)


def choose_representation(
    identifier: Identifier, record: Record, number: int | None, format: str | None
) -> tuple[Version, Representation]:
    """Choose the bytes to correct: those that the name, `number` and `format` name together.

    Raises NoSuchVersion, NotAcceptable, Conflict or InvalidRequest.
    """
    named, format_named = read_qualifiers(identifier)
    if None not in (named, number) and named != number:
        raise VersionContradicted(version=number or 0, named=named or 0)
    if record.tombstone is not None:
        raise NameWithdrawn(identifier=str(identifier))
    wanted = number if named is None else named
    version = find_held_version(identifier, record) if wanted is None else record.version(wanted)
    if version is None or not version.representations:
        numbers = tuple(one.number for one in record.versions if one.representations)
        if wanted is None or not numbers:
            raise NothingToCorrect(identifier=str(identifier))
        raise NoSuchVersion(identifier=str(identifier), version=wanted, versions=numbers)
    if version.tombstone is not None:
        raise VersionWithdrawn(identifier=str(identifier), version=version.number)
    asked = format or (None if format_named == "*" else format_named)
    there = tuple(one.format for one in version.representations)
    if asked is None:
        if len(there) > 1:
            raise RepresentationNotNamed(identifier=str(identifier), formats=there)
        return version, version.representations[0]
    found = select_format(version.representations, asked)
    if not found:
        raise NotAcceptable(identifier=str(identifier), asked=asked, offered=there)
    return version, found[0]


def make_reading(before: Reading, command: Correct) -> Reading:
    """Make the corrected reading, in canonical form. Raises InvalidRequest if it is impossible."""
    media_type, charset = before.media_type, before.charset
    if command.media_type is not None:
        parsed = MediaType.parse(command.media_type)
        media_type = str(parsed.with_charset(None))
        charset = parsed.charset or (charset if formats.is_text(parsed) else None)
    charset = command.charset or charset
    if charset is not None and charset != before.charset:
        known = formats.find_charset(charset)
        if known is None:
            raise UnknownCharset(charset=charset)
        charset = known.name
    if command.charset is not None and not formats.is_text(media_type):
        raise CharsetOfNoText(charset=command.charset, media_type=media_type)
    language = before.language
    if command.language is not None:
        language = command.language
        if not LANGUAGE.fullmatch(language):
            raise MalformedLanguage(tag=language)
    return Reading(media_type=media_type, charset=charset, language=language)


def apply_correction(held: Representation, correction: Correction) -> Representation:
    """Return a representation that is read in the corrected way."""
    after = correction.after
    return msgspec.structs.replace(
        held,
        media_type=after.media_type,
        charset=after.charset,
        language=after.language,
        corrections=(*held.corrections, correction),
    )


def replace_representation(
    record: Record, version: Version, old: Representation, new: Representation
) -> Record:
    """Return a record with another representation in the place of `old`."""
    ones = tuple(new if one is old else one for one in version.representations)
    grown = msgspec.structs.replace(version, representations=ones)
    versions = tuple(grown if one is version else one for one in record.versions)
    return msgspec.structs.replace(record, versions=versions)


# Joining
# -------


def adopt_reading(held: Representation, more: Representation) -> Representation:
    """Return `held` with the reading of `more`, which knows further corrections of it."""
    return msgspec.structs.replace(
        held,
        media_type=more.media_type,
        charset=more.charset,
        language=more.language,
        corrections=more.corrections,
    )


def join_readings(name: str, held: Representation, more: Representation) -> Representation:
    """Join what two records say of the same bytes: the one that knows more corrections wins.

    Raises Conflict if neither list of corrections is the beginning of the other one.
    """
    ours, theirs = held.corrections, more.corrections
    if theirs[: len(ours)] == ours and len(theirs) > len(ours):
        return adopt_reading(held, more)
    if ours[: len(theirs)] == theirs:
        return held
    raise ReadingContradicted(
        identifier=name, held=show_reading(held.reading), stated=show_reading(more.reading)
    )


def check_stated(name: str, held: Representation, content: Content) -> None:
    """Raise Conflict if a depositor states another reading of bytes that are held already.

    A reading that was current once does not contradict, nor does ASCII in another charset.
    """
    for fact in content.stated:
        stated = getattr(content, fact)
        readings = (held.reading, *(one.before for one in held.corrections))
        if any(_is_alike(fact, getattr(one, fact), stated) for one in readings):
            continue
        after = msgspec.structs.replace(held.reading, **{fact: stated})
        raise ReadingContradicted(
            identifier=name, held=show_reading(held.reading), stated=show_reading(after)
        )


def _is_alike(fact: str, held: str | None, stated: str | None) -> bool:
    if held == stated:
        return True
    return fact == "charset" and held == "us-ascii" and _includes_ascii(stated or "")


def _includes_ascii(charset: str) -> bool:
    """Return True if ASCII text is the same text in this charset."""
    codec = formats.find_python_codec(charset)
    return codec is not None and _ASCII.decode(codec, "replace") == _ASCII.decode("ascii")


def is_corrected(held: Representation) -> bool:
    """Return True if bytes are read in another way than when they were deposited."""
    return bool(held.corrections) and held.corrections[0].before != held.reading


def name_reading(held: Representation) -> str:
    """Return a short name of how bytes are read, for entity tags."""
    return hash_reading(held.reading)


def hash_reading(one: Reading) -> str:
    """Return 32 bits of a digest, in hexadecimal."""
    return hashlib.sha256(msgspec.json.encode(one)).hexdigest()[:8]


def show_reading(one: Reading) -> str:
    """Write a reading for people.

    >>> show_reading(Reading(media_type="text/plain", charset="ibm850", language="da"))
    'text/plain; charset=ibm850, language da'
    """
    charset = f"; charset={one.charset}" if one.charset else ""
    language = f", language {one.language}" if one.language else ""
    return f"{one.media_type}{charset}{language}"
