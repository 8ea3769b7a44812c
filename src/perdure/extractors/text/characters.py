"""Parts of text: `#char=37,51` of a PDI (section 3.4.1), `char=` and `line=` elsewhere (RFC 5147).

How it works: both ends are found in the index of the text (`perdure.extractors.text.index`), and
the text between them is a slice of the stored bytes. A part by the rules of PDIs is canonical text:
a slice if all its line breaks are already CRLF, otherwise a copy with CRLF line breaks, whose
length follows from the index. A part by RFC 5147 has the stored line breaks.

A slice of text with shifts (ISO-2022, HZ, UTF-7) is an independent text only if both ends are
unshifted, as at the start of any line. Otherwise its characters are encoded again in the same
charset. The same happens to the few characters of a larger code or of a line break that an end of
the part cuts through.

What must stay true: decoded, a part is the slice of the decoded text, in every charset.
"""

from __future__ import annotations

import codecs
import hashlib
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache

import msgspec

from perdure.errors import PartCheckFailed, PartNotSupported, PartOutOfRange
from perdure.errors.cutting import CheckNotSupported
from perdure.errors.damage import CharacterWithoutCode
from perdure.errors.root import count_things
from perdure.extractors.indexes import NoIndexes
from perdure.extractors.plain_text import check_size
from perdure.extractors.port import Body, Extent, Indexes, Part, Source, Span, Stream
from perdure.extractors.text.coding import Coding, find_coding
from perdure.extractors.text.decoded import DecodedText, IndexedText, decode_stored, read_decoded
from perdure.extractors.text.index import BLOCK, TextIndex, TextMark, Unit, open_index
from perdure.parts import CharRange, Selector, TextRange
from perdure.parts.port import MARKUP, SGML, XML, covers_type
from perdure.parts.selectors import Check

_AT_ONCE = 1 << 20  # bytes that are converted before the first is sent
_SHOWN = 100  # characters in the example of a part
_CODED = ("message/rfc822",)


