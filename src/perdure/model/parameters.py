"""The parameters of a query, each of which has one value. Pure.

How it works: `read_parameters` reads a query, or a form in a body, of at most `MOST` parameters.
`Parameters` is a mapping from names to values. It refuses a name that the query gives with
different values, but only when the value is asked for: other sites append parameters of their own
to shared links, and these are not read. `list_values` returns the values of a parameter that may be
repeated. `decode_names` decodes the names in a query, before anything is looked up in it.

What must stay true: no interface chooses the first or the last of several values silently; every
spelling of a name asks the same question.

Specification: RFC 3986 section 6.2.2.2.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import parse_qsl, unquote

from perdure.errors.requests import MalformedNumber, RepeatedParameter, TooManyParameters

MOST = 1000
"""Parameters that a query or a form may have."""

_NAME = re.compile("(?:^|(?<=&))[^&=]+")
_UNRESERVED = re.compile("(?:%(?:2[dDeE]|3[0-9]|[46][1-9a-fA-F]|[57][0-9aA]|5[fF]|7[eE]))+")


def decode_names(query: str) -> str:
    """Return a query in which the names of parameters contain no escaped unreserved characters.

    Such an escape means the same as the character. Values and other escapes stay as they are.

    >>> decode_names("p%61rt=%61&%6dine")
    'part=%61&mine'
    """
    if "%" not in query:
        return query
    return _NAME.sub(lambda name: _UNRESERVED.sub(lambda one: unquote(one[0]), name[0]), query)


def list_pairs(query: str, *, keep_blank: bool = True, most: int = MOST) -> list[tuple[str, str]]:
    """Return the parameters of a query or a form, decoded, in their order.

    `keep_blank`: also those without a value. Raises TooManyParameters.
    """
    try:
        return parse_qsl(query, keep_blank_values=keep_blank, max_num_fields=most)
    except ValueError:
        raise TooManyParameters(what="query", most=most) from None


def read_parameters(query: str, *, keep_blank: bool = True, most: int = MOST) -> Parameters:
    """Read the parameters of a query or a form, see `list_pairs`. Raises TooManyParameters.

    >>> dict(read_parameters("limit=3&limit=3&after="))
    {'limit': '3', 'after': ''}
    """
    return Parameters(list_pairs(query, keep_blank=keep_blank, most=most))


def read_number(name: str, text: str, low: int, high: int, *, manual: str | None = None) -> int:
    """Read the value of a parameter as a number from `low` to `high`. Raises MalformedNumber.

    Leading zeros do not count, and no text of any length is converted before it is measured.

    >>> read_number("limit", "0010", 1, 500)
    10
    >>> read_number("limit", "501", 1, 500)
    Traceback (most recent call last):
    perdure.errors.requests.MalformedNumber: limit '501' refused: it must be a number from 1 to 500
    """
    if text.isascii() and text.isdigit():
        digits = text.lstrip("0") or "0"
        if len(digits) <= len(str(high)) and low <= int(digits) <= high:
            return int(digits)
    raise MalformedNumber(parameter=name, text=text, low=low, high=high, manual=manual)


class Parameters(Mapping[str, str]):
    """Parameters by name.

    >>> given = Parameters([("limit", "3"), ("limit", "3"), ("x", "1"), ("x", "2")])
    >>> given["limit"], given.list_values("x")
    ('3', ('1', '2'))
    >>> given.get("x")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    perdure.errors.requests.RepeatedParameter: parameter 'x' refused: it has several values...
    """

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self._values: dict[str, dict[str, None]] = {}
        for name, value in pairs:
            self.add(name, value)

    def add(self, name: str, value: str) -> None:
        """Add a value. The same value again changes nothing."""
        self._values.setdefault(name, {})[value] = None

    def __getitem__(self, name: str) -> str:
        """Return the value of a parameter. Raises KeyError or RepeatedParameter."""
        values = self._values[name]
        if len(values) > 1:
            raise RepeatedParameter(parameter=name, values=tuple(values))
        return next(iter(values))

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def list_values(self, name: str) -> tuple[str, ...]:
        """Return the different values of a parameter that may be repeated, in their order."""
        return tuple(self._values.get(name, ()))
