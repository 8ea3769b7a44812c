"""Losses of an export: what a record says, and the form it was written in does not give back.

How it works: both are lines of `import`. A description is compared member by member: a form may add
to it (a name that it splits into its parts), and may say it in plain name-value pairs or the other
way round. The identifier itself is not a loss among the codes of a description.

What must stay true: all that a record says, and that the form does not give back, is listed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from perdure.errors import PerdureError
from perdure.ids import Identifier, find_label
from perdure.model import stored
from perdure.model.about import About
from perdure.model.plain_words import is_plain_word, read_pairs
from perdure.policy.naming import identify_record
from perdure.upkeep.exchange import provenance
from perdure.upkeep.exchange.describing import read_address, read_name
from perdure.upkeep.exchange.port import ExportedRecord
from perdure.upkeep.transfer.exporting import line_without_bytes
from perdure.upkeep.transfer.line_contents import Terms
from perdure.upkeep.transfer.lines import read_line
from perdure.upkeep.transfer.rows import make_row

WHOLE = "record"
"""The field of a loss if the form cannot hold the record at all."""
_BEFORE_CONTENT = frozenset(("contents", "minted"))

_NEAR = 50
"""Items of a list among which the next one is looked for."""
_MAIN = frozenset(("value", "name", "titles", "uri"))
"""Members that make an item what it is."""

Members = dict[str, Any]
"""A line, or a value in it, as JSON has it."""


def name_kind(field: str) -> str:
    """Return the kind of a field, without the numbers of its values.

    >>> name_kind("values[3].at"), name_kind("about.creators[0].codes[1].scheme")
    ('values.at', 'about.creators.codes.scheme')
    """
    head, *rest = field.split("[")
    return head + "".join(one.partition("]")[2] for one in rest)


def list_unheld(exported: ExportedRecord, holds: frozenset[str]) -> list[str]:
    """List the fields of a record that are not among those that a form holds."""
    fields = _list_missing(msgspec.to_builtins(exported.line), {}, None)
    pairs = exported.record.metadata
    return [
        one
        for one in fields
        if one != "id" and name_kind(one) not in holds and not _is_said(one, pairs, holds)
    ]


def _is_said(field: str, pairs: Mapping[str, str], holds: frozenset[str]) -> bool:
    """Return True if a field is a plain pair, and a form holds what it means."""
    name = field.removeprefix("metadata.")
    if name == field:
        return False
    meaning = _write_about(read_pairs({name: pairs.get(name, "")}))
    return bool(meaning) and all(f"about.{member}" in holds for member in meaning)


def compare_lines(exported: ExportedRecord, again: Members | None, terms: Terms) -> Iterator[str]:
    """Yield the fields of a record that the line read again does not have."""
    if again is None:
        yield WHOLE
        return
    try:
        row = make_row(read_line(msgspec.json.encode(again)), 1, terms)
    except PerdureError:
        yield WHOLE
        return
    record = stored.decode_stored(row.record.decode())
    name = identify_record(row.key, record)
    before = msgspec.to_builtins(exported.line)
    after = msgspec.to_builtins(line_without_bytes(name, record))
    yield from _list_missing(before, after, exported.identifier)


def _list_missing(before: Members, after: Members, name: Identifier | None) -> Iterator[str]:
    for field, value in before.items():
        other = after.get(field)
        if value == other or (field in _BEFORE_CONTENT and not value):
            continue
        if field == "metadata":
            yield from _list_missing_pairs(value, other or {}, after)
        elif field == "about":
            described = _describe_wholly(after)
            value = _leave_out_name(value, name) if name is not None else value
            for member in value:
                yield from _list_lost(f"about.{member}", value[member], described.get(member))
        elif field == "values":
            yield from _list_missing_values(value, other or [])
        elif field == "attached":
            kept = {one["format"]: one for one in other or []}
            for one in value:
                if kept.get(one["format"]) != one:
                    yield f"attached.{one['format']}"
        elif field in ("broken", "withdrawn") and other and len(other) == len(value):
            for one, kept_one in zip(value, other, strict=True):
                lost = (member for member in one if one[member] != kept_one.get(member))
                yield from (f"{field}.{member}" for member in lost)
        else:
            yield field


# Values and pairs
# ----------------


def _list_missing_values(before: list[Members], after: list[Members]) -> Iterator[str]:
    kept = {one["index"]: one for one in after}
    for one in before:
        other = kept.get(one["index"])
        if other is None:
            yield f"values[{one['index']}]"
            continue
        for name, value in one.items():
            if other.get(name) != value:
                yield f"values[{one['index']}].{name}"


def _list_missing_pairs(pairs: Members, kept: Members, after: Members) -> Iterator[str]:
    """Yield the pairs that are neither kept nor said by the description."""
    described = _describe_wholly(after)
    for name, value in pairs.items():
        if _spell_moment(name, kept.get(name)) == _spell_moment(name, value):
            continue
        meaning = _write_about(read_pairs({name: value}))
        if not meaning or list(_list_lost("", meaning, described)):
            yield f"metadata.{name}"


def _spell_moment(name: str, value: str | None) -> str | None:
    """Spell a moment in one way: some systems write it in seconds since 1970."""
    return (
        (provenance.read_moment(value) or value) if value and name in provenance.MOMENTS else value
    )


def _describe_wholly(line: Members) -> Members:
    """Return the description of a line, with what its pairs say of the members that it lacks."""
    plain = {name: value for name, value in line.get("metadata", {}).items() if is_plain_word(name)}
    described: Members = _write_about(read_pairs(plain)) | line.get("about", {})
    return described


def _write_about(about: About) -> Members:
    members: Members = msgspec.to_builtins(about)
    return members


# Descriptions
# ------------


def _leave_out_name(about: Members, name: Identifier) -> Members:
    """Leave out the codes of a description that are the identifier which it describes."""
    codes = tuple(one for one in about.get("codes", ()) if not _is_code_of(one, name))
    others = {member: value for member, value in about.items() if member != "codes"}
    return others | ({"codes": codes} if codes else {})


def _is_code_of(code: Members, name: Identifier) -> bool:
    label = find_label(code.get("scheme", ""))
    texts = [code["value"], *([label.text + code["value"]] if label is not None else [])]
    return any((read_name(text) or read_address(text)) == name.resource for text in texts)


def _list_lost(field: str, before: Any, after: Any) -> Iterator[str]:
    """Yield what a value of a description says, and the other does not."""
    if before == after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for name, value in before.items():
            yield from _list_lost(f"{field}.{name}", value, after.get(name))
    elif isinstance(before, tuple) and isinstance(after, tuple):
        yield from _list_lost_items(field, before, after)
    else:
        yield field


def _list_lost_items(field: str, before: Sequence[Any], after: Sequence[Any]) -> Iterator[str]:
    """Yield the items of a list that do not follow each other in the other, which may have more."""
    start = 0
    for at, one in enumerate(before):
        place = f"{field}[{at}]"
        best: list[str] = [place]
        found = start
        for index, other in enumerate(after[start : start + _NEAR], start):
            lost = list(_list_lost(place, one, other))
            if not _MAIN.isdisjoint(each.removeprefix(f"{place}.") for each in lost):
                continue
            if not lost or (lost != [place] and (best == [place] or len(lost) < len(best))):
                best, found = lost, index + 1
            if not lost:
                break
        start = found
        yield from best
