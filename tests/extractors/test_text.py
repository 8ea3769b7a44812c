"""Parts of text: by the rules of PDIs and by those of RFC 5147, in every charset.

What a part must be is said by Python's own whole decoding of the text: nothing here is expected
because we gave it once.
"""

from __future__ import annotations

import codecs
import hashlib
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.extractors.cutting import content, cut, source

from perdure.errors import (
    OverBudget,
    PartCheckFailed,
    PartNotSupported,
    PartOutOfRange,
    Undecodable,
)
from perdure.extractors.indexes import DirectoryIndexes, NoIndexes
from perdure.extractors.port import Part, Source, Span, Stream, iterate_body
from perdure.extractors.text.characters import EXTRACTOR, TextExtractor, _find_position
from perdure.extractors.text.coding import find_coding
from perdure.extractors.text.index import (
    BLOCK,
    Unit,
    _choose_counter,
    _count_breaks,
    build_marks,
    open_index,
)
from perdure.ids import parse
from perdure.ids.pdi import Pdi
from perdure.parts import CharRange, TextRange
from perdure.parts.pdi import make_selector
from perdure.parts.selectors import Check
from perdure.reading.extraction import PartExtraction

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
SPECS = CORPUS.parent / "specs"

BREAKS = ["\r", "\n", "\r\n"]
ALPHABETS = {  # characters that a charset has, with some for which it needs several bytes or shifts
    "us-ascii": "ab ",
    "iso-8859-1": "aé ÿ",
    "windows-1252": "aé€",
    "koi8-r": "aЖ",
    "utf-8": "aé日\U0001f600\ufeff",
    "utf-16": "aé日\U0001f600",
    "utf-16le": "aé日\U0001f600\ufeff",
    "utf-16be": "aé日\U0001f600",
    "utf-32": "a日\U0001f600",
    "cp037": "aé",
    "shift_jis": "aｱ日本表",
    "shift_jis_2004": "aか日",
    "euc-jp": "aｱ日本",
    "euc-kr": "a가",
    "gb18030": "a日é\U0001f600",
    "gbk": "a中",
    "big5": "a中功",
    "big5-hkscs": "a中\u00ca",
    "iso-2022-jp": "a日本",
    "iso-2022-jp-2": "a日é가",
    "iso-2022-kr": "a가",
    "hz-gb-2312": "a中",
    "utf-7": "a日+é",
}
PAIRS = {"shift_jis_2004": "か゚", "big5-hkscs": "Ê̄"}  # one code, two characters


@st.composite
def texts(draw: st.DrawFn) -> tuple[str, bytes, str]:
    """A charset, bytes in it, and what they decode to."""
    charset = draw(st.sampled_from(sorted(ALPHABETS)))
    letters = [*ALPHABETS[charset], *BREAKS, *filter(None, [PAIRS.get(charset)])]
    text = "".join(draw(st.lists(st.sampled_from(letters), max_size=60)))
    codec = codecs.lookup("hz" if charset == "hz-gb-2312" else charset).name
    if codec in {"utf-8", "utf-16-le"} and draw(st.booleans()):
        text = f"\ufeff{text}"
    stored = text.encode(codec)
    decoded = stored.decode(codec)
    if codec in {"utf-8", "utf-16-le"}:
        decoded = decoded.removeprefix("\ufeff")
    return charset, stored, decoded


def canonical(text: str) -> str:
    return re.sub("\r\n?|\n", "\r\n", text)


def decoded(part: Part, source: Source) -> str:
    """A part as somebody reads it who has nothing but the part and its charset."""
    found = content(part, source)
    assert part.length == len(found)
    codec = "hz" if part.charset == "hz-gb-2312" else part.charset
    assert codec is not None
    return found.decode(codec)


