"""The public record as XML: nothing is lost, and everything is valid by the schema."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from perdure.errors import InvalidMetadata
from perdure.formats import struct_xml
from perdure.metadata.public_xml import (
    NAMESPACE,
    read_public_record,
    write_public_record,
    write_record_schema,
)
from perdure.model.public_records import PublicRecord
from perdure.upkeep.harvesting.lines import Taking, make_public_line
from perdure.upkeep.harvesting.pages import cut_metadata, read_page

SCHEMA: Any = etree.XMLSchema(etree.fromstring(write_record_schema()))
OAI = "http://www.openarchives.org/OAI/2.0/"
NAME = "pdi://a.us/2026/01/02/1"
EMPTY = PublicRecord(identifier=NAME, url="https://a.example/1", at="2026-01-02T03:04:05Z")


def build(kind: Any, chance: random.Random, texts: list[str]) -> Any:
    """A value of a type, with some of its fields and any of the texts."""
    if kind is str:
        return chance.choice(texts)
    if kind is int:
        return chance.choice((0, 1, 7, 10**15))
    if kind is bool:
        return chance.random() < 0.5
    if kind is bytes:
        return chance.randbytes(chance.randrange(9))
    given: dict[str, Any] = {}
    for field in struct_xml._list_fields(kind):
        if field.is_list:
            count = chance.choice((0, 0, 0, 1, 2))
            given[field.name] = tuple(build(field.kind, chance, texts) for _ in range(count))
        elif field.is_required or chance.random() < 0.4:
            given[field.name] = build(field.kind, chance, texts)
    return kind(**given)


SEEDS = st.integers(0, 2**32)
TEXTS = st.lists(st.text(max_size=8), min_size=1, max_size=6)


@settings(max_examples=40)
@given(seed=SEEDS, texts=TEXTS)
def test_a_written_record_is_valid_and_reads_as_itself(seed: int, texts: list[str]) -> None:
    """ "`read_public_record(write_public_record(record))` is the record." """
    record = build(PublicRecord, random.Random(seed), texts)
    written = write_public_record(record, "https://a.example/schema.xsd")
    SCHEMA.assertValid(etree.fromstring(written))
    assert read_public_record(written) == record


@settings(max_examples=25)
@given(seed=SEEDS, texts=TEXTS)
def test_a_harvested_record_is_kept_whole(seed: int, texts: list[str]) -> None:
    """Harvesting and reading back is the identity of the public record."""
    record = build(PublicRecord, random.Random(seed), texts)
    record = msgspec.structs.replace(record, identifier=NAME)
    metadata = write_public_record(record).decode().partition("?>")[2]
    header = f"<header><identifier>{NAME}</identifier><datestamp>2026-01-02</datestamp></header>"
    page = read_page(
        f'<OAI-PMH xmlns="{OAI}"><ListRecords><record>{header}<metadata>{metadata}</metadata>'
        "</record></ListRecords></OAI-PMH>".encode()
    )
    made = make_public_line(page.records[0], source="https://a.example/oai", taking=Taking.RECORDS)
    assert made.remark is None
    (whole,) = [one for one in made.line["attached"] if one["format"] == "oai"]
    assert read_public_record(cut_metadata(whole["content"].decode(), "record").encode()) == record


def test_no_two_fields_have_the_same_element() -> None:
    waiting: list[Any] = [PublicRecord]
    for kind in waiting:
        fields = struct_xml._list_fields(kind)
        assert max(Counter(one.tag for one in fields).values()) == 1
        more = {one.kind for one in fields if issubclass(one.kind, msgspec.Struct)}
        waiting += sorted(more - set(waiting), key=str)
    assert len(waiting) > 20


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<at>", "<when>x</when><at>"),
        ("<url>https://a.example/1</url>", ""),
        ("<at>", "<at>2026</at><at>"),
        ("<at>2026-01-02T03:04:05Z</at>", "<at><b/></at>"),
        ("</at>", '</at><minted encoding="rot13">!</minted>'),
        ("</at>", "</at><version><number>one</number><at>2026</at></version>"),
        (NAMESPACE, "urn:perdure:record:2"),
        ("</record>", ""),
    ],
)
def test_other_xml_is_refused(before: str, after: str) -> None:
    written = write_public_record(EMPTY).decode()
    assert before in written
    wrong = written.replace(before, after, 1).encode()
    with pytest.raises(InvalidMetadata):
        read_public_record(wrong)
    with pytest.raises((etree.DocumentInvalid, etree.XMLSyntaxError)):
        SCHEMA.assertValid(etree.fromstring(wrong))


def test_characters_that_xml_does_not_have_are_kept() -> None:
    record = msgspec.structs.replace(EMPTY, minted="a\x00b\r\n\ufffe", targets=("\r", " ", ""))
    written = write_public_record(record)
    assert read_public_record(written) == record
    elements = {one.tag.rpartition("}")[2]: one for one in ElementTree.fromstring(written)}
    assert elements["minted"].get("encoding") == "base64"
