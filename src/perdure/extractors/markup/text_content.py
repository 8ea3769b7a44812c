"""The text of a document without its markup, with the place in the source of every character.

How it works: text is everything between tags that is not a comment, a declaration or an
instruction. Character references are replaced, CDATA sections opened, and the content of `script`
and `style` left out. Line ends are one line feed each, as for every reader of HTML and XML. The
text is kept as one string beside a list of runs. A run is either literal, so that a place within it
is found by decoding, or stands for its characters as a unit: a reference, a line end.

What must stay true: code point n of the text is written at the bytes that `span(n, n + 1)` returns.
"""

from __future__ import annotations

import codecs
import html
import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from html.entities import html5
from typing import NamedTuple

import msgspec

from perdure.errors import PartNotSupported
from perdure.extractors.markup.tagged import Markup
from perdure.extractors.markup.tags import HTML, TEXT, CharacterData, read_tag, read_text_between
from perdure.extractors.plain_text import TextPassage, check_size, list_sliced, locate_slices
from perdure.extractors.port import Part, Source, Span
from perdure.parts import TextPosition

_STEP = 1024  # bytes that are decoded at a time to find a character

UNREAD = frozenset((b"script", b"style"))
VERBATIM = frozenset((b"textarea", b"title"))
INLINE = frozenset(
    b"a abbr acronym b bdi bdo big cite code data del dfn em font i img input ins kbd label mark "
    b"nobr q s samp small span strike strong sub sup time tt u var wbr".split()
)
_MADE = re.compile(rb"&(?:#[0-9]++|#[xX][0-9a-fA-F]++|[A-Za-z][A-Za-z0-9]*+);?|\r\n?")
_LINE_END = re.compile(rb"\r\n?")


class _Kept(msgspec.Struct, frozen=True, array_like=True):
    """The form of text content in an index."""

    text: str
    columns: list[bytes]


class TextContent(NamedTuple):
    """Run n is text from texts[n] on, written at bytes [starts[n], stops[n])."""

    source: Source
    codec: str
    text: str
    texts: array[int]
    starts: array[int]
    stops: array[int]
    literal: array[int]
    """Whether a run is written as it reads."""
    blocks: array[int]
    """Places in the text where an element other than inline text begins or ends."""

    def find_span(self, start: int, stop: int) -> Span:
        """Return the bytes from the first of code points [start, stop) through the last."""
        return Span(self._find_byte(start, after=False), self._find_byte(stop - 1, after=True))

    def select_part(self, start: int, stop: int) -> TextPosition:
        """Return a selector for code points of the text content (Web Annotation)."""
        return TextPosition(start, stop)

    def list_passages(
        self, start: int, stop: int, *, finest: bool = False
    ) -> tuple[TextPassage, ...]:
        return list_sliced(self, start, stop)

    def locate_part(self, part: Part) -> TextPassage | None:
        return locate_slices(self, part)

    def find_character(self, byte: int) -> int:
        """Return the first code point that is written at or after a byte."""
        run = bisect_right(self.starts, byte) - 1
        if run < 0:
            return 0
        if byte >= self.stops[run] or not self.literal[run]:
            inside = self.starts[run] < byte
            return self._find_text_end(run) if inside else self.texts[run]
        written = self.source.read_bytes(self.starts[run], byte)
        return self.texts[run] + len(written.decode(self.codec, "replace"))

    def _find_text_end(self, run: int) -> int:
        return self.texts[run + 1] if run + 1 < len(self.texts) else len(self.text)

    def _find_byte(self, place: int, *, after: bool) -> int:
        """Return the byte at which a code point begins, or ends."""
        run = bisect_right(self.texts, place) - 1
        if not self.literal[run]:
            return self.stops[run] if after else self.starts[run]
        wanted = place - self.texts[run] + after
        if wanted == self._find_text_end(run) - self.texts[run]:
            return self.stops[run]
        return self.starts[run] + self._measure_bytes(run, wanted, after=after)

    def _measure_bytes(self, run: int, wanted: int, *, after: bool) -> int:
        """Return the bytes of the first characters of a run.

        Bytes that are not text in the charset may come out as several characters at once: such a
        place is before all of them, or after.
        """
        decoder = codecs.getincrementaldecoder(self.codec)("replace")
        written = self.source.read_bytes(self.starts[run], self.stops[run])
        at, step = 0, _STEP
        while wanted > 0:
            state = decoder.getstate()
            got = len(decoder.decode(written[at : at + step]))
            if got >= wanted and step > 1:  # once more, byte by byte
                decoder.setstate(state)
                step = 1
                continue
            if got > wanted and not after:
                break
            at, wanted = at + step, wanted - got
        return at


