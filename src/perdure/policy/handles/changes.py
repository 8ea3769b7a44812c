"""Writes to a handle, applied to its record. Pure.

How it works: a client's request becomes the complete new list of values (`put_values`,
`remove_values`), which the write door assigns to the record (`assign_values`): public values of
type `URL` and `10320/loc` become its locations, by the rules for all locations; the other values
are stored.

What must stay true: a location that promised a digest is removed only if the bytes are kept
(section 3.6.2 of the PDI draft, by `perdure.policy.binding`); an unchanged value keeps its time.
"""

from __future__ import annotations

from operator import attrgetter

from msgspec.structs import replace

from perdure.errors import Conflict
from perdure.errors.conflicts import HandleHasBytes, HandleNotMutable, IndexTaken, NameWithdrawn
from perdure.ids import Identifier
from perdure.model.commands import Outcome
from perdure.model.records import Location, Record, Tombstone, Value
from perdure.policy import binding, templates
from perdure.policy.handles import loc, namespace, values
from perdure.policy.handles.addresses import read_address
from perdure.policy.handles.values import is_secret, is_url

_by_index = attrgetter("index")
DELETED = "deleted by an administrator of the handle"
"""The reason that marks a handle that may be created again, unlike a withdrawn one."""


def put_values(
    current: tuple[Value, ...], sent: tuple[Value, ...], *, whole: bool, granted_by: str = ""
) -> tuple[Value, ...]:
    """The values after a write: with `whole` only the sent ones, else all, with the sent ones.

    A secret that the client sends back as it was shown, or that a file has as it was exported, does
    not change: it still depends on the token by which it was written. A new one is marked with the
    name of that token, `granted_by`, unless a file says another.
    """
    if whole and not any(map(is_secret, sent)):
        return tuple(sorted({one.index: one for one in sent}.values(), key=_by_index))
    before = {one.index: one for one in current}
    kept = {} if whole else dict(before)
    for one in sent:
        held = before.get(one.index)
        if is_secret(one):
            same = held is not None and is_secret(held) and one.data in ("", held.data)
            if not one.data and not same:
                continue
            if held is not None and same:
                one = replace(one, data=held.data, granted_by=held.granted_by)
            else:
                giver = granted_by or one.granted_by
                one = replace(one, granted_by=giver)
        kept[one.index] = one
    return tuple(kept[index] for index in sorted(kept))


def remove_values(current: tuple[Value, ...], indexes: frozenset[int]) -> tuple[Value, ...]:
    """The values without those with some indexes."""
    return tuple(one for one in current if one.index not in indexes)


def assign_values(
    identifier: Identifier, record: Record, new: tuple[Value, ...], at: str, by: str
) -> tuple[Record, Outcome]:
    """Give a record exactly these values. Raises InvalidRequest, TooLarge or Conflict."""
    _check_values(new)
    if record.tombstone:
        raise NameWithdrawn(identifier=str(identifier))
    if not record.values and not record.locations:
        return _give_values(identifier, record, new, at)
    private = values.find_private_addresses(record.values) | values.find_private_addresses(new)
    changed = _set_locations(identifier, record, _find_places(new), private, at, by)
    held = values.list_values(record)
    dated = _date_values({one.index: one for one in held}, new, at)
    changed = replace(changed, values=dated)
    same = changed.locations == record.locations and dated == held
    return (record, Outcome.UNCHANGED) if same else (changed, Outcome.CHANGED)


def _give_values(
    identifier: Identifier, record: Record, new: tuple[Value, ...], at: str
) -> tuple[Record, Outcome]:
    """Do the same for a record that has neither values nor locations."""
    if not new:
        return record, Outcome.UNCHANGED
    places = tuple(place or Location(uri=uri) for uri, place in _find_places(new).items())
    if places:
        record, _ = binding.bind_locations(identifier, record, places)
    dated = tuple([replace(one, at=at) for one in sorted(new, key=_by_index)])
    return replace(record, values=dated), Outcome.CHANGED


