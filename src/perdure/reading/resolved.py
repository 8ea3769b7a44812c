"""The result of resolving a query: the name that answers, its record, and the decision about it.

How it works: `perdure.reading.resolve.ReadDoor` finds the record and makes a `Resolved`. Its `step`
decides the answer (`perdure.policy.decide`), also about a part; `choose` answers another question
about the same name from the same record. A part of a resource held elsewhere has a location of its
own (`perdure.policy.unfolding`).

What must stay true: nothing here reads a record; the name of a part is never taken for the name of
the whole; a step that leads to bytes has passed the guard.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from perdure.errors import NotFound, PerdureError
from perdure.errors.cutting import CitationUnresolved, PartElsewhere
from perdure.errors.naming import PatternNotAllowed
from perdure.ids import Identifier, scheme_of
from perdure.ids.name_set import NameSet
from perdure.ids.named_parts import join_part
from perdure.ids.pwid import Pwid
from perdure.model.about import Attachment
from perdure.model.queries import (
    Choices,
    Description,
    Elsewhere,
    Fetch,
    Gone,
    Preference,
    Query,
    Redirect,
    Step,
    Want,
)
from perdure.model.records import Level, Location, Record, Value
from perdure.policy.decide import decide_part, decide_step, require_existing
from perdure.policy.handles.choosing import negotiates_elsewhere
from perdure.policy.levels import find_level, find_own, list_attached, pin_part
from perdure.policy.preference import prefers_other_than_page
from perdure.policy.unfolding import NameBeginning, Unfolding
from perdure.reading.guarding import Guard

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, slots=True)
class Resolved:
    """The result of resolving a query, as described in `perdure.reading.resolve`.

    Five kinds of names have no `record`: a set of names (`names`), a PWID that is not registered
    here (`pwid`), a citation, both sides of which were resolved (`is_citation`), a name that
    qualifies another name whose resource is elsewhere (`is_elsewhere`), and a name that only other
    resolvers may know (`elsewhere`).
    """

    asked: Identifier
    """The identifier as requested."""
    identifier: Identifier
    """The identifier that answers. A PDI includes its part; in any other scheme it is the whole."""
    record: Record | None
    query: Query
    via: Identifier | None = None
    """The alias that was followed."""
    inside: NameBeginning | None = None
    """The whole and the requested part, or None if the whole is requested."""
    holder: Record | None = None
    """The record of the whole, even if the part is elsewhere, with the locations that the query
    allows: the answer is decided by them."""
    elsewhere: Elsewhere | None = None
    """The resolvers that may know the name, which is unknown here."""
    names: NameSet | None = None
    """The set of names that is requested. It has a record if its names are those of the versions
    and formats of one resource (`…/1.text.*`)."""
    guard: Guard | None = field(default=None, repr=False, compare=False)
    """Applies the reading rules about the name; None if there are none."""

    sides: tuple[Step | None, ...] = ()
    """For a citation, the answer to each of `perdure.policy.citing.list_sides`; None if the cited
    part is elsewhere."""
    side_records: Mapping[str, Record] = field(default_factory=dict, repr=False, compare=False)
    """For a citation, the `records_read` of its sides."""
    unfolding: Unfolding | None = field(default=None, repr=False, compare=False)
    """Finds the locations of parts of resources that are held elsewhere."""

    @property
    def whole(self) -> Identifier:
        """The resource that answers, without a part."""
        return self.identifier.whole if self.inside is None else self.inside.whole

    @property
    def part(self) -> str | None:
        """The text of the requested part, or None if the whole is requested."""
        return None if self.inside is None else self.inside.part

    @property
    def part_beside(self) -> str | None:
        """The text of the part, if the identifier does not include it.

        The identifier of a part that is elsewhere is the name as requested, with its suffix.
        """
        included = self.is_elsewhere or scheme_of(self.identifier).part_mark
        return None if included else self.part

    @property
    def is_elsewhere(self) -> bool:
        """True if the part cannot be in bytes that are held here."""
        return self.inside is not None and self.inside.is_elsewhere

    @property
    def is_described_by_whole(self) -> bool:
        """True if the name has a suffix that is passed on: its description is that of the whole."""
        if not self.is_elsewhere or self.holder is None:
            return False
        try:
            return isinstance(self.choose(Want.DESCRIPTION), Description)
        except NotFound:
            return False

    @property
    def is_pattern(self) -> bool:
        """True if a set of names is requested."""
        return self.names is not None

    @property
    def records_read(self) -> Mapping[str, Record]:
        """The records that answer, by their keys: `ReadDoor.resolve` does not read them again.

        Do not show them: no reading rule was applied to them.
        """
        if self.holder is None or self.query.indexes or self.query.types:
            return self.side_records
        record = self.holder if self.guard is None else self.guard.record
        return {self.whole.key: record}

    def require_single(self) -> None:
        """Raise PatternNotAllowed if a set of several resources is requested."""
        if self.names is not None and self.record is None:
            raise PatternNotAllowed(identifier=str(self.names))

    def narrow_to(self, name: Identifier) -> Resolved | None:
        """The answer about a version and format of the resource, from the same record.

        It is that of `ReadDoor` for the same reader, who states no other wishes. None if the door
        must be asked, because rules are about the resource, or another record answers.
        """
        is_plain = self.is_registered and self.guard is None and self.names is None
        if not is_plain or name.is_pattern or name.archived or name.key != self.identifier.key:
            return None
        query = Query(identifier=name, reader=self.query.reader)
        return Resolved(name, name, self.record, query, holder=self.record)

    @property
    def pwid(self) -> Pwid | None:
        """The identifier if it is a PWID that is not registered here; its archive answers then."""
        if isinstance(self.asked, Pwid) and self.record is None and self.names is None:
            return self.asked
        return None

    @property
    def negotiates_elsewhere(self) -> bool:
        """True if the reader's preferred type is answered by a location of the handle itself.

        Such a location of a `10320/loc` value has the role `conneg`.
        """
        return (
            self.holder is not None
            and bool(self.holder.values)
            and prefers_other_than_page(self.query.accept)
            and negotiates_elsewhere(self.holder.values)
        )

    @property
    def is_registered(self) -> bool:
        """True if the name itself, and not another that it leads to, has a record."""
        return self.record is not None and self.via is None and self.inside is None

    @property
    def known(self) -> Record:
        """The record. Raises NotFound, NoSuchVersion or NotAcceptable if the name names nothing."""
        return self.require_known()

    def require_known(self) -> Record:
        """Return the record, or raise NotFound if there is none.

        Raises NoSuchVersion or NotAcceptable if the record has no such version or format; Forbidden
        or Unauthenticated if the reader may read a part of it, but nothing about the document.
        """
        self.require_no_citation()
        if self.record is None:
            raise NotFound(identifier=str(self.asked))
        if self.guard is not None and self.inside is not None:
            self.guard.check_document(self.whole)
        require_existing(Query(identifier=self.whole), self.record)
        return self.record

    @property
    def deciding_record(self) -> Record:
        """The record by which the answer was decided. Raises as `known`. Do not show it.

        If the reader may read only a part of a document, `known` does not have its version.
        """
        return self.known if self.holder is None else self.holder

    @property
    def is_only_part_open(self) -> bool:
        """True if the reader may read the part, but nothing about the document around it."""
        if self.guard is None or self.inside is None or self.record is None:
            return False
        try:
            self.guard.check_document(self.whole)
        except PerdureError:
            return True
        return False

    @property
    def citable(self) -> Record:
        """The record to describe or cite. Raises as `known`.

        For a PWID that is not registered here, it is empty: the PWID itself says enough. It is
        empty, too, for an open part of a closed document, of which nothing else may be shown.
        """
        return self.require_citable()

    def require_citable(self) -> Record:
        """Return the record to describe or cite. Raises as `require_known`."""
        is_bare = self.pwid is not None or self.is_only_part_open
        return Record() if is_bare else self.require_known()

    @property
    def level(self) -> Level:
        """The level of description that the name names."""
        level = find_level(self.identifier, self.part_beside)
        return pin_part(self.identifier, self.record or Record(), level)

    def find_attached(self, format: str, *, own: bool = False) -> Attachment | None:
        """The record in a community's format that is attached to the level of the name, or to a
        wider one unless only its `own` is wanted. Raises NotFound if there is no record."""
        record, level = self.citable, self.level
        known = find_own(record, level).attached if own else list_attached(record, level)
        return next((one for one in known if one.format == format), None)

    @property
    def step(self) -> Step:
        """The answer to the query. Raises NotFound, NoSuchVersion or NotAcceptable."""
        return self.require_step()

    def require_step(self) -> Step:
        """Return the answer to the query, or raise NotFound, NoSuchVersion or NotAcceptable."""
        return self.choose()

    @property
    def is_citation(self) -> bool:
        """True if the name is a citation. `perdure.reading.citations` has the verdict on it."""
        return self.asked.is_citation

    def require_no_citation(self) -> None:
        """Raise CitationUnresolved if the name is a citation, of which nothing else is known."""
        if self.is_citation:
            raise CitationUnresolved(selector=str(self.asked))

    @property
    def usual_step(self) -> Step:
        """The answer about the whole for a reader without preferences.

        Raises NotFound, NoSuchVersion or NotAcceptable.
        """
        return self.require_usual_step()

    def require_usual_step(self) -> Step:
        """Return the answer about the whole, or raise NotFound, NoSuchVersion or NotAcceptable."""
        self.require_no_citation()
        step = decide_step(Query(identifier=self.whole), self.holder)
        return step if self.guard is None else self.guard.guard_step(step, self.part)

    def show_past(self, record: Record) -> Record:
        """A past revision of the record, as the reader may see it."""
        return record if self.guard is None else self.guard.show(record)

    def choose(
        self,
        want: Want | None = None,
        *,
        accept: tuple[Preference, ...] | None = None,
        whole: bool = False,
    ) -> Step:
        """The answer to another question about the same name, from the same record.

        The locations of a part are those of the part, never those of the whole. With `whole`, the
        part is ignored. Raises NotFound, NoSuchVersion, NotAcceptable, or PartElsewhere if the
        location of the part is not known; Forbidden or Unauthenticated if the reader may not have
        the bytes.
        """
        if self.elsewhere is not None:
            answer = self.elsewhere.answer(self.query.want if want is None else want)
            if answer is None:
                raise NotFound(identifier=str(self.asked))
            return answer
        self.require_no_citation()
        step = self._choose_step(want, accept, whole=whole)
        if self.guard is None:
            return step
        if isinstance(step, Description) and self._wants_content(want):
            self.guard.check_kept(step.record)
        return self.guard.guard_step(step, None if whole else self.part)

    def _wants_content(self, want: Want | None) -> bool:
        return (want or self.query.want) in (Want.RESOURCE, Want.RESOURCES)

    def _choose_step(
        self, want: Want | None, accept: tuple[Preference, ...] | None, *, whole: bool
    ) -> Step:
        query = msgspec.structs.replace(
            self.query,
            identifier=self.identifier if self.inside is None and not whole else self.whole,
            want=self.query.want if want is None else want,
            accept=self.query.accept if accept is None else accept,
        )
        if self.inside is None or whole:
            return decide_step(query, self.holder)
        if self.is_elsewhere:
            return self._find_elsewhere(query)
        step = decide_part(query, self.holder) if query.want is Want.RESOURCE else None
        return self._place_part(step or decide_step(query, self.holder), query.want)

    def _find_elsewhere(self, query: Query) -> Step:
        """The answer about a part that has no record and is elsewhere. Raises NotFound.

        Its description is that of the whole.
        """
        if query.want is Want.DESCRIPTION and self.holder is not None:
            self._find_elsewhere(msgspec.structs.replace(query, want=Want.LOCATION))
            return decide_step(query, self.holder)
        want = _ELSEWHERE.get(query.want)
        if want is not None:
            step = decide_step(msgspec.structs.replace(query, want=want), self.holder)
            placed = self._place_part(step, want)
            if isinstance(placed, Redirect | Gone) or (
                isinstance(placed, Choices) and placed.locations
            ):
                return placed
        raise NotFound(identifier=str(self.asked))

    def _place_part(self, step: Step, want: Want) -> Step:
        """Turn a step about the whole into one about the part."""
        if isinstance(step, Redirect) and want is Want.RESOURCE:
            there = self.locate_part(step.location.uri)
            if there is None:
                raise PartElsewhere(held_at=step.location.uri, selector=self.part or "")
            return step.redirect_to(there)
        if isinstance(step, Redirect):
            places = self._locate_all((step.location, *step.others))
            if not places:
                return Description(identifier=step.identifier, record=self.holder or Record())
            return step.redirect_to(places[0].uri)
        if isinstance(step, Choices) and want is not Want.RESOURCE:
            return Choices(
                identifier=step.identifier,
                fetches=() if self.is_elsewhere else tuple(map(self._name_part, step.fetches)),
                locations=self._locate_all(step.locations),
            )
        return step

    def _name_part(self, fetch: Fetch) -> Fetch:
        """The fetch of a document under the name of the part.

        If the query names no version, neither does the part: the reader chooses.
        # ruling: part-version
        """
        whole = fetch.identifier if fetch.pinned else self.whole
        identifier, _ = join_part(whole, self.part)
        return msgspec.structs.replace(fetch, identifier=identifier)

    def _locate_all(self, locations: tuple[Location, ...]) -> tuple[Location, ...]:
        places = (self.locate_part(one.uri) for one in locations)
        return tuple(Location(uri=one) for one in dict.fromkeys(places) if one is not None)

    def locate_part(self, location: str) -> str | None:
        """The location of the part if the whole is at `location`, or None if it is not known.

        Raises InvalidRequest if it would be on another server, or would not be a valid location.
        """
        if self.inside is None or self.unfolding is None:
            return None
        inside, holder = self.inside, self.holder or Record()
        return self.unfolding.locate_part(
            inside.whole, holder, inside.delimiter, inside.part, location
        )

    def make_values(self) -> tuple[Value, ...] | None:
        """The values that a template of the Handle System makes for a part of a handle."""
        inside = self.inside
        if inside is None or self.holder is None or self.unfolding is None:
            return None
        return self.unfolding.make_values(inside.whole, self.holder, inside.delimiter, inside.part)


_ELSEWHERE = {
    Want.RESOURCE: Want.LOCATION,
    Want.LOCATION: Want.LOCATION,
    Want.RESOURCES: Want.LOCATIONS,
    Want.LOCATIONS: Want.LOCATIONS,
}
"""The only answers about a part that is elsewhere. Nothing else is known about such a part."""
