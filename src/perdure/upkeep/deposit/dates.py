"""Dates in inventories and in the paths of files. Pure.

How it works: `read_date` reads the date of a table. `DatePattern` finds a date in a path with a
pattern such as `%Y/%m/%d`, as `strptime` has it; digits beside it do not belong to it.

What must stay true: nothing is guessed. A pattern finds a date only if the calendar has it, and
`1/9/1997`, which is two different days in two countries, is not a date.
"""

from __future__ import annotations

import re

from perdure.errors.depositing import DatePatternMalformed
from perdure.ids.pdi_date import canonicalise_date

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_PIECES = {
    "%Y": "(?P<year>[0-9]{4})",
    "%y": "(?P<short>[0-9]{2})",
    "%m": "(?P<month>[0-9]{1,2})",
    "%d": "(?P<day>[0-9]{1,2})",
    "%b": f"(?P<name>(?i:{'|'.join(_MONTHS)})[a-z]*)",
    "%%": "%",
}
_DIRECTIVE = re.compile("%.?")
_PIVOT = 69  # POSIX: two digits from 69 on are years of the twentieth century
_ISO = re.compile("([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2}))?)?(?:T.*)?", re.ASCII)
_DOTTED = re.compile(r"([0-9]{1,2})\.\s?([0-9]{1,2})\.\s?([0-9]{4})", re.ASCII)
_SLASHED = re.compile("([0-9]{4})/([0-9]{1,2})/([0-9]{1,2})", re.ASCII)


def read_date(text: str) -> str | None:
    """Return a date as `1997`, `1997-09` or `1997-09-01`, or None if the text is not one.

    >>> read_date("1997-09-01"), read_date("1.9.1997"), read_date("1997/9/1"), read_date("9/1/97")
    ('1997-09-01', '1997-09-01', '1997-09-01', None)
    """
    if found := _ISO.fullmatch(text):
        year, month, day = found.groups()
    elif found := _DOTTED.fullmatch(text):
        day, month, year = found.groups()
    elif found := _SLASHED.fullmatch(text):
        year, month, day = found.groups()
    else:
        return None
    date = canonicalise_date(year, month, day)
    return None if date is None else date.replace("/", "-")


class DatePattern:
    """A pattern of dates in paths."""

    def __init__(self, text: str) -> None:
        """Raises DatePatternMalformed if the pattern has no year, or an unknown directive."""
        self.text = text
        pieces: list[str] = []
        at = 0
        for found in _DIRECTIVE.finditer(text):
            if found[0] not in _PIECES:
                raise DatePatternMalformed(pattern=text)
            pieces += (re.escape(text[at : found.start()]), _PIECES[found[0]])
            at = found.end()
        pieces.append(re.escape(text[at:]))
        try:
            self._search = re.compile(f"(?<![0-9]){''.join(pieces)}(?![0-9])", re.ASCII).search
        except re.error:  # a directive twice
            raise DatePatternMalformed(pattern=text) from None
        if "%Y" not in text and "%y" not in text:
            raise DatePatternMalformed(pattern=text)

    def find_date(self, path: str) -> str | None:
        """Return the first date in a path that the calendar has, or None.

        >>> DatePattern("%Y/%m/%d").find_date("press/1997/9/1/15.txt")
        '1997-09-01'
        >>> DatePattern("%d%b%y").find_date("1997/01SEP97.TXT"), DatePattern("%Y").find_date("a/12")
        ('1997-09-01', None)
        """
        at = 0
        while found := self._search(path, at):
            date = canonicalise_date(*_list_components(found.groupdict()))
            if date is not None:
                return date.replace("/", "-")
            at = found.start() + 1
        return None


def _list_components(found: dict[str, str | None]) -> tuple[str, str | None, str | None]:
    """The year, month and day that a pattern has found."""
    year, month = found.get("year"), found.get("month")
    short, name = found.get("short"), found.get("name")
    if year is None and short is not None:
        year = f"{'19' if int(short) >= _PIVOT else '20'}{short}"
    if month is None and name is not None:
        month = str(_MONTHS.index(name[:3].lower()) + 1)
    return str(year), month, found.get("day") if month is not None else None
