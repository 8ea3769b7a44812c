"""The location to which a record leads every reader, from its stored form. Pure.

How it works: nearly all records of a registry have one location, and lead to it whatever the reader
accepts, wherever he is, and whichever locations are dead. For those, `find_sole_location` gives the
result of `perdure.policy.decide.decide_step` in a tenth of its time: of a location line it reads
four fields, of any other record it looks at the locations, and at those values of a handle that
could change the choice.

What must stay true: for every record and every day, the result is what `decide_step` decides for
readers, or None.
"""

from __future__ import annotations

from perdure.model import stored
from perdure.model.records import Record, Value
from perdure.policy.handles import loc
from perdure.policy.handles.values import ALIAS, URL, is_public, is_url

CHOOSING = frozenset((URL, ALIAS, loc.TYPE.upper()))
"""Types of values, in upper case, that state locations or lead to another handle."""
SoleLocation = tuple[str, int | None]
"""A URI, and the time in seconds for which a redirect to it may be cached; None for the setting."""


def find_sole_location(
    text: str, version: str | None, format: str | None, day: str
) -> SoleLocation | None:
    """Return the location to which the record with the stored form `text` leads on a day.

    Version and format are those of the name; a day is written `2026-11-21`, and empty if it does
    not matter. Return None for every record that has bytes, several locations, or a location that
    may have another version or format. Raises what `perdure.model.stored.decode_stored` raises.
    """
    if text[0] not in stored.NO_LOCATION:
        _, of_version, of_format, uri = text.split(" ", stored.URI)  # as `split_location_line`
        if version is not None and of_version != version and of_version != stored.NONE:
            return None
        if format is not None and of_format != format and of_format != stored.NONE:
            return None
        return uri, None
    if text[0] == stored.DOCUMENT:
        return None
    return find_in_record(stored.decode_stored(text), version, format, day)


def find_in_record(
    record: Record, version: str | None, format: str | None, day: str
) -> SoleLocation | None:
    """Return the location to which a decoded record leads on a day, or None as above."""
    if record.tombstone is not None or record.versions or len(record.locations) != 1:
        return None
    (location,) = record.locations
    if version is not None and location.version is not None and str(location.version) != version:
        return None
    if format is not None and location.format and location.format != format:
        return None
    if not location.is_valid(day):
        return None
    choosing = [one for one in record.values if one.type.upper() in CHOOSING]
    if not choosing:
        return location.uri, None
    if len(choosing) == 1 and _states_plainly(choosing[0], location.uri):
        return location.uri, choosing[0].ttl
    return None


def _states_plainly(value: Value, uri: str) -> bool:
    return is_url(value) and value.data == uri and is_public(value)