lengths = st.sampled_from([1, 2, 3, 7, 16, 64])
laws = settings(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


# laws
# ----


@laws
@given(texts(), st.data(), lengths, st.booleans())
def test_part_of_a_pdi_is_a_slice_of_canonical_text(
    tmp_path: Path,
    written: tuple[str, bytes, str],
    data: st.DataObject,
    block: int,
    streamed: bool,
) -> None:
    """ "The fragment is the set of characters from <start-char> upto but excluding <end-char>.
    […] Character positions are relative to the canonical,CRLF encoded text" (section 3.4.1)
    """
    charset, stored, text = written
    whole = canonical(text)
    assume(whole)
    start = data.draw(st.integers(0, len(whole) - 1))
    end = data.draw(st.integers(start + 1, len(whole)))
    it = source(tmp_path, stored, "text/plain", charset)
    extractor = TextExtractor(block, at_once=0 if streamed else 1 << 20)
    try:
        part = extractor.extract_part(it, CharRange(start, end), NoIndexes())
    except Undecodable:  # half of a code of two characters, of which one has none
        assert charset in PAIRS
        return
    assert decoded(part, it) == whole[start:end]


@laws
@given(texts(), st.data(), lengths, st.booleans())
def test_part_by_rfc_5147_keeps_line_endings_and_clamps(
    tmp_path: Path,
    written: tuple[str, bytes, str],
    data: st.DataObject,
    block: int,
    streamed: bool,
) -> None:
    """ "any possible line ending [counts] as a single character"; "If a character position or line
    position is larger than the length of the actual MIME entity, [it] is taken as the end"
    """
    charset, stored, text = written
    counted = data.draw(
        st.sampled_from(
            [
                ("char", re.findall("\r\n|.", text, re.DOTALL)),
                ("line", re.findall("[^\r\n]*(?:\r\n?|\n)|[^\r\n]+", text)),
            ]
        )
    )
    unit, pieces = counted
    position = st.none() | st.integers(0, len(pieces) + 2)
    start, end = data.draw(position), data.draw(position)
    assume(start is None or end is None or start <= end)
    it = source(tmp_path, stored, "text/plain", charset)
    extractor = TextExtractor(block, at_once=0 if streamed else 1 << 20)
    try:
        part = extractor.extract_part(it, TextRange(unit, start, end), NoIndexes())
    except Undecodable:
        assert charset in PAIRS
        return
    assert decoded(part, it) == "".join(pieces[start:end])
    assert part.selector == TextRange(
        unit,
        min(start or 0, len(pieces)),
        len(pieces) if end is None else min(end, len(pieces)),
    )


@pytest.mark.parametrize("block", range(1, 14))
def test_lines_at_the_borders_of_blocks(tmp_path: Path, block: int) -> None:
    """A block may end between CR and LF, within a character, and with a CR that stands alone."""
    text = "é\r\nbc\rd\n\r\nê\r\n\r\r\nfg\rhü\r\nij\n\n\rend\r\n"
    lines = text.splitlines(keepends=True)
    it = source(tmp_path, text.encode(), "text/plain", "utf-8")
    for start in range(len(lines)):
        for end in range(start, len(lines) + 1):
            part = TextExtractor(block).extract_part(it, TextRange("line", start, end), NoIndexes())
            assert decoded(part, it) == "".join(lines[start:end])


@given(written=texts(), block=lengths)
@settings(max_examples=100, deadline=None, suppress_health_check=laws.suppress_health_check)
def test_bytes_have_the_last_position_that_is_not_behind_them(
    tmp_path: Path, written: tuple[str, bytes, str], block: int
) -> None:
    """After a lone CR, two positions have the same place; judged by all positions."""
    charset, stored, _ = written
    it = source(tmp_path, stored, "text/plain", charset)
    index = open_index(it, find_coding(it), NoIndexes(), block=block)
    marks = [
        index.find_place(Unit.CANONICAL, position)
        for position in range(index.count_units(Unit.CANONICAL) + 1)
    ]
    places = [(one.byte, one.skip) for one in marks]
    for byte in range(marks[0].byte, len(stored) + 1):
        expected = max(at for at, place in enumerate(places) if place <= (byte, 0))
        assert _find_position(index, byte) == expected


@laws
@given(texts(), lengths)
def test_sizes(tmp_path: Path, written: tuple[str, bytes, str], block: int) -> None:
    charset, stored, text = written
    it = source(tmp_path, stored, "text/plain", charset)
    index = open_index(it, find_coding(it), NoIndexes(), block=block)
    assert index.count_units(Unit.CANONICAL) == len(canonical(text))
    assert index.count_units(Unit.CHARACTER) == len(text.replace("\r\n", "\n"))
    # Only where nothing else than these three ends a line does str.splitlines() agree.
    assert index.count_units(Unit.LINE) == len(text.splitlines())


@laws
@given(texts(), st.data(), lengths)
def test_error_gives_the_byte(
    tmp_path: Path, written: tuple[str, bytes, str], data: st.DataObject, block: int
) -> None:
    charset, stored, _ = written
    assume(stored)
    at = data.draw(st.integers(0, len(stored) - 1))
    broken = stored[:at] + bytes([data.draw(st.integers(0, 255))]) + stored[at + 1 :]
    it = source(tmp_path, broken[: data.draw(st.integers(0, len(broken)))], "text/plain", charset)
    how = find_coding(it)
    try:
        it.read_bytes(how.start).decode(how.codec)
    except UnicodeDecodeError as error:
        with pytest.raises(Undecodable, match=f"byte {how.start + error.start}:"):
            open_index(it, how, NoIndexes(), block=block)
    else:
        assert open_index(it, how, NoIndexes(), block=block).end.byte <= it.length


@given(st.lists(st.sampled_from([b"a", b"\r", b"\n", b"\r\n"]), min_size=1).map(b"".join))
def test_line_breaks_are_counted_alike_with_numpy_and_without(data: bytes) -> None:
    pytest.importorskip("numpy")
    counts = (data.count(b"\n"), data.count(b"\r"), data.count(b"\r\n"))
    assert _choose_counter()(data) == _count_breaks(data) == counts


# the specifications' own examples
# --------------------------------

LINE = b"It was a bright cold day in April, and the clocks were striking thirteen.\n"


@pytest.mark.parametrize("fragment", ["#char=37,51", "#37,51"])
def test_example_of_the_draft(tmp_path: Path, fragment: str) -> None:
    """ "refers to the text starting at character 37 and continuing upto but excluding 51" """
    identifier = parse(f"pdi://oma.eop.gov.us/1997/09/01/1.text.1{fragment}")
    assert isinstance(identifier, Pdi)
    assert identifier.fragment
    selector = make_selector(identifier.fragment)
    it = source(tmp_path, LINE, "text/plain", "us-ascii")
    assert cut(PartExtraction(), it, selector) == LINE[37:51] == b"d the clocks w"


@pytest.mark.parametrize(
    ("unit", "start", "end", "expected"),
    [
        ("char", 100, 100, b""),  # char=100: "the position between the 100th and 101st"
        ("line", 10, 20, b"".join(b"%d\r\n" % n for n in range(11, 21))),  # "lines 11 to 20"
        ("line", None, 1, b"1\r\n"),  # line=,1: "the first line"
        ("char", 0, 3, b"1\r\n2"),
    ],
)
def test_examples_of_rfc_5147(
    tmp_path: Path, unit: str, start: int | None, end: int | None, expected: bytes
) -> None:
    it = source(tmp_path, b"".join(b"%d\r\n" % n for n in range(1, 60)), "text/plain", "us-ascii")
    assert cut(PartExtraction(), it, TextRange(unit, start, end)) == expected


# what a part is made of
# ----------------------


def test_canonical_text_is_cut_where_it_lies(tmp_path: Path) -> None:
    it = source(tmp_path, "é\r\n日本\r\n".encode(), "text/plain", "utf-8")
    part = EXTRACTOR.extract_part(it, CharRange(1, 4), NoIndexes())
    assert part.body == part.slices == (Span(2, 7),)
    assert part.charset == "utf-8"


def test_part_may_begin_and_end_within_a_line_break(tmp_path: Path) -> None:
    for stored in (b"a\r\nb", b"a\nb", b"a\rb"):
        it = source(tmp_path, stored, "text/plain", "us-ascii")
        for start, end in ((0, 2), (2, 4), (1, 2), (2, 3)):
            part = EXTRACTOR.extract_part(it, CharRange(start, end), NoIndexes())
            assert content(part, it) == b"a\r\nb"[start:end]


def test_a_long_conversion_is_streamed_with_its_length(tmp_path: Path) -> None:
    lines = b"a line that is sixty-four bytes long, and ends with a line feed\n"
    it = source(tmp_path, lines * 20_000, "text/plain", "us-ascii")
    part = EXTRACTOR.extract_part(it, CharRange(0, 65 * 20_000), NoIndexes())
    assert isinstance(part.body, Stream)
    assert part.length == 65 * 20_000
    assert content(part, it) == (lines * 20_000).replace(b"\n", b"\r\n")


def test_byte_order_mark_is_no_character(tmp_path: Path) -> None:  # ruling: text-positions
    it = source(tmp_path, "\ufeffab".encode("utf-16-le"), "text/plain", "utf-16")
    part = EXTRACTOR.extract_part(it, CharRange(0, 1), NoIndexes())
    assert content(part, it) == b"a\0"
    assert part.charset == "UTF-16LE"  # the part has no mark to say so


def test_shifted_text_is_valid_by_itself(tmp_path: Path) -> None:
    stored = "日本語\r\nabc\r\n".encode("iso-2022-jp")
    it = source(tmp_path, stored, "text/plain", "iso-2022-jp")
    inside = EXTRACTOR.extract_part(it, CharRange(1, 2), NoIndexes())
    assert content(inside, it) == b"\x1b$BK\\\x1b(B"
    assert inside.slices == ()
    line = EXTRACTOR.extract_part(it, TextRange("line", 0, 1), NoIndexes())
    assert content(line, it) == stored.partition(b"abc")[0]
    assert line.slices  # stored bytes: nothing is shifted at the ends of a line


def test_text_in_no_known_charset_is_latin_1(tmp_path: Path) -> None:  # ruling: pdi-charset
    it = source(tmp_path, b"\xe9\xff", "text/plain", None)
    assert cut(PartExtraction(), it, CharRange(0, 1)) == b"\xe9"


def test_json_is_utf_8(tmp_path: Path) -> None:  # RFC 8259 section 8.1
    it = source(tmp_path, '"é"'.encode(), "application/json", None)
    assert cut(PartExtraction(), it, CharRange(1, 2)) == "é".encode()


def test_markup_says_its_own_charset(tmp_path: Path) -> None:
    page = '<?xml version="1.0" encoding="Shift_JIS"?><a>日本</a>'
    it = source(tmp_path, page.encode("shift_jis"), "application/xml", None)
    at = page.index("本")
    assert cut(PartExtraction(), it, CharRange(at, at + 1)) == "本".encode("shift_jis")


def test_charsets_have_the_names_of_iana(tmp_path: Path) -> None:
    it = source(tmp_path, "가".encode("euc-kr"), "text/plain", "csEUCKR")  # Python has not this one
    assert cut(PartExtraction(), it, CharRange(0, 1)) == "가".encode("euc-kr")


def test_index_is_kept(tmp_path: Path) -> None:
    text = LINE * 500  # short ones are decoded again
    it = source(tmp_path, text, "text/plain", "us-ascii")
    indexes = DirectoryIndexes(tmp_path / "indexes")
    EXTRACTOR.extract_part(it, CharRange(0, 1), indexes)
    (kept,) = (path for path in (tmp_path / "indexes").rglob("*") if path.is_file())
    assert kept.read_bytes() == build_marks(it, find_coding(it))
    it.path.write_bytes(b"\n" * len(text))  # of twice as many characters, if they were counted
    with pytest.raises(PartOutOfRange, match=f"{len(text) + 500} characters"):
        EXTRACTOR.extract_part(it, CharRange(0, len(text) + 501), indexes)


def test_index_of_a_short_text_is_not_kept(tmp_path: Path) -> None:
    it = source(tmp_path, LINE, "text/plain", "us-ascii")
    indexes = DirectoryIndexes(tmp_path / "indexes")
    part = EXTRACTOR.extract_part(it, CharRange(7, 10), indexes)
    assert b"".join(iterate_body(part.body, it)) == b"a b"
    assert not (tmp_path / "indexes").exists()


def test_index_is_small(tmp_path: Path) -> None:
    it = source(tmp_path, LINE * (40 * BLOCK // len(LINE)), "text/plain", "utf-8")
    assert len(build_marks(it, find_coding(it))) < 0.005 * it.length


def test_what_can_be_addressed(tmp_path: Path) -> None:
    it = source(tmp_path, b"ab\ncd\r\ne", "text/plain", "us-ascii")
    found = [(one.syntax, one.size) for one in EXTRACTOR.list_extents(it, NoIndexes())]
    assert found == [("char=0,9", 9), ("char=0,9", 7), ("line=0,1", 3)]


# errors
# ------


@pytest.mark.parametrize(
    ("start", "end"), [(0, 0), (3, 2), (0, 6), (5, 6), (0, 99_999_999_999_999_999_999)]
)
def test_beyond_or_empty(tmp_path: Path, start: int, end: int) -> None:  # ruling: part-range
    it = source(tmp_path, b"abc\n", "text/plain", "us-ascii")
    with pytest.raises(PartOutOfRange, match="5 characters"):
        EXTRACTOR.extract_part(it, CharRange(start, end), NoIndexes())


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    it = source(tmp_path, b"abc\xff", "text/plain", "us-ascii")
    with pytest.raises(Undecodable, match="byte 3"):
        EXTRACTOR.extract_part(it, CharRange(0, 1), NoIndexes())


@pytest.mark.parametrize("charset", ["x-unknown", "punycode", "rot13", "a\0b", "ISO-10646-UTF-1"])
def test_charset_that_nobody_knows(tmp_path: Path, charset: str) -> None:
    it = source(tmp_path, b"abc", "text/plain", charset)
    with pytest.raises(PartNotSupported):
        EXTRACTOR.extract_part(it, CharRange(0, 1), NoIndexes())


def test_endless_run_of_utf_7(tmp_path: Path) -> None:
    it = source(tmp_path, b"+" + b"ZeVnLIqe" * 100_000, "text/plain", "utf-7")
    with pytest.raises(OverBudget):
        EXTRACTOR.extract_part(it, CharRange(0, 1), NoIndexes())


# checks: RFC 5147 section 2.1.3
# ------------------------------


def _md5_with_leading_zero() -> bytes:
    texts = (b"%d\n" % n for n in range(1000))
    return next(text for text in texts if hashlib.md5(text).hexdigest().startswith("0"))


@pytest.mark.parametrize(
    ("stored", "charset", "check"),
    [
        (LINE, "us-ascii", Check("length", str(len(LINE)))),
        (LINE, "us-ascii", Check("length", str(len(LINE)), "utf-8")),
        (LINE, "us-ascii", Check("md5", hashlib.md5(LINE).hexdigest())),
        (b"\xe9\n", "iso-8859-1", Check("length", "2")),
        (b"\xe9\n", "iso-8859-1", Check("length", "3", "utf-8")),
        (b"\xe9\n", "iso-8859-1", Check("md5", hashlib.md5(b"\xc3\xa9\n").hexdigest(), "utf-8")),
        ("\U0001f600".encode(), "utf-8", Check("length", "4")),  # octets, not units of UTF-16
        (b"\xef\xbb\xbfa", "utf-8", Check("length", "4", "UTF-8")),  # octets of the entity
        (
            _md5_with_leading_zero(),
            "us-ascii",
            Check("md5", hashlib.md5(_md5_with_leading_zero()).hexdigest()),
        ),
    ],
)
def test_checks_that_hold(tmp_path: Path, stored: bytes, charset: str, check: Check) -> None:
    it = source(tmp_path, stored, "text/plain", charset)
    selector = TextRange("char", 0, 1, (check, check))
    assert content(EXTRACTOR.extract_part(it, selector, NoIndexes()), it)
    digits = check.value[:-1] + ("1" if check.value[-1] == "0" else "0")
    wrong = TextRange("char", 0, 1, (check, Check(check.kind, digits, check.charset)))
    with pytest.raises(PartCheckFailed, match=check.value):
        EXTRACTOR.extract_part(it, wrong, NoIndexes())


def test_check_in_a_charset_that_has_not_the_characters(tmp_path: Path) -> None:
    it = source(tmp_path, "日".encode(), "text/plain", "utf-8")
    selector = TextRange("char", 0, 1, (Check("length", "1", "us-ascii"),))
    with pytest.raises(PartCheckFailed, match="characters that us-ascii does not have"):
        EXTRACTOR.extract_part(it, selector, NoIndexes())


def test_check_in_an_unknown_charset_is_not_skipped(tmp_path: Path) -> None:
    it = source(tmp_path, b"a", "text/plain", "utf-8")
    selector = TextRange("char", 0, 1, (Check("length", "1", "x-unknown"),))
    with pytest.raises(PartNotSupported) as caught:
        EXTRACTOR.extract_part(it, selector, NoIndexes())
    assert caught.value.media_type == "text/plain"
    assert caught.value.selector == "length=1,x-unknown"
    assert "no charset is called 'x-unknown'" in str(caught.value)


# real documents
# --------------


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("path", "charset"),
    [
        (CORPUS / "rfc2616.txt", "us-ascii"),
        (CORPUS / "html40.txt", "iso-8859-1"),
        (CORPUS / "features.html", "us-ascii"),
        (SPECS / "draft-mallery-urn-pdi-00.txt", "utf-8"),
        (SPECS / "draft-ietf-uri-resource-names-00.txt", "utf-8"),
    ],
)
def test_documents(tmp_path: Path, path: Path, charset: str) -> None:
    if not path.is_file():
        pytest.skip(f"the corpus of real documents is not at {CORPUS}")
    it = source(tmp_path, path.read_bytes(), "text/plain", charset)
    text = path.read_bytes().decode(charset)
    whole = canonical(text)
    lines = re.findall("[^\r\n]*(?:\r\n?|\n)|[^\r\n]+", text)
    indexes = DirectoryIndexes(tmp_path / "indexes")
    for start in range(0, len(whole), len(whole) // 40):
        end = min(start * 3 // 2 + 1, len(whole))
        part = EXTRACTOR.extract_part(it, CharRange(start, end), indexes)
        assert decoded(part, it) == whole[start:end]
    for start in range(0, len(lines), len(lines) // 20):
        line = EXTRACTOR.extract_part(it, TextRange("line", start, start + 10), indexes)
        assert decoded(line, it) == "".join(lines[start : start + 10])
