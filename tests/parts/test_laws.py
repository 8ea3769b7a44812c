"""What holds for the parts of every syntax."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import get_args
from urllib.parse import quote

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from perdure import testing
from perdure.errors import MalformedPart, PartNotSupported
from perdure.ids import parse as parse_identifier
from perdure.parts import (
    Between,
    ElementById,
    Extension,
    First,
    Information,
    Media,
    Octets,
    Playback,
    PluginSelector,
    Rendering,
    Selector,
    TextRange,
    Units,
    View,
    Within,
    XPath,
    annotation,
    directive,
    media,
    mpeg21,
    page,
    parse_part,
    pdi,
    plaintext,
    select_part,
    table,
    xpointer,
)
from perdure.parts.grammar import LONGEST
from perdure.parts.installed import load_forms, load_syntaxes
from perdure.parts.selectors import Time
from perdure.testing import parts as shipped

READERS: dict[str, Callable[[str], Selector]] = {
    "pdi": pdi.read_pdi_part,
    "plaintext": plaintext.read_text_range,
    "table": table.read_cells,
    "page": page.read_pdf_part,
    "media": media.read_media,
    "time query": media.read_time_query,
    "time call": media.read_time_call,
    "mpeg21": mpeg21.read_pointer,
    "xpointer": xpointer.read_elements,
    "ids": xpointer.read_id,
    "directive": directive.read_directive,
    "annotation": annotation.read_annotation,
}
MEDIA_TYPES = {
    "plaintext": "text/plain",
    "table": "text/csv",
    "page": "application/pdf",
    "media": "image/png",
    "mpeg21": "video/mp4",
    "xpointer": "application/tei+xml",
    "ids": "text/html",
    "directive": "text/html",
}
KINDS = sorted({kind for syntax in load_syntaxes() for kind in syntax.media_types})
OPENINGS = (
    *(
        "char=",
        "line=1;",
        "row=",
        "cell=1,",
        "page=",
        "page=1&viewrect=",
        "nameddest=",
        "t=",
        "t=npt:",
    ),
    *(
        "xywh=percent:",
        "track=",
        "smpte-30-drop:0:",
        "@time(",
        "ffp(track_ID=",
        "zoom=",
        "offset(",
        "mp(/~time(",
    ),
    *(
        "mp(~region(rect(",
        "mp(/~time('utc',",
        "mp(/~region(ellipse(",
        "element(",
        "xpointer(",
        "xmlns(a=",
        "xpointer(//",
        "intro:~:text=",
        ":~:text=",
    ),
    *(
        '{"type":"',
        '{"type":"TextQuoteSelector","exact":"',
        "selector(type=",
        "sec=",
        "crop=sec,1,2,(",
    ),
    *("selector(type=RangeSelector,startSelector=", '{"type":"FragmentSelector","value":"', "%7b"),
)
Outcome = Selector | MalformedPart | PartNotSupported


def outcome(read: Callable[[str], Selector], text: str) -> Outcome:
    try:
        return read(text)
    except (MalformedPart, PartNotSupported) as error:
        return error


over_every_reader = pytest.mark.parametrize("name", READERS)


def texts() -> st.SearchStrategy[str]:
    return testing.spoil_texts(shipped.selectors().map(str)) | testing.noisy_texts(*OPENINGS)


@over_every_reader
@given(texts())
def test_reading_raises_nothing_but_two_errors(name: str, text: str) -> None:
    read = outcome(READERS[name], text)
    if isinstance(read, PartNotSupported):
        assert read.offered
        return
    if not isinstance(read, MalformedPart):
        assert pickle.loads(pickle.dumps(read)) == read
        assert hash(read) == hash(READERS[name](text))
        return
    assert read.text == text
    assert 0 <= read.at <= len(text)
    assert read.expected
    assert read.rule
    assert str(read).isprintable()


@pytest.mark.parametrize("media_type", KINDS)
@given(texts())
def test_parsing_raises_nothing_but_two_errors(media_type: str, text: str) -> None:
    read = outcome(lambda text: parse_part(text, media_type), text)
    if isinstance(read, MalformedPart):
        assert 0 <= read.at <= len(text)
    elif isinstance(read, PartNotSupported):
        assert read.offered


@pytest.mark.parametrize("syntax", MEDIA_TYPES)
@given(data=st.data())
def test_the_canonical_text_is_the_part(syntax: str, data: st.DataObject) -> None:
    selector = data.draw(shipped.selectors(syntax))
    text = str(selector)
    assert parse_part(text, MEDIA_TYPES[syntax]) == selector
    assert str(parse_part(text, MEDIA_TYPES[syntax])) == text
    if syntax != "mpeg21":  # what Media Fragments has too is written so
        assert READERS[syntax](text) == selector


def test_every_kind_has_a_form() -> None:
    put_together = {
        *(Between, Extension, First, Information),
        *(Playback, PluginSelector, Rendering, Units, View, Within),
    }
    own = {kind for kind in load_forms() if not issubclass(kind, PluginSelector)}
    assert {*own, *pdi.SCHEMES, *put_together} == set(get_args(Selector))


@given(shipped.selectors())
def test_forms_are_how_parts_are_written(selector: Selector) -> None:
    forms = load_forms().get(type(selector), ())
    assume(forms and forms != ("ID",))
    if isinstance(selector, XPath):
        selector = XPath(selector.expression)
    assert str(selector).startswith(tuple(form.rstrip("()") for form in forms))


@given(shipped.pdi_selectors())
def test_the_canonical_text_is_the_part_of_a_pdi(selector: Selector) -> None:
    assert pdi.read_pdi_part(str(selector)) == selector
    identifier = parse_identifier(f"pdi://a.us/1997/09/01/1.text.1#{selector}")
    assert select_part(identifier, "text/plain") == selector


@given(shipped.selectors())
def test_what_is_read_from_any_syntax_is_written_as_a_fragment(selector: Selector) -> None:
    """RFC 3986 section 3.5: fragment = *( pchar / "/" / "?" )"""
    text = str(selector)
    assume(len(text) < 2000)
    identifier = parse_identifier(f"urn:example:a#{text}")
    assert identifier.whole != identifier
    assert quote(text, safe="!$&'()*+,;=:@/?%~") == text


@given(shipped.selectors())
def test_web_annotation_has_every_selector(selector: Selector) -> None:
    """Section 4.2.1: "As the most well understood mechanism for selecting a Segment is to use the
    fragment part of an IRI defined by the representation's media type, it is useful to allow this
    as a description mechanism via a Selector."
    """
    written = annotation.write_annotation(selector)
    assert annotation.read_annotation(written) == selector
    assert annotation.read_annotation(json.loads(json.dumps(written))) == selector
    text = json.dumps(written)
    if len(text) < LONGEST:
        assert annotation.read_annotation(text) == selector
        assert annotation.read_annotation(quote(text)) == selector or len(quote(text)) > LONGEST


@given(shipped.annotation_selectors())
def test_selectors_of_annotations_are_fragments_too(selector: Selector) -> None:
    """Selectors and States section 5 writes every selector of section 3 as a fragment."""
    text = str(selector)
    assume(len(text) <= LONGEST)
    if text.startswith("selector("):
        assert parse_part(text, "text/html") == selector
        assert selector.conforms_to == "https://www.w3.org/TR/selectors-states/"
    else:
        reader = annotation.find_reader(selector.conforms_to)
        assert reader is not None
        assert reader(text) == selector


@given(
    shipped.annotation_selectors(), shipped.annotation_selectors(), shipped.annotation_selectors()
)
def test_however_three_are_nested_it_is_written_alike(
    one: Selector, two: Selector, three: Selector
) -> None:
    """Section 4.2.9: "a broader selector and the more specific selector that SHOULD be applied to
    the results of the first"
    """
    assert str(Within(Within(one, two), three)) == str(Within(one, Within(two, three)))
    left, right = Within(Within(one, two), three), Within(one, Within(two, three))
    assert annotation.write_annotation(left) == annotation.write_annotation(right)


# what single sentences say
# -------------------------


@given(st.integers(0, 10**18), st.sampled_from(("char", "line")))
def test_a_position_is_a_range_without_extent(position: int, unit: str) -> None:
    """RFC 5147 section 3: text-scheme = char-scheme / line-scheme, each with ( position / range ).
    A position lies between two characters, as a range does whose ends are one.
    """
    selector = parse_part(f"{unit}={position}", "text/plain")
    assert selector == TextRange(unit, position, position)
    assert selector == parse_part(f"{unit}={position},{position}", "text/plain")


@given(
    shipped.media_selectors(),
    st.lists(st.sampled_from(("", "u=1", "T=3", "t=5,2", "xywh=1,1,0,0", "t=x"))),
)
def test_what_is_unknown_or_invalid_does_not_count(selector: Selector, more: list[str]) -> None:
    """Media Fragments URI 1.0 section 6.2.1: "Multiple occurrences of the same dimension: only the
    last valid occurrence of a dimension (e.g., t=10 in #t=2&t=10) is interpreted, all previous
    occurrences (valid or invalid) SHOULD be ignored by the UA."
    """
    assert media.read_media("&".join([*more, str(selector), *more])) == selector
    assert media.read_media("&".join(["t=1,2&xywh=9,9,9,9&id=a", *more, str(selector)])) in (
        selector,
        media.read_media(f"t=1,2&xywh=9,9,9,9&id=a&{selector}"),
    )


@given(shipped.media_selectors().filter(lambda one: isinstance(one, Media) and one.time))
def test_the_last_time_counts(selector: Media) -> None:
    read = media.read_media(f"t=0,1&{selector}")
    assert read.time == selector.time


@given(st.integers(0, 10**6), st.integers(1, 10**6))
def test_the_comma_of_media_fragments_is_read_in_a_query(start: int, length: int) -> None:
    end = start + length
    assert media.read_time_query(f"{start}/{end}") == media.read_media(f"t={start},{end}")
    assert media.read_time_query(f"{start},{end}") == media.read_media(f"t={start},{end}")
    assert media.read_time_call(f"@time({start}s,{end})") == media.read_media(f"t={start},{end}")
    assert mpeg21.read_pointer(f"mp(~time('npt','{start}','{end}'))") == media.read_media(
        f"t={start},{end}"
    )


@given(
    st.integers(0, 99),
    st.integers(0, 59),
    st.sampled_from((0, 1, 59)),
    st.sampled_from((0, 1, 2, 29)),
)
def test_time_codes_rise_with_the_frames_that_they_number(h: int, m: int, s: int, f: int) -> None:
    """SMPTE ST 12-1: of each minute but every tenth, frame numbers 00 and 01 are left out."""
    count = ((h * 60 + m) * 60 + s) * 30 + f - 2 * (h * 60 + m - (h * 60 + m) // 10)
    text = f"smpte-30-drop:{h}:{m:02}:{s:02}:{f:02}"
    if f < 2 and not s and m % 10:
        with pytest.raises(MalformedPart):
            media.read_time_query(text)
        return
    exact = count * Fraction(1001, 30000)
    time = media.read_time_query(text).time
    assert isinstance(time, Time)
    assert time.start is not None
    assert 0 <= exact - time.start < Fraction(1, 10**9)


@given(shipped.xpointer_selectors(), st.sampled_from(("a(b)", "x:y((c)^))", "mp()", "xpath2(//a)")))
def test_schemes_that_are_not_known_are_skipped(selector: Selector, other: str) -> None:
    """XPointer Framework section 3.3: "If the XPointer processor does not support the scheme used
    in a pointer part, it skips that pointer part."
    """
    text = str(selector)
    if isinstance(selector, ElementById):
        text = f"element({quote(selector.id)})"
    assert (
        xpointer.read_elements(other + text)
        == xpointer.read_elements(f"{text} {other}")
        == selector
    )


@given(st.text(st.characters(min_codepoint=32, max_codepoint=0xD7FF), min_size=1, max_size=30))
def test_any_expression_can_be_escaped(expression: str) -> None:
    """XPointer Framework section 3.1: EscapedData ::= NormalChar | '^(' | '^)' | '^^' |
    '(' SchemeData ')'
    """
    assume(not expression.isspace())
    assume(expression.count("//") <= 3)
    escaped = expression.translate({ord(c): f"^{c}" for c in "()^"})
    read = xpointer.read_elements(f"xpointer({quote(escaped)})")
    assert read.expression == expression  # type: ignore[union-attr]  # it can be nothing else
    assert xpointer.read_elements(str(read)) == read


@given(st.integers(0, 10**18), st.integers(1, 10**18))
def test_octets_are_data_positions(start: int, length: int) -> None:
    """Web Annotation Data Model section 4.2.6: "The starting position of the segment of data. The
    first byte is character position 0."
    """
    position = {"type": "DataPositionSelector", "start": start, "end": start + length}
    assert annotation.read_annotation(position) == Octets(start, start + length)
    assert mpeg21.read_pointer(f"offset({start},{start + length})") == Octets(start, start + length)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda more: (
        st.lists(more)
        | st.dictionaries(st.sampled_from(("type", "value", "start", "refinedBy", "exact")), more)
    ),
    max_leaves=8,
)


@given(JSON, st.sampled_from(("CssSelector", "RangeSelector", "TextPositionSelector", 1, None)))
def test_any_object_is_read_or_refused(other: object, kind: object) -> None:
    given_ = {"type": kind, "value": "p", "refinedBy": other, "end": other, "startSelector": other}
    read = outcome(lambda _: annotation.read_annotation(given_), "")
    assert not isinstance(read, PartNotSupported)
    assert not isinstance(read, MalformedPart) or read.expected


def test_selectors_within_selectors_are_bounded() -> None:
    nested: dict[str, object] = {"type": "CssSelector", "value": "p"}
    wide = nested
    for depth in range(2, 9):
        nested = {"type": "CssSelector", "value": "p", "refinedBy": nested}
        wide = {"type": "RangeSelector", "startSelector": wide, "endSelector": wide}
        assert annotation.write_annotation(annotation.read_annotation(nested)) == nested
        if depth > 6:
            with pytest.raises(MalformedPart, match="at most 32 selectors"):
                annotation.read_annotation(wide)
    with pytest.raises(MalformedPart, match="at most 8 deep"):
        annotation.read_annotation({"type": "CssSelector", "value": "p", "refinedBy": nested})
    cyclic: dict[str, object] = {"type": "CssSelector", "value": "p"}
    cyclic["refinedBy"] = cyclic
    with pytest.raises(MalformedPart, match="at most 8 deep"):
        annotation.read_annotation(cyclic)


def test_a_corner_that_no_reader_takes_is_not_written() -> None:
    """`xywh` has a size, `rect` of ISO/IEC 21000-17 a second corner, with a digit more at times."""
    far = media.read_media("xywh=9999999999999999999,0,1,1")
    within = Within(mpeg21.read_pointer("ffp(track_ID=1)"), far)
    assert str(within).startswith("selector(type=FragmentSelector,value=ffp")
    assert (
        annotation.read_annotation(str(within))
        == annotation.read_annotation(annotation.write_annotation(within))
        == within
    )
