"""Make PWIDs from the properties of a capture, and write them in the dialect that you need.

How it works: `make_pwid` composes the canonical text and parses it, so that every PWID it makes can
be parsed. `write_pwid` spells a PWID as a draft does, and returns the text only if that draft's
grammar accepts it and it means the same.

>>> made = make_pwid("archive.org", "2016-01-22T11:20:29Z", "page", "http://www.dr.dk")
>>> str(made)
'pwid:archive.org:2016-01-22T11.20.29Z:page:http://www.dr.dk'
>>> write_pwid(made, "urn-09"), write_pwid(made, "draft-00")  # doctest: +NORMALIZE_WHITESPACE
('urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk',
 'pwid:archive.org:2016-01-22T11.20.29Z_page:http://www.dr.dk')

What must stay true: an item is the URI that was archived; only characters that no URI can contain,
such as a space or a vertical bar, are escaped in a PWID; see `spell_item`.
"""

from __future__ import annotations

import re
from urllib.parse import quote

from perdure.errors.captures import NotExpressible
from perdure.ids import pwid as pwids
from perdure.ids.pwid import Pwid
from perdure.ids.pwid_dialects import DIALECTS

URN = "urn"
"""The dialect that IANA registered; its grammar is that of urn-09."""
_SAYABLE = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) not in '"<>[\\]^`{|}')
"""The visible characters that a URI can contain anywhere (RFC 3986 appendix A)."""
_LITERAL = re.compile(r"(?<=//)(?:[^/?#@]*@)?\[[0-9A-Za-z.:%]*\]")
"""The part of an authority with an IP literal, which alone may have brackets."""
_OF_DRAFT_00 = {"collection": "coll", "recording": "rec"}


def make_pwid(archive: str, at: str, coverage: str, item: str) -> Pwid:
    """Make the PWID of a capture.

    `at` is a time in the form of the W3C or of a PWID, or 14 digits. The PWID is as precise as the
    time: minutes and seconds may be missing. Raises MalformedIdentifier.
    """
    time = at.strip()
    if time.isascii() and time.isdigit() and len(time) == len("20160122112029"):
        time = f"{time[:4]}-{time[4:6]}-{time[6:8]}T{time[8:10]}.{time[10:12]}.{time[12:]}Z"
    text = f"pwid:{archive}:{time}:{coverage}:{spell_item(item)}"
    return pwids.parse_pwid(str(pwids.parse_pwid(text)))


def spell_item(item: str) -> str:
    """Escape an item so that a PWID can contain it.

    >>> spell_item('http://www.dr.dk/søg?q="a b"&%41')
    'http://www.dr.dk/s%C3%B8g?q=%22a%20b%22&%41'
    >>> spell_item("http://[2001:db8::1]/css?family[]=A|B")
    'http://[2001:db8::1]/css?family%5B%5D=A%7CB'
    """
    literal = _LITERAL.search(item)
    start, end = literal.span() if literal and "/" not in item[: literal.start() - 2] else (0, 0)
    return "".join(
        (
            quote(item[:start], safe=_SAYABLE, errors="surrogatepass"),
            item[start:end],
            quote(item[end:], safe=_SAYABLE, errors="surrogatepass"),
        )
    )


def write_pwid(pwid: Pwid, dialect: str) -> str:
    """Write a PWID as a draft spells it. Raises InvalidRequest if its grammar cannot express it."""
    name = "urn-09" if dialect == URN else dialect
    text = _spell_pwid(pwid, name)
    if text is None:
        able = tuple(other for other in DIALECTS if _spell_pwid(pwid, other) is not None)
        raise NotExpressible(dialect=dialect, able=able)
    return text


def _spell_pwid(pwid: Pwid, dialect: str) -> str | None:
    for text in _list_spellings(pwid, dialect):
        try:
            read = pwids.parse_pwid(text)
        except ValueError:
            continue
        if read.is_valid(dialect) and read == pwid:
            return text
    return None


def _list_spellings(pwid: Pwid, dialect: str) -> tuple[str, ...]:
    head, colons = pwid.archive, pwid.time
    dots = colons.replace(":", ".")
    if dialect == "draft-00":
        coverage = _OF_DRAFT_00.get(pwid.coverage or "", pwid.coverage)
        return (f"pwid:{head}:{dots}{f'_{coverage}' if coverage else ''}:{pwid.item}",)
    if dialect.startswith("draft-"):
        return (str(pwid),)
    if dialect in {"urn-00", "urn-01", "urn-02", "urn-03"}:  # these do not escape anything
        return (f"urn:pwid:{head}:{colons}:{pwid.coverage}:{pwid.item}",)
    return pwid.urn, pwid.urn.replace("Z:", ":", 1)  # urn-04 has no `Z` after a day
