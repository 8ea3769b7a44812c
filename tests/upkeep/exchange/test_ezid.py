"""Downloads of EZID: CSV, ANVL and XML."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.upkeep.exchange.samples import DATACITE, lines, read

from perdure.errors.exchanging import (
    QuoteUnclosed,
    RecordMalformed,
    RecordWithoutName,
    RowOverfull,
    StatusUnknown,
)
from perdure.metadata import anvl

PUBLIC = {
    "id": "ark:/99999/fk4a",
    "locations": ["https://a.example/"],
    "metadata": {"_owner": "apitest", "_created": "1514764800", "erc.who": "Proust, Marcel"},
}
RESERVED = {
    "id": "doi:10.5072/FK2X",
    "metadata": {"_status": "reserved", "_target": "https://b.example/"},
    "titles": ("Names & numbers",),
    "attached": DATACITE,
}
UNAVAILABLE = {
    "id": "ark:/99999/fk4b",
    "broken": [{"reason": "gone", "by": "apitest"}],
    "metadata": {
        "_owner": "apitest",
        "_status": "unavailable | gone",
        "_target": "https://c.example/",
    },
}
QUOTED = DATACITE.replace('"', '""')
CSV = (
    "_id,_owner,_created,_status,_target,erc.who,datacite\r\n"
    'ark:/99999/fk4a,apitest,1514764800,public,https://a.example/,"Proust, Marcel",\r\n'
    f'doi:10.5072/FK2X,,,reserved,https://b.example/,,"{QUOTED}"\r\n'
    "ark:/99999/fk4b,apitest,,unavailable | gone,https://c.example/,,\r\n"
)
ANVL = (
    ":: ark:/99999/fk4a\n_owner: apitest\n_created: 1514764800\n_status: public\n"
    "_target: https://a.example/\nerc.who: Proust, Marcel\n\n"
    f":: doi:10.5072/FK2X\n_status: reserved\n_target: https://b.example/\ndatacite: {DATACITE}\n\n"
    ":: ark:/99999/fk4b\n_owner: apitest\n_status: unavailable | gone\n"
    "_target: https://c.example/\n"
)
XML = (
    '<?xml version="1.0" encoding="utf-8"?>\n<records><record identifier="ark:/99999/fk4a">'
    '<element name="_owner">apitest</element><element name="_created">1514764800</element>'
    '<element name="_status">public</element>'
    '<element name="_target">https://a.example/</element>'
    '<element name="erc.who">Proust, Marcel</element></record>'
    '<record identifier="doi:10.5072/FK2X"><element name="_status">reserved</element>'
    '<element name="_target">https://b.example/</element>'
    f'<element name="datacite">{DATACITE}</element></record>'
    '<record identifier="ark:/99999/fk4b"><element name="_owner">apitest</element>'
    '<element name="_status">unavailable | gone</element>'
    '<element name="_target">https://c.example/</element></record></records>'
)


def shorten(line: dict[str, Any]) -> dict[str, Any]:
    """The line with the titles instead of the description, and the attached text."""
    about = line.pop("about", None)
    if about:
        line["titles"] = tuple(one["value"] for one in about["titles"])
        (attached,) = line["attached"]
        assert (attached["format"], attached["media_type"]) == ("datacite", "application/xml")
        line["attached"] = attached["content"].decode()
    return line


@pytest.mark.parametrize(
    ("form", "text"), [("ezid-csv", CSV), ("ezid-anvl", ANVL), ("ezid-xml", XML)]
)
def test_states_owners_dates_and_records_come_along(form: str, text: str) -> None:
    found = [shorten(line) for line in lines(form, text)]
    assert found == [PUBLIC, RESERVED, UNAVAILABLE]


def test_an_address_with_accents_and_spaces_leads_there_and_stays_as_it_came() -> None:
    """RFC 3987 section 3.1: characters that no URI has are written in UTF-8 and escaped."""
    public, reserved = lines(
        "ezid-csv",
        "_id,_target,_status\nark:/1/a,https://a.example/caf\u00e9 1,public\n"
        "ark:/1/b,https://a.example/caf\u00e9 2,reserved\n",
    )
    assert public["locations"] == ["https://a.example/caf%C3%A9%201"]
    assert public["metadata"] == {"_target": "https://a.example/caf\u00e9 1"}
    assert "locations" not in reserved


def test_a_uuid_is_a_urn_and_an_answer_of_the_api_is_read() -> None:
    text = "success: uuid:430c5f08-017e-11e1-858f-0025bce7cc84\n_target: https://a.example/\n"
    assert lines("ezid-anvl", text) == [
        {"id": "urn:uuid:430c5f08-017e-11e1-858f-0025bce7cc84", "locations": ["https://a.example/"]}
    ]


def test_a_record_that_cannot_be_read_is_kept_all_the_same() -> None:
    (line,) = lines("ezid-anvl", ":: ark:/99999/fk4a\ndatacite: <resource>half\n")
    (attached,) = line["attached"]
    assert attached["content"] == b"<resource>half"
    assert "about" not in line


@pytest.mark.parametrize(
    ("row", "error"),
    [
        ("ark:/99999/fk4z,x,y,odd,,,", StatusUnknown),
        (",x,y,public,,,", RecordWithoutName),
        ("ark:/99999/fk4z,,,,,,,,,", RowOverfull),
        ('ark:/99999/fk4z,"open,,,,,', QuoteUnclosed),
        ('ark:/99999/fk4z,"a"b,,,,,', RecordMalformed),
        ("ark:/99999/fk4z,,,public,no address,,", Exception),
    ],
)
def test_a_bad_row_has_its_line_and_costs_no_other(row: str, error: type[Exception]) -> None:
    head, *rows = CSV.splitlines()
    found = read("ezid-csv", "\r\n".join([head, row, *rows]))
    assert [one.number for one in found] == [2, 3, 4, 5]
    assert isinstance(found[0].fault, error)
    assert [one.line for one in found[1:]] == lines("ezid-csv", CSV)


def test_a_mark_inside_of_a_cell_opens_nothing() -> None:
    text = '_id,erc.what\nark:/99999/fk4a,a 5" disk\nark:/99999/fk4b,b\n'
    assert [line["metadata"]["erc.what"] for line in lines("ezid-csv", text)] == ['a 5" disk', "b"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (":: ark:/99999/fk4a\nno colon\n", "no colon"),
        (":: ark:/99999/fk4a\n: x\n", "no name"),
        (":: ark:/99999/fk4a\na: 1\na: 2\n", "twice"),
        (":: ark:/99999/fk4a\na: 50%\n", "%25"),
        (":: ark:/99999/fk4a\n continued\n", "no line before it"),
        ("a: b\n", "does not begin"),
    ],
)
def test_bad_anvl_has_its_line_and_reason(text: str, fault: str) -> None:
    first, second = read("ezid-anvl", f"# c\n{text}\n:: ark:/99999/fk4b\n")
    assert first.number == 2
    assert fault in str(first.fault)
    assert second.line == {"id": "ark:/99999/fk4b"}


def test_an_xml_file_that_ends_early_says_where() -> None:
    found = read("ezid-xml", XML[:-20])
    assert [one.fault is None for one in found] == [True, True, False]
    assert "line 2" in str(found[-1].fault)


def test_a_document_type_declaration_ends_the_reading() -> None:
    text = XML.replace("<records>", '<!DOCTYPE records [<!ENTITY x "y">]><records>')
    (found,) = read("ezid-xml", text)
    assert "document type declaration" in str(found.fault)


_names = st.text(min_size=1).filter(lambda one: one.strip() == one)
_values = st.text().filter(lambda one: one.strip() == one)


@given(st.dictionaries(_names, _values))
def test_anvl_is_read_as_it_was_written(elements: dict[str, str]) -> None:
    """EZID API: "percent-encode … the percent sign, colon, and line terminators"."""
    assert anvl.read_elements(anvl.write_elements(elements)) == elements


def test_continued_lines_and_comments_of_anvl() -> None:
    text = "# c\nwho: Proust,\n  Marcel\n\twriter\nwhat:\n Remembrance\n"
    assert anvl.read_elements(text) == {"who": "Proust, Marcel writer", "what": "Remembrance"}
