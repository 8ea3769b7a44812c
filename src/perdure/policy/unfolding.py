"""Parts of things held elsewhere: which template says where one lies, and which whole it is of.

How it works: an identifier that is registered is what it is. One that is not may be a part of one
that is: `unfold` looks for the longest registered beginning, cut off at a delimiter of its scheme
(`#` or `@` in a Handle, `/` or `.` in the qualifier of an ARK, a `%23` that was meant for a `#` in
an ARK or URN). `apart` needs no registry: where a
scheme has no `#` in its names, one begins a part. Templates are asked in this order:
those that lie with the record, those of the settings, and for Handles the HS_NAMESPACE values of
the record and of its prefix. The rest of an ARK is passed through as it is, as ARKs have it.

What must stay true: at most 16 records are looked up for one name, each by its key.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from urllib.parse import quote as escape
from urllib.parse import unquote

import msgspec

from perdure.errors import InvalidRequest, MalformedIdentifier, PerdureError
from perdure.ids import Identifier, parse
from perdure.ids.ark import Ark
from perdure.ids.handle import Handle
from perdure.ids.pdi import Pdi
from perdure.ids.urn import Urn
from perdure.model.queries import Query, Redirect, Want
from perdure.model.records import Location, Record, Value
from perdure.policy import binding, templates
from perdure.policy.decide import decide
from perdure.policy.handles import names, namespace
from perdure.policy.handles.values import TEMPLATE, URL, values_of
from perdure.policy.templates import Template

_DELIMITERS: dict[type[Identifier], str] = {Handle: "#@", Ark: "/."}
_HASH = re.compile("#|%23")
_KEPT = "/:;,@!$&'()*+=-._~?"


def apart(
    text: str,
    read: Callable[[str], Identifier] = parse,
    *,
    is_known: Callable[[Identifier], bool] = lambda _: True,
) -> tuple[Identifier, str | None]:
    """An identifier and, where a `#` stands in it that no name of its scheme has, the part behind.

    `read` reads identifiers, and what it raises is raised, also where the whole is not known: it
    may have been meant for a name. A PDI says itself what a part is.

    >>> str(apart("URN:IANA:42117::x:::#char=6,11")[0]), apart("ark:/99999/x#page=2")[1]
    ('URN:IANA:42117::x:::', 'page=2')
    """
    try:
        return read(text), None
    except MalformedIdentifier:
        hash = _HASH.search(text)
        if hash is None:
            raise
        with suppress(PerdureError):
            identifier = read(text[: hash.start()])
            if not isinstance(identifier, Pdi) and is_known(identifier):
                return identifier, unquote(text[hash.end() :])
        raise


def joined(identifier: Identifier, part: str | None) -> tuple[Identifier, str | None]:
    """A part that was given apart, put where it has its meaning: into a PDI, beside all others.

    Raises MalformedIdentifier where the PDI has no such parts, or is one already.
    # ruling: part-meaning

    >>> str(joined(parse("pdi://oma.eop.gov.us/1997/09/01/1.text.1"), "37,51")[0])
    'pdi://oma.eop.gov.us/1997/09/01/1.text.1#char=37,51'
    """
    if part is None or not isinstance(identifier, Pdi):
        return identifier, part
    return parse(f"{identifier}#{part}"), None


class Unfolded(msgspec.Struct, frozen=True):
    """A name that was not registered, as a part of one that is."""

    whole: Identifier
    record: Record
    delimiter: str
    part: str


class Unfolding:
    """Finds what names that are not registered are parts of, and where those lie.

    `record` gives the record with a key, `general` are the templates of the settings.
    """

    def __init__(self, record: Callable[[str], Record | None], general: tuple[str, ...]) -> None:
        self._record = record
        self._general = general

    def record(self, identifier: Identifier) -> Record | None:
        """The record of an identifier as it is."""
        return self._record(identifier.key)

    def unfold(self, identifier: Identifier) -> Unfolded | None:
        """The longest registered beginning of an identifier that is not registered itself."""
        ways = templates.splits(str(identifier), _DELIMITERS.get(type(identifier), ""))
        if isinstance(identifier, Ark | Urn) and "%23" in str(identifier):  # meant for a `#`
            text, _, part = identifier.written.partition("%23")  # with the hyphens of the part
            ways.insert(0, (text, "#", unquote(part)))
        for text, delimiter, part in ways:
            try:
                whole = parse(text)
            except MalformedIdentifier:
                continue
            record = self._record(whole.key)
            if record is not None and part:
                return Unfolded(whole, record, delimiter, part)
        return None

    def location(self, query: Query) -> str | None:
        """Where the part lies that an identifier is which is not registered; None where nothing
        says so. The whole is looked for as the query says. Raises what `part_location` raises."""
        found = self.unfold(query.identifier)
        if found is None:
            return None
        step = decide(
            msgspec.structs.replace(query, identifier=found.whole, want=Want.LOCATION), found.record
        )
        if not isinstance(step, Redirect):
            return None
        place = step.location.uri
        return self.part_location(found.whole, found.record, found.delimiter, found.part, place)

    def redirect(self, query: Query) -> Redirect | None:
        """The step to where a part lies; None for what is registered, and where nothing says so."""
        place = None if self.record(query.identifier) else self.location(query)
        if place is None:
            return None
        return Redirect(identifier=query.identifier, location=Location(uri=place))

    def part_location(
        self, whole: Identifier, record: Record, delimiter: str, part: str, location: str
    ) -> str | None:
        """Where a part lies of what lies at a location; None where nothing says so.

        Raises InvalidRequest where it would be no location, or on another server.
        """
        found = self._from_templates(str(whole), record, delimiter, part, location)
        if found is None and isinstance(whole, Ark):
            found = templates.appended(location, delimiter + escape(part, safe=f"{_KEPT}%"))
        if found is None and isinstance(whole, Handle):
            made = self.made_values(whole, record, delimiter, part)
            found = next((one.data for one in made or () if one.type == URL), None)
        if found is not None:
            binding.check_uri(found)
        return found

    def _from_templates(
        self, name: str, record: Record, delimiter: str, part: str, location: str
    ) -> str | None:
        own = list(_read(one.data for one in record.values if one.type == TEMPLATE))
        for listed in (own, map(templates.read, self._general)):
            for template in templates.applying(listed, name, delimiter):
                filled = template.fill(name, part, location)
                if filled is not None:
                    return filled
        return None

    def made_values(
        self, whole: Handle, record: Record, delimiter: str, part: str
    ) -> tuple[Value, ...] | None:
        """The values of a handle that a template of the Handle System makes of another one; None
        where none does."""
        of_prefix = self._record(names.of_prefix(whole.prefix).key)
        sources = (record.values, of_prefix.values if of_prefix is not None else ())
        for value in (one for values in sources for one in values if one.type == namespace.TYPE):
            try:
                template = namespace.Namespace.read(value.data)
            except InvalidRequest:  # it came by a way on which nobody looks at values
                continue
            if template.delimiter == delimiter:
                base = names.spelled(whole)
                held = values_of(record)
                made = template.values(f"{base}{delimiter}{part}", base, part, held)
                if made is not None:
                    return made
        return None


def _read(texts: Iterator[str]) -> Iterator[Template]:
    """Templates of a record, without what is none."""
    for text in texts:
        try:
            yield templates.of_record(text)
        except InvalidRequest:  # it came by a way on which nobody looks at values
            continue
