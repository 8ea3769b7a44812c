"""From a PWID to the address at which an archive plays it back, and from such an address to a PWID.

How it works: an archive's addresses follow a pattern with slots: `{time}` for 14 digits, `{uri}`
for what was archived, `{collection}` where the archive is divided. Filled in, a pattern is an
address; turned into a regular expression, it reads one. Pure.

>>> pattern = Pattern(url="https://web.archive.org/web/{time}/{uri}")
>>> fill(pattern.url, time="20160122112029", uri="http://www.dr.dk")
'https://web.archive.org/web/20160122112029/http://www.dr.dk'
>>> read(pattern, "http://web.archive.org/web/20160122112029im_/http://www.dr.dk/a.gif#x")
Played(time='20160122112029', uri='http://www.dr.dk/a.gif#x', part=True, collection='')

What must stay true: the archived URI goes into an address and comes out of it as it is, but for
characters that no address can have; no pattern has a slot in its host, so that no identifier can
lead anywhere but to an archive of the registry.
"""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import quote

import msgspec

from perdure.ids.pwid import Pwid

SLOTS = frozenset(("time", "uri", "collection", "pwid"))
_SLOT = re.compile(r"\{([a-z]*)\}")
_COLLECTION = "[A-Za-z0-9][A-Za-z0-9._~-]*"
_VISIBLE = "".join(map(chr, range(0x21, 0x7F)))
_MARKED = re.compile(r"\{time\}[a-z]{2}_")
_PAGE_MARKS = frozenset(("", "mp_", "if_", "fw_", "tf_"))
"""What stands behind the time where a page is wanted: nothing, pywb's frames. All else (`id_` as
it was recorded, `im_` an image, `js_`, `cs_` …) is a single file."""
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_ONE_SLASH = re.compile(r"(https?|ftp):/(?!/)", re.IGNORECASE)
_DAY = re.compile("(?:[0-9]{4}(?:-[0-9]{2}(?:-[0-9]{2})?)?)?", re.ASCII)
_DOMAIN = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]")


