"""The format of lines: what is read, and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest

from perdure.errors import InvalidRequest
from perdure.errors.importing import LineMemberUnknown
from perdure.upkeep.transfer import lines
from perdure.upkeep.transfer.lines import (
    Line,
    LineContent,
    PlainLine,
    make_location,
    read_line,
    write_line,
)

PAGE = (Path(__file__).parents[3] / "docs/reference/jsonl.md").read_text("utf-8")
ID = "pdi://oma.eop.gov.us/1997/09/01/1"


def test_the_common_line_is_read_as_such() -> None:
    assert isinstance(read_line(b'{"id": "x", "locations": ["https://a"]}'), PlainLine)
    full = read_line(b'{"id": "x", "locations": ["https://a", "https://b"]}')
    assert full == Line(id="x", locations=("https://a", "https://b"))


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({}, "id"),
        ({"id": 1}, "$.id"),
        ({"id": ID, "location": ["https://a"]}, "location"),
        ({"id": ID, "locations": "https://a"}, "$.locations"),
        ({"id": ID, "locations": [{"url": "https://a"}]}, "$.locations[0]"),
        ({"id": ID, "locations": [{"uri": "https://a", "version": 0}]}, "$.locations[0].version"),
        ({"id": ID, "locations": [{"uri": "https://a", "sha512": "AB"}]}, "$.locations[0].sha512"),
        ({"id": ID, "locations": [{"uri": "x", "region": "a\r\n"}]}, "$.locations[0].region"),
        ({"id": ID, "locations": [{"uri": "x", "language": "a\n"}]}, "$.locations[0].language"),
        ({"id": ID, "content": {"text": "x", "at": "1997"}}, "$.content.at"),
        ({"id": ID, "content": {"base64": "*"}}, "$.content.base64"),
        ({"id": ID, "contents": {"text": "x"}}, "$.contents"),
        ({"id": ID, "metadata": {"year": 1997}}, "$.metadata"),
        ({"id": ID, "withdrawn": [{}]}, "$.withdrawn[0]"),
        ({"id": ID, "withdrawn": [{"reason": ""}]}, "$.withdrawn[0].reason"),
        ({"id": ID, "about": {"title": "T"}}, "about.title"),
        ({"id": ID, "about": {"titles": [{"value": "T", "lang": "de"}]}}, "about.titles.lang"),
        (
            {
                "id": ID,
                "about": {"titel": "T", "places": [{"point": {"latitude": 1, "longitude": 2}}]},
            },
            "about.titel",
        ),
        ({"id": ID, "narrower": [{"part": "x", "about": {"title": "T"}}]}, "narrower.about.title"),
        (
            {"id": ID, "values": [{"index": 1, "type": "URL", "data": "x", "tttl": 1}]},
            "values.tttl",
        ),
    ],
)
def test_a_line_of_another_form_is_refused_and_told_where(
    fields: dict[str, object], where: str
) -> None:
    with pytest.raises(InvalidRequest, match=re.escape(where)):
        read_line(json.dumps(fields).encode())


@pytest.mark.parametrize(
    "text", [b"{", b"[]", b"null", b'{"id": "x"} {}', b"\xff", b'{"id": "\xff"}']
)
def test_what_is_no_json_object_is_refused(text: bytes) -> None:
    with pytest.raises(InvalidRequest):
        read_line(text)


def test_a_file_in_utf_16_is_told_so() -> None:
    """As the shell of Windows writes them."""
    for line in f"{json.dumps({'id': ID})}\n".encode("utf-16").split(b"\n"):
        with pytest.raises(InvalidRequest, match="UTF-16"):
            read_line(line)


def test_what_is_written_reads_back_equal() -> None:
    line = Line(
        id=ID,
        locations=("https://a", lines.LinePlace(uri="https://b", weight=2)),
        contents=(LineContent(version=1, format="text", base64=bytes(range(256))),),
        metadata={"title": "Ä"},
        aliases=("hdl:1/2",),
        minted="text",
        withdrawn=(lines.LineEnding(reason="why"),),
    )
    text = write_line(line)
    assert text.endswith(b"}\n")
    assert text.count(b"\n") == 1
    assert read_line(text) == line


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"sha512": "AB"}, "128 lower-case hexadecimal digits - at `$.sha512`"),
        ({"language": "en_GB"}, "a language tag such as en-GB"),
        ({"region": "e u"}, "visible ASCII"),
        ({"valid_from": "tomorrow"}, "a day such as 2026-11-21"),
    ],
)
def test_what_shape_a_text_must_have_is_told_in_words(fields: dict[str, str], words: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        make_location({"uri": "https://a"} | fields)
    assert words in refused.value.reason
    assert "regex" not in refused.value.reason
    at = {"id": ID, "content": {"text": "x", "at": "tomorrow"}}
    with pytest.raises(InvalidRequest, match="a time such as 1997-09-01T08:00:00Z"):
        read_line(json.dumps(at).encode())


def test_a_location_of_the_command_line_obeys_the_same_rules() -> None:
    assert make_location({"uri": "https://a", "format": "HTML"}).format == "html"
    with pytest.raises(InvalidRequest, match="region"):
        make_location({"uri": "https://a", "region": "e u"})


@pytest.mark.parametrize(
    "kind",
    [Line, lines.LinePlace, LineContent, lines.LineDescription, lines.LineDrift, lines.LineEnding],
)
def test_every_field_is_documented(kind: type[msgspec.Struct]) -> None:
    heading = {
        "Line": "A line",
        "LinePlace": "A location",
        "LineContent": "Content",
        "LineDescription": "A narrower description",
        "LineDrift": "A changed location",
    }
    title = heading.get(kind.__name__, "A withdrawal")
    section = re.search(rf"(?ms)^## {title}\n(.*?)(?=^## |\Z)", PAGE)
    assert section is not None
    documented = re.findall(r"^\| `(\w+)` \|", section[1], re.MULTILINE)
    assert set(documented) == set(kind.__struct_fields__)


def test_the_examples_of_the_reference_are_lines() -> None:
    found = re.search(r"```json\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    assert [type(read_line(text.encode())) for text in found[1].splitlines()] == [
        PlainLine,
        Line,
        Line,
    ]


def test_values_with_all_their_members_are_not_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lines of a batch: to walk each of them took a fifth of an import."""
    value = {
        "index": 1, "type": "URL", "format": "string", "data": "https://a.example/", "ttl": 60,
        "at": "2019-01-01T00:00:00Z", "permissions": "1100", "granted_by": "",
    }  # fmt: skip
    text = json.dumps({"id": "hdl:1839/a", "values": [value]}).encode()
    with monkeypatch.context() as patched:
        patched.setattr(lines, "list_unknown", None)
        read_line(text)
    with pytest.raises(LineMemberUnknown):
        read_line(text.replace(b'"ttl"', b'"tll"'))
