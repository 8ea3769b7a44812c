"""Decisions of the resolver, as fields for scripts and as lines for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from perdure.errors.root import count_things, show_plainly
from perdure.ids import Identifier
from perdure.model.about import Attachment
from perdure.model.queries import Choices, Description, Fetch, Gone, Redirect, Step, Want
from perdure.model.records import (
    Correction,
    Location,
    LocationDrift,
    NarrowDescription,
    Proposal,
    Record,
    Representation,
    Tombstone,
    Version,
)
from perdure.policy.correcting import show_reading
from perdure.policy.proposals import find_standing

Fields = dict[str, Any]


def step_fields(step: Step) -> Fields:
    """Return a step for JSON."""
    name = str(step.identifier)
    plain = msgspec.to_builtins
    match step:
        case Fetch(representation=held):
            return {"step": "fetch", "identifier": name, "representation": plain(held)}
        case Redirect(location=location, others=others):
            places = {"location": plain(location), "others": plain(others)}
            return {"step": "redirect", "identifier": name} | places
        case Choices(fetches=fetches, locations=locations):
            choices = {"fetches": [*map(step_fields, fetches)], "locations": plain(locations)}
            return {"step": "choices", "identifier": name} | choices
        case Gone(tombstone=tombstone):
            return {"step": "gone", "identifier": name, "tombstone": plain(tombstone)}
        case Description(identifier=identifier, record=record):
            return {"step": "description"} | record_fields(identifier, record)


def record_fields(identifier: Identifier, record: Record) -> Fields:
    return {"identifier": str(identifier), "record": drop_hidden(msgspec.to_builtins(record))}


def drop_hidden(shown: Any) -> Any:
    """Drop digests and lengths of withdrawn bytes that readers may not see."""
    if isinstance(shown, dict):
        hidden = {"sha512", "length"} if shown.get("sha512") == "" else set()
        return {name: drop_hidden(one) for name, one in shown.items() if name not in hidden}
    if isinstance(shown, list | tuple):
        return type(shown)(drop_hidden(one) for one in shown)
    return shown


def step_text(step: Step, want: Want, *, base: str) -> str:
    """Describe a step for people. `base` is the public URL of the resolver, or empty."""
    match step:
        case Fetch(identifier=identifier, representation=held):
            return f"held {identifier} {_describe_representation(held)}"
        case Redirect(location=location):
            return location.uri if want is Want.LOCATION else f"redirect {location.uri}"
        case Choices(fetches=fetches, locations=locations):
            here = [f"{base}/{one.identifier}" if base else str(one.identifier) for one in fetches]
            urls = [*here, *(location.uri for location in locations)]
            return "\n".join(urls[:1] if want is Want.LOCATION else urls)
        case Gone(identifier=identifier, tombstone=tombstone):
            return f"gone {identifier} {_describe_tombstone(tombstone)}"
        case Description(identifier=identifier, record=record):
            return record_text(identifier, record)


def record_text(identifier: Identifier, record: Record) -> str:
    """Describe a record: a line with its identifier, then one line for each fact."""
    return "\n".join((str(identifier), *(f"  {line}" for line in _record_facts(record))))


def _record_facts(record: Record) -> Iterator[str]:
    yield f"revision {record.revision} of {record.at}, by {record.by or 'an unknown actor'}"
    if record.tombstone:
        yield f"withdrawn {_describe_tombstone(record.tombstone)}"
    if (proposal := find_standing(record)) is not None:
        yield describe_proposal(proposal)
    if why := record.unbound(None):
        yield f"bound to nothing {_describe_tombstone(why)}"
    elif not (record.versions or record.locations or record.values or record.tombstone):
        yield f"reserved as {record.minted}" if record.minted else "reserved"
    for version in record.versions:
        yield from _version_lines(version)
        if why := record.unbound(version.number):
            yield f"  bound to nothing {_describe_tombstone(why)}"
    yield from (f"at {_describe_location(location)}" for location in record.locations)
    yield from map(_describe_drift, record.drifted)
    yield from (f"also {name}" for name in record.aliases)
    if record.about is not None:
        yield f"described as {show_plainly(record.about.title)}"
    yield from map(_describe_attached, record.attached)
    for narrow in record.narrower:
        yield from _narrow_lines(narrow)
    yield from (f"{name}: {show_plainly(value)}" for name, value in record.metadata.items())


def _describe_drift(one: LocationDrift) -> str:
    """Give the evidence for which a location was broken."""
    before = _describe_content(one.sha512, one.size)
    after = _describe_content(one.found_sha512, one.found_size)
    return f"broken at {one.uri}: {before} was bound, {after} was there at {one.at}"


def _describe_content(sha512: str | None, size: int | None) -> str:
    known = [f"sha512 {sha512}"] if sha512 else []
    return ", ".join(known if size is None else [*known, count_things(size, "byte")])


def _describe_attached(one: Attachment) -> str:
    return f"with a {one.format} record, {count_things(len(one.content), 'byte')}"


def _narrow_lines(one: NarrowDescription) -> Iterator[str]:
    """Describe the description of one version, format or part."""
    named = (
        f"version {one.version}" if one.version is not None else "",
        f"format {one.format}" if one.format is not None else "",
        f"part {show_plainly(one.part)}" if one.part else "",
    )
    level = ", ".join(filter(None, named))
    if one.about is not None:
        title = show_plainly(one.about.title)
        yield f"{level}: described as {title}" if title else f"{level}: described"
    yield from (f"{level}: {_describe_attached(each)}" for each in one.attached)


def _version_lines(version: Version) -> Iterator[str]:
    yield f"version {version.number} of {version.at}"
    if version.tombstone:
        yield f"  withdrawn {_describe_tombstone(version.tombstone)}"
    for held in version.representations:
        yield f"  {held.format}: {_describe_representation(held)}"
        yield from (f"    {_describe_correction(one)}" for one in held.corrections)


def _describe_representation(held: Representation) -> str:
    charset = f";charset={held.charset}" if held.charset else ""
    language = f" in {held.language}" if held.language else ""
    facts = f", {count_things(held.length, 'byte')}, sha512 {held.sha512}" if held.is_shown else ""
    return f"{held.media_type}{charset}{language}{facts}"


def _describe_correction(one: Correction) -> str:
    why = f": {show_plainly(one.reason)}" if one.reason else ""
    return f"was {show_reading(one.before)} until {one.at}, says {one.by}{why}"


def _describe_location(location: Location) -> str:
    extra = msgspec.to_builtins(location)
    uri = extra.pop("uri")
    return " ".join((uri, *(f"{name}={value}" for name, value in extra.items())))


def describe_proposal(one: Proposal) -> str:
    of = "" if one.version is None else f" of version {one.version}"
    what = "erasure" if one.act == "erase" else "withdrawal"
    when = f"at {one.at}, until {one.until}"
    return f"{what}{of} proposed by {one.by} {when}: {show_plainly(one.reason)}"


def _describe_tombstone(tombstone: Tombstone) -> str:
    erased = f"; erased at {tombstone.erased}" if tombstone.erased else ""
    return f"since {tombstone.at}, says {tombstone.by}: {show_plainly(tombstone.reason)}{erased}"