class Pattern(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """One form of an archive's addresses, and when it was valid."""

    url: str
    raw: str = ""
    """The same for the record as it was recorded, where the archive has such addresses."""
    since: str = ""
    """The day, month or year from which on it was valid; empty where nobody knows."""
    until: str = ""
    """… and to which; `?` where it is known only that it no longer is."""
    seen: str = ""
    """When it was last seen in a list, where that is long ago."""
    collection: str = ""
    """What is filled into its slot where nothing else was chosen."""

    def is_valid_on(self, day: str) -> bool:
        """Whether addresses had this form on a day, `2026-11-21`, both ends included.

        >>> old = Pattern(url="https://a/{time}/{uri}", since="2009", until="2018-05")
        >>> [old.is_valid_on(day) for day in ("2008-12-31", "2018-05-31", "2018-06-01")]
        [False, True, False]
        """
        begun = self.since <= day[: len(self.since)]
        ended = self.until == "?" or self.until < day[: len(self.until)]
        return begun and not ended


class Played(msgspec.Struct, frozen=True):
    """What an address says."""

    time: str
    """14 digits."""
    uri: str
    part: bool
    """Whether it asks for a single file rather than for a page."""
    collection: str


def digits(pwid: Pwid) -> str | None:
    """The time in 14 digits; None where it is coarser than a second and names no single capture."""
    if pwid.precision in {"second", "fraction"}:
        return re.sub("[^0-9]", "", pwid.time)[:14]
    return None


def is_uri(item: str) -> bool:
    """Whether an item is a URI rather than an archive's own name, which has no colon."""
    return ":" in item


def fill(pattern: str, *, time: str = "", uri: str = "", collection: str = "") -> str | None:
    """An address of this pattern; None where a slot has nothing to be filled with."""
    values = {"time": time, "uri": quote(uri, safe=_VISIBLE), "collection": collection}
    if not all(values.get(slot) for slot in _SLOT.findall(pattern)):
        return None
    return _SLOT.sub(lambda slot: values[slot[1]], pattern)


def read(pattern: Pattern, url: str) -> Played | None:
    """What an address says if it has this pattern, else None.

    `http` and `https` are not told apart: no two archives differ by that alone.
    """
    if pattern.raw and (found := _regex(pattern.raw).fullmatch(url)):
        return _played(found, part=True)
    found = _regex(pattern.url).fullmatch(url)
    return _played(found, part=found["mark"] not in _PAGE_MARKS) if found else None


def specificity(pattern: Pattern) -> int:
    """How much of an address a pattern determines: of two that match, the larger is meant."""
    return len(_SLOT.sub("", pattern.url))


def standard_form(pwid: Pwid) -> str | None:
    """Where draft-04 section 5 would like archives to resolve PWIDs themselves, escaped so that an
    item with `&` or `#` stays one item.

    None where the archive's id is no domain, or names a host that is no archive's: an address.

    >>> from perdure.ids.pwid import parse
    >>> standard_form(parse("pwid:a.example:2016-01-22T11.20.29Z:page:http://www.dr.dk/?a=1&b"))
    'https://a.example/pwid?time=2016-01-22T11:20:29Z&coverage=page&item=http%3A%2F%2Fwww.dr.dk%2F%3Fa%3D1%26b'
    """
    if not _DOMAIN.fullmatch(pwid.archive):
        return None
    coverage = f"&coverage={pwid.coverage}" if pwid.coverage else ""
    item = quote(pwid.item, safe="")
    return f"https://{pwid.archive}/pwid?time={quote(pwid.time, safe=':')}{coverage}&item={item}"


def dating_fault(pattern: Pattern) -> str | None:
    """What is wrong with what a pattern says of its validity; None where nothing is."""
    until = "" if pattern.until == "?" else pattern.until
    if all(_DAY.fullmatch(one) for one in (pattern.since, until, pattern.seen)):
        return None
    return "since, until and seen are days as in 2018, 2018-05 or 2018-05-31"


def fault(pattern: str, *, needed: frozenset[str] = frozenset()) -> str | None:
    """What is wrong with a pattern that somebody wrote; None where it can be used."""
    host = re.match(r"https?://([^/{}\s]+)/", pattern)
    slots = _SLOT.findall(pattern)
    if host is None or not pattern.isascii() or not pattern.isprintable() or " " in pattern:
        return "it is no http(s) address with a host before its first slot"
    if set("{}") & set(_SLOT.sub("", pattern)) or not set(slots) <= SLOTS:
        return f"a slot is one of {', '.join(sorted(f'{{{slot}}}' for slot in SLOTS))}"
    if len(set(slots)) < len(slots):
        return "a slot stands in it twice"
    missing = sorted(needed - set(slots))
    return f"it lacks {{{missing[0]}}}" if missing else None


@lru_cache(maxsize=512)
def _regex(pattern: str) -> re.Pattern[str]:
    """What reads the addresses of a pattern."""
    host, slash, path = pattern.partition("://")[2].partition("/")
    fields = {
        "time": "(?P<time>[0-9]{14})(?P<mark>(?:[a-z]{2}_)?)",
        "uri": r"(?P<uri>\S.*)",
        "collection": f"(?P<collection>{_COLLECTION})",
        "pwid": "(?P<pwid>.+)",
    }
    if _MARKED.search(path):
        fields["time"] = "(?P<time>[0-9]{14})(?P<mark>)"
    parts = _SLOT.split(path)
    body = "".join(fields[one] if at % 2 else re.escape(one) for at, one in enumerate(parts))
    return re.compile(f"https?://(?i:{re.escape(host)}){slash}{body}", re.ASCII)


def _played(found: re.Match[str], *, part: bool) -> Played:
    uri = _ONE_SLASH.sub(r"\1://", found["uri"], count=1)
    if not _SCHEME.match(uri) or re.match(r"[^/:]+:[0-9]+(?:/|\Z)", uri):
        uri = f"http://{uri}"  # as archives read an address without a scheme
    collection = found.groupdict().get("collection") or ""
    return Played(found["time"], uri, part, collection)
