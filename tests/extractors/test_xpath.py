"""XPath against libxml2's own `xmllint`, ranges by hand, and expressions made to take for ever."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.extractors.cutting import cut, source

from perdure.errors import (
    MalformedPart,
    OverBudget,
    PartNotFound,
    PartNotSupported,
    PerdureError,
)
from perdure.extractors.confined import Budget, Confined
from perdure.parts import First, XPath
from perdure.reading.extraction import PartExtraction

XMLLINT = shutil.which("xmllint") or os.environ.get("PERDURE_XMLLINT")
DOCUMENT = (  # as libxml2 writes it, so that a slice of it is what xmllint prints
    '<?xml version="1.0"?>\n<!--top--><!DOCTYPE play [\n<!ATTLIST act id ID #IMPLIED>\n'
    "<!-- <act/> --><?cue <b> ?>]>\n"
    '<play xmlns:s="urn:s" lang="en"><!-- <act/> -->\n'
    '  <act id="a1" n="1"><s:scene>one <i>two</i> three</s:scene><?cue <b> ?></act>\n'
    '  <act id="a2" n="2"><s:scene n="1">four</s:scene><s:scene n="2">five four</s:scene></act>\n'
    '  <act n="3"/>\n</play>\n'
)
S = (("s", "urn:s"),)
BOTH = DOCUMENT[DOCUMENT.index("<act id") : DOCUMENT.index("\n  <act n=")]


@pytest.fixture(scope="module")
def extraction() -> Iterator[PartExtraction]:
    made = PartExtraction(confined=Confined(most=1, budget=Budget(seconds=3, memory=512 << 20)))
    yield made
    made.close()


EXPRESSIONS = [
    "/play",
    "//act[1]",
    "/play/act[last()]",
    "id('a2')",
    "id('a1')/*[1]/i",
    "//*[local-name()='scene'][.='five four']",
    "//act[@n=2]/*[2]",
    "//i/ancestor::act",
    "//act[count(*)=2]/*[1]",
    "(//*[local-name()='scene'])[3]",
    "//act[3]/preceding-sibling::act[1]",
    "//i/parent::*",
    "//act[not(*)]",
    "//act[starts-with(@id,'a')][2]/*[position()<2]",
    "//processing-instruction('cue')",
    "/play/comment()",
    "/comment()",
    "//i/text()",
    "//i/following-sibling::text()",
    "//act[2]/*[1]/text()",
    "/play/@lang",
    "//act[@n=3]/@n",
    "//act[string-length(@id) > 0 and sum(@n) = 2]",
    "//i[lang('en')] | //i",
    "//act[translate(@n,'123','abc')='c']",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_one_node_is_the_one_that_xmllint_prints(
    extraction: PartExtraction, tmp_path: Path, expression: str
) -> None:
    if not XMLLINT:
        pytest.skip("xmllint is not there: it comes with libxml2 (Debian: libxml2-utils)")
    document = source(tmp_path, DOCUMENT.encode(), "application/xml", "utf-8")
    done = subprocess.run(
        [XMLLINT, "--nonet", "--xpath", expression, str(document.path)],
        capture_output=True,
        check=True,
    )
    expected = done.stdout.removesuffix(b"\n").removeprefix(b" ")
    found = cut(extraction, document, XPath(expression))
    context = b' xmlns:s="urn:s"'  # xmllint adds it, a slice does not
    if expression != "/play":
        found, expected = found.strip(), expected.replace(context, b"").strip()
    assert found == expected


@pytest.mark.parametrize("expression", ["//act", "//act/@n", "//text()", "//s:scene[1] | //i"])
def test_several_nodes_are_told_and_not_narrowed(
    extraction: PartExtraction, tmp_path: Path, expression: str
) -> None:
    document = source(tmp_path, DOCUMENT.encode(), "application/xml", "utf-8")
    with pytest.raises(PartNotFound, match=r"a set of \d+ nodes; the first is") as caught:
        extraction.cut_part(document, XPath(expression, S))
    assert f"({expression})[1]" in caught.value.extent
    assert cut(extraction, document, XPath(f"({expression})[1]", S))


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("//act[9]", "no node"),
        ("count(//act)", "a number"),
        ("string(//i)", "a string"),
        ("//act = 1", "a truth value"),
        ("/", "no node"),
        ("//i/namespace::s", "namespace node"),
    ],
)
def test_what_is_no_part(
    extraction: PartExtraction, tmp_path: Path, expression: str, reason: str
) -> None:
    """In XPointer such a part selects nothing, and the next one is tried (Framework, 3.3)."""
    document = source(tmp_path, DOCUMENT.encode(), "application/xml", "utf-8")
    with pytest.raises(PartNotFound, match=reason):
        extraction.cut_part(document, XPath(expression))
    several = First((XPath(expression), XPath("//i")))
    assert cut(extraction, document, several) == b"<i>two</i>"


@pytest.mark.parametrize(
    "expression", ["//act[", "", "act]", "//z:act", "$x", "id()", "a b", "exit()", "//\0", "1 +"]
)
def test_what_is_no_expression(extraction: PartExtraction, tmp_path: Path, expression: str) -> None:
    document = source(tmp_path, DOCUMENT.encode(), "application/xml", "utf-8")
    with pytest.raises(MalformedPart):
        extraction.cut_part(document, XPath(expression))


def test_prefixes_are_those_of_the_pointer(extraction: PartExtraction, tmp_path: Path) -> None:
    """XPointer xmlns() Scheme: prefixes of the document are not in scope."""
    document = source(tmp_path, DOCUMENT.encode(), "application/xml", "utf-8")
    with pytest.raises(MalformedPart, match="prefix"):
        extraction.cut_part(document, XPath("//s:scene[@n=1]"))
    found = extraction.cut_part(document, XPath("//x:scene[@n=1]", (("x", "urn:s"),)))
    assert found.facts == {"namespaces": 'xmlns:s="urn:s"'}


@pytest.mark.parametrize("charset", ["utf-16", "utf-16be", "iso-8859-1", "utf-8-sig"])
def test_every_encoding(extraction: PartExtraction, tmp_path: Path, charset: str) -> None:
    text = "<a>é<!--é--><b c='é'>ü</b>ß<?é é?></a>"
    if charset == "iso-8859-1":
        text = f"<?xml version='1.0' encoding='{charset}'?>{text}"
    document = source(tmp_path, text.encode(charset), "text/xml", charset)
    for expression, expected in {
        "//b": "<b c='é'>ü</b>",
        "//@c": "c='é'",
        "//b/text()": "ü",
        "/a/text()[1]": "é",
        "/a/text()[2]": "ß",
        "//comment()": "<!--é-->",
        "//processing-instruction()": "<?é é?>",
        "string-range(/a,'üß')": "ü</b>ß",
    }.items():
        part = extraction.cut_part(document, XPath(expression))
        found = cut(extraction, document, XPath(expression))
        assert found.decode(part.charset or charset) == expected


# ranges
# ------


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("//act[1]/range-to(//act[2])", BOTH),
        ("id('a1')/range-to(following-sibling::act[1])", BOTH),
        ("//i / range-to( //processing-instruction() )", "<i>two</i> three</s:scene><?cue <b> ?>"),
        ("string-range(//i,'wo')", "wo"),
        ("string-range(/play,'one two three')", "one <i>two</i> three"),
        ("string-range(/play,'one two three',5,3)", "two"),
        ("string-range(/play,'four')[1]", "four"),
        ("string-range(//act,'four', 1, 2)[2]", "fo"),
        ("string-range(//*[contains(.,'x') or @n=2],\"five\")", "five"),
        ("string-range(/,'four',1,2)[2]", "fo"),  # the draft's own string-range(/,"!",1,2)[5]
        ("string-range(/ | //act[2],'two')", "two"),
        ("string-range(//i/ancestor::node(),'two')", "two"),
    ],
)
def test_ranges(extraction: PartExtraction, tmp_path: Path, expression: str, expected: str) -> None:
    document = source(tmp_path, DOCUMENT.encode(), "application/xml", "utf-8")
    assert cut(extraction, document, XPath(expression)).decode() == expected


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ("//act[2]/range-to(//act[1])", PartNotFound),
        ("//act[1]/range-to(//act)", PartNotFound),
        ("//act[1]/range-to(//act[2]", MalformedPart),
        ("string-range(/play,'four')", PartNotFound),
        ("string-range(/play,'four')[3]", PartNotFound),
        ("string-range(/play,'nine')", PartNotFound),
        ("string-range(/play,'four',9,0)", PartNotFound),
        ("string-range(1,'four')", PartNotFound),
        ("string-range(/play)", MalformedPart),
        ("string-range(/play,'')", PartNotFound),
        ("here()", PartNotSupported),
        ("origin()/..", PartNotSupported),
        ("//i/start-point()", PartNotSupported),
    ],
)
def test_ranges_that_are_not(
    extraction: PartExtraction, tmp_path: Path, expression: str, error: type[PerdureError]
) -> None:
    document = source(tmp_path, DOCUMENT.encode(), "application/xml", "utf-8")
    with pytest.raises(error):
        extraction.cut_part(document, XPath(expression))


# harm
# ----

RE = (("re", "http://exslt.org/regular-expressions"), ("s", "urn:s"))


@pytest.mark.parametrize(
    "expression",
    [
        "//act[re:test('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!', '^(a+)+$')]",
        "//act[re :test(@n, '1')]",
        "re:match(//i, '(t)')",
        "//act",
    ],
)
def test_extensions_cannot_be_named(
    extraction: PartExtraction, tmp_path: Path, expression: str
) -> None:
    document = source(tmp_path, DOCUMENT.encode(), "application/xml", "utf-8")
    with pytest.raises(MalformedPart):
        extraction.cut_part(document, XPath(expression, RE))


@pytest.mark.parametrize("uri", ["http://exslt.org/math", "http://exslt.org/dates-and-times", "x"])
@pytest.mark.parametrize("call", ["max(//@n)", "date()", "document('/etc/passwd')"])
def test_no_function_of_a_namespace_is_called(
    extraction: PartExtraction, tmp_path: Path, uri: str, call: str
) -> None:
    document = source(tmp_path, DOCUMENT.encode(), "application/xml", "utf-8")
    for expression in (f"x:{call}", call):
        with pytest.raises(MalformedPart):
            extraction.cut_part(document, XPath(expression, (("x", uri),)))


@pytest.mark.parametrize(
    "expression",
    [
        "//*//*//*//*//*",
        "//act" + "[//act" * 20 + "]" * 20,
        "//a/" + "descendant::a/" * 10 + "a",
        "/play" * 300,
        "//i/preceding :: * /following::*/descendant-or-self::node()/preceding::*",
    ],
)
def test_expressions_that_search_again_and_again(
    extraction: PartExtraction, tmp_path: Path, expression: str
) -> None:
    document = source(tmp_path, DOCUMENT.encode(), "application/xml", "utf-8")
    with pytest.raises(OverBudget):
        extraction.cut_part(document, XPath(expression))


def test_an_expression_that_takes_too_long_is_stopped(
    extraction: PartExtraction, tmp_path: Path
) -> None:
    """Cubic over 20,000 elements: the process is ended, earlier than for other parts, and the next
    question answered."""
    data = b"<r>" + b"<w><v/></w>" * 10_000 + b"</r>"
    large = source(tmp_path, data, "application/xml", "utf-8")
    with pytest.raises(OverBudget, match="2 seconds"):
        extraction.cut_part(large, XPath("//*[count(//*[last() > count(//*)]) = -1]"))
    assert cut(extraction, large, XPath("/r/w[10000]/v")) == b"<v/>"


def test_a_document_too_large_for_a_tree(extraction: PartExtraction, tmp_path: Path) -> None:
    large = source(tmp_path, b"<a>" + b"x" * (20 << 20) + b"</a>", "application/xml", "utf-8")
    with pytest.raises(OverBudget, match="20971520 bytes"):
        extraction.cut_part(large, XPath("/a"))


def test_brackets_of_any_depth(extraction: PartExtraction, tmp_path: Path) -> None:
    document = source(tmp_path, DOCUMENT.encode(), "application/xml", "utf-8")
    for expression in ("(" * 1000, "(" * 500 + "1" + ")" * 500, "-" * 1000 + "1", "a[" * 500):
        with pytest.raises((MalformedPart, PartNotFound)):
            extraction.cut_part(document, XPath(expression))
