"""Elements of XML by ID and by place, and documents that are made to do harm."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.extractors.cutting import content, cut, source

from perdure.errors import OverBudget, PartNotFound, PartNotSupported, PerdureError, Undecodable
from perdure.extractors.confined import Budget, Confined
from perdure.extractors.indexes import NoIndexes
from perdure.extractors.markup.xml import EXTRACTOR, XmlDocument
from perdure.parts import ChildSequence, ElementById, Selector, TagRange, XPath
from perdure.reading.extraction import PartExtraction

DOCUMENT = """<?xml version="1.0"?>
<!DOCTYPE list [<!ATTLIST item key ID #IMPLIED> <!-- <fake key="i1"/> -->]>
<!-- <list> --><list xmlns="urn:l" xmlns:p="urn:p"><?p <item> ?>
 <item key="i1" id="plain">one <![CDATA[<item>]]></item>
 <p:item xml:id=" i2 " xmlns:q="urn:q"><empty/><empty name='>'></empty
 ></p:item>
 <item key="é">three</item>
</list>
"""


@pytest.fixture(scope="module")
def extraction() -> Iterator[PartExtraction]:
    made = PartExtraction(confined=Confined(most=1, budget=Budget(seconds=4, memory=512 << 20)))
    yield made
    made.close()


def element(*steps: int, of: str | None = None) -> ChildSequence:
    return ChildSequence(of, steps)


SECOND = DOCUMENT[DOCUMENT.index("<p:item") : DOCUMENT.index("</p:item>") + 9]


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (element(1), DOCUMENT[DOCUMENT.index("<list xmlns") : -1]),
        (element(1, 1), '<item key="i1" id="plain">one <![CDATA[<item>]]></item>'),
        (element(1, 2), SECOND),
        (element(1, 2, 1), "<empty/>"),
        (element(1, 2, 2), "<empty name='>'></empty\n >"),
        (element(1, 3), '<item key="é">three</item>'),
        (ElementById("i1"), '<item key="i1" id="plain">one <![CDATA[<item>]]></item>'),
        (ElementById("i2"), SECOND),
        (ElementById("é"), '<item key="é">three</item>'),
        (element(of="i2"), SECOND),
        (element(2, of="i2"), "<empty name='>'></empty\n >"),
    ],
)
@pytest.mark.parametrize("charset", ["utf-8", "utf-16", "utf-16le", "utf-16be", "iso-8859-1"])
def test_elements(
    extraction: PartExtraction, tmp_path: Path, selector: Selector, expected: str, charset: str
) -> None:
    """XPointer element() Scheme, section 3; XPointer Framework, section 3.2; xml:id."""
    text = DOCUMENT
    if charset == "iso-8859-1":
        text = DOCUMENT.replace('version="1.0"', 'version="1.0" encoding="iso-8859-1"')
    document = source(tmp_path, text.encode(charset), "application/xml", charset)
    part = extraction.cut_part(document, selector)
    found = cut(extraction, document, selector)
    assert found.decode(part.charset or charset) == expected


@pytest.mark.parametrize(
    "selector",
    [
        element(2),
        element(1, 4),
        element(1, 1, 1),
        element(1, 2, 2, 1),
        element(0),
        element(1, 0),
        element(),
        element(3, of="i2"),
        element(1, of="i3"),
        ElementById("plain"),
        ElementById("I1"),
        ElementById(""),
    ],
)
def test_elements_that_are_not_there(
    extraction: PartExtraction, tmp_path: Path, selector: Selector
) -> None:
    document = source(tmp_path, DOCUMENT.encode(), "text/xml", "utf-8")
    with pytest.raises(PartNotFound) as caught:
        extraction.cut_part(document, selector)
    assert caught.value.identifier == "it"
    assert caught.value.extent


def test_the_namespaces_that_a_slice_loses_are_told(
    extraction: PartExtraction, tmp_path: Path
) -> None:
    document = source(tmp_path, DOCUMENT.encode(), "text/xml", "utf-8")
    part = extraction.cut_part(document, element(1, 2, 1))
    assert part.facts == {"namespaces": 'xmlns:q="urn:q" xmlns="urn:l" xmlns:p="urn:p"'}
    assert extraction.cut_part(document, element(1)).facts == {}


@pytest.mark.parametrize(
    "root",
    ["<html xmlns='http://www.w3.org/1999/xhtml'>", "<svg xmlns='http://www.w3.org/2000/svg'>"],
)
def test_languages_in_which_id_is_an_id(
    extraction: PartExtraction, tmp_path: Path, root: str
) -> None:
    data = f"{root}<g id='x'/></{root[1:5].strip()}>".replace("</svg >", "</svg>").encode()
    document = source(tmp_path, data, "application/xhtml+xml", "utf-8")
    assert cut(extraction, document, ElementById("x")) == b"<g id='x'/>"


def test_what_can_be_addressed(extraction: PartExtraction, tmp_path: Path) -> None:
    document = source(tmp_path, DOCUMENT.encode(), "text/xml", "utf-8")
    shown = {one.syntax: one for one in extraction.list_extents(document)}
    assert shown["element(/1/1)"].size == 6
    assert shown["ID"].items == ("i1", "i2", "é")
    broken = source(tmp_path, b"<a><b></a>", "text/xml", "utf-8")
    assert {one.size for one in extraction.list_extents(broken) if "tags" in one.what} == {3}


# laws
# ----


@st.composite
def documents(draw: st.DrawFn, depth: int = 3) -> str:
    """A well-formed document with what may stand between elements."""
    name = draw(st.sampled_from(["a", "b:c", "é", "_"]))
    attribute = draw(st.sampled_from(["", " x='>'", ' y="/"', " b:z = '\n'", " "]))
    if depth == 0 or draw(st.booleans()):
        return f"<{name}{attribute}/>"
    between = st.sampled_from(
        ["", "t&amp;", "<!--<a>-->", "<?p <a/>?>", "<![CDATA[</a>]]>", "\r\n"]
    )
    inside = draw(st.lists(st.one_of(between, documents(depth - 1)), max_size=4))
    return f"<{name}{attribute}>{''.join(inside)}</{name}\t>"


@given(documents())
def test_each_element_is_a_document_of_its_own(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    """An element goes "from its start tag through its end tag", which is well-formed again."""
    place = tmp_path_factory.mktemp("law")
    document = source(place, text.encode(), "application/xml", "utf-8")
    whole = XmlDocument(document, "law", NoIndexes())
    for number in range(len(whole.nodes.firsts)):
        span = whole.find_span(number)
        inner = source(
            place, document.read_bytes(span.start, span.stop), "application/xml", "utf-8"
        )
        inside = XmlDocument(inner, "law", NoIndexes())
        assert inside.find_span(0) == type(span)(0, inner.length)


@given(documents())
def test_children_are_those_whose_parent_it_is(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    place = tmp_path_factory.mktemp("law")
    document = source(place, text.encode(), "application/xml", "utf-8")
    nodes = XmlDocument(document, "law", NoIndexes()).nodes
    for parent in range(len(nodes.firsts)):
        children = [one for one, up in enumerate(nodes.parents) if up == parent]
        assert [nodes.find_child(parent, n) for n in range(1, len(children) + 1)] == children
        assert nodes.find_child(parent, len(children) + 1) is None


@given(st.one_of(st.binary(max_size=80), documents().map(lambda text: text[:-3].encode())))
def test_whatever_is_read_nothing_but_our_errors_comes(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    document = source(tmp_path_factory.mktemp("law"), data, "application/xml", None)
    with suppress(PerdureError):
        EXTRACTOR.extract_part(document, element(1), NoIndexes())


# harm
# ----

XINCLUDE = "http://www.w3.org/2001/XInclude"

LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
BOMBS = {
    "billion laughs": f'<!DOCTYPE a [<!ENTITY l0 "ha">{LAUGHS}]><a>&l11;</a>',
    "quadratic blow-up": f'<!DOCTYPE a [<!ENTITY l "{"x" * 100_000}">]><a>{"&l;" * 10_000}</a>',
    "parameter entities": '<!DOCTYPE a [<!ENTITY % p "<!ELEMENT a ANY>"> %p;]><a/>',
    "a file": '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>',
    "one harmless entity": '<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>',
}
SELECTORS: list[Selector] = [element(1), ElementById("x"), XPath("//a")]


@pytest.mark.parametrize("bomb", BOMBS)
@pytest.mark.parametrize("selector", SELECTORS, ids=lambda one: type(one).__name__)
def test_documents_that_declare_entities_are_refused(
    extraction: PartExtraction, tmp_path: Path, bomb: str, selector: Selector
) -> None:
    document = source(tmp_path, BOMBS[bomb].encode(), "application/xml", "utf-8")
    with pytest.raises(Undecodable, match="declares entities"):
        extraction.cut_part(document, selector)
    assert cut(extraction, document, TagRange(0, 0)).startswith(b"<a")


@pytest.mark.parametrize("selector", SELECTORS, ids=lambda one: type(one).__name__)
def test_nothing_outside_is_asked(
    extraction: PartExtraction, tmp_path: Path, selector: Selector
) -> None:
    """A document type, a parameter entity and a stylesheet elsewhere: nobody connects."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        host = f"http://127.0.0.1:{server.getsockname()[1]}"
        for text in (
            f'<!DOCTYPE a SYSTEM "{host}/a.dtd"><a xml:id="x">&nbsp;</a>',
            f'<!DOCTYPE a [<!ENTITY % p SYSTEM "{host}/p"> %p;]><a xml:id="x"/>',
            f'<!DOCTYPE a [<!ENTITY e SYSTEM "{host}/e">]><a xml:id="x">&e;</a>',
            f'<?xml-stylesheet href="{host}/s"?><a xml:id="x"/>',
            f'<a xml:id="x"><i:include xmlns:i="{XINCLUDE}" href="{host}/i"/></a>',
        ):
            document = source(tmp_path, text.encode(), "application/xml", "utf-8")
            try:
                part = extraction.cut_part(document, selector)
            except PerdureError:
                continue
            assert content(part, document).startswith(b"<a ")
        with pytest.raises(TimeoutError):
            server.accept()


@pytest.mark.parametrize("selector", SELECTORS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("closed", [True, False])
def test_nesting_has_bounds(
    extraction: PartExtraction, tmp_path: Path, selector: Selector, closed: bool
) -> None:
    """200,000 levels."""
    data = b"<a>" * 200_000 + b"</a>" * (200_000 if closed else 0)
    document = source(tmp_path, data, "application/xml", "utf-8")
    with pytest.raises(OverBudget, match="1000 levels"):
        extraction.cut_part(document, selector)


def test_a_thousand_levels_are_none_too_many(extraction: PartExtraction, tmp_path: Path) -> None:
    data = b"<a>" * 1000 + b"</a>" * 1000
    document = source(tmp_path, data, "application/xml", "utf-8")
    assert cut(extraction, document, element(*[1] * 1000)) == b"<a></a>"
    one_more = source(tmp_path, b"<a>" + data + b"</a>", "application/xml", "utf-8")
    with pytest.raises(OverBudget, match="1000 levels"):
        extraction.cut_part(one_more, element(1))
    with pytest.raises(OverBudget, match="256 levels"):  # as deep as libxml2 goes
        extraction.cut_part(document, XPath("/a"))


def test_a_name_of_many_megabytes_is_read_once(extraction: PartExtraction, tmp_path: Path) -> None:
    """expat before 2.6 takes quadratic time for long tokens that come in pieces."""
    data = b"<a b='" + b"x" * 30_000_000 + b"'/>"
    document = source(tmp_path, data, "application/xml", "utf-8")
    assert extraction.cut_part(document, element(1)).length == len(data)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "no element found"),
        (b"<a><b></a>", "mismatched tag"),
        (b"<a/><b/>", "junk after document element"),
        (b"<a>&x;</a>", "undefined entity"),
        (b"<a>\xff</a>", "not well-formed"),
        (b"\xff\xfe<\0a", "unclosed token"),
    ],
)
def test_what_is_not_well_formed(
    extraction: PartExtraction, tmp_path: Path, data: bytes, reason: str
) -> None:
    document = source(tmp_path, data, "application/xml", None)
    with pytest.raises(Undecodable, match=reason):
        extraction.cut_part(document, element(1))


@pytest.mark.parametrize("charset", ["iso-2022-jp", "utf-32"])
def test_encodings_that_expat_does_not_have(
    extraction: PartExtraction, tmp_path: Path, charset: str
) -> None:
    document = source(tmp_path, "<a>x</a>".encode(charset), "application/xml", charset)
    with pytest.raises(PartNotSupported):
        extraction.cut_part(document, element(1))
    assert extraction.cut_part(document, TagRange(0, 1)).length


def test_after_all_that_others_are_answered(extraction: PartExtraction, tmp_path: Path) -> None:
    document = source(tmp_path, b"<a><b/></a>", "application/xml", "utf-8")
    assert cut(extraction, document, element(1, 1)) == b"<b/>"
