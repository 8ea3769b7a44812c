"""The tags around a few places of a document, without the offsets of all others.

How it works: dozens of tags in a row are passed by one match of an expression. Only what this stops
at is read tag by tag: the tag around a place, comments, scripts.

What must stay true: the tags are those of `scan_tags`. Places are asked about in order, and every
byte is examined a bounded number of times.
"""

from __future__ import annotations

from perdure.extractors.markup.tags import Rule, View, find_tag_after


class TagWalk:
    """A walk through a document. Before the first tag, `start` and `stop` are 0."""

    def __init__(self, view: View, rule: Rule) -> None:
        self._view = view
        self._rule = rule
        self._at = 0
        self._following: tuple[int, int, int] | None = None
        """The tag after `_at`, if it is known."""
        self.start = 0
        self.stop = 0
        """The last tag that starts at or before the place that was asked about."""

    def move_to(self, place: int) -> bool:
        """Find the last tag that starts at or before a place. Return True if the place is in it."""
        while self._at <= place:
            if self._following is None:
                passed = self._rule.many.match(self._view, self._at, place)
                if passed:
                    self.start, self.stop = passed.span("last")
                    self._at = self.stop
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