class TextExtractor:
    """Characters and lines of every format that is text."""

    media_types = (
        "text/*",
        "*/*+json",
        "*/*+xml",
        "*/*+yaml",
        "application/javascript",
        "application/json",
        "application/sgml",
        "application/sql",
        "application/toml",
        "application/x-ndjson",
        "application/x-sh",
        "application/x-subrip",
        "application/x-tex",
        "application/xml",
        "application/xml-dtd",
        "application/yaml",
        "message/rfc822",
    )
    selectors = (CharRange, TextRange)
    confined = False
    install = None

    def __init__(self, block: int = BLOCK, at_once: int = _AT_ONCE) -> None:
        """`block` is the number of bytes between the marks of an index; `at_once` is the number of
        bytes that are converted before the first one is sent.
        """
        self._block = block
        self._at_once = at_once

    def extract_part(self, source: Source, selector: Selector, indexes: Indexes) -> Part:
        """Cut a part of a text. Raises PartOutOfRange, PartCheckFailed, Undecodable, and
        PartNotSupported if the charset is unknown.
        """
        how = find_coding(source)
        if isinstance(selector, TextRange):
            for check in selector.checks:
                _hold_check(check, source, how)
        index = open_index(source, how, indexes, block=self._block)
        match selector:
            case CharRange():
                start, end = _find_canonical_places(index, selector)
                return self._make_part(_Cut(index, start, end, canonical=True), selector)
            case TextRange():
                found, start, end = _find_stored_places(index, selector)
                return self._make_part(_Cut(index, start, end, canonical=False), found)
        raise PartNotSupported(media_type=source.media_type, selector=str(selector))

    def may_have_text(self, essence: str) -> bool:
        return _is_read_as_written(essence)

    def read_text(self, source: Source, indexes: Indexes) -> DecodedText | None:
        if not self.may_have_text(source.essence):
            return None
        return read_decoded(
            source, open_index(source, find_coding(source), indexes, block=self._block)
        )

    def open_long_text(self, source: Source, indexes: Indexes) -> IndexedText | None:
        if not self.may_have_text(source.essence):
            return None
        return IndexedText(open_index(source, find_coding(source), indexes, block=self._block))

    def read_characters(self, source: Source) -> str | None:
        if not self.may_have_text(source.essence):
            return None
        check_size(source)
        data = source.read_bytes()
        how = find_coding(source, data)
        try:
            return decode_stored(data, how)
        except UnicodeError:
            open_index(source, how, NoIndexes())  # raises the error, with its place
            raise

    def list_extents(self, source: Source, indexes: Indexes) -> tuple[Extent, ...]:
        index = open_index(source, find_coding(source), indexes, block=self._block)
        size = index.count_units(Unit.CANONICAL)
        if not size:
            return ()
        example = f"char=0,{min(size, _SHOWN)}"
        return (
            Extent(
                syntax=example,
                what="characters, with a line break as two (PDI)",
                size=size,
            ),
            Extent(
                syntax=example,
                what="characters, with a line break as one (RFC 5147)",
                size=index.count_units(Unit.CHARACTER),
            ),
            Extent(syntax="line=0,1", what="lines", size=index.count_units(Unit.LINE)),
        )

    def _make_part(self, cut: _Cut, selector: CharRange | TextRange) -> Part:
        source, how = cut.index.source, cut.index.coding
        span = cut.span
        slices: tuple[Span, ...] = (span,)
        body: Body = (span,) if span.length else ()
        if not cut.is_slice:
            try:
                if how.kind == "shifted":
                    body, slices = _rewrite_cut(cut, self._at_once), ()
                else:
                    body = _convert_cut(cut, self._at_once)
            except UnicodeEncodeError as error:
                raise CharacterWithoutCode(
                    identifier=source.name,
                    media_type=f"{source.essence}; charset={how.codec}",
                    character=error.object[error.start],
                ) from None
        return Part(
            selector=selector,
            media_type=source.media_type,
            charset=how.label,
            body=body,
            slices=slices,
        )


@lru_cache(maxsize=1024)
def _is_read_as_written(essence: str) -> bool:
    """Return False if people do not read the tags or transfer encodings of a media type."""
    return not any(covers_type(kind, essence) for kind in (*MARKUP, *SGML, *XML, *_CODED))


# places
# ------


def _find_canonical_places(index: TextIndex, selector: CharRange) -> tuple[TextMark, TextMark]:
    size = index.count_units(Unit.CANONICAL)
    if not selector.start < selector.end <= size:  # ruling: part-range
        raise PartOutOfRange(
            identifier=index.source.name,
            selector=str(selector),
            extent=count_things(size, "character"),
        )
    unit = Unit.CANONICAL
    return index.find_place(unit, selector.start), index.find_place(unit, selector.end)


def _find_stored_places(
    index: TextIndex, selector: TextRange
) -> tuple[TextRange, TextMark, TextMark]:
    """Return the range as far as it is within the text (RFC 5147 section 2.1.2), with its ends."""
    unit = Unit.LINE if selector.unit == "line" else Unit.CHARACTER
    size = index.count_units(unit)
    last = min(size, size if selector.end is None else selector.end)
    first = min(selector.start or 0, last)
    start, end = (_convert_skip(index, index.find_place(unit, one)) for one in (first, last))
    return msgspec.structs.replace(selector, start=first, end=last), start, end


def _convert_skip(index: TextIndex, place: TextMark) -> TextMark:
    """Return a place within characters that share bytes, with both characters of a CRLF counted."""
    if not place.skip:
        return place
    each = re.findall("\r\n|.", index.read_together(place)[0], re.DOTALL)
    return place._replace(skip=len("".join(each[: place.skip])))


