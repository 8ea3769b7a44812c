"""Selectors that the syntaxes of `perdure.parts` can express, for property tests.

How it works: each syntax has a function, and `selectors` joins them. If a syntax would write two
selectors alike, only the one that it reads back is generated: an interval has a start, and of three
nested parts the last two are together.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache

from hypothesis import strategies as st

from perdure.parts import (
    Between,
    Cells,
    ChildSequence,
    Css,
    Destination,
    ElementById,
    Embedded,
    First,
    Instant,
    Media,
    Octets,
    Page,
    Selector,
    TextDirective,
    TextPosition,
    TextQuote,
    TextRange,
    Track,
    Within,
    XPath,
)
from perdure.parts import pdi as pdi_parts
from perdure.parts.selectors import Area, Check, Time
from perdure.testing import pdi as pdi_texts

_NUMBERS = st.integers(0, 10**19 - 1) | st.integers(0, 30)
_COUNTS = _NUMBERS.map(lambda number: number or 1)
_PAIRS = st.tuples(_NUMBERS, _NUMBERS).map(lambda pair: (min(pair), max(pair)))
_TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12) | st.lists(
    st.sampled_from("a-b %&=,()^;*/'\"~#é\u3042\U0001f4dc"), min_size=1, max_size=8
).map("".join)
_XML_TEXTS = _TEXTS.map(lambda text: "".join(c for c in text if c.isprintable()) or "a")
_NCNAMES = st.from_regex("[A-Za-z_éあ][A-Za-z0-9._é-]{0,8}", fullmatch=True)


@cache
def plaintext_selectors() -> st.SearchStrategy[Selector]:
    """Selectors of RFC 5147."""
    charsets = st.sampled_from((None, "utf-8", "iso-8859-1", "shift_jis"))
    checks = st.builds(
        Check, st.just("length"), st.integers(0, 10**19 - 1).map(str), charsets
    ) | st.builds(Check, st.just("md5"), st.from_regex("[0-9a-f]{32}", fullmatch=True), charsets)
    ranges = _PAIRS | st.tuples(_NUMBERS, st.none())
    return st.builds(
        lambda unit, ends, checks: TextRange(unit, ends[0], ends[1], tuple(checks)),
        st.sampled_from(("char", "line")),
        ranges,
        st.lists(checks, max_size=3),
    )


@cache
def table_selectors() -> st.SearchStrategy[Selector]:
    """Selectors of RFC 7111."""
    position = st.none() | _COUNTS

    def build_cells(axis: str) -> st.SearchStrategy[Selector]:
        place = st.tuples(position, position) if axis == "cell" else st.tuples(position)
        ranges = st.lists(st.tuples(place, place), min_size=1, max_size=4)
        return ranges.map(lambda those: Cells(axis, tuple(those)))

    return st.sampled_from(("row", "col", "cell")).flatmap(build_cells)


@cache
def page_selectors() -> st.SearchStrategy[Selector]:
    """Selectors of RFC 8118."""
    offset, size = _decimal_numbers(), _decimal_numbers().filter(bool)
    views = st.none() | st.tuples(offset, offset, size, size)
    return (
        st.builds(Page, _COUNTS, views)
        | st.builds(Destination, _TEXTS)
        | st.builds(Embedded, _TEXTS)
    )


@cache
def _decimal_numbers() -> st.SearchStrategy[Fraction]:
    digits = st.integers(0, 18)
    return st.builds(lambda number, places: Fraction(number, 10**places), _NUMBERS, digits)


@cache
def _time_intervals() -> st.SearchStrategy[Time]:
    ends = st.tuples(_decimal_numbers(), _decimal_numbers()).filter(lambda pair: pair[0] != pair[1])
    return ends.map(lambda pair: Time(min(pair), max(pair)))


@cache
def _pixel_areas() -> st.SearchStrategy[Area]:
    ends = st.tuples(_NUMBERS, _NUMBERS).filter(lambda pair: pair[0] != pair[1])
    return st.builds(
        lambda across, down: Area(
            "pixel", min(across), min(down), abs(across[1] - across[0]), abs(down[1] - down[0])
        ),
        ends,
        ends,
    )


@cache
def media_selectors() -> st.SearchStrategy[Selector]:
    """Selectors of Media Fragments URI 1.0."""
    percent = st.tuples(
        st.integers(0, 99), st.integers(0, 99), st.integers(1, 100), st.integers(1, 100)
    ).map(
        lambda box: Area("percent", *box[:2], min(box[2], 100 - box[0]), min(box[3], 100 - box[1]))
    )
    times = _time_intervals() | st.builds(Time, _decimal_numbers(), st.none())
    tracks = st.lists(_TEXTS, max_size=3).map(tuple)
    everything = st.builds(
        Media, st.none() | times, st.none() | _pixel_areas() | percent, tracks, st.none() | _TEXTS
    )
    return everything.filter(lambda one: one != Media())


@cache
def mpeg21_selectors() -> st.SearchStrategy[Selector]:
    """Selectors of ISO/IEC 21000-17."""
    tracks = st.builds(
        Track, st.sampled_from(("track_ID", "item_ID")), _NUMBERS.map(str)
    ) | st.builds(Track, st.just("item_name"), _XML_TEXTS)
    octets = _PAIRS.filter(lambda pair: pair[0] < pair[1]) | st.tuples(_NUMBERS, st.none())
    narrow = st.builds(Media, _time_intervals(), st.none() | _pixel_areas())
    frames = st.builds(
        Within, st.builds(Instant, _decimal_numbers()), st.builds(Media, area=_pixel_areas())
    )
    inner = narrow | frames | st.builds(Instant, _decimal_numbers())
    chains = st.builds(Within, tracks, inner | st.builds(Within, tracks, inner))
    pieces = tracks | octets.map(lambda pair: Octets(*pair)) | chains | frames
    return pieces | st.builds(Instant, _decimal_numbers()) | _choose_first(pieces)


def _choose_first(pieces: st.SearchStrategy[Selector]) -> st.SearchStrategy[Selector]:
    return st.lists(pieces, min_size=2, max_size=4).map(lambda those: First(tuple(those)))


@cache
def xpointer_selectors() -> st.SearchStrategy[Selector]:
    """Selectors of the XPointer Framework, with element(), xmlns() and xpointer()."""
    steps = st.lists(_COUNTS, min_size=1, max_size=4).map(tuple)
    elements = st.builds(ElementById, _NCNAMES)
    pieces = elements | st.builds(ChildSequence, st.none() | _NCNAMES, steps) | _xpath_selectors()
    bound = st.dictionaries(
        _NCNAMES.filter(lambda name: name not in ("xml", "xmlns")), _XML_TEXTS.map(str.lstrip)
    )
    with_namespaces = st.builds(
        lambda path, names: XPath(path.expression, tuple(names.items())), _xpath_selectors(), bound
    )
    return pieces | with_namespaces | _choose_first(pieces)


@cache
def _xpath_selectors() -> st.SearchStrategy[XPath]:
    spelled = st.sampled_from(("/a/b[2]", "//p[text()=')']", "id('x')/range-to(id('y'))", "//*[1]"))
    anything = _XML_TEXTS.filter(lambda text: "//" not in text and not text.isspace())
    return st.builds(XPath, spelled | anything)


@cache
def id_selectors() -> st.SearchStrategy[Selector]:
    """HTML IDs."""
    return st.builds(ElementById, _XML_TEXTS.map(lambda text: "".join(text.split()) or "a"))


@cache
def directive_selectors() -> st.SearchStrategy[Selector]:
    """URL Fragment Text Directives."""
    maybe = st.none() | _TEXTS
    return st.builds(TextDirective, _TEXTS, maybe, maybe, maybe)


@cache
def annotation_selectors() -> st.SearchStrategy[Selector]:
    """Selectors of Web Annotation: its own, and those of the syntaxes that it can name."""
    quotes = st.builds(TextQuote, _TEXTS, _TEXTS | st.just(""), _TEXTS | st.just(""))
    positions = _PAIRS.map(lambda pair: TextPosition(*pair))
    own = quotes | positions | st.builds(Css, _XML_TEXTS) | _xpath_selectors()
    single = (
        own
        | pdi_selectors()
        | plaintext_selectors()
        | table_selectors()
        | page_selectors()
        | media_selectors()
        | id_selectors()
        | directive_selectors()
    )
    ranges = st.builds(Between, single, single)
    return single | ranges | st.builds(Within, single, single | ranges) | _nest_three(single)


def _nest_three(single: st.SearchStrategy[Selector]) -> st.SearchStrategy[Selector]:
    return st.builds(Within, single, st.builds(Within, single, single))


@cache
def pdi_selectors() -> st.SearchStrategy[Selector]:
    """Parts of PDIs."""
    return pdi_texts.fragment_specifiers().map(pdi_parts.read_pdi_part)


SYNTAXES: dict[str, Callable[[], st.SearchStrategy[Selector]]] = {
    "pdi": pdi_selectors,
    "plaintext": plaintext_selectors,
    "table": table_selectors,
    "page": page_selectors,
    "media": media_selectors,
    "mpeg21": mpeg21_selectors,
    "xpointer": xpointer_selectors,
    "ids": id_selectors,
    "directive": directive_selectors,
    "annotation": annotation_selectors,
}


@cache
def selectors(*names: str) -> st.SearchStrategy[Selector]:
    """Selectors of the named syntaxes, or of all syntaxes."""
    return st.one_of([SYNTAXES[name]() for name in names or SYNTAXES])
