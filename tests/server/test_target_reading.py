"""What a request target means: one request in every form, and queries by the rule of the scheme."""

from __future__ import annotations

import contextlib
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from perdure import testing
from perdure.errors import InvalidRequest, MalformedIdentifier, UnknownScheme
from perdure.ids import Identifier, parse
from perdure.ids.name_set import read_set
from perdure.ids.named_parts import join_part
from perdure.ids.pdi import Pdi
from perdure.reading.targets import (
    Question,
    read_identifier,
    read_name,
    read_question,
    read_target,
    spell_path,
    spell_set_path,
    spell_uri,
)
from perdure.server.resource.operating import VERBS
from perdure.server.routes.dispatch import is_page

PDI = "pdi://oma.eop.gov.us/1997/09/01/1.text.1"
PWID = "pwid:archive.org:2016-01-22T11.20.29Z:page:http://www.dr.dk/?a=b"


@pytest.mark.parametrize("form", ["{}", "/{}", "http://host/{}", "HTTPS://host:81/{}"])
@pytest.mark.parametrize(
    ("text", "question"),
    [
        (PDI, None),
        (f"urn:{PDI}", None),
        (f"{PDI}?", ""),
        (f"{PDI}??", "?"),
        (f"{PDI}?info", "info"),
        (f"{PDI}#char=37,51", None),
        (f"{PDI}%23char=37,51", None),
        ("ark:/12345/x", None),
        ("ark:/12345/x?", ""),
        ("ark:/12345/x??", "?"),
        ("doi:10.1000/a%3Fb?info", "info"),
        (PWID, None),
        (f"{PWID}&c?info", None),
        (f"{PWID}&c?bind", None),
        (f"urn:{PWID}&c?info", "info"),
        (f"urn:{PWID}&c?members&limit=3", "members&limit=3"),
        (f"urn:{PWID}&c?register", "register"),
        (f"urn:{PWID}&c?inf%6F&limi%74=3", "inf%6F&limi%74=3"),
        (f"{PWID}&c?ne%61rest", "ne%61rest"),
        (f"urn:{PWID}&c?register=1", None),
        ("urn:example:a?+r?=q?x", None),
        ("urn:example:a?=q?info", None),
        ("urn:example:a?info", "info"),
        ("URN:IANA:42117::x:::?info", "info"),
    ],
)
def test_a_query_is_split_off_by_the_rule_of_the_scheme(
    form: str, text: str, question: str | None
) -> None:
    target = read_target(form.format(text).encode())
    without = text if question is None else text[: -len(question) - 1]
    assert (target.text, target.question) == (without, question)
    assert not is_page(target)


@pytest.mark.parametrize("verb", sorted(set(VERBS) - {"mint"}))
def test_every_operation_can_follow_the_urn_of_a_pwid(verb: str) -> None:
    target = read_target(f"/urn:{PWID}?{verb}".encode())
    assert (target.text, target.question) == (f"urn:{PWID}", verb)


@pytest.mark.parametrize(
    ("raw", "text", "question"),
    [
        (b"/", "", None),
        (b"http://host", "", None),
        (b"http://host?a", "", "a"),
        (b"*", "*", None),
        (b"/healthz", "healthz", None),
        (b"/uri-res/N2L?urn:pdi://a.us/?x", "uri-res/N2L", "urn:pdi://a.us/?x"),
    ],
)
def test_what_has_no_colon_is_a_page(raw: bytes, text: str, question: str | None) -> None:
    target = read_target(raw)
    assert (target.text, target.question, is_page(target)) == (text, question, True)


# two escaped hashes: that of an encapsulated URL, and that of the part
@example(parse("pdi://0.us/2000/1/1/http:%2f%2fexample%2eorg%23%2541#char=0,0"))
@given(testing.values())
def test_every_identifier_can_be_written_in_a_target(identifier: Identifier) -> None:
    path = spell_path(identifier)
    assert re.fullmatch("[!-~]+", path)
    assert "#" not in path
    target = read_target(f"/{path}".encode())
    assert target.question is None
    sent = identifier if isinstance(identifier, Pdi) else identifier.whole
    assert read_identifier(target.text) == sent
    assert re.fullmatch("[!-~]+", spell_uri(identifier))


