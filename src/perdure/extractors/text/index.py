"""The index of a text: the byte of any position, without reading everything before it.

How it works: `marks` decodes the text once, in blocks, and at each border records the number of
characters before it, counted in three ways (`Mark`). That is 40 bytes for 32 KiB of text. To find a
position, the index searches for the last mark that is not beyond it. From there it decodes in
steps. A step is nearly as long as the remaining characters should need, and shorter if it goes
beyond the position, until the next byte would complete a character beyond the position. A mark
holds the state of the decoder, so this works for every charset, including those with shifts. If
line breaks are visible in the bytes, the one before a line is found by counting, and decoding goes
up to it.

Counting: a CR counts at once; the next character shows whether it is alone. Positions in the
canonical text (ruling: text-positions) count two for every line break, those of RFC 5147 one.

What must stay true: only texts that decode to their end have an index. Bytes that are not text in
their charset are an error with their offset, never a guess. Memory is bounded by the block.
"""

from __future__ import annotations

import codecs
import re
from array import array
from bisect import bisect_right
from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Any, NamedTuple

from perdure.errors import OverBudget, Undecodable
from perdure.extractors.port import Indexes, Source, Span
from perdure.extractors.text.coding import Coding

BLOCK = 32 * 1024  # bytes between marks; half as many in charsets that take longer to decode
_FAST = ("ascii", "iso8859-1", "utf-8")
_COLUMNS = 5
_NEAR = 64  # bytes, more than a line break and a character take
_CAUTION = 31 / 32  # of the estimated distance: overshooting means decoding twice
_LONGEST_RUN = 64 * 1024  # bytes of UTF-7 that stand for characters only together
_WORTH_NUMPY = 4 << 20  # bytes
_LINE_BREAK = re.compile("\r\n?")


class Unit(Enum):
    """The unit of a position."""

    CANONICAL = "characters of canonical text: a line break is two"
    CHARACTER = "characters as RFC 5147 counts them: a line break is one"
    LINE = "lines"


class Mark(NamedTuple):
    """A place in a text, and the counts of everything before it."""

    byte: int
    """The byte at which the next character is written."""
    canonical: int
    """Characters of canonical text. After a CR that may be alone, its LF is not counted."""
    characters: int
    """Characters as RFC 5147 counts them."""
    decoded: int
    """Characters as they are stored, with CR and LF as two."""
    state: int
    """The state of the decoder."""
    after_cr: bool
    """Whether the last character was a CR and the next one has not been examined."""
    skip: int = 0
    """Characters at `byte` that come before the place, if several share the bytes or count as
    several: a lone LF is CR and LF in canonical text.
    """

    @property
    def breaks(self) -> int:
        """Line breaks, counted at their first character."""
        return self.canonical - self.characters + self.after_cr

    def count(self, unit: Unit) -> int:
        match unit:
            case Unit.CANONICAL:
                return self.canonical
            case Unit.CHARACTER:
                return self.characters
            case Unit.LINE:
                return self.breaks

    def settled(self) -> Mark:
        """Return the same place, after a CR that was alone."""
        return self._replace(canonical=self.canonical + self.after_cr, after_cr=False)


