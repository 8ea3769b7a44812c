"""The syntaxes that have an ABNF, against it."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

import pytest
from abnf.grammars.misc import load_grammar_rules
from abnf.parser import ParseError, Rule
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from perdure import testing
from perdure.errors import MalformedPart
from perdure.parts import media, plaintext, table
from perdure.testing import parts as shipped


@load_grammar_rules()
class PlainText(Rule):
    """RFC 5147 section 3, RFC 2978 section 2.3."""

    grammar: ClassVar[list[str] | str] = [
        'text-fragment = text-scheme *( ";" integrity-check )',
        "text-scheme = char-scheme / line-scheme",
        'char-scheme = "char=" ( range / position )',
        'line-scheme = "line=" ( range / position )',
        'integrity-check = ( length-scheme / md5-scheme ) [ "," mime-charset ]',
        "position = number",
        'range = ( position "," [ position ] ) / ( "," position )',
        "number = 1*DIGIT",
        'length-scheme = "length=" number',
        'md5-scheme = "md5=" md5-value',
        "md5-value = 32HEXDIG",
        "mime-charset = 1*mime-charset-chars",
        "mime-charset-chars = ALPHA / DIGIT / some / more",
        """some = "!" / "#" / "$" / "%" / "&" / "'" / "+" / "-" """,
        """more = "^" / "_" / "`" / "{" / "}" / "~" """,
    ]


@load_grammar_rules()
class Table(Rule):
    """RFC 7111 section 3."""

    grammar: ClassVar[list[str] | str] = [
        "csv-fragment = rowsel / colsel / cellsel",
        'rowsel = "row=" singlespec *( ";" singlespec )',
        'colsel = "col=" singlespec *( ";" singlespec )',
        'cellsel = "cell=" cellspec *( ";" cellspec )',
        'singlespec = position [ "-" position ]',
        'cellspec = cellrow "," cellcol [ "-" cellrow "," cellcol ]',
        "cellrow = position",
        "cellcol = position",
        'position = number / "*"',
        "number = 1*DIGIT",
    ]


@load_grammar_rules()
class Times(Rule):
    """Media Fragments URI 1.0 section 4.2.1; names have their case there."""

    grammar: ClassVar[list[str] | str] = [
        "timesegment = %x74 %x3D timeparam",
        'timeparam = [ %x6E.70.74 ":" ] ( ( npttime [ "," npttime ] ) / ( "," npttime ) )',
        "npttime = npt-hhmmss / npt-mmss / npt-sec",
        'npt-sec = 1*DIGIT [ "." *DIGIT ]',
        'npt-mmss = npt-mm ":" npt-ss [ "." *DIGIT ]',
        'npt-hhmmss = npt-hh ":" npt-mm ":" npt-ss [ "." *DIGIT ]',
        "npt-hh = 1*DIGIT",
        "npt-mm = %x30-35 DIGIT",
        "npt-ss = %x30-35 DIGIT",
    ]


def accepted(grammar: type[Rule], rule: str, text: str) -> bool:
    try:
        grammar(rule).parse_all(text)
    except ParseError:
        return False
    return True


def expected(read: object, text: str) -> str | None:
    """What should have stood there; None where the text is read."""
    assert callable(read)
    try:
        read(text)
    except MalformedPart as error:
        return error.expected
    return None


GRAMMARS = [
    # what the ABNF says nothing about: order, zero, how long and how many
    (plaintext.read_text_range, PlainText, "text-fragment", ("before its start", "at most")),
    (table.read_cells, Table, "csv-fragment", ("from 1", "at most")),
]


@pytest.mark.parametrize(("read", "grammar", "rule", "beyond"), GRAMMARS)
@settings(max_examples=200)
@given(data=st.data())
def test_texts_are_judged_as_the_abnf_does(
    read: object, grammar: type[Rule], rule: str, beyond: tuple[str, ...], data: st.DataObject
) -> None:
    strategy = shipped.plaintext_selectors() if grammar is PlainText else shipped.table_selectors()
    written = strategy.map(str)
    text = data.draw(written | testing.spoil_texts(written) | written.map(str.upper))
    assume("%" not in text)  # escapes belong to the URI
    mistake = expected(read, text)
    if mistake is None:
        assert accepted(grammar, rule, text)
    elif accepted(grammar, rule, text):
        assert any(words in mistake for words in beyond), mistake


_CLOCKS = st.from_regex(r"(npt:)?([0-9]{1,3}:)?([0-9]{1,3}:)?[0-9]{1,3}(\.[0-9]?)?", fullmatch=True)


@settings(max_examples=300)
@given(_CLOCKS, st.none() | _CLOCKS.map(lambda text: text.removeprefix("npt:")), st.booleans())
def test_times_are_judged_as_the_abnf_does(first: str, last: str | None, start: bool) -> None:
    text = f"t={first if start else ''}" + ("" if last is None else f",{last}")
    legal = accepted(Times, "timesegment", text)
    if expected(media.read_media, text) is None:
        assert legal
    elif legal:
        assert last is not None
        assert (seconds(first) if start else 0) >= seconds(last)


def seconds(clock: str) -> Fraction:
    total = Fraction(0)
    for field in clock.removeprefix("npt:").split(":"):
        total = total * 60 + Fraction(field.rstrip("."))
    return total