@pytest.mark.parametrize("format", ["%23", "a%23b", "%2523", "%25", "%25a", "a%2525+b%23"])
@pytest.mark.parametrize("rest", ["", ".1", ".1#char=3,4", ".1@3=pdi://b.us/2000/01/01/2.a%23b.1"])
def test_a_format_with_a_hash_can_be_written_in_a_target(format: str, rest: str) -> None:
    """ "They MUST be encoded" (PDI section 1.2.5): RFC 6838 section 4.2 allows # in a type."""
    identifier = parse(f"pdi://a.us/2000/01/01/2.{format}{rest}")
    path = spell_path(identifier)
    assert "#" not in path
    assert read_identifier(read_target(f"/{path}".encode()).text) == identifier


def test_a_format_with_a_hash_is_read_as_earlier_releases_wrote_it() -> None:
    for text in ("pdi://a.us/2000/01/01/2.%23", "pdi://a.us/2000/01/01/2.%23.1"):
        assert read_identifier(text) == parse(text)


@given(st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=200))
def test_any_target_is_read_or_refused(text: str) -> None:
    """ "Bad input … a clear error with status, code and repair." """
    target = read_target(text.encode())
    with contextlib.suppress(MalformedIdentifier, UnknownScheme, InvalidRequest):
        read_question(target.question)
        read_identifier(target.text)


# parts  # ruling: fragment-transport
# -----


def test_a_part_is_the_same_however_it_is_sent() -> None:
    wanted = parse(f"{PDI}#char=37,51")
    assert read_identifier(f"{PDI}#char=37,51") == wanted
    assert read_identifier(f"{PDI}%23char=37,51") == wanted
    assert read_identifier(f"{PDI}%23char%3d37,51".replace("%3d", "=")) == wanted
    beside = read_name(PDI, "char=37,51")
    assert join_part(beside.identifier, beside.part) == (wanted, None)
    assert read_identifier(f"urn:{PDI}%23char=37,51") == wanted


def test_an_escaped_hash_within_a_unique_id_stays_there() -> None:
    text = "pdi://oma.eop.gov.us/1994/10/20/http:%2f%2fa%23b.html.1"
    assert str(read_identifier(text)) == text
    assert str(read_identifier(f"{text}%23name=c,d")) == f"{text}#name=c,d"


@pytest.mark.parametrize(
    ("sent", "meant"),
    [
        # only the hash before the part is repaired, not one in the part
        ("1.text.1%23quote=a%23b", "1.text.1#quote=a%23b"),
        # more escaped hashes in a unique-id than are tried one after the other
        (
            f"http:%2f%2fa{'%23b' * 5}.html.1%23name=c,d",
            f"http:%2f%2fa{'%23b' * 5}.html.1#name=c,d",
        ),
        # a format with a hash, and one in a part that was sent as it is
        ("2.a%2523b.1#quote=c%23d", "2.a%23b.1#quote=c%23d"),
        # escapes are undone in the format only
        ("1.text#quote=a.%2523b", "1.text#quote=a.%2523b"),
    ],
)
def test_an_escaped_hash_is_repaired_once(sent: str, meant: str) -> None:
    day = "pdi://a.us/2000/01/01"
    assert read_identifier(f"{day}/{sent}") == parse(f"{day}/{meant}")


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("pdi://a.us/1997/13/01/1%23x", "pdi://a.us/1997/13/01/1#x"),
        (f"{PDI}#x=%23(", f"{PDI}#x=%23("),
        ("pdi://a%2e", "pdi://a%2e"),
        ("urn:%23", "urn:%23"),
        ("hdl:1839/a%0Ab", "hdl:1839/a\nb"),
    ],
)
def test_a_target_beyond_repair_is_reported_as_it_was_read(text: str, reported: str) -> None:
    with pytest.raises(MalformedIdentifier) as refused:
        read_identifier(text)
    assert refused.value.text == reported


def test_a_part_belongs_to_the_pdi_that_is_cited_last() -> None:
    text = f"{PDI}@(1,2)=pdi://oma.eop.gov.us/1997/09/02/3.text.1"
    assert read_identifier(f"{text}%23char=1,2") == parse(f"{text}#char=1,2")


# escapes
# -------


