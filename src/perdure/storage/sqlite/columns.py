"""A page of records, read by columns.

How it works: SQLite joins the values of each column to one text, which is split with one call. To
make three Python objects of each row, and a tuple for them, takes twice as long. The sums of the
records are computed from a column that has their text and their key.

What must stay true: what is returned is sound. Anything unusual (a value of another type, a text
with a line break, a wrong sum, an error of SQLite) gives None, and the rows are then read one by
one, which tells why.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple
from zlib import crc32

import apsw
import msgspec

_PAGE = """
SELECT count(*), total(typeof(key)='text' AND typeof(record)='text'),
    group_concat(key, x'0a'), group_concat(record, x'0a'),
    CAST(group_concat(record||key, x'0a') AS BLOB),
    json_group_array(position), json_group_array(sum)
  FROM (SELECT key, record, position, sum FROM records WHERE key>=? ORDER BY key LIMIT ?)
"""
_BEHIND = "SELECT key FROM records WHERE key>=? ORDER BY key LIMIT 1 OFFSET ?"
_NEXT_CHANGE = """
SELECT key FROM (SELECT key, position FROM records WHERE key>=?1 ORDER BY key LIMIT ?2)
  WHERE position IS NOT (SELECT position FROM records WHERE key=?1) ORDER BY key LIMIT 1
"""
_decode = msgspec.json.Decoder(list[int]).decode
_decode_places = msgspec.json.Decoder(list[int | None]).decode


class Lines(NamedTuple):
    """Records in their stored form, by columns: to go through rows takes twice as long."""

    keys: Sequence[str]
    texts: Sequence[str]
    positions: Sequence[int | None]


def fetch_sound_lines(connection: apsw.Connection, low: str, limit: int) -> Lines | None:
    """At most `limit` records from the key `low` on, in a file in which every row has a sum.

    None if one of them may be damaged.
    """
    try:
        row: Any = connection.execute(_PAGE, (low, limit)).fetchone()
        count, texts_in_it, keys, records, both, places, sums = row
        if not count:
            return Lines((), (), ())
        positions = _decode_places(places)
        found = Lines(keys.split("\n"), records.split("\n"), positions)
        summed = both.split(b"\n")
        if not count == texts_in_it == len(found.keys) == len(found.texts) == len(summed):
            return None
        begun = [(place or 0) & 0xFFFFFFFF for place in positions]
        if [sum >> 1 for sum in map(crc32, summed, begun)] != _decode(sums):
            return None
    except (apsw.Error, UnicodeError, msgspec.MsgspecError):
        return None
    return found


def divide_keys(connection: apsw.Connection, count: int) -> list[str]:
    """At most `count` keys that divide all records into parts of about the same size, in order.

    A part begins with a change if one begins nearby: then all records of the one before are in one
    part, and the check of the changes need not read them again.

    Raises apsw.Error, UnicodeDecodeError.
    """
    size = connection.execute("SELECT count(*) FROM records").get // (count + 1)
    keys = [""]
    for _ in range(count if size else 0):
        found: Any = connection.execute(_BEHIND, (keys[-1], size)).get
        found = connection.execute(_NEXT_CHANGE, (found, size // 2)).get or found
        if not isinstance(found, str) or found <= keys[-1]:  # a damaged key
            break
        keys.append(found)
    return keys[1:]
