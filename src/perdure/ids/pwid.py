"""Persistent Web IDentifiers: names of resources in web archives.

A PWID gives the archive, the time of archiving, the coverage (this file alone, the page with all
its parts …) and the original address of an archived resource. Specifications:
draft-pwid-uri-specification-00 to -04, draft-pwid-urn-specification-00 to -09; IANA registered the
last one as `urn:pwid`.

>>> pwid = parse_pwid("urn:pwid:Archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk/%3Fa")
>>> str(pwid)
'pwid:archive.org:2016-01-22T11.20.29Z:page:http://www.dr.dk/?a'
>>> pwid.archive, pwid.time, pwid.coverage, pwid.item
('archive.org', '2016-01-22T11:20:29Z', 'page', 'http://www.dr.dk/?a')
>>> pwid.urn
'urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk/%3Fa'
>>> pwid.is_valid("draft-04"), pwid.is_valid("urn-09"), parse_pwid(str(pwid)).is_valid("draft-04")
(False, True, True)
>>> parse_pwid("pwid:archive.org:2016-02-30:page:http://a")  # doctest: +ELLIPSIS
Traceback (most recent call last):
perdure.errors.texts.MalformedIdentifier: ... at 25 found '30:page:http://a'; expected ...

How it works: one lenient pattern parses every published dialect. Then a table of strict patterns,
one for each set of drafts with the same grammar, determines which of them the text as written
satisfies (ruling: pwid-dialect).

What must stay true: an item is the archived address, and parsing and writing never change it. The
only exception is the registered URN, which escapes `[ ] ? # %` and nothing else in its item:
parsing removes these escapes, and `urn` adds them again.
"""

from __future__ import annotations

import calendar
import datetime as dt
import re
from typing import ClassVar, Literal

from perdure.errors import MalformedIdentifier
from perdure.errors.captures import UnknownDialect
from perdure.ids import LONGEST, ArchivedItem, Identifier, Label, Scheme
from perdure.ids.keyed import Keyed
from perdure.ids.pwid_dialects import DIALECTS, satisfies_dialect
from perdure.ids.scheme import PlainName
from perdure.ids.strays import find_reach, find_stray

_DRAFT = "draft-pwid-uri-specification-04"
_DRAFT_00 = "draft-pwid-uri-specification-00 section 3"

COVERAGES = ("part", "page", "subsite", "site", "collection", "recording", "snapshot", "other")
_COVERAGES_OF_DRAFT_00 = {"coll": "collection", "rec": "recording"}  # the other four are equal

# the pattern of parse(): every dialect at once
# -----------------------------------------

_UNRESERVED = r"A-Za-z0-9\-._~"
_PCT = "%[0-9A-Fa-f]{2}"
_ARCHIVE = f"(?:[{_UNRESERVED}]|{_PCT})+"  # section 7 of draft-04 allows "percent encodings"

# ruling: pwid-time
_YEAR, _MONTH, _DAY = "(?!0000)[0-9]{4}", "(?:0[1-9]|1[0-2])", "(?:0[1-9]|[12][0-9]|3[01])"
_HH, _MM, _SS = "(?:[01][0-9]|2[0-3])", "[0-5][0-9]", "(?:[0-5][0-9]|60)"
_CLOCK = rf"{_HH}\.?{_MM}(?:\.?{_SS}(?:\.[0-9]+)?)?|{_HH}:?{_MM}(?::?{_SS}(?:\.[0-9]+)?)?"

# An item is a URI or an archive's own name for a resource. Harvesters meet addresses that are not
# strictly URIs, so all visible ASCII characters are accepted, except the marks that delimit a URI
# in text (RFC 3986 appendix C).
_VISIBLE = "[!#-;=?-~]"
_ITEM = re.compile(rf"[A-Za-z][A-Za-z0-9+.\-]*:{_VISIBLE}*|[{_UNRESERVED}]+")
# In draft-00 the coverage is optional. Without it, the text after the time could be a misspelt
# coverage and an item, unless it is an address with "//".
_ADDRESS = r"[A-Za-z][A-Za-z0-9+.\-]*://"