def test_the_text_of_a_handle_stands_escaped_in_a_target() -> None:
    assert str(read_identifier("hdl:1839/a%23b%2525")) == "hdl:1839/a#b%25"
    assert str(read_identifier("doi:10.1000/%C3%A9")) == "doi:10.1000/é"
    with pytest.raises(MalformedIdentifier):
        read_identifier("doi:10.1000/%ff")


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("pdi:%2f%2fa.us%2f1997%2f09%2f01%2f1.text.1", "pdi://a.us/1997/09/01/1.text.1"),
        ("URN:PDI:%2F%2Fa.us%2F1997%2F09%2F01%2F1", "pdi://a.us/1997/09/01/1"),
        ("ark:%2f99999%2fx%2fy", "ark:99999/x/y"),
        ("hdl:1839%2fa%2fb", "hdl:1839/a/b"),
    ],
)
def test_a_name_is_one_escaped_segment_of_a_path(written: str, name: str) -> None:
    """A path parameter as clients write it (RFC 6570, 3.2.2): they may leave `:` as it is."""
    assert read_identifier(read_target(f"/{written}?info".encode()).text) == parse(name)
    assert read_target(f"/{written}?info".encode()).question == "info"


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("ark:99999/fk4*", "ark:99999/fk4*"),
        ("urn:isbn:97801*", "urn:isbn:97801*"),
        ("pdi://oma.eop.gov.us/1997/", "pdi://oma.eop.gov.us/1997/"),
        ("hdl:1839/a#b*", "hdl:1839/a%23b*"),
    ],
)
def test_a_set_of_names_is_spelled_in_a_path_as_its_names_are(written: str, path: str) -> None:
    """A URI is written unchanged; the text of a handle is percent-escaped (RFC 3986 2.4)."""
    assert spell_set_path(read_set(written)) == path


def test_an_identifier_may_be_escaped_as_a_whole() -> None:
    assert str(read_identifier("urn%3Apdi%3A%2F%2Fa.us%2F1997%2F09%2F01%2F1.text.1")) == (
        "pdi://a.us/1997/09/01/1.text.1"
    )
    with pytest.raises(MalformedIdentifier):
        read_identifier("pdi%3A%2F%2Fa.us%2F1997%2F09%2F01%2F1%0D%0A.text.1")


# questions
# ---------


def test_questions() -> None:
    assert read_question(None) == Question()
    for text, inflection in (("", "?"), ("?", "??"), ("info", "")):
        assert read_question(text) == Question(verb="info", inflection=inflection)
    assert read_question("landing&region=eu") == Question(verb="landing", region="eu")
    assert read_question("locations") == Question(verb="locations")
    assert read_question("cursor=a%2Fb&limit=10") == Question(cursor="a/b", limit=10)
    assert read_question("part=char%3D37%2C51") == Question(part="char=37,51")
    assert read_question("utm_source=x&info") == Question(verb="info")
    assert read_question("bind", verbs=("bind",)) == Question(verb="bind")


WORDS = ("info", "bytes", "landing", "linkset", "locations", "history", "members", "play",
         "text", "signatures", "nearest", "noredirect", "ignore_aliases", "metadata=datacite",
         "cite=apa", "cite",
         "part=char%3D3%2C7", "t=15.0/30.0", "quote=a+b%2Bc", "cursor=a%2Fb", "limit=10",
         "urlappend=%2Fx", "region=eu", "index=3", "type=URL", "locatt=id:1")  # fmt: skip


@st.composite
def spelled_questions(draw: st.DrawFn) -> tuple[str, str]:
    """A question, and the same with escapes in the names of its parameters."""
    word = draw(st.sampled_from(WORDS))
    name, equals, value = word.partition("=")
    spelled = "".join(
        draw(st.sampled_from((one, f"%{ord(one):02x}", f"%{ord(one):02X}"))) for one in name
    )
    return word, f"{spelled}{equals}{value}"


@given(spelled_questions(), st.sampled_from(["", "utm_source=x&", "utm%5Fsource=x&"]))
def test_an_escaped_name_asks_the_same_question(spelled: tuple[str, str], before: str) -> None:
    """ "URIs that differ in the replacement of an unreserved character with its corresponding
    percent-encoded US-ASCII octet are equivalent" (RFC 3986 section 2.3)."""
    word, escaped = spelled
    assert read_question(before + escaped) == read_question(word)


