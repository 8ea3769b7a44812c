"""Sets in DER: time stamps whose certificates are not in the order that DER prescribes.

How it works: a time stamp (RFC 3161) is a CMS message with a set of certificates. DER sorts a set
by the bytes of its members (ITU-T X.690 section 11.6); openssl writes them as its configuration
lists them, and rfc3161-client reads DER only. `sort_certificates` finds the set and sorts it. It is
not part of what is signed.

What must stay true: the length of a message does not change, and a text of another form is returned
as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

_SEQUENCE = 0x30
_OID = 0x06
_CONTEXT = 0xA0  # [0]
_LONG = 0x80


class _Value(NamedTuple):
    """A value with its header, at [at, stop) of a text; its content begins at `start`."""

    tag: int
    at: int
    start: int
    stop: int


def sort_certificates(stamp: bytes) -> bytes:
    """Sort the certificates in a time stamp, or in the answer of an authority.

    >>> sort_certificates(b"no DER")
    b'no DER'
    """
    token = _read_value(stamp, 0)
    if token is not None and stamp[token.start : token.start + 1] != bytes((_OID,)):
        token = _find_member(stamp, token, _SEQUENCE, 1)  # after the status
    for tag in (_CONTEXT, _SEQUENCE, _CONTEXT):  # content, SignedData, certificates
        token = None if token is None else _find_member(stamp, token, tag)
    if token is None:
        return stamp
    members = [stamp[one.at : one.stop] for one in _walk_members(stamp, token)]
    if sum(map(len, members)) != token.stop - token.start:  # broken
        return stamp
    return stamp[: token.start] + b"".join(sorted(members)) + stamp[token.stop :]


def _find_member(data: bytes, outer: _Value, tag: int, number: int = 0) -> _Value | None:
    """Return a member of a sequence by its tag, counted from 0 among those with this tag."""
    found = [one for one in _walk_members(data, outer) if one.tag == tag]
    return found[number] if number < len(found) else None


def _walk_members(data: bytes, outer: _Value) -> Iterator[_Value]:
    at = outer.start
    while at < outer.stop:
        member = _read_value(data, at)
        if member is None or member.stop > outer.stop:
            return
        yield member
        at = member.stop


def _read_value(data: bytes, at: int) -> _Value | None:
    """Read the header at a place. None if the value is not complete, or its length is not known."""
    head = data[at : at + 2]
    if len(head) < 2:
        return None
    start, length = at + 2, head[1]
    if length >= _LONG:
        start += length - _LONG
        length = int.from_bytes(data[at + 2 : start])
    if start == at + 2 and head[1] >= _LONG:  # of indefinite length
        return None
    stop = start + length
    return _Value(head[0], at, start, stop) if stop <= len(data) else None