_PWID = re.compile(
    rf"(?P<urn>urn:)?pwid:(?P<archive>{_ARCHIVE})"
    rf":(?:(?P<day>{_YEAR}-{_MONTH}-{_DAY})(?:[T_](?P<clock>{_CLOCK}))?"
    rf"|(?P<span>{_YEAR}(?:-{_MONTH})?))(?P<zone>Z)?"
    rf"(?:_(?P<glued>page|part|coll|snapshot|rec|other)|:(?P<coverage>{'|'.join(COVERAGES)})"
    rf"|(?=:{_ADDRESS})):(?P<item>.+)",
    re.ASCII | re.IGNORECASE,
)

# the usual spelling: a second in UTC, and an address that needs no escapes
_PLAIN_PWID = re.compile(
    rf"(?:urn:)?pwid:([0-9a-z._~-]++:{_YEAR}-{_MONTH}-(?:0[1-9]|1[0-9]|2[0-8])T{_HH})([.:])"
    rf"([0-5][0-9])\2([0-5][0-9]Z:(?:{'|'.join(COVERAGES)}):"
    "https?://[A-Za-z0-9._~:/;=+!$&'(),-]++)",
    re.ASCII,
)

# draft-pwid-urn-specification-06 to -09: "[", "]", "?", "#" and "%" are %-encoded
_ESCAPED_ITEM = re.compile(r"(?:[^%\[\]?#]|%(?:5[BbDd]|3[Ff]|2[35]))*")
_ESCAPE = re.compile(_PCT)
_ESCAPES = str.maketrans({mark: f"%{ord(mark):02X}" for mark in "[]?#%"})

Precision = Literal["year", "month", "day", "minute", "second", "fraction"]
_PRECISIONS: dict[int, Precision] = {
    len("2016"): "year",
    len("2016-01"): "month",
    len("2016-01-22"): "day",
    len("2016-01-22T11:20Z"): "minute",
    len("2016-01-22T11:20:29Z"): "second",
}


class Pwid(Keyed, frozen=True, gc=False):
    """A PWID: archive, time, coverage and item."""

    kind: ClassVar[str] = "pwid"

    archive: str
    """The archive, lower case; an id from a registry of archives begins with `~`."""
    time: str
    """The time of archiving, in the W3C's profile of ISO 8601: `2016-01-22T11:20:29Z`, `2016-01`.
    A fraction of a second is kept as written."""
    coverage: str | None
    """One of `COVERAGES`; None if a PWID of draft-00 has none."""
    item: str
    """The URI as archived, or the archive's own name for the resource."""
    assumed_utc: bool
    """A warning: a time of day without `Z` was read as UTC."""
    written: str

    def __str__(self) -> str:
        coverage = "" if self.coverage is None else f":{self.coverage}"
        return f"pwid:{self.archive}:{self.time.replace(':', '.')}{coverage}:{self.item}"

    @property
    def authority_beginning(self) -> str:
        """The label and the archive."""
        return f"pwid:{self.archive}:"

    @property
    def key(self) -> str:
        """The canonical text, so that an archive's PWIDs are listed by time."""
        return str(self)

    @classmethod
    def from_key(cls, key: str) -> Pwid:
        """Return the PWID that has this key. Raises MalformedIdentifier for other texts."""
        return parse_pwid(key)

    @property
    def urn(self) -> str:
        """The registered form, `urn:pwid:`. It does not allow times without a day, so these are
        written as in urn-04 and urn-05, without a `Z`."""
        zone = "Z" if self.precision == "day" else ""
        coverage = "" if self.coverage is None else f":{self.coverage}"
        item = self.item.translate(_ESCAPES)
        return f"urn:pwid:{self.archive}:{self.time}{zone}{coverage}:{item}"

    @property
    def path(self) -> str:
        """The registered form, in which a `?` of the item cannot begin a query."""
        return self.urn

    @property
    def archived(self) -> ArchivedItem:
        """Archive, time and item."""
        return ArchivedItem(self.archive, self.time, self.item)

    @property
    def precision(self) -> Precision:
        """The smallest unit of the time."""
        return _PRECISIONS.get(len(self.time), "fraction")

    @property
    def instant(self) -> dt.datetime:
        """The beginning of the time, to the microsecond.

        Python has no leap seconds: second 60 becomes the last microsecond of second 59.
        """
        time = self.time + {"year": "-01-01", "month": "-01"}.get(self.precision, "")
        if time[17:19] == "60":
            time = f"{time[:17]}59.999999Z"
        return dt.datetime.fromisoformat(time).replace(tzinfo=dt.UTC)

    @property
    def dialects(self) -> frozenset[str]:
        """The drafts with a grammar that the text as written satisfies: `draft-04`, `urn-09` …"""
        return frozenset(name for name in DIALECTS if self.is_valid(name))

    def is_valid(self, dialect: str) -> bool:
        """Return True if the text as written satisfies the grammar of a draft from `DIALECTS`.

        Raises InvalidRequest if there is no such draft.
        """
        if dialect not in DIALECTS:
            raise UnknownDialect(text=dialect, known=tuple(DIALECTS))
        return satisfies_dialect(dialect, self.written, self.item)