def read_text_content(markup: Markup) -> TextContent:
    """Return the text of a document. Raises OverBudget if it is larger than 20 MiB."""
    source, encoding = markup.source, markup.encoding
    check_size(source)
    if encoding.shifts:
        raise PartNotSupported(
            media_type=f"{source.essence}; charset={encoding.codec.replace('_', '-')}",
            selector="quoted text",
            offered=("char range", "tag range", "name range", "byte range"),
        )

    def build_content(_: Source) -> bytes:
        return _Building(markup).build_bytes()

    kind = f"content-{markup.name_index(encoding.codec)}-2"
    kept = msgspec.msgpack.decode(markup.indexes.get_index(source, kind, build_content), type=_Kept)
    columns = [array(code, column) for code, column in zip("IIIBI", kept.columns, strict=True)]
    return TextContent(source, encoding.codec, kept.text, *columns)


def _cut_reference(written: str, *, strict: bool) -> str:
    """Return the beginning of a text that is a character reference, or an empty string.

    HTML reads a name without a semicolon as the longest known one that it begins with (HTML
    section 13.2.5.73): `&notanentity;` is `&not`, and text. If `strict`, a name must be complete.

    >>> _cut_reference("&notanentity;", strict=False), _cut_reference("&notanentity;", strict=True)
    ('&not', '')
    """
    if written[1] == "#" or written[1:] in html5:
        return written
    stops = () if strict else range(len(written) - 1, 1, -1)
    return next((written[:stop] for stop in stops if written[1:stop] in html5), "")


class _Building:
    """Text and runs, collected while a document is read."""

    def __init__(self, markup: Markup) -> None:
        self._markup = markup
        self._data = markup.source.map_bytes()
        self._view, self._tags = markup.make_view(), markup.list_tags()
        self._text: list[str] = []
        self._length = 0
        self._runs = array("I"), array("I"), array("I"), array("B")
        self._blocks = array("I")

    def build_bytes(self) -> bytes:
        for piece in self._list_pieces():
            self._add_piece(piece)
        columns = [column.tobytes() for column in (*self._runs, self._blocks)]
        return msgspec.msgpack.encode(_Kept("".join(self._text), columns))

    def _list_pieces(self) -> Iterator[CharacterData]:
        view, rule = self._view, self._markup.rule
        at, name = self._skip_mark(), b""
        for start, stop in zip(self._tags.starts, self._tags.stops, strict=True):
            yield from self._list_between(at, start, name)
            tag = read_tag(view, start, stop)
            name = b"" if tag.closing else tag.name.lower()
            if rule is not HTML or tag.name.lower() not in INLINE:
                self._blocks.append(self._length)
            at = stop
        yield from self._list_between(at, len(view), name)

    def _skip_mark(self) -> int:
        """Return the units of a byte-order mark, which is not text."""
        encoding = self._markup.encoding
        written = "\ufeff".encode(encoding.codec, "ignore")
        marked = written and self._data[: len(written)] == written
        return len(written) // encoding.width if marked else 0

    def _list_between(self, start: int, stop: int, name: bytes) -> Iterator[CharacterData]:
        """Yield the text after the start tag `name`, or after another tag."""
        rule = self._markup.rule
        if start == stop or (rule is HTML and name in UNREAD):
            return
        if rule is TEXT or (rule is HTML and name in VERBATIM):
            yield CharacterData(start, stop, verbatim=rule is TEXT)
        else:
            yield from read_text_between(self._view, start, stop, rule)

    def _add_piece(self, piece: CharacterData) -> None:
        """Add the runs of a piece. References and line ends look the same in every view."""
        at = piece.start
        pattern = _LINE_END if piece.verbatim else _MADE
        for made in pattern.finditer(self._view, piece.start, piece.stop):
            start = made.start()
            written = made[0].decode("ascii")
            if written[0] == "&":
                written = _cut_reference(written, strict=self._markup.rule is not HTML)
            read_as = "\n" if written[:1] == "\r" else html.unescape(written)
            if read_as != written:
                self._add_literal(at, start)
                at = start + len(written)
                self._add_run(read_as, start, at, literal=False)
        self._add_literal(at, piece.stop)

    def _add_literal(self, start: int, stop: int) -> None:
        """Add a run that is written as it reads."""
        if start < stop:
            width, codec = self._markup.encoding.width, self._markup.encoding.codec
            written = str(self._data[start * width : stop * width], codec, "replace")
            self._add_run(written, start, stop, literal=True)

    def _add_run(self, text: str, start: int, stop: int, *, literal: bool) -> None:
        texts, starts, stops, kinds = self._runs
        width = self._markup.encoding.width
        texts.append(self._length)
        starts.append(start * width)
        stops.append(stop * width)
        kinds.append(literal)
        self._text.append(text)
        self._length += len(text)
