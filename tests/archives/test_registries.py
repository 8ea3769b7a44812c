"""Registries of others: MemGator's JSON and the `pwid#` Turtle, read and written."""

from __future__ import annotations

from pathlib import Path

import pytest
import rdflib

from perdure.archives.pwid.importing import import_archives
from perdure.archives.pwid.known import Archive, Archives, load_archives, load_packaged, utc_day
from perdure.archives.pwid.registries import read_registry, read_turtle, write_toml, write_turtle
from perdure.errors import InvalidMetadata
from perdure.errors.records import ImportedArchiveInvalid, RecordNotUtf8
from perdure.ids.pwid import parse_pwid
from perdure.settings import Settings

MEMGATOR = """[
  {"id": "web.archive.example", "name": "Example", "probability": 0.9,
   "timemap": "https://web.archive.example/web/timemap/link/",
   "timegate": "https://web.archive.example/web/"},
  {"id": "Old.example", "name": "Old", "timegate": "http://old.example/timegate/", "ignore": true}
]"""

# the shape of the registry of the German National Library's resolver
TURTLE = """
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix pwid: <https://w3id.org/pwid#> .

<https://webarchiv.onb.ac.at/selfdescription/#wa> a pwid:WebArchive ;
    rdfs:label "Webarchiv Österreich"@de, "Austrian Webarchive"@en ;
    pwid:archiveId "webarchiv.onb.ac.at" ;
    pwid:replay <https://webarchiv.onb.ac.at/web/> ;
    pwid:resolver <https://webarchiv.onb.ac.at/resolve.jsp> ;
    pwid:cdxEndpoint <https://webarchiv.onb.ac.at/web/cdx> .

<https://webarchiv.onb.ac.at/web/> a pwid:ReplayGateway ;
    pwid:exampleIri <https://webarchiv.onb.ac.at/web/20131203170303/http://m.onb.ac.at/a.htm> ;
    pwid:baseUrl "https://webarchiv.onb.ac.at/web/" ;
    pwid:pathPattern "{{utc-year}}{{utc-month}}{{utc-day}}{{utc-hour}}{{utc-minute}}{{utc-sec}}/{{archived-uri}}" .

<https://webarchiv.onb.ac.at/resolve.jsp> a pwid:Resolver ;
    pwid:baseUrl "https://webarchiv.onb.ac.at/" ;
    pwid:pathPattern "resolve.jsp?pwid={{pwid}}" .
"""  # noqa: E501  (as it is written there)


def test_memgator_knows_timegates_and_no_playback() -> None:
    one, old = read_registry(MEMGATOR)
    archives = Archives((one, old))
    pwid = parse_pwid("pwid:web.archive.example:2016-01-22T11.20.29Z:page:http://a/")
    assert archives.make_timegate_url(pwid) == "https://web.archive.example/web/http://a/"
    assert (
        archives.make_timemap_url(pwid) == "https://web.archive.example/web/timemap/link/http://a/"
    )
    assert archives.make_playback_url(pwid) is None
    assert (old.id, old.status) == ("old.example", "unverified")


def test_turtle_is_read() -> None:
    (one,) = read_registry(TURTLE)
    assert (one.id, one.name) == ("webarchiv.onb.ac.at", "Austrian Webarchive")
    pwid = parse_pwid("pwid:webarchiv.onb.ac.at:2013-12-03T17.03.03Z:page:http://m.onb.ac.at/a.htm")
    archives = Archives((one,))
    assert one.example is not None
    assert parse_pwid(one.example.pwid) == pwid
    assert archives.make_playback_url(pwid) == one.example.url
    assert (archives.make_resolver_url(pwid) or "").startswith(
        "https://webarchiv.onb.ac.at/resolve.jsp?pwid=urn:pwid:webarchiv.onb.ac.at:2013-12-03T17:03"
    )
    assert one.cdx == "https://webarchiv.onb.ac.at/web/cdx"


def test_what_is_written_in_turtle_is_read_back() -> None:
    ours = {one.id: one for one in load_packaged()}
    written = write_turtle(load_packaged())
    graph = rdflib.Graph().parse(data=written, format="turtle")
    replays = graph.query(
        "PREFIX pwid: <https://w3id.org/pwid#> SELECT ?id ?base ?path WHERE {"
        " ?a a pwid:WebArchive ; pwid:archiveId ?id ; pwid:replay ["
        " pwid:baseUrl ?base ; pwid:pathPattern ?path ] }"
    )
    assert (
        len(list(replays))
        == len([one for one in ours.values() if one.find_pattern_on(utc_day())]) - 1
    )
    back = {one.id: one for one in read_turtle(written)}
    assert set(back) == set(ours)
    known = Archives(back.values())
    for one in ours.values():
        assert back[one.id].name == one.name
        assert (back[one.id].cdx, back[one.id].timegate) == (one.cdx, one.timegate)
        assert back[one.id].resolver == one.resolver
        if one.find_pattern_on(utc_day()) and one.example:
            assert known.make_playback_url(parse_pwid(one.example.pwid)) == one.example.url
            assert back[one.id].example is not None


def test_what_is_written_in_toml_is_read_back(tmp_path: Path) -> None:
    assert read_registry(write_toml(load_packaged())) == load_packaged()
    odd = Archive(id="a.example", name='"\\\u007f\u2028é\n', note="[[archive]]")
    (tmp_path / "own.toml").write_text(write_toml((odd,)), "utf-8")
    assert (
        load_archives(Settings(archives_file="own.toml"), tmp_path).find_archive("a.example") == odd
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[ 1 ]", "Expected"),
        ('[ {"name": "a"} ]', "id"),
        ("[ ", "Expecting"),
        ('[ {"id": "a", "timegate": "javascript:"} ]', "archive a"),
        ('[ {"id": "a", "timegate": "http://a{uri}/"} ]', "archive a"),
        ("@prefix a", "Bad syntax"),
        (TURTLE.replace("{{utc-sec}}", "{{utc-second}}"), "slot"),
        (TURTLE.replace('"webarchiv.onb.ac.at"', '""'), "domain"),
    ],
)
def test_what_cannot_be_is_an_error(text: str, reason: str) -> None:
    with pytest.raises(InvalidMetadata, match=reason):
        read_registry(text)


def test_the_fault_of_an_entry_is_named_in_a_field() -> None:
    with pytest.raises(ImportedArchiveInvalid) as caught:
        read_registry('[ {"id": "a", "timegate": "javascript:"} ]')
    assert (caught.value.archive, caught.value.fault) == ("a", "address")
    assert caught.value.address == "javascript:{uri}"


def test_an_import_adds_what_is_not_known_and_leaves_the_rest(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    read = b'[ {"id": "a.example", "timegate": "http://a.example/"}, {"id": "archive.org"} ]'
    assert [one.id for one in import_archives(read, own).added] == ["a.example"]
    before = own.read_bytes()
    again = import_archives(read, own)
    assert (again.added, again.read) == ((), 2)
    assert own.read_bytes() == before
    with pytest.raises(RecordNotUtf8):
        import_archives(b"[ \xff", own)
