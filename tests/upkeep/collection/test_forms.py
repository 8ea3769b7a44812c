"""Four forms of one thing: what was written in any of them is read again."""

from __future__ import annotations

import json

import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.model.test_collection import collections

from perdure.errors import InvalidMetadata
from perdure.model.collection import Collection, CollectionMember
from perdure.upkeep.collection import forms

PWID = "pwid:archive.org:2016-01-22T11.20.29Z:page:http://www.dr.dk/?a=1,2&b=%23"
CORPUS = Collection(
    title='A "corpus", with\nlines\tand tabs \\n',
    creators=("Zoë", "Ada, Countess"),
    purpose="To show; nothing else",
    date="2026-11-21",
    members=(
        CollectionMember(
            identifier=PWID, name="front page", title="Front, page", media_type="text/html"
        ),
        CollectionMember(identifier="doi:10.1000/182", digest="sha512:" + "ab" * 64, length=12),
        CollectionMember(
            identifier="pdi://oma.eop.gov.us/1997/09/01/1.text.1#char=3,7", note="two\nlines"
        ),
    ),
)


@pytest.mark.parametrize("form", forms.FORMS)
def test_what_was_written_is_read_again(form: str) -> None:
    data = forms.write_collection(CORPUS, form)
    assert forms.read_collection(data, form) == CORPUS
    assert forms.read_collection(data) == CORPUS, "the form is told from the bytes"
    assert forms.write_collection(CORPUS, form) == data


@settings(max_examples=25)
@given(collections(), st.sampled_from(forms.FORMS))
def test_whatever_it_holds(one: Collection, form: str) -> None:
    one = forms.read_collection(forms.write_collection(one, "json"), "json")
    assert forms.read_collection(forms.write_collection(one, form), form) == one


def test_bare_lists_are_collections() -> None:
    bare = Collection(
        members=(CollectionMember(identifier=PWID), CollectionMember(identifier="hdl:1839/1"))
    )
    assert forms.read_collection(f"# a remark\n\n{PWID}\nhdl:1839/1\n".encode()) == bare
    assert forms.read_collection(f"\ufeff{PWID}\r\nhdl:1839/1\r\n".encode()) == bare
    assert (
        forms.read_collection(f'note,identifier\r\n,"{PWID}"\r\n,hdl:1839/1\r\n'.encode()) == bare
    )

    for mark in ";\t":
        rows = (
            f"\ufeff#title{mark}A\r\nidentifier{mark}note\r\n{PWID}{mark}\r\nhdl:1839/1{mark}\r\n"
        )
        read = forms.read_collection(rows.encode())
        assert (read.title, read.members) == ("A", bare.members)
    array = json.dumps([PWID, {"identifier": "hdl:1839/1"}]).encode()
    assert forms.read_collection(array) == forms.read_collection(b"\xef\xbb\xbf " + array) == bare


def test_turtle_says_it_in_terms_that_others_know() -> None:
    graph = rdflib.Graph().parse(
        data=forms.write_collection(
            CORPUS, "turtle", identifier="pdi://oma.eop.gov.us/1997/09/01/2.json.1"
        )
    )
    terms = rdflib.Namespace("http://purl.org/dc/terms/")
    (whole,) = graph.subjects(terms.hasPart, unique=True)
    assert str(whole) == "pdi://oma.eop.gov.us/1997/09/01/2.json.1"
    found = {
        str(graph.value(part, terms.identifier)) for part in graph.objects(whole, terms.hasPart)
    }
    assert found == {one.identifier for one in CORPUS.members}


@pytest.mark.parametrize(
    ("data", "line", "reason"),
    [
        (b"hdl:1/1\nno:thing\n", 2, "unknown scheme"),
        (b"hdl:1/1\n\nhdl:1/1\n", 3, "already"),
        (b'["hdl:1/1", 7]', None, "Expected"),
        (b"[", None, "truncated"),
        (b"hdl:1/" + b"x" * 200_000 + b" \n", 1, ""),
        (b"hdl:1/1\tcolour=red\n", 1, "is not a field"),
        (b"hdl:1/1\tlength=many\n", 1, "is not a number"),
        (b"hdl:1/1\nhdl:1/2\xff\n", 2, "UTF-8"),
        (b"identifier,colour\r\nhdl:1/1,red\r\n", 1, "columns"),
        (b'identifier\r\n"hdl:1/1\r\n', 2, "unexpected end"),
        (b"identifier\r\nhdl:1/1,more\r\n", 2, "more cells"),
        (b"#title,x\r\n#colour,red\r\n", 2, "not known"),
        (b"@prefix a: <b> .\n<x> a [ .\n", None, ""),
        (b"@prefix a: <http://b> .\n", None, "one dcmitype:Collection"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(
    data: bytes, line: int | None, reason: str
) -> None:
    with pytest.raises(InvalidMetadata) as raised:
        forms.read_collection(data)
    assert reason in raised.value.reason
    if line is not None:
        assert raised.value.line == line


@pytest.mark.parametrize("form", forms.FORMS)
def test_addresses_that_stand_for_identifiers(form: str) -> None:
    listed = Collection(members=(CollectionMember(identifier="https://doi.org/10.1000/182"),))
    read = forms.read_collection(
        forms.write_collection(listed, form), spell=lambda text: f"doi:{text[16:]}"
    )
    assert read.members[0].identifier == "doi:10.1000/182"