def parse_pwid(text: str) -> Pwid:
    """Read a PWID in any dialect. Raises MalformedIdentifier."""
    match = _PWID.fullmatch(text)
    if match is None:
        raise _find_fault(text)
    day, coverage, item = match["day"], match["coverage"] or match["glued"], match["item"]
    if match["urn"] and _ESCAPED_ITEM.fullmatch(item):
        item = _ESCAPE.sub(lambda escape: chr(int(escape[0][1:], 16)), item)
    if (day and int(day[8:]) > _count_days(day)) or not _ITEM.fullmatch(item):
        raise _find_fault(text)
    if coverage:
        coverage = coverage.lower()
        coverage = _COVERAGES_OF_DRAFT_00.get(coverage, coverage)
    pwid = Pwid(
        archive=_ESCAPE.sub(_unescape_unreserved, match["archive"]).lower(),
        time=_write_iso_time(day, match["clock"]) if day else match["span"],
        coverage=coverage,
        item=item,
        assumed_utc=match["clock"] is not None and match["zone"] is None,
        written=text,
    )
    if len(str(pwid)) > LONGEST:  # the canonical form may add dots, a `Z` and longer words
        raise MalformedIdentifier(
            text=text,
            at=len(text),
            expected=f"a PWID whose canonical form has at most {LONGEST} characters",
            rule="ruling pdi-limits",
        )
    return pwid


def _read_plain_pwid(text: str) -> PlainName | None:
    plain = _PLAIN_PWID.fullmatch(text)
    if plain is None:
        return None
    until_hour, _, minute, rest = plain.groups()
    return PlainName(f"pwid:{until_hour}.{minute}.{rest}", f"urn:pwid:{until_hour}:{minute}:{rest}")


def _count_days(day: str) -> int:
    """Return the number of days in the month of this day."""
    return calendar.monthrange(int(day[:4]), int(day[5:7]))[1]


def _write_iso_time(day: str, clock: str | None) -> str:
    if clock is None:
        return day
    digits = clock.replace(":", "").replace(".", "")
    seconds = f":{digits[4:6]}" if digits[4:] else ""
    fraction = f".{digits[6:]}" if digits[6:] else ""
    return f"{day}T{digits[:2]}:{digits[2:4]}{seconds}{fraction}Z"


def _unescape_unreserved(escape: re.Match[str]) -> str:
    plain = chr(int(escape[0][1:], 16))  # RFC 3986 section 6.2.2.2
    return plain if re.fullmatch(f"[{_UNRESERVED}]", plain) else escape[0]


def _are_equivalent(one: Identifier, other: Identifier) -> bool:
    return one == other  # ruling: pwid-equal


_ENDING = "2016-01-22T11.20.29Z:page:http://x"
"""A beginning may stop anywhere in the archive, the time, the coverage or the item."""

SCHEME = Scheme(
    name=Pwid.kind,
    prefixes=("pwid:", "urn:pwid:"),
    spec=f"{_DRAFT}, draft-pwid-urn-specification-09",
    parse=parse_pwid,
    equivalent=_are_equivalent,
    examples=(
        "pwid:archive.org:2016-01-22T11.20.29Z:page:http://www.dr.dk",
        "urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk",
    ),
    labels=(Label(text="pwid:", datacite_type="PWID"),),
    plain_spellings=(("pwid:", _read_plain_pwid), ("urn:pwid:", _read_plain_pwid)),
    endings=tuple(
        (ending, ending)
        for ending in (*(_ENDING[at:] for at in reversed(range(len(_ENDING)))), f"x:{_ENDING}")
    ),
)


# finding the fault
# ------------------

