"""Names without an answer of their own: the name or the location to which they lead.

How it works: `Leads` makes the look-ups of the read door (`perdure.reading.resolve`) for the cases
that occur often, in the same order:

1. a name without a record may be an alias of exactly one record: the answer leads to the name of
   that record, as it does from a handle with an HS_ALIAS value;
2. a name that is not an alias may begin with a known name. The rest of an ARK, or the part behind
   the delimiter of another name, is passed on by a template (`perdure.policy.unfolding`).

The longest known beginning of an ARK is found by one or two look-ups of the last record of a range
of keys, since a beginning of a key sorts directly before it, apart from its own other ends.

A name of which nothing is known here may be delegated to another resolver
(`perdure.server.fast.away`).

Everything else is left to the plain way: several owners, parts of documents that are held here,
several locations, names that lead nowhere, and names about which, or about whose owner or whole,
there may be a reading rule.

What must stay true: an answer from here is the same, byte for byte, as the plain way's. A `Lead`
that rests on a missing record is valid only as long as no record was added: new records raise only
the second count of `perdure.storage.generation`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from perdure.ids import load_schemes, parse
from perdure.ids.pdi_key import read_resource_key
from perdure.ids.pdi_plain import read_plain_key
from perdure.ids.plain_names import read_plain_name, read_plain_part
from perdure.model import stored
from perdure.model.records import Record
from perdure.policy.handles.names import is_pdi
from perdure.policy.handles.values import find_alias, list_alias_texts
from perdure.policy.naming import identify_record, qualify_identifier
from perdure.policy.sole_location import find_in_record, find_sole_location
from perdure.policy.unfolding import Unfolding, find_cut
from perdure.reading.delegations import Delegations
from perdure.reading.targets import append_part
from perdure.server.common.answers import escape_uri
from perdure.server.common.asking import write_choice_fields
from perdure.server.common.left_records import LeftRecords
from perdure.server.fast.away import AwayLeads
from perdure.server.fast.lead_frames import make_onward_frame, make_part_frame
from perdure.server.fast.lead_kinds import PDI, Lead, ProxiedLead
from perdure.server.fast.lookups import LookUps
from perdure.server.fast.prefixes import PrefixRecords
from perdure.server.fast.proxied import ReadyDocuments
from perdure.settings import Settings
from perdure.storage.ports import CountPair

_MOST_SEEKS = 4
_NO_VALUES = Record()
_Holder = tuple[Record, str, int | None]


class Leads:
    """Finds where names lead. `counts` are those of `perdure.storage.generation`."""

    def __init__(
        self,
        lookups: LookUps,
        counts: CountPair,
        settings: Settings,
        is_governed: Callable[[str], bool],
        delegations: Delegations,
        left: LeftRecords,
        documents: ReadyDocuments,
    ) -> None:
        """`is_governed` returns True if a reading rule may be about a name, given as its path."""
        self._left = left
        self._delegations = delegations
        self._away = AwayLeads(delegations, lookups, settings, documents)
        self._lookups = lookups
        self._is_governed = is_governed
        self._counts = counts
        self._seen = -1
        """The count of changes when the state of `lookups` was last found to be current."""
        self._prefixes = PrefixRecords(lookups)
        self._unfolding = Unfolding(self._prefixes.find_record, settings.templates)
        self._fresh = settings.fresh_seconds
        self._base_url = settings.base_url
        self._vary = write_choice_fields(settings.region_header)

    def is_current(self, lead: Lead | ProxiedLead) -> bool:
        """Return True if no record was added that could change a remembered lead."""
        if type(lead) is ProxiedLead:
            is_open = lead.document.file is not None and lead.today == self._delegations.today
            return is_open and lead.changes == self._counts[1]
        return lead.changes is None or lead.changes == self._counts[1]

    # other names
    # -----------

    def follow_name(
        self,
        text: str,
        key: str,
        version: str | None,
        format: str | None,
        day: str,
        written: bytes,
    ) -> Lead | ProxiedLead | None:
        """Find where a name leads that has no record: to the owner of an alias, to a location, to
        another resolver, or to its document. `written` is the name as the target has it.

        Raises AnswerLater if the disk must be read before.
        """
        changes = self._confirm_missing(key)
        if changes is None:
            return None
        lead = self._find_lead(text, key, version, format, day, written, changes)
        if lead is None:
            self._left.leave_record(key, None, changes)
        return lead

    def _find_lead(
        self,
        text: str,
        key: str,
        version: str | None,
        format: str | None,
        day: str,
        written: bytes,
        changes: int,
    ) -> Lead | ProxiedLead | None:
        """Find where a name leads that is known to have no record. Raises as `follow_name`."""
        owners = self._lookups.find_referring(f"alias:{key}", limit=2)
        if owners:
            return self._lead_to_owner(owners, text, key, version, format, changes)
        if text.startswith(_list_passing()):
            lead = self._lead_to_rest(key, day, changes)
            if lead is not None:
                return lead
        if self._is_governed(text):
            return None
        is_full = version is not None and format is not None
        return self._away.find_lead(text, written, changes, is_full=is_full)

    def follow_alias(self, record: Record) -> Lead | None:
        """Lead to the handle that the HS_ALIAS value of a handle names, unless that is an alias,
        too.
        """
        written = list_alias_texts(record)[0]
        plain = None if is_pdi(written) else read_plain_name(f"hdl:{written}")
        target = plain or find_alias(record)
        text = None if target is None else self._lookups.find_record(target.key)
        if target is None or text is None or self._is_governed(target.path):
            return None
        if text[0] == stored.JSON and list_alias_texts(stored.decode_stored(text)):
            return None
        return self._lead_onward(target.path, None)

    def _confirm_missing(self, key: str) -> int | None:
        """Return the count of changes since which a record has been missing, or None."""
        changes = self._counts[1]
        if changes not in (self._lookups.changes, self._seen):
            self._lookups.release_state()  # the state of this turn may be older than a new record
            if self._lookups.find_record(key) is not None:
                return None
        self._seen = changes
        return changes if self._lookups.is_held else None

    def _lead_to_owner(
        self,
        owners: list[str],
        text: str,
        key: str,
        version: str | None,
        format: str | None,
        changes: int,
    ) -> Lead | None:
        if len(owners) > 1:
            return None
        record = self._find_record(owners[0])
        if record is None:
            return None
        if text not in record.aliases and key not in map(_read_key, record.aliases):
            return None  # another name with the same hash
        if version is None or format is None:
            path = _spell_owner(owners[0], record)
        else:
            owner = identify_record(owners[0], record)
            path = qualify_identifier(owner, int(version), format).whole.path
        if self._is_governed(path) or self._is_governed(text):
            return None
        return self._lead_onward(path, changes)

    def _lead_onward(self, path: str, changes: int | None) -> Lead:
        before, behind = make_onward_frame(self._fresh)
        return Lead(before, b"/%s%s" % (escape_uri(path), behind), changes)

    def _find_record(self, key: str) -> Record | None:
        text = self._lookups.find_record(key)
        return None if text is None else stored.decode_stored(text)

    # parts
    # -----

    def follow_part(self, text: str, day: str) -> Lead | None:
        """Find the location of a part: of a name in its usual spelling, a mark and the part.

        Raises MalformedIdentifier, or AnswerLater if the disk must be read before.
        """
        plain = read_plain_part(text)
        if plain is None:
            return None
        record = self._find_record(plain.key)
        if record is not None:  # the name is registered as it is
            self._left.leave_record(plain.key, record, self._lookups.changes)
            return None
        changes = self._confirm_missing(plain.key)
        if changes is None or self._lookups.find_referring(f"alias:{plain.key}", limit=1):
            return None
        path, delimiter, part = plain.whole.path, plain.delimiter, plain.part
        if self._is_governed(path):
            return None
        stored_text = self._lookups.find_record(plain.whole.key)
        holder = None if stored_text is None else self._find_holder(stored_text, day)
        self._prefixes.forget_last()
        place = None if holder is None else self._place_part(path, holder, delimiter, part)
        if holder is None or place is None:
            whole = None if stored_text is None else stored.decode_stored(stored_text)
            self._left.leave_record(plain.key, None, changes)
            self._left.leave_record(plain.whole.key, whole, changes)
            self._prefixes.leave_last(self._left, changes)
            return None
        return self._lead_away(place, holder[2], append_part(path, part), path, changes)

    def _place_part(self, path: str, holder: _Holder, delimiter: str, part: str) -> str | None:
        """Return the location of a part by the template of a whole, or None."""
        record, uri, _ = holder
        place = self._unfolding.fill_template(path, record, delimiter, part, uri)
        if place is None:
            place = self._unfolding.locate_part(parse(path), record, delimiter, part, uri)
        return place

    def _lead_to_rest(self, key: str, day: str, changes: int) -> Lead | None:
        """Redirect to the location of the rest of a name, which is passed on. The key is its path,
        since the name is a usual one."""
        beginning = self._find_beginning(key)
        if beginning is None:
            return None
        whole, stored_text = beginning
        cut = find_cut(key, whole)
        holder = self._find_holder(stored_text, day)
        if cut is None or holder is None or self._is_governed(whole):
            return None
        (delimiter, part), (record, uri, ttl) = cut, holder
        place = self._unfolding.locate_rest(whole, record, delimiter, part, uri)
        return self._lead_away(place, ttl, key, whole, changes, has_linkset=False)

    def _find_beginning(self, key: str) -> tuple[str, str] | None:
        """Find the longest key of a record with which a key begins, and its stored form.

        The records between the longest beginning and the key are other continuations of it. So the
        last record before the key, if it is not a beginning, shows how long one can be at most.
        """
        low, high = key[: key.index("/") + 2], key
        for _ in range(_MOST_SEEKS):
            found = self._lookups.find_last(low, high)
            if found is None or key.startswith(found[0]):
                return found
            high = _find_common_beginning(key, found[0])
            if high < low:
                return None
        return None

    def _find_holder(self, text: str, day: str) -> _Holder | None:
        """Return the record of a whole as far as it places parts, its only location and the time to
        live of that, or None."""
        if text[0] == stored.JSON:
            record = stored.decode_stored(text)
            sole = find_in_record(record, None, None, day)
        else:
            record, sole = _NO_VALUES, find_sole_location(text, None, None, day)
        return None if sole is None else (record, *sole)

    def _lead_away(
        self,
        place: str,
        ttl: int | None,
        name: str,
        whole: str,
        changes: int,
        *,
        has_linkset: bool = True,
    ) -> Lead:
        """Redirect to a place. The paths are those of the name to cite it by, and of the whole."""
        fresh = self._fresh if ttl is None else ttl
        before, around, behind = make_part_frame(fresh, self._base_url, self._vary, has_linkset)
        cited = escape_uri(name).join(around)
        pieces = (before, escape_uri(place), cited, escape_uri(whole), behind)
        return Lead(b"".join(pieces), None, changes)


@cache
def _list_passing() -> tuple[str, ...]:
    """The beginnings of usual names whose rest is passed on."""
    return tuple(
        beginning
        for scheme in load_schemes().values()
        if scheme.passes_rest
        for beginning, _ in scheme.plain_spellings
    )


def _find_common_beginning(one: str, other: str) -> str:
    for at, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return one[:at]
    return min(one, other, key=len)


def _read_key(text: str) -> str:
    """The key of an identifier. Raises MalformedIdentifier."""
    if text.startswith(PDI):
        pdi = read_plain_key(text)
        if pdi is not None:
            return pdi[0]
    plain = read_plain_name(text)
    return parse(text).key if plain is None else plain.key


def _spell_owner(key: str, record: Record) -> str:
    """The path of the name of a record."""
    if record.name:
        plain = read_plain_name(record.name)
        return parse(record.name).path if plain is None else plain.path
    text = read_resource_key(key)
    return text if read_plain_key(text) == (key, None, None) else identify_record(key, record).path
