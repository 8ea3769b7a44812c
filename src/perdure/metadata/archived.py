"""The actionable form of a reference to archived web material, as far as its text alone gives it.

How it works: the archive at archive.org plays what it has at an address made of time and item, in
every place of the world. What other archives do, `perdure.archives` knows where it is asked.

What must stay true: an address is made, never guessed: of any other archive the PWID itself is
given, in its registered form.
"""

from __future__ import annotations

import re

from perdure.ids.pwid import Pwid

_WAYBACK = frozenset(("archive.org", "web.archive.org"))


def playback(pwid: Pwid) -> str:
    """The address that plays a PWID, or the PWID as a URN.

    >>> from perdure.ids.pwid import parse
    >>> playback(parse("pwid:archive.org:2016-01-22T11.20.29Z:page:http://www.dr.dk"))
    'https://web.archive.org/web/20160122112029/http://www.dr.dk'
    """
    if pwid.archive not in _WAYBACK or "://" not in pwid.item:
        return pwid.urn
    digits = re.sub("[^0-9]", "", pwid.time)[:14]
    return f"https://web.archive.org/web/{digits}/{pwid.item}"
