"""The tags around a few places of a document, without the offsets of all others.

How it works: dozens of tags in a row are passed by one match of an expression. Only what this stops
at is read tag by tag: the tag around a place, comments, scripts. `enter_value` reads the tag around
a place at once if the tag is spelled as most are.

What must stay true: the tags are those of `scan_tags`. Places are asked about in order, and every
byte is examined a bounded number of times.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from perdure.extractors.markup.tags import Rule, find_tag_after

# A tag as most are spelled, up to a value and from there: a part of what every rule allows. What
# follows a tag with one of these names may not be markup.
_USUAL = re.compile(
    rb"""
    [^<]*+ < (?! (?i:script|style|textarea|title) [ ] ) ([A-Za-z][A-Za-z0-9:-]*+)
    (?: [ ] [A-Za-z][A-Za-z:-]*+ = "[^"]*+" ){0,32} [ ] ([A-Za-z][A-Za-z:-]*+) ="
    """,
    re.VERBOSE,
)
_REST = re.compile(
    rb""" ([^"]*+) " (?: [ ] [A-Za-z][A-Za-z:-]*+ (?: = "[^"]*+" )? ){0,32} [ ]?+ /?+ > """,
    re.VERBOSE,
)


class UsualValue(NamedTuple):
    """A value in quotation marks, in a start tag that is spelled as most are."""

    element: bytes
    """The name of the element, as it is written."""
    attribute: bytes
    """The name of the attribute, as it is written."""
    text: bytes
    """The value."""


class TagWalk:
    """A walk through a document. Before the first tag, `start` and `stop` are 0."""

    def __init__(self, view: bytes, rule: Rule) -> None:
        self._view = view
        self._rule = rule
        self._at = 0
        self._following: tuple[int, int, int] | None = None
        """The tag after `_at`, if it is known."""
        self.start = 0
        self.stop = 0
        """The last tag that starts at or before the place that was asked about."""

    def enter_value(self, place: int) -> UsualValue | None:
        """Read the value that begins at a place, and move to the tag around it.

        None if the place is not the beginning of a value, if the tag is spelled in another way, or
        if a comment or the like precedes it: `move_to` then finds the tag.
        """
        if self._view[place - 2 : place] != b'="':
            return None
        passed = self._pass_many(place)
        while not (before := _USUAL.fullmatch(self._view, self._at, place)):
            if not passed:
                return None
            passed = self._pass_many(place)
        rest = _REST.match(self._view, place)
        if not rest:
            return None
        element, attribute = before.groups()
        self.start, self.stop = before.start(1) - 1, rest.end()
        self._at, self._following = self.stop, None
        return UsualValue(element, attribute, rest[1])

    def _pass_many(self, place: int) -> bool:
        """Pass tags that end before a place. Return False if none can be passed at once."""
        if self._following is not None:
            if self._following[1] > place:
                return False
            self.start, self.stop, self._at = self._following
            self._following = None
            return True
        passed = self._rule.many.match(self._view, self._at, place)
        if not passed:
            return False
        self.start, self.stop = passed.span("last")
        self._at = self.stop
        return True

    def move_to(self, place: int) -> bool:
        """Find the last tag that starts at or before a place. Return True if the place is in it."""
        while self._at <= place:
            if self._following is None and self._view.find(b"<", self._at, place + 1) < 0:
                break  # no tag starts before the place, as in most texts after their tag
            if self._pass_many(place):
                continue
            following = self._find_following()
            if following[0] > place:
                break
            self.start, self.stop, self._at = following
            self._following = None
        return place < self.stop

    def find_next_start(self) -> int:
        """Return where the next tag starts, or the end of the document."""
        return self._find_following()[0]

    def _find_following(self) -> tuple[int, int, int]:
        if self._following is None:
            end = len(self._view)
            found = find_tag_after(self._view, self._at, self._rule)
            self._following = found or (end, end, end)
        return self._following