def find_characters(source: Source, span: Span, indexes: Indexes) -> CharRange:
    """Return the characters of canonical text at these bytes of a text."""
    index = open_index(source, find_coding(source), indexes)
    return CharRange(start=_find_position(index, span.start), end=_find_position(index, span.stop))


def _find_position(index: TextIndex, byte: int) -> int:
    """Return the last position of canonical text that is not behind a byte.

    After a lone CR, two positions have the same place: the implied LF belongs to the text before
    it. Nearly always, the number of characters before the byte is the position.
    """
    last = index.count_units(Unit.CANONICAL)

    def find_place(position: int) -> tuple[int, int]:
        mark = index.find_place(Unit.CANONICAL, position)
        return mark.byte, mark.skip

    likely = index.count_before(Unit.CANONICAL, byte)
    if find_place(likely) <= (byte, 0) and (likely == last or find_place(likely + 1) > (byte, 0)):
        return likely
    return bisect_right(range(last + 1), (byte, 0), key=find_place) - 1


# cutting
# -------


class _Cut(msgspec.Struct, frozen=True):
    """The text between two places, and whether its line breaks are made canonical."""

    index: TextIndex
    start: TextMark
    end: TextMark
    canonical: bool

    @property
    def count(self) -> int:
        """The number of characters."""
        return self._count_passed(self.end) - self._count_passed(self.start)

    @property
    def added_count(self) -> int:
        """The number of characters that complete line breaks and are not stored."""
        if not self.canonical:
            return 0
        return (self.end.canonical - self.start.canonical) - (self.end.decoded - self.start.decoded)

    def _count_passed(self, place: TextMark) -> int:
        return (place.canonical if self.canonical else place.decoded) + place.skip

    @property
    def span(self) -> Span:
        """The bytes in which all of its characters are written."""
        stop = self.index.read_together(self.end)[1] if self.end.skip else self.end.byte
        return Span(self.start.byte, stop)

    @property
    def is_slice(self) -> bool:
        whole = not (self.start.skip or self.end.skip or self.added_count)
        how = self.index.coding
        return whole and (how.kind != "shifted" or self.start.state == self.end.state == how.state)


def _convert_cut(cut: _Cut, at_once: int) -> Body:
    """Return stored bytes with completed line breaks. If an end cuts through a code, its characters
    within the part are encoded.
    """
    how, start, end = cut.index.coding, cut.start, cut.end
    head = tail = b""
    if start.skip:
        text, after = cut.index.read_together(start)
        shown = _convert_line_breaks(text, canonical=cut.canonical)
        if start.byte == end.byte:
            return (shown[start.skip : end.skip].encode(how.codec),)
        head = shown[start.skip :].encode(how.codec)
        start = start._replace(
            byte=after,
            canonical=start.canonical + len(_convert_line_breaks(text, canonical=True)),
            decoded=start.decoded + len(text),
            skip=0,
        )
    if end.skip:
        text, _ = cut.index.read_together(end)
        tail = _convert_line_breaks(text, canonical=cut.canonical)[: end.skip].encode(how.codec)
    middle = _Cut(cut.index, start, end._replace(skip=0), cut.canonical)
    if not middle.added_count:
        return (head, middle.span, tail) if middle.span.length else (head, tail)
    length = middle.span.length + middle.added_count * len(how.lf)
    # The bytes of a plain text are treated as characters: only line breaks matter.
    codec = "latin-1" if how.kind == "plain" else how.codec
    texts = _complete_line_breaks(
        _decode_chunks(middle, codec), after_cr=start.after_cr, open_end=end.after_cr
    )
    chunks = _encode_texts(texts, codec)
    if length <= at_once:
        return (head + b"".join(chunks) + tail,)
    return Stream(_join_chunks(head, chunks, tail), len(head) + length + len(tail))


def _rewrite_cut(cut: _Cut, at_once: int) -> Body:
    """Encode the characters of a text with shifts again."""
    if cut.span.length <= at_once:
        return (b"".join(_encode_cut(cut)),)
    return Stream(_encode_cut(cut), sum(map(len, _encode_cut(cut))))


