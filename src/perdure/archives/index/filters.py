"""Filters of the CDX server API: `filter=!=status:404`, `filter=mime:text/.*`.

How it works: a filter is `[!][=|~]field:text`. With `=`, the field equals the text. With `~`, all
of it matches a regular expression. With neither, it contains the text, as in pywb; but a text with
the marks of a regular expression is one, as in the Internet Archive's server, which has no `~`.
Python's engine tries every way to match a regular expression, so perdure accepts only expressions
with few ways. They consist of characters, classes, escapes of classes, `.`, groups and
alternatives; only a single character or class may repeat, and an expression may have at most four
choices.

What must stay true: matching a field of 8,192 characters takes milliseconds for every filter.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from perdure.errors.captures import (
    FilterNotExpression,
    FilterRepeatsGroup,
    FilterSyntaxUnknown,
    FilterTooComplex,
    MalformedFilter,
)

_LONGEST = 512  # characters of a filter
_LONGEST_FIELD = 2048  # characters that an expression with choices is matched against
_MOST_CHOICES = 4
_MOST_REPEATS = 2  # that can take any number of characters, not counting one at the end
_TOKEN = re.compile(
    r"""
      (?P<class>\[\^?\]?(?:[^\]\\]|\\.)*\])
    | (?P<escape>\\[dDsSwW.\\+*?()\[\]{}|^$/:&=%~!@,;'"<>\#_ -])
    | (?P<open>\((?:\?:)?(?!\?))
    | (?P<close>\))
    | (?P<or>\|)
    | (?P<repeat>(?:[*+?]|\{[0-9]{1,3}(?:,[0-9]{0,3})?\})\??)
    | (?P<any>\.)
    | (?P<anchor>[\^$])
    | (?P<plain>[^\\()|*+?{}\[\].^$])
    """,
    re.VERBOSE | re.DOTALL,
)
_FILTER = re.compile(r"(?P<no>!)?(?P<how>[=~])?(?P<field>[A-Za-z_.-]+):(?P<text>.*)", re.DOTALL)
_LOOKS_REGULAR = re.compile(r"[\\\[\](){}|*^$]|\.[*+?]")


class Filter(msgspec.Struct, frozen=True):
    """A condition on one field of a capture."""

    field: str
    holds: Callable[[str], bool]


def parse_filter(text: str) -> Filter:
    """Parse a filter. Raises InvalidRequest.

    >>> found = parse_filter("!=status:404")
    >>> found.field, found.holds("404"), found.holds("200")
    ('status', False, True)
    >>> parse_filter("mime:text/.*").holds("text/html"), parse_filter("url:gif").holds("http://a/x.gif")
    (True, True)
    """
    found = _FILTER.fullmatch(text)
    if found is None or len(text) > _LONGEST:
        raise MalformedFilter(filter=text, longest=_LONGEST)
    wanted, how = found["text"], found["how"]
    if how == "=":
        holds: Callable[[str], bool] = wanted.__eq__
    elif how == "~" or _LOOKS_REGULAR.search(wanted):
        pattern = _compile_pattern(wanted, text)
        holds = lambda value: pattern.fullmatch(value[:_LONGEST_FIELD]) is not None  # noqa: E731
    else:
        holds = lambda value: wanted in value  # noqa: E731
    if found["no"]:
        return Filter(found["field"], lambda value: not holds(value))
    return Filter(found["field"], holds)


def _compile_pattern(pattern: str, text: str) -> re.Pattern[str]:
    """Compile the expression if it has few enough ways to match. Raises InvalidRequest."""
    at = choices = repeats = 0
    previous = ""
    while at < len(pattern):
        token = _TOKEN.match(pattern, at)
        if token is None:
            raise FilterSyntaxUnknown(filter=text, found=pattern[at : at + 10])
        kind, at = token.lastgroup or "", token.end()
        if kind == "repeat":
            if previous not in ("class", "escape", "any", "plain"):
                raise FilterRepeatsGroup(filter=text)
            choices += 1
            repeats += token[0][0] != "?" and not (token[0][0] in "*+" and at == len(pattern))
        choices += kind == "or"
        previous = kind
    if choices > _MOST_CHOICES or repeats > _MOST_REPEATS:
        raise FilterTooComplex(filter=text, choices=_MOST_CHOICES, repetitions=_MOST_REPEATS)
    try:
        return re.compile(pattern, re.DOTALL | re.ASCII)
    except re.error as error:
        raise FilterNotExpression(filter=text, fault=str(error)) from error
