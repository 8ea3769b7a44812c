"""A plain text that is made in a confined process, in units that lead to parts of the document.

How it works: a `TextBuilding` collects the text unit by unit (a cue, a line, a paragraph) and makes
an index of it. `MappedText` opens the index. A unit has a group and two numbers (milliseconds,
lines), from which its format makes the part. A passage is a run of units of one group, or with
`finest` one unit. Units of a document that is not compressed also have their stored bytes, and so
any part with slices leads back to its range in the text. The text of a format without parts has no
units: every passage is in the complete document.

What must stay true: units are in order and do not overlap. The characters between them are
separators. An index is checked when it is opened, because the process that made it may have been
taken over by the document.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable

import msgspec

from perdure.errors.damage import TextAbsent, TextIndexDamaged
from perdure.errors.limits import PlainTextTooLong
from perdure.extractors.plain_text import LARGEST, TextPassage, clip_units
from perdure.extractors.port import Part, Source, Span
from perdure.parts import Selector

Spell = Callable[[int, int], Selector | None]
"""Makes the part of units from their lowest and highest number, or None if no part of the document
can be addressed.
"""


class _Kept(msgspec.Struct, frozen=True, array_like=True):
    """The form of a text in an index: columns of unsigned 64-bit numbers."""

    text: str
    starts: bytes
    stops: bytes
    groups: bytes
    firsts: bytes
    lasts: bytes
    stored_starts: bytes
    """The first byte of each unit in the document. Empty if the document is compressed."""
    stored_stops: bytes


class MappedText:
    """The text behind an index."""

    def __init__(
        self, source: Source, index: bytes | memoryview, spell: Spell | None = None
    ) -> None:
        """Open an index; without `spell`, that of a format without parts. Raises TextIndexDamaged
        if it is not an index.
        """
        try:
            kept = msgspec.msgpack.decode(index, type=_Kept)
            columns = [memoryview(one).cast("Q") for one in msgspec.structs.astuple(kept)[1:]]
        except (msgspec.DecodeError, TypeError):
            raise TextIndexDamaged(**source.subject) from None
        self.text = kept.text
        self._spell = spell
        self._starts, self._stops, self._groups, self._firsts, self._lasts, *stored = columns
        self._stored_starts, self._stored_stops = stored
        count = len(self._stops)
        fits = all(len(one) == count for one in columns[:5])
        fits = fits and all(len(one) in (0, count) for one in stored)
        if (
            not fits
            or len(stored[0]) != len(stored[1])
            or max(self._stops[-1:], default=0) > len(kept.text)
        ):
            raise TextIndexDamaged(**source.subject)

    def list_passages(
        self, start: int, stop: int, *, finest: bool = False
    ) -> tuple[TextPassage, ...]:
        if self._spell is None:
            return (TextPassage(start, stop, None),)
        passages: list[TextPassage] = []
        run: list[tuple[int, int, int]] = []
        for unit in clip_units(self._starts, self._stops, start, stop):
            if run and (finest or self._groups[unit[0]] != self._groups[run[0][0]]):
                passages.append(self._make_passage(run, self._spell))
                run = []
            run.append(unit)
        if run:
            passages.append(self._make_passage(run, self._spell))
        return tuple(passages)

    def locate_part(self, part: Part) -> TextPassage | None:
        units = [
            unit
            for one in part.slices
            for unit, _, _ in clip_units(
                self._stored_starts, self._stored_stops, one.start, one.stop
            )
        ]
        if not units:
            return None
        return TextPassage(self._starts[units[0]], self._stops[units[-1]], part.selector)

    def find_stored(self, start: int, stop: int) -> Span | None:
        """Return the stored bytes of the units that overlap [start, stop). None if there is no such
        unit, or if the document is compressed.
        """
        units = [unit for unit, _, _ in clip_units(self._starts, self._stops, start, stop)]
        if not units or not len(self._stored_starts):
            return None
        return Span(self._stored_starts[units[0]], self._stored_stops[units[-1]])

    def _make_passage(self, run: list[tuple[int, int, int]], spell: Spell) -> TextPassage:
        first, last = run[0][0], run[-1][0] + 1
        selector = spell(min(self._firsts[first:last]), max(self._lasts[first:last]))
        return TextPassage(run[0][1], run[-1][2], selector)


class TextBuilding:
    """The text of a document, collected while the document is read."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._texts: list[str] = []
        self._length = 0
        self._columns = tuple(array("Q") for _ in range(7))

    def add_unit(
        self,
        text: str,
        *,
        group: int = 0,
        first: int = 0,
        last: int = 0,
        stored: Span | None = None,
    ) -> None:
        """Add a unit. Raises OverBudget if the text becomes too long.

        Either all units of a text have stored bytes, in order, or none.
        """
        if not text:
            return
        start = self._length
        self.add_text(text)
        numbers = [start, self._length, group, first, last]
        if stored is not None:
            numbers += [stored.start, stored.stop]
        for column, number in zip(self._columns, numbers, strict=False):
            column.append(number)

    def add_separator(self) -> None:
        """Add a line feed between units. Raises OverBudget if the text becomes too long."""
        self.add_text("\n")

    def add_text(self, text: str) -> None:
        """Add characters that belong to no unit. Raises OverBudget if the text becomes too long."""
        self._texts.append(text)
        self._length += len(text)
        if self._length > LARGEST:
            raise PlainTextTooLong(source=self._source.name, most=LARGEST)

    def build_index(self) -> bytes:
        """Return the index. Raises TextAbsent if the text has no characters but white space."""
        text = "".join(self._texts)
        if not text or text.isspace():
            raise TextAbsent(**self._source.subject)
        return msgspec.msgpack.encode(_Kept(text, *(one.tobytes() for one in self._columns)))