_OPENING = re.compile("(?:urn:)?pwid:", re.ASCII | re.IGNORECASE)
_ARCHIVE_READ = re.compile(_ARCHIVE)
_GLUED = re.compile("_(?:page|part|coll|snapshot|rec|other)", re.ASCII | re.IGNORECASE)
_COVERAGE = re.compile(f":(?:{'|'.join(COVERAGES)})(?![a-z])", re.ASCII | re.IGNORECASE)
_BARE = re.compile(f":{_ADDRESS}")
_VISIBLES = re.compile(f"{_VISIBLE}+")
_FRACTION = re.compile("[0-9]+")
_DIGITS = frozenset("0123456789")
_DATE_UNITS = (
    ("year", "", "0001", "9999"),
    ("month", "-", "01", "12"),
    ("day", "-", "01", "31"),  # or fewer, depending on the month
)
_CLOCK_UNITS = (("hour", "23"), ("minute", "59"), ("second", "60"))


def _find_fault(text: str) -> MalformedIdentifier:
    """Find where and why `text`, which `parse_pwid` refused, stops being a PWID."""

    def make_error(
        at: int, expected: str, rule: str = f"{_DRAFT} section 3"
    ) -> MalformedIdentifier:
        return MalformedIdentifier(text=text, at=at, expected=expected, rule=rule)

    opening = find_reach(_OPENING, text, 0)
    if not opening:
        return make_error(find_stray(text, SCHEME.prefixes), "'pwid:' or 'urn:pwid:'")
    end = find_reach(_ARCHIVE_READ, text, opening)
    if end == opening:
        return make_error(opening, "the archive: letters, digits, %hh and -._~")
    if text[end : end + 1] != ":":
        return make_error(end, "a letter, digit, %hh or one of -._~ of the archive, or ':'")

    end, expected = _find_time_end(text, end + 1)
    if expected:
        return make_error(end, expected, "ruling pwid-time")
    end += text[end : end + 1] in {"Z", "z"}
    if text[end : end + 1] not in {":", "_"}:
        return make_error(end, "more of the time, 'Z', or ':' and the coverage", "ruling pwid-time")

    start, end = end, max(find_reach(_GLUED, text, end), find_reach(_COVERAGE, text, end))
    if end == start and text[start] == "_":
        return make_error(start + 1, "page, part, coll, snapshot, rec or other", _DRAFT_00)
    if end == start and find_reach(_BARE, text, start) == start:
        return make_error(start + 1, f"a coverage: {', '.join(COVERAGES)}", "ruling pwid-coverage")
    if text[end : end + 1] != ":":
        return make_error(end, "':' and the archived item")
    item = end + 1
    end = find_reach(_VISIBLES, text, item)
    if end < len(text):
        return make_error(end, "a character of a URI")
    return make_error(item, "a URI with its scheme, or an id of letters, digits and -._~")


def _find_time_end(text: str, start: int) -> tuple[int, str]:
    """Return the end of the time at `start` and "", or the fault's index and the expected text."""
    at = start
    for unit, separator, least, most in _DATE_UNITS:
        if not text.startswith(separator, at):
            return at, ""
        at += len(separator)
        if unit == "day":
            most = str(_count_days(text[start:at]))
        fault = _find_misfit(text, at, least, most)
        if fault is not None:
            return fault, f"{'an' if unit == 'hour' else 'a'} {unit} from {least} to {most}"
        at += len(most)
    if text[at : at + 1] not in {"T", "t", "_"} or _GLUED.match(text, at):
        return at, ""

    at += 1
    separators = ".:"
    for unit, most in _CLOCK_UNITS:
        mark = text[at : at + 1]
        if unit == "second" and (
            mark not in _DIGITS | set(separators)
            or (mark == ":" and text[at + 1 : at + 2] not in _DIGITS)  # the colon of the coverage
        ):
            return at, ""
        if unit != "hour" and mark and mark in separators:
            separators = mark
            at += 1
        fault = _find_misfit(text, at, "00", most)
        if fault is not None:
            return fault, f"{'an' if unit == 'hour' else 'a'} {unit} from 00 to {most}"
        at += 2
    if text[at : at + 1] != ".":
        return at, ""
    end = find_reach(_FRACTION, text, at + 1)
    return (end, "") if end > at + 1 else (end, "the digits of a fraction")


def _find_misfit(text: str, at: int, least: str, most: str) -> int | None:
    """Return the index at which the number at `at` leaves its bounds or ends early, or None."""
    for place in range(at, at + len(most)):
        begun, width = text[at : place + 1], place + 1 - at
        if text[place : place + 1] not in _DIGITS or not least[:width] <= begun <= most[:width]:
            return place
    return None