def join_values(identifier: Identifier, record: Record, more: tuple[Value, ...]) -> Record:
    """Add values to a record, and the locations that they name.

    Raises Conflict if an index gets a second value, and the same errors as `assign_values`.
    """
    held = {one.index: one for one in record.values}
    for one in more:
        before = held.setdefault(one.index, one)
        if (before.type, before.format, before.data) != (one.type, one.format, one.data):
            raise IndexTaken(identifier=str(identifier), index=one.index, value_type=before.type)
    new = tuple(held[index] for index in sorted(held))
    _check_values(new)
    known = {one.uri for one in record.locations}
    places = _find_places(new)
    added = tuple(place or Location(uri=uri) for uri, place in places.items() if uri not in known)
    if added:
        record, _ = binding.bind_locations(identifier, record, added)
    return replace(record, values=new)


def _check_values(new: tuple[Value, ...]) -> None:
    """Raise InvalidRequest or TooLarge if values cannot be stored or applied."""
    values.check_values(new)
    for one in new:
        if one.type == values.TEMPLATE:
            templates.read_record_template(one.data)
        elif one.type == namespace.TYPE:
            namespace.Namespace.read_xml(one.data)


def _find_places(new: tuple[Value, ...]) -> dict[str, Location | None]:
    """The addresses in the public values, each with its location from a `10320/loc`.

    It is None for an address that is only in a `URL`.
    """
    public = [one for one in new if one.type in values.LOCATING and values.is_public(one)]
    found: dict[str, Location | None] = {}
    for one in public:
        if one.type == loc.TYPE:
            found |= {location.uri: location for location in values.list_locations(one)}
    for one in public:
        if is_url(one) and (address := read_address(one.data)) is not None:
            found.setdefault(address, None)
    return found


def _set_locations(
    identifier: Identifier,
    record: Record,
    places: dict[str, Location | None],
    private: set[str],
    at: str,
    by: str,
) -> Record:
    """Give a record locations at exactly these addresses. `private` must not be named anywhere."""
    kept = {one.uri: one for one in record.locations}
    said = _find_places(record.values)  # unchanged values do not undo later bindings
    bound = [
        replace(kept[uri], weight=place.weight, region=place.region)
        if place is not None and uri in kept
        else place or Location(uri=uri)
        for uri, place in places.items()
        if uri not in kept or (place is not None and place != said.get(uri))
    ]
    changed = record
    if bound:
        changed, _ = binding.bind_locations(identifier, record, tuple(bound))
    for location in record.locations:
        if location.uri not in places:
            binding.plan_break(identifier, changed, location, None)  # refuses to lose bytes
            if location.uri in private:  # the reason of a break is public
                others = tuple(one for one in changed.locations if one != location)
                changed = replace(changed, locations=others)
            else:
                changed = binding.break_location(changed, location, by, at)
    return changed


def _date_values(before: dict[int, Value], new: tuple[Value, ...], at: str) -> tuple[Value, ...]:
    def date_value(one: Value) -> Value:
        held = before.get(one.index)
        if held is not None and held == replace(one, at=held.at):
            return held
        return replace(one, at=at)

    return tuple(date_value(one) for one in sorted(new, key=_by_index))


# deleting, if it is allowed
# --------------------------


def is_mutable(prefix: str, mutable: tuple[str, ...]) -> bool:
    """Return True if handles with this prefix can be deleted and created again."""
    return prefix.lower() in mutable


def refuse_deletion(identifier: Identifier) -> Conflict:
    """The error for a handle that is not deleted: an assigned name stays (PDI section 2.1)."""
    return HandleNotMutable(identifier=str(identifier))


def delete_handle(identifier: Identifier, record: Record, at: str, by: str) -> Record:
    """Delete a handle, and return its record. Raises Conflict if bytes are bound to it."""
    if record.versions:
        raise HandleHasBytes(identifier=str(identifier))
    tombstone = Tombstone(reason=DELETED, at=at, by=by)
    return replace(record, values=(), locations=(), tombstone=tombstone)


def is_deleted(record: Record) -> bool:
    """Return True if a handle was deleted and may be created again."""
    return record.tombstone is not None and record.tombstone.reason == DELETED


def revive_handle(record: Record) -> Record:
    """The record of a deleted handle that is created again."""
    return replace(record, tombstone=None)
