"""Persistent Document Identifiers.

A PDI names a document in a series by the day on which the name was minted and a unique-id of that
day. It can also name a format, a version, a part, or a place where it cites another document.
Specification: draft-mallery-urn-pdi-00, as interpreted by the rulings named `pdi-*`.

>>> pdi = parse_pdi("urn:pdi://OMA.eop.gov.us/1997/9/1/1.text.1#37,51")
>>> str(pdi)
'pdi://oma.eop.gov.us/1997/09/01/1.text.1#char=37,51'
>>> pdi.series, pdi.date, pdi.uid, pdi.format, pdi.version, pdi.fragment.numbers
('oma.eop.gov.us', '1997/09/01', '1', 'text', 1, (37, 51))
>>> parse_pdi("pdi://oma.eop.gov/1997/09/01.html.1")  # doctest: +ELLIPSIS
Traceback (most recent call last):
perdure.errors.texts.MalformedIdentifier: ... at 28 found '.html.1'; expected '/' ...

How it works: nine in ten PDIs are written in canonical form, and one pattern parses them. A more
general pattern parses the rest, and each component is converted to canonical form; a fragment or
citation follows. If no pattern accepts a text, `perdure.ids.pdi_mistake` finds out why.

What must stay true: `str()` is canonical, and equality compares nothing else; parsing it returns an
equal value. Parsing looks only at the text: `perdure.policy.rules` and the registry check whether a
country exists, a day has come or a version was committed.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from itertools import product
from typing import ClassVar

import msgspec

from perdure.errors import MalformedIdentifier
from perdure.ids import Identifier, Label, Minting, Scheme, Version, grammar
from perdure.ids.grammar import LONGEST, POSITION_ESCAPES, TOKEN_ESCAPES, UID_ESCAPES
from perdure.ids.keyed import Keyed
from perdure.ids.pdi_date import canonicalise_date
from perdure.ids.pdi_foreign import canonicalise_foreign, find_foreign_identifier
from perdure.ids.pdi_fragment import PdiFragment, read_fragment
from perdure.ids.pdi_key import (
    encode_number,
    find_next_day_key,
    make_key_range,
    make_resource_key,
    make_uid_key,
    read_resource_key,
)
from perdure.ids.pdi_mistake import DEEPEST, find_mistake
from perdure.ids.scheme import NewName

_FIRST_DAY, _LAST_DAY = "0000-00-00", "9999-99-99"
_LONGEST_INT = 640  # digits that int() accepts under every limit that Python can be started with


class Citation(msgspec.Struct, frozen=True, gc=False):
    """The place in the citing document where another PDI is cited (section 3.5)."""

    origin: str
    """The origin position, canonical: `103`, `(5,10)`."""
    cited: Pdi

    def __str__(self) -> str:
        return f"{self.origin}={self.cited}"


_TO_FORMAT = re.compile(r"(?:[^/]*/){6}[^.]*(\.[^.#@]*)")
"""A PDI up to the end of its format, which is group 1 with the dot before it."""
_FORMAT_HASH = re.compile("%(?=2[35])")
"""The `%` of an escaped `#` or `%`."""


class Pdi(Keyed, frozen=True, gc=False, eq=False):
    """A PDI, or a pattern of PDIs: an interval, or one with wildcards.

    `parse_pdi`, `Pdi.make` and `Pdi.from_key` create it and check their arguments, so the fields of
    a value always agree with one another.
    """

    kind: ClassVar[str] = "pdi"

    text: str
    """The canonical text."""
    series: str
    """The document series, in lower case."""
    date: str | None
    """`1997/09/01`, with `*` for a wildcard; `1997/09` or `1997` in an interval; None if the
    interval is the whole series."""
    uid: str | None
    """The unique-id in canonical form, escapes included; `*`; None for an interval."""
    format: str | None
    """The media-type token in canonical form; `*`; None if the PDI has no format."""
    version: Version | None
    fragment: PdiFragment | None
    citation: Citation | None
    written: str
    """The text as it was received; not compared."""

    # text
    # ----

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Pdi({self.text!r})"

    def __eq__(self, other: object) -> bool:
        return self.text == other.text if isinstance(other, Pdi) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.text)

    @property
    def urn(self) -> str:
        """The same PDI in the syntax of URNs."""
        return f"urn:{self.text}"

    @property
    def handle(self) -> str:
        """`pdi/` and the PDI without its own label. Its colons are escaped, because clients of the
        Handle System take the text before a colon for a scheme."""
        return f"pdi/{self.text.removeprefix('pdi://').replace(':', '%3a')}"

    @property
    def file_stem(self) -> str:
        """Series, date, unique-id and version: `oma.eop.gov.us.1997-09-01.1.v1`."""
        day = (self.date or "").replace("/", "-")
        version = f".v{self.version}" if self.version else ""
        return f"{self.series}.{day}.{self.uid}{version}"

    @property
    def path(self) -> str:
        """The canonical text including the part, with `#` and `?` escaped.

        A `%23` means the `#` before a part there, so one in the format is escaped once more.
        """
        text = self.text
        if "%2" in text and (found := _TO_FORMAT.match(text, text.rindex("pdi:"))):
            escaped = _FORMAT_HASH.sub("%25", found[1])
            text = f"{text[: found.start(1)]}{escaped}{text[found.end(1) :]}"
        return text.replace("#", "%23").replace("?", "%3f")

    @property
    def uri(self) -> str:
        """The canonical text."""
        return self.text

    # date and unique-id
    # ------------------

    @property
    def year(self) -> str | None:
        """Four digits or more, `*`, or None for a series."""
        return self._date_component(0)

    @property
    def month(self) -> str | None:
        return self._date_component(1)

    @property
    def day(self) -> str | None:
        return self._date_component(2)

    def _date_component(self, which: int) -> str | None:
        components = self.date.split("/") if self.date else ()
        return components[which] if which < len(components) else None

    @property
    def calendar_day(self) -> datetime.date | None:
        """The day of minting; None for a pattern of days, and after the year 9999."""
        if self.date is None or len(self.date) != len("YYYY/MM/DD") or "*" in self.date:
            return None
        year, month, day = map(int, self.date.split("/"))
        return datetime.date(year, month, day)

    @property
    def assigned_on(self) -> str | None:
        """The day of minting, `1997-09-01`; None for a pattern of days, and after the year 9999."""
        day = self.calendar_day
        return None if day is None else day.isoformat()

    @property
    def assigned_between(self) -> tuple[str, str]:
        """The first and the last day that its date allows.

        >>> parse_pdi("pdi://oma.eop.gov.us/1993/02/").assigned_between
        ('1993-02-00', '1993-02-99')
        >>> parse_pdi("pdi://oma.eop.gov.us/1993/02/01/1").assigned_between
        ('1993-02-01', '1993-02-01')
        """
        fixed = (self.date or "").partition("*")[0].strip("/").replace("/", "-")
        return fixed + _FIRST_DAY[len(fixed) :], fixed + _LAST_DAY[len(fixed) :]

    @property
    def serial(self) -> int | None:
        """The unique-id as a daily serial number; None if it is not one.

        A number of more than 640 digits, which Python may refuse to convert, is None.
        """
        uid = self.uid
        if uid is None or not uid.isdigit() or uid[0] == "0" or len(uid) > _LONGEST_INT:
            return None  # ruling: pdi-uid
        return int(uid)

    @property
    def foreign(self) -> str | None:
        """The foreign identifier that the unique-id encapsulates (section 2.4.1), normalised."""
        return find_foreign_identifier(self.uid) if self.uid else None

    # what it names
    # -------------

    @property
    def is_interval(self) -> bool:
        """True for a left prefix that names all PDIs of a series, a year, a month or a day."""
        return self.uid is None

    @property
    def is_pattern(self) -> bool:
        """True if it stands for many PDIs: an interval, or a PDI with a wildcard."""
        return (
            self.uid is None
            or "*" in {self.uid, self.format, self.version}
            or "*" in (self.date or "")
            or (self.citation is not None and self.citation.cited.is_pattern)
        )

    @property
    def is_citation(self) -> bool:
        """True if it names a place where one document cites another (section 3.5)."""
        return self.citation is not None

    @property
    def cited(self) -> Pdi | None:
        """The PDI that is cited there; None if this PDI is not a citation."""
        return None if self.citation is None else self.citation.cited

    @property
    def assigned_under(self) -> str:
        """The document series."""
        return self.series

    @property
    def is_spelled_by_key(self) -> bool:
        """True if the unique-id encapsulates nothing: the key has such a URL in normal form."""
        return self.foreign is None

    @property
    def whole(self) -> Pdi:
        """The identifier without fragment and citation."""
        if self.fragment is None and self.citation is None:
            return self
        return self._drop_ending(self.format, self.version)

    @property
    def resource(self) -> Pdi:
        """The generic resource: without format and version as well."""
        if self.format is None:
            return self.whole
        return self._drop_ending(None, None)

    def _drop_ending(self, token: str | None, version: Version | None) -> Pdi:
        text = _compose_text(self.series, self.date, self.uid, token, version)
        return Pdi(text, self.series, self.date, self.uid, token, version, None, None, text)

    def at(self, *, format: str | None = None, version: Version | None = None) -> Pdi:
        """Return the same resource in another format or version; the one not given is kept.

        Fragment and citation are removed: they belong to one representation. Raises
        MalformedIdentifier for an interval, or for a version without a format.
        """
        format = self.format if format is None else format
        version = self.version if version is None else version
        if self.uid is None or self.date is None:
            return Pdi.make(
                series=self.series, date=self.date or "", uid="", format=format, version=version
            )
        if self.uid.isdigit() and _is_plain_ending(format, version):
            text = _compose_text(self.series, self.date, self.uid, format, version)
            return Pdi(text, self.series, self.date, self.uid, format, version, None, None, text)
        return _make_representation(self.series, self.date, self.uid, format, version)

    # the store's view
    # ----------------

    @property
    def key(self) -> str:
        """The sort key of the generic resource or interval: see `perdure.ids.pdi_key`.

        All formats, versions and parts of one resource share it, and so do equivalent
        encapsulated URLs (section 3.6.4, step 4).
        """
        uid = self.uid
        if uid is not None and not uid.isdigit():  # a number encapsulates nothing
            uid = self._normal_uid
        return make_resource_key(self.series, self.date, uid)

    @property
    def equal_key(self) -> str | None:
        """The key of the name that encapsulates the same identifier in canonical form.

        None if the name encapsulates none.  # ruling: pdi-foreign-equal
        """
        foreign = self.foreign
        if foreign is None:
            return None
        uid = UID_ESCAPES.escape_text(canonicalise_foreign(foreign))
        return make_resource_key(self.series, self.date, uid)

    @property
    def _normal_uid(self) -> str | None:
        foreign = self.foreign
        return UID_ESCAPES.escape_text(foreign) if foreign else self.uid

    @classmethod
    def from_key(cls, key: str) -> Pdi:
        """Return the generic resource or interval of this key, with its URL in normal form.

        Raises MalformedIdentifier for any other text.
        """
        numbered = _read_number_key(key)
        if numbered is not None:
            return numbered
        expected = "the key of a PDI"
        try:
            pdi = parse_pdi(read_resource_key(key))
        except MalformedIdentifier as mistake:
            at = min(mistake.at, len(key))
            raise MalformedIdentifier(text=key, at=at, expected=expected, rule="Pdi.key") from None
        if pdi.key != key:
            raise MalformedIdentifier(text=key, at=0, expected=expected, rule="Pdi.key")
        return pdi

    def key_range(self) -> tuple[str, str]:
        """Return the first key and the end (exclusive) of a range with all matches.

        If the pattern has no wildcard, the range contains nothing else; otherwise, `matches`
        decides.
        """
        return make_key_range(self.series, self.date, self._normal_uid)

    @property
    def authority_beginning(self) -> str:
        """The interval of the series."""
        return f"pdi://{self.series}/"

    @property
    def is_divided(self) -> bool:
        """True for a series, a year or a month, each of which is listed by its members."""
        return self.is_interval and self.day is None and "*" not in (self.date or "")

    def member_of(self, key: str) -> Pdi:
        """Return the year of a series, the month of a year or the day of a month with a key."""
        name = Pdi.from_key(key)
        depth = 1 + sum(part is not None for part in (self.year, self.month))
        date = "/".join(str(name.date).split("/")[:depth])
        return parse_pdi(f"pdi://{name.series}/{date}/")

    def next_key(self, name: Identifier) -> str | None:
        """Return the key of the next day that this pattern can match, if that of `name` cannot."""
        if not isinstance(name, Pdi) or name.date is None:
            return None
        return find_next_day_key(name.series, self.month, self.day, name.date)

    def _comparison_key(self) -> tuple[str, str]:
        version = (
            encode_number(str(self.version)) if isinstance(self.version, int) else self.version
        )
        return self.key, f"{version or ''} {self.format or ''} {self.text}"

    # comparison by meaning
    # ---------------------

    def list_pattern_keys(self) -> tuple[str, ...]:
        """Return the keys of the intervals that contain this resource, and of the patterns with
        wildcards that match it.

        >>> parse_pdi("pdi://a.us/1997/09/01/1").list_pattern_keys()[:4]
        ('a.us/', 'a.us/1997', 'a.us/199709', 'a.us/19970901')
        """
        intervals, days = _list_day_patterns(self.series, self.date or "")
        found = dict.fromkeys(intervals)
        if self.uid is not None:
            own = make_uid_key(self._normal_uid or self.uid)
            found |= dict.fromkeys(f"{day}/{uid}" for day in days for uid in (own, "*"))
        found.pop(self.key, None)
        return tuple(found)

    def matches(self, other: Identifier) -> bool:
        """Return True if this PDI, read as a pattern, names everything that `other` names.

        A wildcard or a missing component matches anything in its place: an interval matches
        every PDI in it, and a generic resource matches all its formats, versions and their parts.
        """
        # rulings: pdi-wildcard, pdi-interval
        return (
            isinstance(other, Pdi)
            and self.series == other.series
            and all(map(_covers_component, self._pattern_components(), other._pattern_components()))
            and (self.fragment is None or self.fragment == other.fragment)
            and (
                self.citation is None
                or _is_same_citation(self.citation, other.citation, Pdi.matches)
            )
        )

    def _pattern_components(self) -> tuple[Version | str | None, ...]:
        date = self.date.split("/") if self.date else []
        year, month, day = (*date, None, None, None)[:3]
        return year, month, day, self._normal_uid, self.format, self.version

    def same_extent(self, other: Pdi) -> bool:
        """Return True if both name the same part, or both the whole, of equivalent resources."""
        # ruling: pdi-crop
        mine, theirs = self.fragment, other.fragment
        return (
            are_equivalent_pdis(self.whole, other.whole)
            and (mine.extent if mine else None) == (theirs.extent if theirs else None)
            and (
                self.citation == other.citation
                or _is_same_citation(self.citation, other.citation, Pdi.same_extent)
            )
        )

    # making
    # ------

    @classmethod
    def make(
        cls,
        *,
        series: str,
        date: datetime.date | str,
        uid: str,
        format: str | None = None,
        version: Version | None = None,
    ) -> Pdi:
        """Make a PDI from its components, each checked separately.

        `date` is a day or text such as `1997/09/01`; `uid` is written as in a PDI, so pass any
        other name through `encapsulate` first. Raises MalformedIdentifier; if a component is
        malformed, its `text` is that component.
        """
        if isinstance(date, datetime.date):
            date = f"{date.year:04}/{date.month:02}/{date.day:02}"
        for component, shape in zip((series, date, uid), _RESOURCE, strict=True):
            _check_component(component, shape)
        return _make_representation(series, date, uid, format, version)

    @staticmethod
    def encapsulate(foreign: str) -> str:
        """Return the unique-id that encapsulates any text (section 2.4.1), for `make`.

        Raises MalformedIdentifier for half a surrogate pair, which is not text.

        >>> Pdi.encapsulate("http://www.whitehouse.gov/")
        'http:%2f%2fwww%2ewhitehouse%2egov%2f'
        """
        try:
            return UID_ESCAPES.escape_text(foreign)
        except UnicodeEncodeError as error:
            expected = "a Unicode character"
            raise MalformedIdentifier(
                text=foreign, at=error.start, expected=expected, rule="section 2.4.1"
            ) from None


_Shape = tuple[re.Pattern[str], str, str]
_RESOURCE: tuple[_Shape, ...] = (
    (re.compile(grammar.SERIES), "a document series", "ruling pdi-series"),
    (re.compile("/".join((grammar.YEAR, grammar.MONTH, grammar.DAY))), "a date", "ruling pdi-date"),
    (re.compile(grammar.UID), "a unique-id", "ruling pdi-uid"),
)
_REPRESENTATION: tuple[_Shape, ...] = (
    (re.compile(grammar.FORMAT), "a format", "ruling pdi-format"),
    (re.compile(grammar.VERSION), "a version", "ruling pdi-version"),
)


def _check_component(component: str, shape: _Shape) -> None:
    """Raise MalformedIdentifier if a component is malformed by itself."""
    pattern, expected, rule = shape
    found = pattern.match(component)
    at = found.end() if found else 0
    if found is None or at < len(component):
        raise MalformedIdentifier(text=component, at=at, expected=expected, rule=rule)


def _make_representation(
    series: str, date: str, uid: str, format: str | None, version: Version | None
) -> Pdi:
    """Return the PDI of checked resource components, in an unchecked format and version.

    Raises MalformedIdentifier.
    """
    for component, shape in zip((format, version), _REPRESENTATION, strict=True):
        if component is not None:
            _check_component(str(component), shape)
    text = _compose_text(series, date, uid, format, version)
    if version is not None and format is None:
        expected = "a format, because a version requires one"
        raise MalformedIdentifier(text=text, at=len(text), expected=expected, rule="section 1.2.1")
    return parse_pdi(text)


@lru_cache(maxsize=1024)
def _is_plain_ending(format: str | None, version: Version | None) -> bool:
    """True if a format and a version are canonical, so that their PDI need not be parsed."""
    text = _compose_text("a.us", "2026/01/01", "1", format, version)
    plain = _plain_resource(text)
    written = None if version is None else str(version)
    return (
        plain is not None and plain.end() == len(text) and plain.groups()[3:] == (format, written)
    )


def _read_number_key(key: str) -> Pdi | None:
    """Return the PDI of a key of a serial number, in a third of the time; None for other texts."""
    day_key, _, counted = key.rpartition("/")
    digits = counted[1:]
    if encode_number(digits) != counted or not digits.isdecimal() or digits[0] == "0":
        return None
    day = _read_day_key(day_key)
    if day is None or not digits.isascii():
        return None
    text = f"{day.text}{digits}"
    return Pdi(text, day.series, day.date, digits, None, None, None, None, text)


@lru_cache(maxsize=1024)
def _read_day_key(key: str) -> Pdi | None:
    """Return the interval of a day by its key, or None for other texts."""
    try:
        day = parse_pdi(read_resource_key(key))
    except MalformedIdentifier:
        return None
    is_day = day.date is not None and day.date.count("/") == 2 and "*" not in day.date
    return day if is_day and day.uid is None and day.key == key else None


def _covers_component(pattern: object, component: object) -> bool:
    return pattern is None or pattern in ("*", component)


def _is_same_citation(
    one: Citation | None, other: Citation | None, same: Callable[[Pdi, Pdi], bool]
) -> bool:
    if one is None or other is None:
        return one is other
    return one.origin == other.origin and same(one.cited, other.cited)


# reading
# -------

_URN = "urn:"
_plain_resource = grammar.PLAIN_RESOURCE.match
_resource = grammar.RESOURCE.match
_find_low_number = {str(number): number for number in range(1, 10)}.get  # int() takes longer


@lru_cache(maxsize=256)
def _list_day_patterns(series: str, date: str) -> tuple[list[str], list[str]]:
    """The keys of the intervals that contain a date, and of the patterns of days that match it."""
    components = date.split("/") if date else []
    intervals = [
        make_resource_key(series, "/".join(components[:depth]) or None, None)
        for depth in range(len(components) + 1)
    ]
    choices = product(*((one, "*") for one in components))
    return intervals, [make_resource_key(series, "/".join(on), None) for on in choices]


def parse_pdi(text: str) -> Pdi:
    """Parse a PDI. Raises MalformedIdentifier."""
    plain = _plain_resource(text)
    if plain is not None:
        series, date, uid, token, digits = plain.groups()
        if ".." in series:
            plain = None
        elif plain.end() == len(text):
            version = _find_low_number(digits) or (int(digits) if digits else None)
            return Pdi(text, series, date, uid, token, version, None, None, text)
    if len(text) <= LONGEST:
        if plain is not None:
            pdi = _read_plain_pdi(text, plain, 0)
        else:
            pdi = _read_pdi(text, 0) if text.startswith(_URN) else _read_other_pdi(text, 0)
        if pdi is not None and len(pdi.text) <= LONGEST:
            return pdi
    raise find_mistake(text)


def _read_pdi(text: str, depth: int) -> Pdi | None:
    """Parse a PDI, or return None. `depth` counts the citations around it."""
    plain = _plain_resource(text, len(_URN) if text.startswith(_URN) else 0)
    if plain is not None and ".." not in plain[0]:
        return _read_plain_pdi(text, plain, depth)
    return _read_other_pdi(text, depth)


def _read_other_pdi(text: str, depth: int) -> Pdi | None:
    """Do the same for a text in any other spelling."""
    resource = _resource(text)
    if resource is None:
        return _read_interval(text)
    series, year, month, day, uid, token, digits = resource.groups()
    date = canonicalise_date(year, month, day)
    if date is None:
        return None
    # section 3.6.4  # ruling: pdi-escape
    if "%" in text:
        uid = UID_ESCAPES.canonicalise_text(uid)
        token = token and TOKEN_ESCAPES.canonicalise_text(token)
    series = series.lower()
    token = token and token.lower()
    version: Version | None = None if digits is None else "*" if digits == "*" else int(digits)
    canonical = _compose_text(series, date, uid, token, version)
    whole = Pdi(canonical, series, date, uid, token, version, None, None, text)
    return _read_ending(text, resource.end(), whole, depth)


def _read_plain_pdi(text: str, plain: re.Match[str], depth: int) -> Pdi | None:
    """Do the same for a text that has, at its beginning or after `urn:`, a `PLAIN_RESOURCE`."""
    series, date, uid, token, digits = plain.groups()
    version = int(digits) if digits else None
    whole = Pdi(plain[0], series, date, uid, token, version, None, None, text)
    return _read_ending(text, plain.end(), whole, depth)


def _read_ending(text: str, end: int, whole: Pdi, depth: int) -> Pdi | None:
    """Add the fragment or the citation behind the end of a PDI, if there is one."""
    if end == len(text):
        return whole
    token = whole.format
    mark, rest = text[end], text[end + 1 :]
    fragment = read_fragment(rest, token) if mark == "#" else None
    citation = _read_citation(rest, depth) if mark == "@" else None
    if fragment is None and citation is None:
        return None
    ending = fragment.text if fragment is not None else str(citation)
    canonical = f"{whole.text}{mark}{ending}"
    return Pdi(
        canonical,
        whole.series,
        whole.date,
        whole.uid,
        token,
        whole.version,
        fragment,
        citation,
        text,
    )


def _read_interval(text: str) -> Pdi | None:
    interval = grammar.INTERVAL.fullmatch(text)
    if interval is None:
        return None
    series, year, month, day = interval.groups()
    date = canonicalise_date(year, month, day) if year else None
    if year and date is None:
        return None
    series = series.lower()
    canonical = _compose_text(series, date, None, None, None)
    return Pdi(canonical, series, date, None, None, None, None, None, text)


def _read_citation(text: str, depth: int) -> Citation | None:
    match = grammar.CITATION.fullmatch(text) if depth < DEEPEST else None
    cited = _read_pdi(match[2], depth + 1) if match else None
    if match is None or cited is None or cited.is_interval:
        return None
    return Citation(POSITION_ESCAPES.canonicalise_text(match[1]), cited)


def _compose_text(
    series: str, date: str | None, uid: str | None, token: str | None, version: Version | None
) -> str:
    if uid is None:
        return f"pdi://{series}/{date}/" if date else f"pdi://{series}/"
    text = f"pdi://{series}/{date}/{uid}"
    if token is None:
        return text
    return f"{text}.{token}" if version is None else f"{text}.{token}.{version}"


def are_equivalent_pdis(one: Identifier, other: Identifier) -> bool:
    """Compare PDIs with encapsulated identifiers in canonical form (section 3.6.4, step 4)."""
    return (
        isinstance(one, Pdi)
        and isinstance(other, Pdi)
        and (one.equal_key or one.key) == (other.equal_key or other.key)
        and one.format == other.format
        and one.version == other.version
        and one.fragment == other.fragment
        and (
            one.citation == other.citation
            or _is_same_citation(one.citation, other.citation, are_equivalent_pdis)
        )
    )


def read_series(text: str) -> str:
    """Read a document series, alone or as its interval; return it in lower case.

    Raises MalformedIdentifier, which names the mistake in `text`.

    >>> read_series("OMA.eop.gov.us"), read_series("pdi://oma.eop.gov.us/")
    ('oma.eop.gov.us', 'oma.eop.gov.us')
    """
    prefix = "" if text[: len("pdi:")].lower() in ("pdi:", "urn:") else "pdi://"
    try:
        found = parse_pdi(f"{prefix}{text.removesuffix('/')}/")
    except MalformedIdentifier as mistake:
        at = min(max(mistake.at - len(prefix), 0), len(text))
        raise MalformedIdentifier(
            text=text, at=at, expected=mistake.expected, rule=mistake.rule
        ) from None
    if found.date is not None:
        raise MalformedIdentifier(
            text=text,
            at=text.lower().index(found.series) + len(found.series),
            expected="the end, because a document series has no date",
            rule="ruling pdi-series",
        )
    return found.series


def _find_requested_series(text: str) -> str | None:
    """Return the series of an interval without a date, or None."""
    if not text.endswith("/"):
        return None
    with suppress(MalformedIdentifier):
        found = parse_pdi(text)
        if found.is_interval and found.date is None:
            return found.series
    return None


def _spell_name(new: NewName) -> Pdi:
    """Return the PDI of the first version of a document, whose unique-id encapsulates a text.

    Without a format, it is the generic PDI.  # ruling: pdi-reserved-name
    """
    uid = Pdi.encapsulate(new.text)
    if not new.format:
        return Pdi.make(series=new.authority, date=new.day, uid=uid)
    return Pdi.make(series=new.authority, date=new.day, uid=uid, format=new.format, version=1)


SCHEME = Scheme(
    name="pdi",
    prefixes=("pdi:", "urn:pdi:"),
    spec="draft-mallery-urn-pdi-00",
    parse=parse_pdi,
    parse_checks_limits=True,
    equivalent=are_equivalent_pdis,
    examples=(
        "pdi://oma.eop.gov.us/1997/09/01/1.text.1",
        "pdi://oma.eop.gov.us/1997/09/01/1.text.1#char=37,51",
        "pdi://oma.eop.gov.us/1997/09/*/*.text.*",
    ),
    labels=(Label(text="pdi:", datacite_type="PDI"),),
    has_patterns=True,
    part_mark="#",
    minting=Minting(
        kind="document series",
        setting="series",
        read_authority=read_series,
        requested_authority=_find_requested_series,
        asks_only=True,
        spell=_spell_name,
        is_numbered=True,
        beginning="pdi://{authority}/{day}/",
    ),
)
