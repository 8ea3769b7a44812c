"""Convert PWIDs to the addresses at which archives play them back, and addresses to PWIDs. Pure.

How it works: an archive's addresses follow a pattern with slots: `{time}` for 14 digits, `{uri}`
for the archived URI, `{collection}` if the archive is divided. With its slots filled, a pattern is
an address; as a regular expression, it parses one.

>>> pattern = Pattern(url="https://web.archive.org/web/{time}/{uri}")
>>> fill_pattern(pattern.url, time="20160122112029", uri="http://www.dr.dk")
'https://web.archive.org/web/20160122112029/http://www.dr.dk'
>>> read_address(pattern, "http://web.archive.org/web/20160122112029im_/http://www.dr.dk/a.gif#x")
PlaybackAddress(time='20160122112029', uri='http://www.dr.dk/a.gif#x', part=True, collection='')

What must stay true: the archived URI is unchanged in an address, except for characters that no
address can contain; no pattern has a slot in its host, so that every identifier leads to an archive
of the registry.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote

import msgspec

from perdure.errors.configuring import EntryFault
from perdure.ids.pwid import Pwid

SLOTS = frozenset(("time", "uri", "collection", "pwid"))
_SLOT = re.compile(r"\{([a-z]*)\}")
_COLLECTION = "[A-Za-z0-9][A-Za-z0-9._~-]*"
_VISIBLE = "".join(map(chr, range(0x21, 0x7F)))
_MARKED = re.compile(r"\{time\}[a-z]{2}_")
_PAGE_MARKS = frozenset(("", "mp_", "if_", "fw_", "tf_"))
"""Marks after the time that mean a page: none, or those of pywb's frames. All others (`id_` as
recorded, `im_` an image, `js_`, `cs_` …) mean a single file."""
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_ONE_SLASH = re.compile(r"(https?|ftp):/(?!/)", re.IGNORECASE)
_DAY = re.compile("(?:[0-9]{4}(?:-[0-9]{2}(?:-[0-9]{2})?)?)?", re.ASCII)
_DOMAIN = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]")


class Pattern(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """One form of an archive's addresses, and the period in which it was valid."""

    url: str
    raw: str = ""
    """The form for records as captured, if the archive has such addresses."""
    since: str = ""
    """First day, month or year in which it was valid; empty if unknown."""
    until: str = ""
    """Last day, month or year in which it was valid; `?` if it ended at an unknown time."""
    seen: str = ""
    """When it was last seen in a list, if that is long ago."""
    collection: str = ""
    """The default value of the slot `{collection}`."""

    def is_valid_on(self, day: str) -> bool:
        """Return whether addresses had this form on a day, `2026-11-21`, both ends included.

        >>> old = Pattern(url="https://a/{time}/{uri}", since="2009", until="2018-05")
        >>> [old.is_valid_on(day) for day in ("2008-12-31", "2018-05-31", "2018-06-01")]
        [False, True, False]
        """
        begun = self.since <= day[: len(self.since)]
        ended = self.until == "?" or self.until < day[: len(self.until)]
        return begun and not ended


class PlaybackAddress(msgspec.Struct, frozen=True):
    """The parts of a playback address."""

    time: str
    """14 digits."""
    uri: str
    part: bool
    """Whether the address means a single file, not a page."""
    collection: str


def format_digits(pwid: Pwid) -> str | None:
    """Return the time in 14 digits; None if it is less precise, so that it names no capture."""
    if pwid.precision in {"second", "fraction"}:
        return re.sub("[^0-9]", "", pwid.time)[:14]
    return None


def is_uri(item: str) -> bool:
    """Return whether an item is a URI, not an archive's own name, which has no colon."""
    return ":" in item


