"""`?text`: the plain text of documents, parts and captures, never the thing itself."""

from __future__ import annotations

import pytest
from tests.extractors.packages import ODF, write_odf
from tests.server.deployment import Deployment, problem, resource, text

from perdure.ids import parse
from perdure.model.commands import Withdraw

SRT = (
    b"1\n00:00:01,000 --> 00:00:02,000\n<i>Good</i> morning\n\n"
    b"2\n00:00:03,000 --> 00:00:04,000\nBye\n"
)
MAIL = b"Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\n\nDear Sir,\n"
KIND = "text/plain; charset=utf-8"


@pytest.fixture(scope="module")
def names(site: Deployment) -> dict[str, str]:
    odt = write_odf("text", "<text:p>One fox</text:p>")
    empty = write_odf("text", "")
    return {
        "page": site.mint(text(b"<title>T</title><p>a &amp; b", "html", "text/html")),
        "letter": site.mint(text("Grüße\r\n".encode(), "utf-8", charset="utf-8")),
        "film": site.mint(text(SRT, "application+x-subrip", "application/x-subrip")),
        "mail": site.mint(text(MAIL, "rfc822", "message/rfc822")),
        "odt": site.mint(text(odt, "vnd%2eoasis%2eopendocument%2etext", f"{ODF}text")),
        "empty": site.mint(text(empty, "vnd%2eoasis%2eopendocument%2etext", f"{ODF}text")),
        "octets": site.mint(text(b"\0\1", "octet-stream", "application/octet-stream")),
    }


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("page", "Ta & b"),
        ("letter", "Grüße\n"),
        ("film", "Good morning\nBye\n"),
        ("mail", "Subject: Grüße\n\nDear Sir,\n\n"),
        ("odt", "One fox\n"),
        ("film%23t=3,4", "Bye\n"),
        ("letter%23char=0,3", "Grü"),
        ("mail%23byte=37,47", "Dear Sir,"),
    ],
)
def test_the_text_of_a_document_or_part_is_utf_8(
    site: Deployment, names: dict[str, str], name: str, written: str
) -> None:
    name, hash_, part = name.partition("%23")
    answer = site.get(f"/{names[name]}{hash_}{part}?text")
    assert (answer.status, answer.headers["content-type"]) == (200, KIND)
    assert answer.body.decode() == written
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert f"{names[name]}" in answer.headers["link"]
    assert 'rel="via"' in answer.headers["link"]


def test_a_text_has_a_tag_a_digest_and_ranges_of_its_own(
    site: Deployment, names: dict[str, str]
) -> None:
    target = f"/{names['odt']}?text"
    answer, thing = site.get(target), site.get(f"/{names['odt']}?bytes")
    assert answer.headers["etag"] != thing.headers["etag"]
    assert answer.headers["repr-digest"] != thing.headers["repr-digest"]
    again = site.get(target, f"If-None-Match: {answer.headers['etag']}")
    assert (again.status, again.body) == (304, b"")
    assert site.get(target, 'If-Match: "x"').status == 412
    part = site.get(target, "Range: bytes=4-6")
    assert (part.status, part.body) == (206, b"fox")
    head = site.ask("HEAD", target)
    assert (head.status, head.body) == (200, b"")
    assert head.headers["content-length"] == answer.headers["content-length"]


def test_what_has_no_text_says_why(site: Deployment, names: dict[str, str]) -> None:
    problem(site.get(f"/{names['octets']}?text"), 501, "part-not-supported")
    problem(site.get(f"/{names['octets']}%23byte=0,1?text"), 501, "part-not-supported")
    absent = problem(site.get(f"/{names['empty']}?text"), 422, "undecodable")
    assert "no characters" in absent["detail"]
    problem(site.get(f"/{names['letter']}%23char=0,999?text"), 416, "part-out-of-range")
    problem(site.get("/hdl:21.T14999/none?text"), 404, "not-found")


def test_what_is_elsewhere_or_withdrawn_has_no_text(site: Deployment) -> None:
    site.bind("hdl:21.T14999/book", "https://library.example/book")
    problem(site.get("/hdl:21.T14999/book?text"), 501, "part-not-supported")
    gone = site.mint(text(b"gone"))
    assert site.get(f"/{gone}?text").body == b"gone"
    site.registry.door.execute_command(Withdraw(identifier=parse(gone), reason="a court said so"))
    assert site.get(f"/{gone}?text").status == 410


def test_the_closest_format_to_a_text_is_read(site: Deployment) -> None:
    name = site.mint(text(b"<p>page", "html", "text/html"), text(b"plain"))
    assert site.get(f"/{resource(name)}?text").body == b"plain"
    page = f"{resource(name)}.html.1"
    assert site.get(f"/{page}?text", "Accept: application/json").body == b"page"
