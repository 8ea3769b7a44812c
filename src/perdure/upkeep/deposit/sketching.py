"""Sketches of texts: few numbers of each, so that nearly equal texts have most of them in common.

How it works: of the winnowed fingerprints of a text (`perdure.upkeep.quotations`), the lowest are
kept. The share of equal ones among them estimates the share of equal passages (Broder's bottom-k
sketch).

What must stay true: the sketch depends on the words of the text only.
"""

from __future__ import annotations

import os
from pathlib import Path

from perdure import formats
from perdure.upkeep.deposit.taking import FileKind

_PRINTS = 48
_LARGEST = 4 << 20
"""Bytes of the longest text that is compared."""
_SMALLEST = 200
"""Bytes of the shortest text that is compared; shorter ones have too few prints."""
_FEWEST = 8
"""Prints below which two texts are alike by chance."""


def sketch_text(path: Path, kind: FileKind, size: int) -> list[int]:
    """The sketch of a text file; empty if it is not text, too short, or too long."""
    if (
        not kind.charset
        or not _SMALLEST <= size <= _LARGEST
        or not formats.is_text(kind.media_type)
    ):
        return []
    import numpy as np

    from perdure.upkeep.quotations.fingerprints import CHARACTERS, WORDS, find_fingerprints
    from perdure.upkeep.quotations.words import fold_text

    codec = formats.find_python_codec(kind.charset)
    if codec is None:
        return []
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, "rb") as file:
            text = file.read(_LARGEST).decode(codec, "replace")
    except (OSError, LookupError):
        return []
    words = fold_text(text)
    found = [
        find_fingerprints(words.words, WORDS).prints,
        find_fingerprints(words.characters, CHARACTERS).prints,
    ]
    prints = np.unique(np.concatenate(found))[:_PRINTS]
    return [] if len(prints) < _FEWEST else [int(one) for one in prints]
