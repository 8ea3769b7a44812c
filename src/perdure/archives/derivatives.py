"""Records that crawlers make of a page they captured: its text, pictures of it, what a script saw.

How it works: browser-based crawlers store them beside the capture, under a URI that ends with the
address of the page (`urn:text:http://a.example/`). They are derived from the capture, so what is
taken down with a page includes them. They have the time at which they were made, which is some
seconds or minutes after that of the capture.

What must stay true: a URI on the Web is never a derivative, even if it ends with another one.

Sources of the names: Browsertrix Crawler (`urn:`), brozzler (`screenshot:`, `thumbnail:`,
`youtube-dl:`), the UK Web Archive's webrender (`imagemap:`, `onreadydom:`, `har:`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from perdure.archives.dates import add_seconds
from perdure.archives.index.ranges import IndexRange

MOST_SECONDS = 3600
"""The time after a capture within which such records are made of it."""
_BEGINNINGS = (
    "har:",
    "imagemap:",
    "onreadydom:",
    "screenshot:",
    "thumbnail:",
    "urn:",
    "youtube-dl:",
)
_DERIVATIVE = re.compile(
    r"(?:urn:[a-z0-9-]+|youtube-dl:[0-9]+|har|imagemap|onreadydom|screenshot|thumbnail):"
    r"(https?://.*)",
    re.IGNORECASE | re.DOTALL,
)


def find_page(uri: str) -> str | None:
    """Return the address of the page from which a record was made, or None for other records.

    >>> find_page("urn:text:http://a.example/"), find_page("http://b.example/http://a.example/")
    ('http://a.example/', None)
    """
    found = None if uri[:4].lower() == "http" else _DERIVATIVE.fullmatch(uri)
    return None if found is None else found[1]


def is_made_by(end: str, time: str) -> bool:
    """Return whether a record of this time may have been made of a capture that ended by `end`.

    Both are 14 digits; `end` may be all nines.
    """
    return time <= end or time <= add_seconds(end, MOST_SECONDS)


def list_ranges() -> Iterator[IndexRange]:
    """Yield the stretches of an index that have all such records, and a few others.

    An index keeps a scheme that is not of the Web as it was written, in capitals, say.
    """
    for name in _BEGINNINGS:
        for one in (name, name.upper(), name.capitalize()):
            yield IndexRange(one, f"{one[:-1]};")
