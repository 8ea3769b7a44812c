"""Compare captures of one second by their bytes, if they have no recorded digests.

How it works: ARC files and some WARC files have no payload digests. If a reference fits several
captures and some of them lack a digest, these are read, and get the digest that a WARC writer would
have recorded: the SHA-1 of the entity, without its chunks, in base 32.

What must stay true: recorded digests are not changed; a capture that cannot be read, or not in
reasonable time, keeps no digest, and so counts as different from all others.
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
    sha1, length = hashlib.sha1(usedforsecurity=False), 0
    try:
        with closing(files.open_record(capture)) as record:
            for piece in record.read_unchunked():
                length += len(piece)
                if length > LARGEST_COMPARED:
                    return capture
                sha1.update(piece)
    except (Corrupt, NotFound, OverBudget, Unavailable):
        return capture
    digest = f"sha1:{base64.b32encode(sha1.digest()).decode()}"
    return msgspec.structs.replace(capture, digest=digest)