def _encode_cut(cut: _Cut) -> Iterator[bytes]:
    texts = _decode_chunks(cut, cut.index.coding.codec)
    if cut.canonical:
        texts = _complete_line_breaks(texts, after_cr=cut.start.after_cr, open_end=cut.end.after_cr)
    return _encode_texts(_take_characters(texts, cut.start.skip, cut.count), cut.index.coding.codec)


def _decode_chunks(cut: _Cut, codec: str) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(codec)()
    if codec == cut.index.coding.codec:
        decoder.setstate((b"", cut.start.state))
    for chunk in cut.index.source.read_chunks(cut.span):
        yield decoder.decode(chunk)


def _encode_texts(texts: Iterable[str], codec: str) -> Iterator[bytes]:
    encoder = codecs.getincrementalencoder(codec)()
    for text in texts:
        if written := encoder.encode(text):
            yield written
    if written := encoder.encode("", True):
        yield written


def _complete_line_breaks(texts: Iterable[str], *, after_cr: bool, open_end: bool) -> Iterator[str]:
    """Write every line break as CRLF. `after_cr`: the texts begin within a line break; `open_end`:
    they end within one.
    """
    for text in filter(None, texts):
        begin = "\n" if after_cr else ""
        rest = text[1:] if after_cr and text[0] == "\n" else text
        after_cr = text[-1] == "\r"
        yield begin + (
            _convert_line_breaks(rest[:-1]) + "\r" if after_cr else _convert_line_breaks(rest)
        )
    if after_cr and not open_end:
        yield "\n"


def _convert_line_breaks(text: str, *, canonical: bool = True) -> str:
    if not canonical:
        return text
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\r\n")


def _take_characters(texts: Iterable[str], skip: int, count: int) -> Iterator[str]:
    """Yield `count` characters after the first `skip`."""
    for text in texts:
        taken = text[skip : skip + count]
        skip = max(skip - len(text), 0)
        count -= len(taken)
        yield taken
        if not count:
            return


def _join_chunks(head: bytes, chunks: Iterator[bytes], tail: bytes) -> Iterator[bytes]:
    if head:
        yield head
    yield from chunks
    if tail:
        yield tail


# checks
# ------


def _hold_check(check: Check, source: Source, how: Coding) -> None:
    """Raise PartCheckFailed if the document is not the one the part was made from (RFC 5147,
    2.1.3).

    A check that cannot be performed neither passes nor fails: PartNotSupported names the check.
    """
    octets: Iterable[bytes] = source.read_chunks(Span(0, source.length))
    length = source.length
    codec = how.codec
    if check.charset is not None:
        try:
            codec = find_coding(msgspec.structs.replace(source, charset=check.charset)).codec
        except PartNotSupported:
            raise CheckNotSupported(
                media_type=source.media_type, selector=str(check), charset=check.charset
            ) from None
    try:
        if codec != how.codec:
            octets = _encode_texts(_decode_whole(source, how), codec)
        if check.kind == "md5":
            md5 = hashlib.md5(usedforsecurity=False)
            for chunk in octets:
                md5.update(chunk)
            found = md5.hexdigest()  # all 32 digits, leading zeros included
        else:
            found = str(length if codec == how.codec else sum(map(len, octets)))
    except UnicodeEncodeError:
        found = f"characters that {check.charset} does not have"
    except UnicodeDecodeError:
        found = f"bytes that are not valid {how.codec}"
    if found != check.value:
        shown = f"{check.kind}={found}" if found.isalnum() else found
        raise PartCheckFailed(identifier=source.name, check=str(check), found=shown)


def _decode_whole(source: Source, how: Coding) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(how.codec)()
    for chunk in source.read_chunks(Span(how.start, source.length)):
        yield decoder.decode(chunk)
    yield decoder.decode(b"", True)


EXTRACTOR = TextExtractor()
