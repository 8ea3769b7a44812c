"""Compare captures of one second by their bytes, if they have no recorded digests.

How it works: records without a payload digest get one when they are indexed, but an index on
another server, or one of an earlier release, may lack it. If a reference fits several captures and
some of them have no digest, these are read, and get the digest that a WARC writer would have
recorded (`perdure.archives.files.entities`).

What must stay true: recorded digests are not changed; a capture that cannot be read, or not in
reasonable time, keeps no digest, and so counts as different from all others.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import msgspec

from perdure.archives.files.entities import hash_entity
from perdure.archives.port import ArchiveFiles, Capture
from perdure.archives.pwid.verdict import Judgement
from perdure.errors import Corrupt, NotFound, OverBudget, Unavailable

MOST_COMPARED = 16
"""Captures. If there are more, the client must choose in any case."""
LARGEST_COMPARED = 16 << 20
"""Bytes of one capture."""


def compare_fits(files: ArchiveFiles, judgement: Judgement) -> Judgement:
    """Return the same judgement, with digests added to the captures that fit, if possible."""
    fits = judgement.fits
    if not judgement.is_ambiguous or len(fits) > MOST_COMPARED or all(one.digest for one in fits):
        return judgement
    known = tuple(one if one.digest else _add_digest(files, one) for one in fits)
    given = known[0] if judgement.capture == fits[0] else judgement.capture
    return msgspec.structs.replace(judgement, fits=known, capture=given)


def _add_digest(files: ArchiveFiles, capture: Capture) -> Capture:
    if capture.kind == "revisit":  # its payload is in its original
        return capture
    try:
        with closing(files.open_record(capture)) as record:
            digest = hash_entity(_limit_bytes(record.read_entity()))
    except (Corrupt, NotFound, OverBudget, Unavailable, _TooLong):
        return capture
    return msgspec.structs.replace(capture, digest=digest)


class _TooLong(Exception):
    """A capture has more bytes than are compared."""


def _limit_bytes(pieces: Iterator[bytes]) -> Iterator[bytes]:
    length = 0
    for piece in pieces:
        length += len(piece)
        if length > LARGEST_COMPARED:
            raise _TooLong
        yield piece