def fill_pattern(
    pattern: str, *, time: str = "", uri: str = "", collection: str = ""
) -> str | None:
    """Return an address of this pattern; None if there is no value for one of its slots."""
    values = {"time": time, "uri": quote(uri, safe=_VISIBLE), "collection": collection}
    if not all(values.get(slot) for slot in _SLOT.findall(pattern)):
        return None
    return _SLOT.sub(lambda slot: values[slot[1]], pattern)


def read_address(pattern: Pattern, url: str) -> PlaybackAddress | None:
    """Parse an address of this pattern; None if it has another pattern.

    `http` and `https` count as the same, because no two archives differ only by that.
    """
    if pattern.raw and (found := _compile_pattern(pattern.raw).fullmatch(url)):
        return _make_address(found, part=True)
    found = _compile_pattern(pattern.url).fullmatch(url)
    return _make_address(found, part=found["mark"] not in _PAGE_MARKS) if found else None


def measure_specificity(pattern: Pattern) -> int:
    """Return the fixed characters of a pattern: if two patterns match, the larger number wins."""
    return len(_SLOT.sub("", pattern.url))


def make_standard_form(pwid: Pwid) -> str | None:
    """Return the address at which draft-04 section 5 asks archives to resolve their own PWIDs.

    The item is escaped, so that `&` or `#` in it do not end it. The result is None if the archive's
    id is not a domain, for example if it is an IP address.

    >>> from perdure.ids import parse
    >>> make_standard_form(parse("pwid:a.example:2016-01-22T11.20.29Z:page:http://www.dr.dk/?a=1&b"))
    'https://a.example/pwid?time=2016-01-22T11:20:29Z&coverage=page&item=http%3A%2F%2Fwww.dr.dk%2F%3Fa%3D1%26b'
    """
    if not _DOMAIN.fullmatch(pwid.archive):
        return None
    coverage = f"&coverage={pwid.coverage}" if pwid.coverage else ""
    item = quote(pwid.item, safe="")
    return f"https://{pwid.archive}/pwid?time={quote(pwid.time, safe=':')}{coverage}&item={item}"


class ArchiveFault(NamedTuple):
    """The fault of an entry in a list of archives."""

    fault: EntryFault
    address: str = ""
    """The address with slots that is at fault, if it is one."""
    slots: tuple[str, ...] = ()
    """The slots that are allowed, or that are missing."""


def find_dating_fault(pattern: Pattern) -> ArchiveFault | None:
    """Find the fault in the dates of a pattern; None if they are valid."""
    until = "" if pattern.until == "?" else pattern.until
    if all(_DAY.fullmatch(one) for one in (pattern.since, until, pattern.seen)):
        return None
    return ArchiveFault("dates")


def find_fault(pattern: str, *, needed: frozenset[str] = frozenset()) -> ArchiveFault | None:
    """Find the fault of a pattern; None if it is valid."""
    host = re.match(r"https?://([^/{}\s]+)/", pattern)
    slots = _SLOT.findall(pattern)
    if host is None or not pattern.isascii() or not pattern.isprintable() or " " in pattern:
        return ArchiveFault("address", pattern)
    if set("{}") & set(_SLOT.sub("", pattern)) or not set(slots) <= SLOTS:
        return ArchiveFault("slot-unknown", pattern, tuple(sorted(SLOTS)))
    if len(set(slots)) < len(slots):
        return ArchiveFault("slot-twice", pattern)
    missing = sorted(needed - set(slots))
    return ArchiveFault("slot-missing", pattern, (missing[0],)) if missing else None


@lru_cache(maxsize=512)
def _compile_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a pattern to a regular expression for its addresses."""
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


def _make_address(found: re.Match[str], *, part: bool) -> PlaybackAddress:
    uri = _ONE_SLASH.sub(r"\1://", found["uri"], count=1)
    if not _SCHEME.match(uri) or re.match(r"[^/:]+:[0-9]+(?:/|\Z)", uri):
        uri = f"http://{uri}"  # the scheme that archives assume if there is none
    collection = found.groupdict().get("collection") or ""
    return PlaybackAddress(found["time"], uri, part, collection)
