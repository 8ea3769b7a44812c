"""Every case in `vectors/part-*.json`, read by the syntax that the file is named after.

The files are data for any language: what a case has in it says what is to be tested.

    part, json, query, call      what is read
    kind, fields, written        selects this, and is written so
    refused, at, expected        is no part; the error says where and what could have stood there
    unsupported, offered         keeps to the grammar, and is nothing that is served; this is
    ignored                      is nothing by its specification, and so no part
    written_json                 the selector as Web Annotation has it
    identifier, media_type       an identifier that names a part, or the whole
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from perdure.errors import MalformedPart, PartNotSupported
from perdure.ids import parse as parse_identifier
from perdure.parts import (
    Selector,
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

VECTORS = Path(__file__).parents[2] / "vectors"
Case = dict[str, Any]
MEDIA_TYPES = {
    "plaintext": "text/plain",
    "table": "text/csv",
    "page": "application/pdf",
    "media": "video/webm",
    "mpeg21": "video/mp4",
    "xpointer": "application/xml",
    "directive": "text/html",
    "annotation": "text/plain",
}
READERS: dict[str, Callable[[str], Selector]] = {
    "plaintext": plaintext.read_text_range,
    "table": table.read_cells,
    "page": page.read_pdf_part,
    "media": media.read_media,
    "mpeg21": mpeg21.read_pointer,
    "xpointer": xpointer.read_elements,
    "directive": directive.read_directive,
    "annotation": annotation.read_annotation,
}


def cases(*syntaxes: str) -> list[Any]:
    return [
        pytest.param(syntax, case, id=f"{syntax}: {case['name']}"[:100])
        for syntax in syntaxes
        for case in json.loads((VECTORS / f"part-{syntax}.json").read_text())["cases"]
    ]


def plain(selector: object) -> Any:
    """A selector as JSON has it, without the names of its kinds; fractions as texts."""
    return json.loads(msgspec.json.encode(selector, enc_hook=str), object_hook=_untagged)


def _untagged(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name != "type"}


def agrees(selector: Selector, case: Case) -> None:
    fields = plain(selector)
    assert type(selector).__name__ == case["kind"]
    assert {name: fields[name] for name in case["fields"]} == case["fields"]
    if case["written"]:
        assert str(selector) == case["written"]


def refused(read: Callable[[Any], object], given: object, case: Case) -> None:
    with pytest.raises(MalformedPart) as caught:
        read(given)
    error = caught.value
    assert case.get("expected", "") in error.expected
    assert error.at == case.get("at", error.at), error
    if isinstance(given, str):
        assert error.text == given
        assert 0 <= error.at <= len(given)
    assert error.rule


@pytest.mark.parametrize(("syntax", "case"), cases(*READERS))
def test_reads(syntax: str, case: Case) -> None:
    read = READERS[syntax]
    if media_type := case.get("media_type"):
        agrees(parse_part(case["part"], media_type), case)
        refused(read, case["part"], {})
        return
    given: Any = case.get("part", case.get("json"))
    if case.get("refused") or case.get("ignored"):
        refused(read, given, case)
        return
    if case.get("unsupported"):
        with pytest.raises(PartNotSupported) as caught:
            parse_part(given if "part" in case else json.dumps(given), MEDIA_TYPES[syntax])
        assert caught.value.media_type == MEDIA_TYPES[syntax]
        assert case["offered"] in (caught.value.offered or ())
        return
    selector = read(given)
    agrees(selector, case)
    if "part" in case:
        assert parse_part(given, MEDIA_TYPES[syntax]) == selector
    if syntax != "annotation":  # it has parts of every media type
        assert parse_part(str(selector), MEDIA_TYPES[syntax]) == selector


@pytest.mark.parametrize(("syntax", "case"), cases("annotation"))
def test_annotations_come_back(syntax: str, case: Case) -> None:
    if case.get("refused") or case.get("unsupported") or "media_type" in case:
        return
    given: Any = case.get("part", case.get("json"))
    selector = annotation.read_annotation(given)
    written = annotation.write_annotation(selector)
    if "json" in case:
        assert written == case.get("written_json", case["json"])
        assert annotation.read_annotation(json.dumps(case["json"])) == selector
    assert annotation.read_annotation(written) == selector
    text = str(selector)
    if text.startswith("selector("):
        assert annotation.read_annotation(text) == selector


@pytest.mark.parametrize(("syntax", "case"), cases("time"))
def test_times_beside_fragments(syntax: str, case: Case) -> None:
    query = "query" in case
    read = media.read_time_query if query else media.read_time_call
    given = case["query" if query else "call"]
    if case.get("refused"):
        refused(read, given, case)
        return
    agrees(read(given), {"kind": "Media"} | case)
    if not query:
        assert read(given) == parse_part(given, "audio/mpeg")


@pytest.mark.parametrize(("syntax", "case"), cases("pdi"))
def test_identifiers_name_parts(syntax: str, case: Case) -> None:
    identifier = parse_identifier(case["identifier"])
    if case.get("refused"):
        with pytest.raises(MalformedPart):
            select_part(identifier, case["media_type"])
        return
    selector = select_part(identifier, case.get("media_type", "text/plain"))
    if case.get("whole"):
        assert selector is None
        return
    assert selector is not None
    agrees(selector, case)
    if "media_type" not in case:
        assert pdi.read_pdi_part(str(selector)) == selector


def test_every_case_of_the_media_fragments_test_suite_is_here() -> None:
    names = [case["name"] for _, case in (one.values for one in cases("media"))]
    assert len({name[:6] for name in names if name.startswith("TC")}) == 90