class TextIndex:
    """Finds positions in one text. `open_index` creates it."""

    def __init__(self, source: Source, coding: Coding, kept: memoryview | bytes) -> None:
        self.source = source
        self.coding = coding
        self._rows = memoryview(kept).cast("Q")
        self._last = len(self._rows) // _COLUMNS - 1
        self.end = self._row(self._last)
        """The place after the last character."""

    def size(self, unit: Unit) -> int:
        """Return the number of characters or lines in the text; a last line without a line break
        counts.
        """
        end = self.end.settled()
        if unit is not Unit.LINE:
            return end.count(unit)
        if self.coding.kind == "plain":
            last_byte = self.source.read(max(end.byte - 1, self._row(0).byte))
            return end.breaks + (last_byte not in b"\r\n")  # true of an empty text, too
        last = self.find(Unit.LINE, end.breaks)
        return end.breaks + (last.characters + last.skip < end.characters)

    def find(self, unit: Unit, position: int) -> Mark:
        """Return the place before the character or line of this number, from 0 through
        `size(unit)`.

        The end of a line is after its line break; a CRLF is one line break.
        """
        if unit is not Unit.LINE:
            return self._walk(unit, position)
        if position > self.end.settled().breaks:
            return self.end.settled()
        return self._behind_break(position) if position else self._row(0)

    def _behind_break(self, number: int) -> Mark:
        if self.coding.kind == "plain":
            return self._behind_plain_break(number)
        before = self._walk(Unit.LINE, number - 1)  # the place before the line break
        passed, reach = 1, _NEAR
        if self.coding.kind == "shifted":
            together = _LINE_BREAK.sub("\n", self.together(before)[0]).split("\n")
            passed = sum(len(line) + 1 for line in together[: number - before.breaks])
            reach = 2 * _LONGEST_RUN
        data = self.source.read(before.byte, before.byte + reach)
        return self._along(before, data, Unit.CHARACTER, before.characters + passed, 1)

    def _behind_plain_break(self, number: int) -> Mark:
        """Return the same place if line breaks are visible in bytes: only the bytes before it are
        decoded.
        """
        row = self._row_before(Unit.LINE, number - 1)
        start, following = self._row(row), self._row(row + 1)
        data = self.source.read(start.byte, following.byte + 1)  # with the LF after a CR
        rest = int(
            start.after_cr and data[:1] == b"\n"
        )  # the rest of a line break that was counted
        lines = data[rest:].splitlines(keepends=True)  # in bytes: after CR, LF and CRLF only
        counting = _Counting(self.coding, start)
        counting.feed(data[: rest + sum(map(len, lines[: number - start.breaks]))])
        return counting.mark().settled()

    def together(self, place: Mark) -> tuple[str, int]:
        """Return the characters that share the bytes at a place, and the byte after them.

        Nearly always it is one character: a few codes of JIS X 0213 and Big5-HKSCS are two, and
        UTF-7 writes complete words together. At the end of the text it is none.
        """
        decoder = codecs.getincrementaldecoder(self.coding.codec)()
        decoder.setstate((b"", place.state))
        with self.source.open() as file:
            file.seek(place.byte)
            while byte := file.read(1):
                if text := decoder.decode(byte):
                    return text, file.tell()
        return "", self.end.byte

    def _walk(self, unit: Unit, target: int) -> Mark:
        """Return the place that exactly `target` units precede; for lines, the last such place."""
        number = self._row_before(unit, target)
        start = self._row(number)
        if number == self._last:
            return _resolved(start, unit, target)
        following = self._row(number + 1)
        data = self.source.read(start.byte, following.byte)
        each = len(data) / max(following.count(unit) - start.count(unit), 1)
        return self._along(start, data, unit, target, each)

    def _along(self, start: Mark, data: bytes, unit: Unit, target: int, each: float) -> Mark:
        """Return the same place within the bytes after a mark; each unit takes about
        `each` bytes.
        """
        counting = _Counting(self.coding, start)
        at = 0
        while at < len(data):
            left = target - counting.count(unit)
            step = max(int((left + 0.5) * each * _CAUTION), 1)
            before = counting.save()
            counting.feed(data[at : at + step])
            while (beyond := counting.count(unit) - target) > 0:
                counting.restore(before)
                if step == 1:
                    return _resolved(counting.mark(), unit, target)
                step = max(min(int(step * (left + 0.5) / (left + beyond)), step * 3 // 4), 1)
                counting.feed(data[at : at + step])
            at += step
        return _resolved(counting.mark(), unit, target)

    def _row_before(self, unit: Unit, target: int) -> int:
        """Return the number of the last mark that is not beyond a position."""
        return bisect_right(range(self._last + 1), target, key=partial(self._count, unit)) - 1

    def _count(self, unit: Unit, number: int) -> int:
        """Return the units before a mark. The search uses this because creating a `Mark` would cost
        more.
        """
        at = number * _COLUMNS
        match unit:
            case Unit.CANONICAL:
                return self._rows[at + 1]
            case Unit.CHARACTER:
                return self._rows[at + 2]
            case Unit.LINE:
                return self._rows[at + 1] - self._rows[at + 2] + (self._rows[at] & 1)

    def _row(self, number: int) -> Mark:
        at = number * _COLUMNS
        byte, canonical, characters, decoded, state = self._rows[at : at + _COLUMNS]
        return Mark(byte >> 1, canonical, characters, decoded, state, bool(byte & 1))


def open_index(
    source: Source, coding: Coding, indexes: Indexes, *, block: int = BLOCK
) -> TextIndex:
    """Return the index of a text; the first request creates it.

    Raises Undecodable with the offset of the first byte that is not text in this charset.
    """
    kind = f"text-1-{coding.codec}"
    return TextIndex(
        source, coding, indexes.get(source, kind, lambda source: marks(source, coding, block))
    )


def marks(source: Source, coding: Coding, block: int = BLOCK) -> bytes:
    """Return five numbers of 64 bits for each border of a block, and for the end. Raises
    Undecodable.
    """
    rows = array("Q")
    if coding.codec not in _FAST:
        block = max(block // 2, 1)
    mark = Mark(coding.start, 0, 0, 0, coding.state, after_cr=False)
    counting = _Counting(coding, mark)
    if source.length >= _WORTH_NUMPY:
        counting.breaks = _fastest()
    try:
        for data in source.chunks(Span(coding.start, source.length), block):
            rows.extend(_as_row(mark))
            counting.feed(data)
            mark = counting.mark()
        counting.finish()
    except UnicodeError as error:  # after an error the decoder does not report its position
        at = mark.byte + getattr(error, "start", 0)
        if not isinstance(error, UnicodeDecodeError):  # an unterminated escape sequence
            at = _first_bad(source, coding, mark)
        raise Undecodable(
            identifier=source.name,
            media_type=f"{source.essence}; charset={source.charset or coding.codec}",
            reason=f"invalid text at byte {at}: {getattr(error, 'reason', error)}",
        ) from None
    rows.extend(_as_row(mark))
    return rows.tobytes()


def _first_bad(source: Source, coding: Coding, mark: Mark) -> int:
    """Return the byte after the last character that can be decoded."""
    counting = _Counting(coding, mark)
    with source.open() as file:
        file.seek(mark.byte)
        try:
            while byte := file.read(1):
                mark = counting.mark()
                counting.feed(byte)
        except UnicodeError:
            pass
    return mark.byte


def _as_row(mark: Mark) -> tuple[int, ...]:
    return (
        mark.byte << 1 | mark.after_cr,
        mark.canonical,
        mark.characters,
        mark.decoded,
        mark.state,
    )


def _resolved(mark: Mark, unit: Unit, target: int) -> Mark:
    """Return the place that exactly `target` units precede, given the last mark that is not beyond
    it.
    """
    if mark.after_cr and (unit is not Unit.CANONICAL or target > mark.canonical):
        mark = mark.settled()  # no LF follows, or it would have passed
    return mark if unit is Unit.LINE else mark._replace(skip=target - mark.count(unit))


# counting
# --------

Breaks = Callable[[bytes], tuple[int, int, int]]


class _Counting:
    """Decodes piece by piece and counts the characters."""

    breaks: Breaks

    def __init__(self, coding: Coding, start: Mark) -> None:
        self.breaks = _breaks
        self._plain = coding.kind == "plain"
        self._decoder = codecs.getincrementaldecoder(coding.codec)()
        self._state: tuple[bytes, int] = (b"", start.state)
        self._decoder.setstate(self._state)
        self._at = start.byte
        self._canonical = start.canonical
        self._characters = start.characters
        self._decoded = start.decoded
        self._after_cr = start.after_cr

    def feed(self, data: bytes) -> None:
        """Count the characters that these bytes complete."""
        self._at += len(data)
        if self._plain:
            # Counted in bytes: half a character is neither a character nor a line break.
            decoded = len(data)
            if self._state[0] or not data.isascii():
                decoded = len(self._decoder.decode(data))
                self._state = self._decoder.getstate()
            self._count(decoded, *self.breaks(data), data[:1] == b"\n", data[-1:] == b"\r")
            return
        if text := self._decoder.decode(data):
            lf, cr = text.count("\n"), text.count("\r")
            both = text.count("\r\n") if cr else 0
            self._count(len(text), lf, cr, both, text[0] == "\n", text[-1] == "\r")
        self._state = self._decoder.getstate()
        if len(self._state[0]) > _LONGEST_RUN:
            raise OverBudget(what="a run of shifted characters", limit=f"{_LONGEST_RUN} bytes")

    def _count(
        self, decoded: int, lf: int, cr: int, both: int, lf_first: bool, cr_last: bool
    ) -> None:
        both += self._after_cr and lf_first
        alone = lf + cr - 2 * both + self._after_cr - cr_last  # those known to be alone
        self._decoded += decoded
        self._canonical += decoded + alone
        self._characters += decoded - both
        self._after_cr = cr_last

    def finish(self) -> None:
        """Raise UnicodeDecodeError if the last character is incomplete."""
        self._decoder.decode(b"", True)

    def count(self, unit: Unit) -> int:
        match unit:
            case Unit.CANONICAL:
                return self._canonical
            case Unit.CHARACTER:
                return self._characters
            case Unit.LINE:
                return self._canonical - self._characters + self._after_cr

    def mark(self) -> Mark:
        begun, state = self._state
        return Mark(
            self._at - len(begun),
            self._canonical,
            self._characters,
            self._decoded,
            state,
            self._after_cr,
        )

    def save(self) -> tuple[Any, ...]:
        return (
            self._state,
            self._at,
            self._canonical,
            self._characters,
            self._decoded,
            self._after_cr,
        )

    def restore(self, saved: tuple[Any, ...]) -> None:
        (
            self._state,
            self._at,
            self._canonical,
            self._characters,
            self._decoded,
            self._after_cr,
        ) = saved
        self._decoder.setstate(self._state)


def _breaks(data: bytes) -> tuple[int, int, int]:
    """Return the numbers of LF, CR, and CR before LF."""
    if b"\r" not in data:
        return data.count(b"\n"), 0, 0
    return data.count(b"\n"), data.count(b"\r"), data.count(b"\r\n")


def _fastest() -> Breaks:
    """Return `_breaks`, or a version with numpy if it is installed: twice as fast with CRLF line
    ends.
    """
    try:
        import numpy as np
    except ImportError:
        return _breaks

    def breaks(data: bytes) -> tuple[int, int, int]:
        octets = np.frombuffer(data, np.uint8)
        lf = octets == 0x0A
        lfs = int(np.count_nonzero(lf))
        if b"\r" not in data:
            return lfs, 0, 0
        cr = octets == 0x0D
        if cr[:-1].tobytes() == lf[1:].tobytes():  # all of them are CRLF, the usual case
            both = lfs - int(lf[0])
            return lfs, both + int(cr[-1]), both
        both = int(np.count_nonzero(cr[:-1] & lf[1:]))
        return lfs, int(np.count_nonzero(cr)), both

    return breaks
