"""From a line to a row: both ways lead to the same record, and what is wrong is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import SERIES, sha512

from perdure.errors import (
    Conflict,
    DigestMismatch,
    InvalidRequest,
    MalformedIdentifier,
    NoSuchVersion,
    PerdureError,
    UnknownScheme,
)
from perdure.ids import parse
from perdure.model import stored
from perdure.model.commands import LoadRow
from perdure.model.records import Location, Record, Tombstone
from perdure.storage.reference_hashes import reference_hash
from perdure.upkeep.transfer import rows
from perdure.upkeep.transfer.line_contents import Terms
from perdure.upkeep.transfer.lines import Line, PlainLine, read_line
from perdure.upkeep.transfer.rows import make_row, merge_rows

NOW = "2026-11-21T12:00:00Z"
DAY = f"pdi://{SERIES}/1997/09/01"


@pytest.fixture
def terms(place: Path) -> Terms:
    return Terms(
        now=NOW,
        today="2026/11/21",
        incoming=str(place),
        files=str(place / "files"),
        series=(SERIES,),
    )


def row(fields: dict[str, Any], terms: Terms, number: int = 1) -> LoadRow:
    return make_row(read_line(json.dumps(fields).encode()), number, terms)


def record(one: LoadRow) -> Record:
    return stored.decode_stored(one.record.decode())


# The short way
# -------------


@pytest.mark.parametrize(
    "name",
    [
        f"{DAY}/1.html.1",
        f"{DAY}/1.HTML.1",
        f"urn:pdi://{SERIES.upper()}/1997/9/1/1.html.1",
        f"{DAY}/1",
        f"{DAY}/1.html",
        f"{DAY}/memo%2fx.html.2",
        f"{DAY}/http:%2f%2fWWW%2eexample%2ecom%2f.html.1",
        "hdl:10.9999/A",
        "URN:IANA:42117::Opaque:::",
        "ark:/99999/fk4-x",
    ],
)
def test_both_ways_make_the_same_row(name: str, terms: Terms) -> None:
    uri = "https://a.example/1"
    short = make_row(PlainLine(id=name, locations=(uri,)), 7, terms)
    assert short == make_row(Line(id=name, locations=(uri,)), 7, terms)
    assert reference_hash(f"location:{uri}") in short.refers
    assert [one.uri for one in record(short).locations] == [uri]


@pytest.mark.parametrize("name", ["hdl:10.9999/A", "doi:10.9999/a"])
@pytest.mark.parametrize(
    "held",
    [
        [],
        [{"index": 1, "type": "URL", "data": "https://a.example/1", "ttl": 60}],
        [
            {"index": 7, "type": "10320/loc", "data": '<locations><location href="http://a/"/></locations>'},
            {"index": 2, "type": "EMAIL", "data": "a@b.example", "permissions": "1100"},
            {"index": 100, "type": "HS_ADMIN", "format": "admin", "data": '{"index":1}', "at": NOW},
        ],
    ],
)  # fmt: skip
def test_both_ways_make_the_same_row_of_a_handle(
    name: str, held: list[dict[str, Any]], terms: Terms
) -> None:
    line = read_line(json.dumps({"id": name, "values": held}).encode())
    assert isinstance(line, Line)
    assert make_row(line, 7, terms) == rows._make_full_row(parse(name), line, 7, terms)


@pytest.mark.parametrize("name", [f"{DAY}/1", f"{DAY}/memo.html.1", f"{DAY}/2.html", "hdl:1/A"])
@pytest.mark.parametrize(
    "held",
    [
        {"text": "x"},
        {"text": "", "language": "de-CH"},
        {"text": "ä", "type": "text/html", "charset": "iso-8859-1"},
        {"text": "x", "type": "text/html; level=1", "charset": None},
        {"base64": "R0lGODlhAQABAAAAADs=", "version": 1},
        {"text": "x", "version": 2},
        {"text": "x", "at": "1997-09-01T08:00:00Z"},
    ],
)
def test_both_ways_make_the_same_row_of_a_document(
    name: str, held: dict[str, Any], terms: Terms
) -> None:
    made = row({"id": name, "content": held}, terms)
    assert made == row({"id": name, "contents": [held]}, terms)
    assert made.record == stored.encode_stored(record(made))


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("", MalformedIdentifier),
        ("nothing", UnknownScheme),
        (f"pdi://{SERIES}/1997/02/30/1", MalformedIdentifier),
        (f"pdi://{SERIES}/1997/09/", InvalidRequest),
        (f"{DAY}/*", InvalidRequest),
        (f"{DAY}/1.*.1", InvalidRequest),
        (f"{DAY}/1.text.*", InvalidRequest),
        (f"{DAY}/1.text.1#char=1,2", InvalidRequest),
        (f"{DAY}/1.text.1@3=pdi://{SERIES}/1997/09/01/2.text.1", InvalidRequest),
        (f"pdi://{SERIES}/2026/11/22/1", InvalidRequest),
        (f"pdi://{SERIES}/10000/01/01/1", InvalidRequest),
    ],
)
def test_a_name_that_nothing_can_be_said_of(
    name: str, error: type[PerdureError], terms: Terms
) -> None:
    for line in (PlainLine(id=name, locations=("https://a",)), Line(id=name)):
        with pytest.raises(error):
            make_row(line, 1, terms)


def test_a_line_leaves_numbers_to_mint_today(terms: Terms) -> None:
    """A day has 86,400 seconds; nobody mints ten thousand names in each of them."""
    today = f"pdi://{SERIES}/2026/11/21"
    for line in (
        PlainLine(id=f"{today}/1000000000", locations=("https://a",)),
        Line(id=f"{today}/1" + 17 * "9"),
    ):
        with pytest.raises(InvalidRequest, match="last one is 999999999"):
            make_row(line, 1, terms)
    for uid in ("864000000", "memo"):
        make_row(Line(id=f"{today}/{uid}"), 1, terms)
    make_row(Line(id=f"{DAY}/1000000000"), 1, terms)


@pytest.mark.parametrize("day", ["2026/11/21", "2026/11/22", "10000/01/01"])
def test_the_days_and_numbers_of_others_are_their_own(terms: Terms, day: str) -> None:
    make_row(PlainLine(id=f"pdi://gpo.gov.us/{day}/1000000000", locations=("https://a",)), 1, terms)


def test_a_name_of_today_or_earlier_is_taken(terms: Terms) -> None:
    for day in ("2026/11/21", "0001/01/01"):
        make_row(PlainLine(id=f"pdi://{SERIES}/{day}/1", locations=("https://a",)), 1, terms)


@pytest.mark.parametrize("uri", ["", "x", "https://a b", "javascript:alert(1)", "https://ä"])
def test_a_location_that_nobody_can_fetch(uri: str, terms: Terms) -> None:
    for line in (PlainLine(id=f"{DAY}/1", locations=(uri,)), Line(id=f"{DAY}/1", locations=(uri,))):
        with pytest.raises(InvalidRequest):
            make_row(line, 1, terms)


# All that a line can say
# -----------------------


def test_what_is_known_of_a_name_alone(terms: Terms) -> None:
    assert record(row({"id": f"{DAY}/1.html.1"}, terms)).minted == "html"
    assert record(row({"id": f"{DAY}/1"}, terms)).minted == ""
    assert record(row({"id": f"{DAY}/1", "minted": "GIF"}, terms)).minted == "gif"


def test_locations_metadata_and_aliases(terms: Terms) -> None:
    made = row(
        {
            "id": f"{DAY}/1",
            "locations": ["https://a", {"uri": "https://b", "version": 2, "format": "HTML"}],
            "metadata": {"title": "One"},
            "aliases": ["DOI:10.1000/182", f"urn:{DAY}/1"],
        },
        terms,
    )
    found = record(made)
    assert found.locations[1] == Location(uri="https://b", version=2, format="html")
    assert found.metadata == {"title": "One"}
    assert found.aliases == ("doi:10.1000/182",)
    assert len(made.refers) == 3


def test_bytes_in_all_three_forms(terms: Terms) -> None:
    files = Path(terms.files)
    files.mkdir()
    (files / "1.html").write_bytes(b"<!DOCTYPE html><p>")
    made = row(
        {
            "id": f"{DAY}/1",
            "contents": [
                {"text": "plain"},
                {"base64": "R0lGODlhAQABAAAAADs=", "version": 2},
                {"path": "1.html", "language": "en"},
            ],
        },
        terms,
    )
    kept = {(version, one.format): one for version, one in made.contents}
    assert list(kept) == [(1, "text"), (2, "gif"), (1, "html")]
    assert kept[1, "text"].data == b"plain"
    assert kept[1, "text"].charset == "us-ascii"
    assert kept[1, "html"].sha512 == sha512(b"<!DOCTYPE html><p>")
    assert [one.number for one in record(made).versions] == [1, 2]


@pytest.mark.parametrize(
    ("held", "data", "format", "charset"),
    [
        ({"text": "ä"}, b"\xc3\xa4", "utf-8", "utf-8"),
        ({"text": "ä", "charset": "latin1"}, b"\xe4", "text", "iso-8859-1"),
        ({"text": "<p>", "type": "text/html"}, b"<p>", "html", "us-ascii"),
        ({"text": "x", "format": "html"}, b"x", "html", "us-ascii"),
        ({"text": "x", "charset": "utf-16"}, "x".encode("utf-16"), "utf-16", "utf-16"),
    ],
)
def test_text_is_kept_in_its_charset(
    held: dict[str, str], data: bytes, format: str, charset: str, terms: Terms
) -> None:
    ((_, kept),) = row({"id": f"{DAY}/1", "content": held}, terms).contents
    assert (kept.data, kept.format, kept.charset) == (data, format, charset)


def test_version_and_format_of_the_name_are_those_of_its_bytes(terms: Terms) -> None:
    ((version, kept),) = row({"id": f"{DAY}/1.html.3", "content": {"text": "x"}}, terms).contents
    assert (version, kept.format, kept.media_type) == (3, "html", "text/html")


def test_dates_of_a_line_are_kept(terms: Terms) -> None:
    early, late = "1997-09-01T08:00:00Z", "1997-09-02T08:00:00Z"
    made = row(
        {
            "id": f"{DAY}/1",
            "contents": [
                {"text": "a", "at": late},
                {"text": "b", "format": "html", "at": early},
                {"text": "c", "version": 2},
            ],
            "withdrawn": [{"version": 2, "reason": "why", "at": NOW, "by": "me"}],
        },
        terms,
    )
    first, second = record(made).versions
    assert (first.at, [one.at for one in first.representations]) == (early, [late, ""])
    assert (second.at, second.tombstone) == (NOW, Tombstone(reason="why", at=NOW, by="me"))


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"content": {}}, InvalidRequest),
        ({"content": {"text": "a", "base64": ""}}, InvalidRequest),
        ({"content": {"text": "a", "sha512": "0" * 128}}, DigestMismatch),
        ({"content": {"text": "ä", "charset": "us-ascii"}}, InvalidRequest),
        ({"content": {"text": "a", "charset": "x-none"}}, InvalidRequest),
        ({"content": {"text": "a", "format": "a/b"}}, MalformedIdentifier),
        ({"content": {"text": "a", "type": "a"}}, InvalidRequest),
        ({"content": {"text": "a", "at": "2026-11-21T12:00:01Z"}}, InvalidRequest),
        ({"content": {"path": "absent"}}, InvalidRequest),
        ({"content": {"path": "."}}, InvalidRequest),
        ({"content": {"path": "a\0b"}}, InvalidRequest),
        ({"contents": [{"text": "a"}, {"text": "b"}]}, Conflict),
        ({"withdrawn": [{"reason": "x", "version": 3}]}, NoSuchVersion),
        ({"withdrawn": [{"reason": "x", "at": "2027-01-01T00:00:00Z"}]}, InvalidRequest),
        ({"aliases": ["nothing"]}, UnknownScheme),
        ({"targets": ["nothing"]}, UnknownScheme),
        ({"aliases": [f"{DAY}/*"]}, InvalidRequest),
        ({"minted": "a/b"}, MalformedIdentifier),
        (
            {
                "locations": [
                    {"uri": "https://a", "version": 1, "format": "text", "sha512": "0" * 128}
                ],
                "content": {"text": "a"},
            },
            Conflict,
        ),
    ],
)
def test_what_a_line_cannot_say(
    fields: dict[str, Any], error: type[PerdureError], terms: Terms
) -> None:
    Path(terms.files).mkdir()
    with pytest.raises(error):
        row({"id": f"{DAY}/1"} | fields, terms)
    assert list(Path(terms.incoming).iterdir()) == [Path(terms.files)]


@pytest.mark.parametrize("path", ["../secret", "/etc/passwd", "link", "sub/../../secret"])
def test_a_path_never_leads_out(path: str, terms: Terms) -> None:
    """Lines come from others; what they may read is chosen by who imports them."""
    files = Path(terms.files)
    (files / "sub").mkdir(parents=True)
    (files.parent / "secret").write_text("secret")
    (files / "link").symlink_to(files.parent / "secret")
    with pytest.raises(InvalidRequest, match="points outside"):
        row({"id": f"{DAY}/1", "content": {"path": path}}, terms)


# Two lines of one identifier
# ---------------------------


def test_lines_of_one_identifier_make_one_row(terms: Terms) -> None:
    one = row({"id": f"{DAY}/1.text.1", "content": {"text": "a"}, "aliases": ["hdl:1/2"]}, terms)
    other = row(
        {"id": f"{DAY}/1", "content": {"text": "b", "version": 2}, "locations": ["https://a"]},
        terms,
        2,
    )
    both = merge_rows(one, other)
    assert [version for version, _ in both.contents] == [1, 2]
    assert [one.number for one in record(both).versions] == [1, 2]
    assert set(both.refers) == {*one.refers, *other.refers}
    assert (both.line, record(both).revision) == (1, 1)
    again = merge_rows(both, other)
    assert again == both


def test_lines_of_one_identifier_that_contradict(terms: Terms) -> None:
    one, other = (row({"id": f"{DAY}/1", "content": {"text": text}}, terms) for text in "ab")
    with pytest.raises(Conflict):
        merge_rows(one, other)
