"""The public values of a handle as JSON, without ASGI.

How it works: the functions of the plain way list the values and write their JSON. The header is the
same for all handles whose values may be cached as long, except for two fields: it is split once
around them (`_make_frame`).

What must stay true: an answer from here is the same, byte for byte, as the plain way's.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from perdure.errors import PerdureError
from perdure.ids.plain_names import read_plain_name
from perdure.model.records import Record
from perdure.policy.handles import names
from perdure.server.apis.handle_codes import HandleCode, write_body
from perdure.server.apis.handles import answer_values, find_public
from perdure.server.common.answers import write_answer
from perdure.server.common.conditions import add_entity_tag, make_body_tag

_MOST_FRAMES = 64  # there is one for each time to live
_NOT_SIMPLE = "?#@*%"


def find_key(handle: str) -> str | None:
    """Return the key of a handle as it is written in a target, or None if it must be decoded."""
    if names.is_pdi(handle):
        return None
    plain = read_plain_name(name_handle(handle))
    if plain is not None:
        return plain.key
    if any(mark in handle for mark in _NOT_SIMPLE):
        return None
    try:
        return names.read_handle(handle).key
    except PerdureError:
        return None


def name_handle(handle: str) -> str:
    """Return the handle with the label of its scheme."""
    return f"{'doi' if handle.startswith('10.') else 'hdl'}:{handle}"


def write_values(handle: str, record: Record, *, fresh: int) -> bytes | None:
    """Write the answer to a GET of a handle, or return None if the plain way must answer.

    `fresh` is the setting `fresh_seconds`.
    """
    public = find_public(record, fresh=fresh)
    if public is None:
        return None
    if not public.values or not public.fresh:
        return write_answer(add_entity_tag(answer_values(handle, public.values, public.fresh)))
    body = write_body(HandleCode.SUCCESS, {"handle": handle, "values": public.values})
    media_type, before, between, behind = _make_frame(public.fresh)
    tag = make_body_tag(media_type, body)
    return b"%s%d%s%s%s%s" % (before, len(body), between, tag, behind, body)


class _Frame(NamedTuple):
    media_type: bytes
    before: bytes
    """The header before the length of the body."""
    between: bytes
    """The header between the length and the entity tag."""
    behind: bytes


@lru_cache(_MOST_FRAMES)
def _make_frame(fresh: int) -> _Frame:
    """Split the header of an answer around the length and the entity tag of its body."""
    answer = add_entity_tag(answer_values("", [], fresh))
    fields = dict(answer.fields)
    head = write_answer(answer).removesuffix(answer.body)
    tag = fields[b"etag"]
    before, _, rest = head.partition(b"content-length: %d\r\n" % len(answer.body))
    between, _, behind = rest.partition(tag)
    return _Frame(fields[b"content-type"], before + b"content-length: ", b"\r\n" + between, behind)
