"""What a scheme says as data, and what its identifiers answer by it."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from lxml import etree

from perdure import testing
from perdure.errors import MalformedIdentifier
from perdure.ids import Identifier, Scheme, load_schemes, parse, scheme_of
from perdure.ids.public_resolvers import find_resolvers
from perdure.ids.scheme import NewName
from perdure.ids.urls import deurlify, find_public_address
from perdure.reading.targets import read_identifier, read_target

ALL = pytest.mark.parametrize("scheme", load_schemes().values(), ids=lambda scheme: scheme.name)
MINTING = [scheme for scheme in load_schemes().values() if scheme.minting is not None]
VECTORS = Path(__file__).parents[2] / "vectors"


def listed_types() -> set[str]:
    schema = etree.fromstring(
        (files("perdure.metadata") / "schemas" / "datacite-4.7.xsd").read_bytes()
    )
    (kind,) = schema.findall("{*}simpleType[@name='RelatedIdentifierType']")
    return {str(one.get("value")) for one in kind.iter("{*}enumeration")}


@ALL
def test_datacite_knows_the_type_of_each_label(scheme: Scheme) -> None:
    assert scheme.labels
    known = listed_types() | {scheme.name.upper()}  # the type of the identifier itself is open
    assert {label.datacite_type for label in scheme.labels} <= known


@ALL
def test_labels_begin_canonical_texts(scheme: Scheme) -> None:
    for label in scheme.labels:
        assert re.fullmatch("[a-z:]+:", label.text)
        assert any(label.text.startswith(prefix) for prefix in (*scheme.prefixes, "urn:"))
    for example in scheme.examples:
        assert scheme.label_of(parse(example)) in scheme.labels


@ALL
def test_marks_are_single_characters_or_an_escaped_hash(scheme: Scheme) -> None:
    assert all(len(mark) == 1 or mark == "%23" for mark in scheme.delimiters)
    assert len(scheme.part_mark) <= 1


@given(testing.values())
def test_a_public_address_is_one_of_the_web_and_leads_back(identifier: Identifier) -> None:
    address = find_public_address(identifier)
    assert bool(address) == any(one.official for one in find_resolvers(identifier))
    if address:
        assert urlsplit(address).scheme in ("http", "https")
        assert deurlify(address) == identifier.whole


@given(testing.values())
def test_a_path_is_a_piece_of_a_uri_and_leads_back(identifier: Identifier) -> None:
    assert re.fullmatch("[!-~]+", identifier.path)
    asked = identifier if scheme_of(identifier).part_mark else identifier.whole
    assert read_identifier(read_target(f"/{identifier.path}".encode()).text) == asked


@given(testing.values())
def test_every_identifier_answers_every_question(identifier: Identifier) -> None:
    assert isinstance(identifier, Identifier)
    assert identifier.whole.whole == identifier.whole
    assert identifier.resource.resource == identifier.resource
    assert identifier.resource.key == identifier.key
    assert identifier.resource.format is None
    assert identifier.resource.version is None
    assert identifier.resource.fragment is None
    low, high = identifier.key_range()
    assert low <= identifier.key < high
    assert identifier.resource.matches(identifier)
    assert identifier.is_pattern or identifier.from_key(identifier.key).key == identifier.key
    if identifier.part is not None or identifier.fragment is not None:
        assert identifier.whole != identifier


@given(testing.values())
def test_a_scheme_without_a_mark_holds_no_part(identifier: Identifier) -> None:
    scheme = scheme_of(identifier)
    if not scheme.part_mark:
        assert identifier.whole.with_part("char=0,4") is None


def test_a_scheme_with_a_mark_holds_its_parts() -> None:
    text = "pdi://oma.eop.gov.us/1997/09/01/1.text.1"
    assert str(parse(text).with_part("37,51")) == f"{text}#char=37,51"
    with pytest.raises(MalformedIdentifier):
        parse(text).with_part("nonsense=")


def read_minting(scheme: Scheme) -> dict[str, str]:
    """An authority as people write it, its canonical name, and the request for a name of it."""
    minting = json.loads((VECTORS / f"{scheme.name}.json").read_text())["minting"]
    assert set(minting) == {"written", "authority", "request"}
    return dict(minting)


@pytest.mark.parametrize("scheme", MINTING, ids=lambda scheme: scheme.name)
def test_a_minted_name_is_of_its_scheme_and_authority(scheme: Scheme) -> None:
    minting = scheme.minting
    assert minting is not None
    case = read_minting(scheme)
    authority = case["authority"]
    assert minting.read_authority(case["written"]) == authority
    assert minting.read_authority(authority) == authority
    assert minting.requested_authority(case["request"]) == authority
    assert minting.requested_authority("doi:10.1000/182") is None
    text = minting.alphabet[-minting.length :]
    name = minting.spell(NewName(authority=authority, text=text, day="2026/11/22", format="text"))
    assert parse(str(name)) == name
    assert scheme_of(name) is scheme
    assert name.assigned_under.startswith(authority)
    beginning = minting.beginning.format(authority=authority, day="2026/11/22")
    assert str(name).startswith(beginning)
    assert text in str(name)


@pytest.mark.parametrize("scheme", MINTING, ids=lambda scheme: scheme.name)
def test_no_authority_is_empty(scheme: Scheme) -> None:
    assert scheme.minting is not None
    with pytest.raises(ValueError):  # noqa: PT011  (each scheme has words of its own)
        scheme.minting.read_authority("")


@pytest.mark.parametrize(
    ("name", "datacite_type", "without_label", "address"),
    [
        ("doi:10.1000/182", "DOI", "10.1000/182", "https://doi.org/10.1000/182"),
        ("hdl:1839/a", "Handle", "1839/a", "https://hdl.handle.net/1839/a"),
        ("ark:12345/x6", "ARK", "ark:12345/x6", "https://n2t.net/ark:12345/x6"),
        ("urn:isbn:9780140328721", "ISBN", "9780140328721", ""),
        ("urn:issn:0028-0836", "ISSN", "0028-0836", "https://urn.issn.org/urn:issn:0028-0836"),
        (
            "urn:nbn:de:101:1-1",
            "URN",
            "urn:nbn:de:101:1-1",
            "https://nbn-resolving.org/urn:nbn:de:101:1-1",
        ),
        ("urn:example:a", "URN", "urn:example:a", ""),
        ("URN:IANA:42117::a:::", "URN", "URN:IANA:42117::a:::", ""),
        ("pdi://a.us/1997/09/01/1", "PDI", "pdi://a.us/1997/09/01/1", ""),
        ("pwid:a.org:2016:page:http://a", "PWID", "pwid:a.org:2016:page:http://a", ""),
    ],
)
def test_what_a_label_means_to_others(
    name: str, datacite_type: str, without_label: str, address: str
) -> None:
    identifier = parse(name)
    label = scheme_of(identifier).label_of(identifier)
    assert label.datacite_type == datacite_type
    shown = str(identifier).removeprefix(label.text) if label.is_dropped else str(identifier)
    assert shown == without_label
    assert find_public_address(identifier) == address
