"""Parts of resources held elsewhere: the whole that a name is a part of, and the part's location.

How it works: a name that is not registered may be a part of one that is. `find_beginnings` lists
the names it begins with, cut off at a delimiter of its scheme (`#` or `@` in a Handle, a `%23` that
stands for a `#` in an ARK or URN) or, in an ARK, anywhere in its name; the read door
(`perdure.reading.resolve`) takes the longest one that is known.

`Unfolding` tries templates in this order: those of the record, those of the settings, and for
Handles the HS_NAMESPACE values of the record and of its prefix. The rest of an ARK is passed
through unchanged.

What must stay true: a name has at most 17 beginnings, an ARK 64 more, and each is looked up by its
key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from copy import copy
from functools import lru_cache
from urllib.parse import unquote

import msgspec

from perdure.errors import InvalidRequest, MalformedIdentifier
from perdure.ids import Identifier, parse, scheme_of
from perdure.ids.escaping import escape_text
from perdure.model.records import Record, Value
from perdure.policy import binding, templates
from perdure.policy.handles import names, namespace
from perdure.policy.handles.values import TEMPLATE, URL, is_public, list_values
from perdure.policy.templates import Template
from perdure.policy.templates.expressions import StepBudget

_ESCAPED_HASH = "%23"
_QUERY = "?part="
"""The delimiter that stands for a `#`, which clients do not send."""
_MOST_CUT = 64
"""The most characters that are cut off an unknown ARK."""
_KEPT = "/:;,@!$&'()*+=-._~?"


class NameBeginning(msgspec.Struct, frozen=True):
    """One way to read a name as a part of another: the whole, the delimiter and the part."""

    whole: Identifier
    delimiter: str
    part: str

    @property
    def is_elsewhere(self) -> bool:
        """True if the part cannot be in bytes that are held here.

        In an ARK only `#` begins such a part; `/` and `.` begin a qualifier.
        """
        scheme = scheme_of(self.whole)
        return scheme.passes_rest and self.delimiter in ("", *scheme.delimiters)


def find_beginnings(identifier: Identifier) -> Iterator[NameBeginning]:
    """The names with which an identifier begins, the longest first: at most 17, for an ARK 81."""
    marks = scheme_of(identifier).delimiters
    ways = templates.list_splits(str(identifier), "".join(one for one in marks if len(one) == 1))
    if scheme_of(identifier).passes_rest:
        ways = _list_cuts(str(identifier), ways)
    if _ESCAPED_HASH in marks and _ESCAPED_HASH in str(identifier):
        text, _, part = identifier.written.partition(_ESCAPED_HASH)  # with the part's hyphens
        ways.insert(0, (text, "#", unquote(part)))
    for text, delimiter, part in ways:
        if part:
            with suppress(MalformedIdentifier):
                yield NameBeginning(parse(text), delimiter, part)


def split_hash(identifier: Identifier) -> tuple[Identifier, str]:
    """Split a name at an escaped `#`, if its scheme has no `#` in its names; else all is the name.

    >>> [str(one) for one in split_hash(parse("urn:nbn:de:1-1%23page=2"))]
    ['urn:nbn:de:1-1', 'page=2']
    """
    if _ESCAPED_HASH in scheme_of(identifier).delimiters:
        for one in find_beginnings(identifier):
            if one.delimiter == "#":
                return one.whole, one.part
    return identifier, ""


def _list_cuts(text: str, splits: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """The ways to cut characters off the end, among the splits at delimiters, longest first.

    Resolvers of ARKs pass on whatever follows the longest name that they know, whether or not it
    begins with a delimiter. The names of an authority begin after the second delimiter (`ark:`,
    the number, `/`).
    """
    marks = {len(whole) for whole, _, _ in splits}
    first = text.find("/") + 1
    cuts = [
        (text[:at], "", text[at:])
        for at in range(len(text) - 1, max(first, len(text) - _MOST_CUT - 1), -1)
        if at not in marks and at - 1 not in marks
    ]
    return sorted((*splits, *cuts), key=lambda way: -len(way[0]))


def find_cut(key: str, whole: str) -> tuple[str, str] | None:
    """The delimiter and the part of a name, if the name with the key `whole` is its beginning.

    It is for names that pass the rest on, whose keys are their texts, and takes a hundredth of the
    time of `find_beginnings`. Return None if that may not list the beginning, or lists it twice.
    """
    if key.count("/") + key.count(".") > templates.MOST_SPLITS:
        return None
    at = len(whole)
    if key[at] in "/.":
        return key[at], key[at + 1 :]
    return ("", key[at:]) if len(key) - at <= _MOST_CUT else None


class Unfolding:
    """Finds the locations of parts of resources that are held elsewhere.

    `record` returns the record with a key; `general` are the templates of the settings.
    """

    def __init__(self, record: Callable[[str], Record | None], general: tuple[str, ...]) -> None:
        self._record = record
        self._general = tuple(map(templates.read_template, general))
        self._find_general = lru_cache(maxsize=64)(self._list_general)

    def keep_read(self, known: Mapping[str, Record | None]) -> Unfolding:
        """The same for one request, which reads no record twice. `known` was read already."""
        read = dict(known)

        def find_record(key: str) -> Record | None:
            if key not in read:
                read[key] = self._record(key)
            return read[key]

        made = copy(self)
        made._record = find_record
        return made

    def locate_part(
        self, whole: Identifier, record: Record, delimiter: str, part: str, location: str
    ) -> str | None:
        """The location of a part if the whole is at `location`, or None if no template fits.

        Raises InvalidRequest if it would not be a valid location, or be on another server, and
        ExpressionsTooCostly if the expressions of templates would take too long for the part.
        """
        if scheme_of(whole).passes_rest:
            return self.locate_rest(str(whole), record, delimiter, part, location)
        found = self.fill_template(str(whole), record, delimiter, part, location)
        if found is None and names.find_home_prefix(whole):
            made = self.make_values(whole, record, delimiter, part)
            found = next((one.data for one in made or () if one.type == URL), None)
            if found is not None:
                binding.check_uri(found)
        return found

    def locate_rest(
        self, whole: str, record: Record, delimiter: str, rest: str, location: str
    ) -> str:
        """The location of the rest of a name that passes it on; `whole` is its text.

        Raises InvalidRequest as `locate_part`.
        """
        found = self.fill_template(whole, record, delimiter, rest, location)
        if found is None:
            mark = "#" if delimiter == _QUERY else delimiter
            found = templates.append_text(location, mark + escape_text(rest, f"{_KEPT}%"))
            binding.check_uri(found)
        return found

    def fill_template(
        self, whole: str, record: Record, delimiter: str, part: str, location: str
    ) -> str | None:
        """The location of a part by a template of the record or of the settings, or None.

        `whole` is the text of the whole name. Raises InvalidRequest and ExpressionsTooCostly as
        `locate_part`.
        """
        general = self._find_general(delimiter)
        if not record.values and not general:
            return None
        own = [
            template
            for one in record.values
            if one.type == TEMPLATE and is_public(one)
            for template in _read_templates(one.data)
        ]
        budget = StepBudget()
        for listed in filter(None, (own, general)):
            for template in templates.find_applying(listed, whole, delimiter):
                filled = template.fill_target(whole, part, location, budget)
                budget.check(part)
                if filled is not None:
                    binding.check_uri(filled)
                    return filled
        return None

    def _list_general(self, delimiter: str) -> tuple[Template, ...]:
        """List the templates of the settings for a delimiter, of which there are few."""
        return tuple(one for one in self._general if one.has_delimiter(delimiter))

    def make_values(
        self, whole: Identifier, record: Record, delimiter: str, part: str
    ) -> tuple[Value, ...] | None:
        """The values that a template of the Handle System makes for a part of a handle.

        None if no template does, or if `whole` is not a handle. Raises ExpressionsTooCostly.
        """
        if not names.find_home_prefix(whole):
            return None
        prefix, _, _ = names.spell_handle(whole).partition("/")
        of_prefix = self._record(names.make_prefix_handle(prefix).key)
        sources = (record.values, of_prefix.values if of_prefix is not None else ())
        budget = StepBudget()
        for value in (one for values in sources for one in values if _is_template(one)):
            try:
                template = namespace.Namespace.read_xml(value.data)
            except InvalidRequest:  # not every way into the registry checks values
                continue
            if template.delimiter == delimiter:
                base = names.spell_handle(whole)
                held = tuple(one for one in list_values(record) if is_public(one))
                handle = f"{base}{delimiter}{part}"
                made = template.make_values(handle, base, part, held, budget)
                budget.check(part)
                if made is not None:
                    return made
        return None


def _is_template(value: Value) -> bool:
    return value.type == namespace.TYPE and is_public(value)


def _read_templates(text: str) -> Iterator[Template]:
    """The template of a value, if it is valid."""
    with suppress(InvalidRequest):  # not every way into the registry checks values
        yield templates.read_record_template(text)