def test_an_escaped_separator_separates_nothing() -> None:
    """ "When a URI is dereferenced, the components and subcomponents … must be parsed and separated
    before the percent-encoded octets within those components can be safely decoded" (RFC 3986
    section 2.4)."""
    assert read_question("x%26landing=1") == Question()
    for text in ("info%26landing", "metadata%3Ddatacite"):
        with pytest.raises(InvalidRequest):
            read_question(text)


@pytest.mark.parametrize(
    "text", ["inof", "limit=0", "limit=x", "limit=-1", "info&x", "limit=9" * 9]
)
def test_questions_that_ask_nothing(text: str) -> None:
    with pytest.raises(InvalidRequest):
        read_question(text)


# `%23` for `#`
# -------------

_FULL = "pdi://a.example.us/2026/11/21/1.text.1"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        (f"{_FULL}%23char=1,2", f"{_FULL}#char=1,2"),
        (f"{_FULL}#char=1,2", f"{_FULL}#char=1,2"),
        (
            "pdi://a.example.us/2026/11/21/1.text%23char=1,2",
            "pdi://a.example.us/2026/11/21/1.text#char=1,2",
        ),
        (
            "pdi://a.example.us/1997/*/*/*.text%23char=1,2",
            "pdi://a.example.us/1997/*/*/*.text#char=1,2",
        ),
        # in front of the format it belongs to the name
        ("pdi://a.example.us/2026/11/21/%23.text.1", "pdi://a.example.us/2026/11/21/%23.text.1"),
        ("pdi://a.example.us/2026/11/21/a%23b", "pdi://a.example.us/2026/11/21/a%23b"),
        (
            "pdi://a.example.us/2026/11/21/a%23b.text.1%23char=1,2",
            "pdi://a.example.us/2026/11/21/a%23b.text.1#char=1,2",
        ),
    ],
)
def test_a_number_sign_that_came_escaped_begins_a_part(text: str, meant: str) -> None:
    assert read_identifier(text) == parse(meant)
    assert ("#" in str(read_identifier(text))) == ("#" in meant)


@pytest.mark.parametrize(
    "text", [f"{_FULL}%23char=1,2%23", f"{_FULL}%23name=a%23b", f"{_FULL}%23", f"{_FULL}%23%23x=1"]
)
def test_a_part_has_one_number_sign_and_something_behind_it(text: str) -> None:
    with pytest.raises(MalformedIdentifier):
        read_identifier(text)


def test_a_question_mark_of_a_pdi_is_escaped_in_a_path() -> None:
    one = parse("pdi://a.us/2026/11/20/1.pdf.1#x-mine=(a,B),C/d?*+")
    assert spell_path(one).count("%3f") == str(one).count("?") == 1
    assert read_identifier(spell_path(one)) == one


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("urlappend=%2Fx", Question(append="/x")),
        ("nearest", Question(nearest=True)),
        ("noredirect", Question(verb="info")),
        ("noredirect&auth", Question(verb="info")),
        ("index=3&index=x&index=12345678901", Question(indexes=(3,))),
        ("type=URL&type=EMAIL", Question(types=("URL", "EMAIL"))),
        ("ignore_aliases", Question(follow_aliases=False)),
        ("region=EU-de", Question(region="EU-de")),
        ("limit=3", Question(limit=3)),
        ("cursor=a%20b", Question(cursor="a b")),
        ("part=page%3D2", Question(part="page=2")),
    ],
)
def test_what_stands_beside_a_question(query: str, expected: Question) -> None:
    assert read_question(query) == expected


@pytest.mark.parametrize(
    ("escaped", "text"),
    [
        ("urn:pdi%3a%2f%2fa.us%2f1997%2f09%2f01%2f1", "pdi://a.us/1997/09/01/1"),
        ("urn:pdi:%2f%2fa.us%2f1997%2f09%2f01%2f1", "pdi://a.us/1997/09/01/1"),
        ("pdi%3a//a.us/1997/09/01/1", "pdi://a.us/1997/09/01/1"),
        ("URN:ISBN%3A9780141036144", "urn:isbn:9780141036144"),
        ("urn:example:a%3Ab", "urn:example:a%3Ab"),
    ],
)
def test_any_colon_of_a_prefix_may_be_escaped(escaped: str, text: str) -> None:
    """Clients escape some colons, or all, or none; no namespace of a URN contains a `%`."""
    assert read_identifier(read_target(f"/{escaped}".encode()).text) == parse(text)
