"""The index of a text: the byte of any position, without reading everything before it.

How it works: `build_marks` decodes the text once, in blocks, and at each border records the number
of characters before it, counted in three ways (`TextMark`). That is 40 bytes for 32 KiB of text. To
find a position, the index searches for the last mark that is not beyond it. From there it decodes
in steps. A step is nearly as long as the remaining characters should need, and shorter if it goes
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
from collections.abc import Callable, Iterator
from enum import Enum
from functools import partial
from typing import Any, NamedTuple

from perdure.errors.damage import TextInvalid
from perdure.errors.limits import ShiftedRunTooLong
from perdure.extractors.port import Indexes, Source, Span
from perdure.extractors.text.coding import Coding

BLOCK = 32 * 1024  # bytes between marks; half as many in charsets that take longer to decode
_KEPT_FROM = 8 * 1024  # bytes; a shorter text is decoded as fast as a kept index is read
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


class TextMark(NamedTuple):
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
    def line_breaks(self) -> int:
        """Line breaks, counted at their first character."""
        return self.canonical - self.characters + self.after_cr

    def count_passed(self, unit: Unit) -> int:
        match unit:
            case Unit.CANONICAL:
                return self.canonical
            case Unit.CHARACTER:
                return self.characters
            case Unit.LINE:
                return self.line_breaks

    def settle_cr(self) -> TextMark:
        """Return the same place, after a CR that was alone."""
        return self._replace(canonical=self.canonical + self.after_cr, after_cr=False)


class TextIndex:
    """Finds positions in one text. `open_index` creates it."""

    def __init__(
        self,
        source: Source,
        coding: Coding,
        kept: memoryview | bytes,
        data: bytes | None = None,
    ) -> None:
        """`data` are all bytes of a short text, which are read once."""
        self.source = source
        self.coding = coding
        self._data = data
        self._rows = memoryview(kept).cast("Q")
        self._last = len(self._rows) // _COLUMNS - 1
        self.end = self._read_row(self._last)
        """The place after the last character."""

    def read_bytes(self, start: int = 0, stop: int | None = None) -> bytes:
        """Return the bytes [start, stop) of the text, as far as they exist."""
        if self._data is None:
            return self.source.read_bytes(start, stop)
        return self._data[start:stop]

    def count_units(self, unit: Unit) -> int:
        """Return the number of characters or lines in the text; a last line without a line break
        counts.
        """
        end = self.end.settle_cr()
        if unit is not Unit.LINE:
            return end.count_passed(unit)
        if self.coding.kind == "plain":
            last_byte = self.read_bytes(max(end.byte - 1, self._read_row(0).byte))
            return end.line_breaks + (last_byte not in b"\r\n")  # true of an empty text, too
        last = self.find_place(Unit.LINE, end.line_breaks)
        return end.line_breaks + (last.characters + last.skip < end.characters)

    def find_place(self, unit: Unit, position: int) -> TextMark:
        """Return the place before the character or line of this number, from 0 through
        `count_units(unit)`.

        The end of a line is after its line break; a CRLF is one line break.
        """
        if unit is not Unit.LINE:
            return self._walk_to(unit, position)
        if position > self.end.settle_cr().line_breaks:
            return self.end.settle_cr()
        return self._find_behind_break(position) if position else self._read_row(0)

    def _find_behind_break(self, number: int) -> TextMark:
        if self.coding.kind == "plain":
            return self._find_behind_plain_break(number)
        before = self._walk_to(Unit.LINE, number - 1)  # the place before the line break
        passed, reach = 1, _NEAR
        if self.coding.kind == "shifted":
            together = _LINE_BREAK.sub("\n", self.read_together(before)[0]).split("\n")
            passed = sum(len(line) + 1 for line in together[: number - before.line_breaks])
            reach = 2 * _LONGEST_RUN
        data = self.read_bytes(before.byte, before.byte + reach)
        return self._walk_along(before, data, Unit.CHARACTER, before.characters + passed, 1)

    def _find_behind_plain_break(self, number: int) -> TextMark:
        """Return the same place if line breaks are visible in bytes: only the bytes before it are
        decoded.
        """
        row = self._find_row_before(Unit.LINE, number - 1)
        start, following = self._read_row(row), self._read_row(row + 1)
        data = self.read_bytes(start.byte, following.byte + 1)  # with the LF after a CR
        rest = int(
            start.after_cr and data[:1] == b"\n"
        )  # the rest of a line break that was counted
        lines = data[rest:].splitlines(keepends=True)  # in bytes: after CR, LF and CRLF only
        counting = _Counting(self.coding, start)
        counting.feed_bytes(data[: rest + sum(map(len, lines[: number - start.line_breaks]))])
        return counting.make_mark().settle_cr()

    def read_together(self, place: TextMark) -> tuple[str, int]:
        """Return the characters that share the bytes at a place, and the byte after them.

        Nearly always it is one character: a few codes of JIS X 0213 and Big5-HKSCS are two, and
        UTF-7 writes complete words together. At the end of the text it is none.
        """
        decoder = codecs.getincrementaldecoder(self.coding.codec)()
        decoder.setstate((b"", place.state))
        with self.source.open_file() as file:
            file.seek(place.byte)
            while byte := file.read(1):
                if text := decoder.decode(byte):
                    return text, file.tell()
        return "", self.end.byte

    def _walk_to(self, unit: Unit, target: int) -> TextMark:
        """Return the place that exactly `target` units precede; for lines, the last such place."""
        number = self._find_row_before(unit, target)
        start = self._read_row(number)
        if number == self._last:
            return _resolve_place(start, unit, target)
        following = self._read_row(number + 1)
        data = self.read_bytes(start.byte, following.byte)
        each = len(data) / max(following.count_passed(unit) - start.count_passed(unit), 1)
        return self._walk_along(start, data, unit, target, each)

    def _walk_along(
        self, start: TextMark, data: bytes, unit: Unit, target: int, each: float
    ) -> TextMark:
        """Return the same place within the bytes after a mark; each unit takes about
        `each` bytes.
        """
        counting = _Counting(self.coding, start)
        at = 0
        while at < len(data):
            left = target - counting.count_passed(unit)
            step = max(int((left + 0.5) * each * _CAUTION), 1)
            before = counting.save_state()
            counting.feed_bytes(data[at : at + step])
            while (beyond := counting.count_passed(unit) - target) > 0:
                counting.restore_state(before)
                if step == 1:
                    return _resolve_place(counting.make_mark(), unit, target)
                step = max(min(int(step * (left + 0.5) / (left + beyond)), step * 3 // 4), 1)
                counting.feed_bytes(data[at : at + step])
            at += step
        return _resolve_place(counting.make_mark(), unit, target)

    def count_before(self, unit: Unit, byte: int) -> int:
        """Return the units before a byte, or a few less if it is within a character, a line break
        or shifted text.
        """
        rows = range(self._last + 1)
        number = bisect_right(rows, byte, key=lambda row: self._rows[row * _COLUMNS] >> 1) - 1
        start = self._read_row(max(number, 0))
        counting = _Counting(self.coding, start)
        counting.feed_bytes(self.read_bytes(start.byte, max(byte, start.byte)))
        return counting.count_passed(unit)

    def _find_row_before(self, unit: Unit, target: int) -> int:
        """Return the number of the last mark that is not beyond a position."""
        return (
            bisect_right(range(self._last + 1), target, key=partial(self._count_passed, unit)) - 1
        )

    def _count_passed(self, unit: Unit, number: int) -> int:
        """Return the units before a mark. The search uses this because creating a `TextMark` would
        cost more.
        """
        at = number * _COLUMNS
        match unit:
            case Unit.CANONICAL:
                return self._rows[at + 1]
            case Unit.CHARACTER:
                return self._rows[at + 2]
            case Unit.LINE:
                return self._rows[at + 1] - self._rows[at + 2] + (self._rows[at] & 1)

    def _read_row(self, number: int) -> TextMark:
        at = number * _COLUMNS
        byte, canonical, characters, decoded, state = self._rows[at : at + _COLUMNS]
        return TextMark(byte >> 1, canonical, characters, decoded, state, bool(byte & 1))


def open_index(
    source: Source, coding: Coding, indexes: Indexes, *, block: int = BLOCK
) -> TextIndex:
    """Return the index of a text; the first request creates it.

    Raises Undecodable with the offset of the first byte that is not text in this charset.
    """
    if source.length < _KEPT_FROM:
        data = source.read_bytes()
        return TextIndex(source, coding, build_marks(source, coding, block, data), data)
    kind = f"text-1-{coding.codec}"
    return TextIndex(
        source,
        coding,
        indexes.get_index(source, kind, lambda source: build_marks(source, coding, block)),
    )


def build_marks(
    source: Source, coding: Coding, block: int = BLOCK, data: bytes | None = None
) -> bytes:
    """Return five numbers of 64 bits for each border of a block, and for the end. `data` are all
    bytes of the source, if they were read. Raises Undecodable.
    """
    rows = array("Q")
    if coding.codec not in _FAST:
        block = max(block // 2, 1)
    mark = TextMark(coding.start, 0, 0, 0, coding.state, after_cr=False)
    counting = _Counting(coding, mark)
    if source.length >= _WORTH_NUMPY:
        counting.breaks = _choose_counter()
    try:
        for piece in _divide_blocks(source, coding.start, block, data):
            rows.extend(_pack_mark(mark))
            counting.feed_bytes(piece)
            mark = counting.make_mark()
        counting.finish_decoding()
    except UnicodeError as error:  # after an error the decoder does not report its position
        at = mark.byte + getattr(error, "start", 0)
        if not isinstance(error, UnicodeDecodeError):  # an unterminated escape sequence
            at = _find_first_bad(source, coding, mark)
        raise TextInvalid(
            identifier=source.name,
            media_type=f"{source.essence}; charset={source.charset or coding.codec}",
            at=at,
            fault=str(getattr(error, "reason", error)),
        ) from None
    rows.extend(_pack_mark(mark))
    return rows.tobytes()


def _divide_blocks(source: Source, start: int, block: int, data: bytes | None) -> Iterator[bytes]:
    if data is None:
        return source.read_chunks(Span(start, source.length), block)
    return (data[at : at + block] for at in range(start, source.length, block))


def _find_first_bad(source: Source, coding: Coding, mark: TextMark) -> int:
    """Return the byte after the last character that can be decoded."""
    counting = _Counting(coding, mark)
    with source.open_file() as file:
        file.seek(mark.byte)
        try:
            while byte := file.read(1):
                mark = counting.make_mark()
                counting.feed_bytes(byte)
        except UnicodeError:
            pass
    return mark.byte


def _pack_mark(mark: TextMark) -> tuple[int, ...]:
    return (
        mark.byte << 1 | mark.after_cr,
        mark.canonical,
        mark.characters,
        mark.decoded,
        mark.state,
    )


def _resolve_place(mark: TextMark, unit: Unit, target: int) -> TextMark:
    """Return the place that exactly `target` units precede, given the last mark that is not beyond
    it.
    """
    if mark.after_cr and (unit is not Unit.CANONICAL or target > mark.canonical):
        mark = mark.settle_cr()  # no LF follows, or it would have passed
    return mark if unit is Unit.LINE else mark._replace(skip=target - mark.count_passed(unit))


# counting
# --------

Breaks = Callable[[bytes], tuple[int, int, int]]


class _Counting:
    """Decodes piece by piece and counts the characters."""

    breaks: Breaks

    def __init__(self, coding: Coding, start: TextMark) -> None:
        self.breaks = _count_breaks
        self._plain = coding.kind == "plain"
        self._decoder = codecs.getincrementaldecoder(coding.codec)()
        self._state: tuple[bytes, int] = (b"", start.state)
        self._decoder.setstate(self._state)
        self._at = start.byte
        self._canonical = start.canonical
        self._characters = start.characters
        self._decoded = start.decoded
        self._after_cr = start.after_cr

    def feed_bytes(self, data: bytes) -> None:
        """Count the characters that these bytes complete."""
        self._at += len(data)
        if self._plain:
            # Counted in bytes: half a character is neither a character nor a line break.
            decoded = len(data)
            if self._state[0] or not data.isascii():
                decoded = len(self._decoder.decode(data))
                self._state = self._decoder.getstate()
            self._add_counts(decoded, *self.breaks(data), data[:1] == b"\n", data[-1:] == b"\r")
            return
        if text := self._decoder.decode(data):
            lf, cr = text.count("\n"), text.count("\r")
            both = text.count("\r\n") if cr else 0
            self._add_counts(len(text), lf, cr, both, text[0] == "\n", text[-1] == "\r")
        self._state = self._decoder.getstate()
        if len(self._state[0]) > _LONGEST_RUN:
            raise ShiftedRunTooLong(most=_LONGEST_RUN)

    def _add_counts(
        self, decoded: int, lf: int, cr: int, both: int, lf_first: bool, cr_last: bool
    ) -> None:
        both += self._after_cr and lf_first
        alone = lf + cr - 2 * both + self._after_cr - cr_last  # those known to be alone
        self._decoded += decoded
        self._canonical += decoded + alone
        self._characters += decoded - both
        self._after_cr = cr_last

    def finish_decoding(self) -> None:
        """Raise UnicodeDecodeError if the last character is incomplete."""
        self._decoder.decode(b"", True)

    def count_passed(self, unit: Unit) -> int:
        match unit:
            case Unit.CANONICAL:
                return self._canonical
            case Unit.CHARACTER:
                return self._characters
            case Unit.LINE:
                return self._canonical - self._characters + self._after_cr

    def make_mark(self) -> TextMark:
        begun, state = self._state
        return TextMark(
            self._at - len(begun),
            self._canonical,
            self._characters,
            self._decoded,
            state,
            self._after_cr,
        )

    def save_state(self) -> tuple[Any, ...]:
        return (
            self._state,
            self._at,
            self._canonical,
            self._characters,
            self._decoded,
            self._after_cr,
        )

    def restore_state(self, saved: tuple[Any, ...]) -> None:
        (
            self._state,
            self._at,
            self._canonical,
            self._characters,
            self._decoded,
            self._after_cr,
        ) = saved
        self._decoder.setstate(self._state)


def _count_breaks(data: bytes) -> tuple[int, int, int]:
    """Return the numbers of LF, CR, and CR before LF."""
    if b"\r" not in data:
        return data.count(b"\n"), 0, 0
    return data.count(b"\n"), data.count(b"\r"), data.count(b"\r\n")


def _choose_counter() -> Breaks:
    """Return `_count_breaks`, or a version with numpy if it is installed: twice as fast with CRLF
    line ends.
    """
    try:
        import numpy as np
    except ImportError:
        return _count_breaks

    def count_breaks(data: bytes) -> tuple[int, int, int]:
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

    return count_breaks
