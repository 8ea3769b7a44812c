"""Whether captures of one second are the same bytes, where nothing recorded says so.

How it works: ARC files and some WARC files have no payload digests. Where a reference fits several
captures and it is not known of all of them what they hold, the few that it is not known of are
read, and get the digest that a WARC writer would have recorded: the SHA-1 of the entity, without
its chunks, in base 32.

What must stay true: digests that were recorded are left as they are; what cannot be read, or not
in reasonable time, stays unknown, and so stays different from all others.
"""

from __future__ import annotations

import base64
import hashlib
from contextlib import closing

import msgspec

from perdure.archives.port import ArchiveFiles, Capture
from perdure.archives.pwid.verdict import Judgement
from perdure.errors import Corrupt, NotFound, OverBudget, Unavailable

MOST_COMPARED = 16
"""Captures; where there are more, they are a choice anyhow."""
LARGEST_COMPARED = 16 << 20
"""Bytes of one of them."""


def compared(files: ArchiveFiles, judgement: Judgement) -> Judgement:
    """The same judgement; what the captures that fit hold is known, as far as it can be."""
    fits = judgement.fits
    if not judgement.is_ambiguous or len(fits) > MOST_COMPARED or all(one.digest for one in fits):
        return judgement
    known = tuple(one if one.digest else _with_digest(files, one) for one in fits)
    given = known[0] if judgement.capture == fits[0] else judgement.capture
    return msgspec.structs.replace(judgement, fits=known, capture=given)


def _with_digest(files: ArchiveFiles, capture: Capture) -> Capture:
    if capture.kind == "revisit":  # what it holds, its original does
        return capture
    sha1, length = hashlib.sha1(usedforsecurity=False), 0
    try:
        with closing(files.open(capture)) as record:
            for piece in record.unchunked():
                length += len(piece)
                if length > LARGEST_COMPARED:
                    return capture
                sha1.update(piece)
    except (Corrupt, NotFound, OverBudget, Unavailable):
        return capture
    digest = f"sha1:{base64.b32encode(sha1.digest()).decode()}"
    return msgspec.structs.replace(capture, digest=digest)
