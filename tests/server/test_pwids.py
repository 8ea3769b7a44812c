"""PWIDs over HTTP: each of the seven verdicts, each coverage, and no way out."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.archives.warcs import Warc
from tests.server.conftest import Answer
from tests.server.deployment import Deployment, deployed

from perdure.ids import parse
from perdure.ids.pwid import Pwid

OURS = "archive.example.org"
AT = "2016-01-22T11.20.29Z"
DR = "http://www.dr.dk/"
DRAFTS_OWN = "pwid:archive.org:2016-01-22T11.20.29Z:page:http://www.dr.dk"
PAGE = b"""<!doctype html><link rel=stylesheet href=s.css><img src=a.png><img src=gone.png>"""
SETTINGS: dict[str, Any] = {
    "archive_id": OURS,
    "archive_aliases": "old.example.org",
    "content_origin": "http://r.test",
}
HTML = "Accept: text/html"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    place = tmp_path_factory.mktemp("pwids")
    warc = Warc(place / "a.warc.gz")
    date = "2016-01-22T11:20:29Z"
    warc.response(DR, date, PAGE)
    warc.response(f"{DR}s.css", "2016-01-22T11:20:31Z", b"p{}", media_type="text/css")
    warc.response(f"{DR}a.png", date, b"\x89PNG", media_type="image/png")
    warc.response(f"{DR}gone", date, b"not here", status="404 Not Found")
    warc.response(f"{DR}torn/", date, b'<img src="lost.png">')
    warc.response(f"{DR}torn/lost.png", date, b"not here", status="404 Not Found")
    warc.response(f"{DR}list", date, b"pwid:a.org:2016:page:http://a/", media_type="text/plain")
    for path in ("x?a=1&b=2", "50%25 off", "a#b", "?info", "?nearest", "%3Cscript%3E"):
        warc.response(f"{DR}crooked/{path}", date, path.encode())
    warc.response(f"{DR}twice", date, b"one")
    warc.response(f"{DR}twice", date, b"two")
    warc.response("https://www.dr.dk/secure", date, b"https")
    warc.resource(f"{DR}", date, b"\x89PNG of a page", "image/png")
    warc.resource(f"{DR}film", date, b"film", "video/mp4")
    with deployed(place / "registry", **SETTINGS) as running:
        running.registry.archive.add_file(warc.finish())
        yield running


def name(coverage: str, uri: str = DR, at: str = AT, archive: str = OURS) -> str:
    return f"pwid:{archive}:{at}:{coverage}:{uri}"


def verdict(answer: Answer) -> str | None:
    return answer.headers.get("perdure-verdict")


def told(answer: Answer) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(answer.body)
    return found


# the verdicts
# ------------


def test_exact(site: Deployment) -> None:
    for uri in (DR, "http://www.dr.dk"):
        for form in (
            name("part", uri),
            f"urn:{name('part', uri)}",
            f"PWID:{OURS}:2016-01-22T112029Z:Part:{uri}",
        ):
            answer = site.get(f"/{form}")
            assert (answer.status, verdict(answer), answer.body) == (200, "exact", PAGE)
            assert answer.headers["memento-datetime"] == "Fri, 22 Jan 2016 11:20:29 GMT"


def test_an_alias_is_ours_too(site: Deployment) -> None:
    assert verdict(site.get(f"/{name('part', archive='old.example.org')}")) == "exact"


def test_absent_is_an_honest_no_that_says_what_there_is(site: Deployment) -> None:
    answer = site.get(f"/{name('part', at='2016-01-22T11.20.28Z')}")
    assert (answer.status, verdict(answer)) == (404, "absent")
    problem = told(answer)
    assert (problem["code"], problem["verdict"]) == ("not-captured", "absent")
    (near, *_) = problem["offered"]
    assert (near["pwid"], near["delta"]) == (name("part"), 1)
    page = site.get(f"/{name('part', at='2016-01-22T11.20.28Z')}", HTML)
    assert page.status == 404
    assert b"Other captures" in page.body
    nothing = told(site.get(f"/{name('part', 'http://nobody.example/')}"))
    assert (nothing["verdict"], nothing["offered"]) == ("absent", [])


def test_nearest_is_given_only_where_it_was_asked_for(site: Deployment) -> None:
    for form in ("", "urn:"):
        answer = site.get(f"/{form}{name('part', at='2016-01-22T11.20.20Z')}?nearest")
        assert (answer.status, verdict(answer), answer.body) == (200, "nearest;delta=9", PAGE)
        assert answer.headers["memento-datetime"] == "Fri, 22 Jan 2016 11:20:29 GMT"
    document = told(site.get(f"/{name('part', at='2016-01-22T11.20.20Z')}?nearest&info"))
    assert (document["verdict"], document["sentence"]) == ("nearest", "nearest +00:00:09")


def test_same_second_other_uri(site: Deployment) -> None:
    answer = site.get(f"/{name('part', 'http://www.dr.dk/secure')}")
    assert (answer.status, verdict(answer)) == (404, "same-second-other-uri")
    assert told(answer)["offered"][0]["uri"] == "https://www.dr.dk/secure"
    given = site.get(f"/{name('part', 'http://www.dr.dk/secure')}?nearest")
    assert (given.status, verdict(given)) == (200, "same-second-other-uri")


def test_unverified_is_what_another_archive_may_have(site: Deployment) -> None:
    """ "access https address: https://web.archive.org/web/20160122112029/http://www.dr.dk" """
    answer = site.get(f"/{DRAFTS_OWN}")
    assert (answer.status, verdict(answer)) == (302, "unverified")
    assert (
        answer.headers["location"] == "https://web.archive.org/web/20160122112029/http://www.dr.dk"
    )
    document = told(site.get(f"/urn:{DRAFTS_OWN}?info"))
    assert document["verdict"] == "unverified"
    assert document["addresses"]["raw"] == (
        "https://web.archive.org/web/20160122112029id_/http://www.dr.dk"
    )
    assert b"unverified" in site.get(f"/urn:{DRAFTS_OWN}?info", HTML).body
    part = site.get(f"/{DRAFTS_OWN.replace('page', 'part')}")
    assert "20160122112029id_" in part.headers["location"]


def test_moved(site: Deployment) -> None:
    answer = site.get(f"/{name('page', archive='webarchive.proni.gov.uk')}")
    assert (answer.status, verdict(answer)) == (302, "moved")
    assert answer.headers["location"].startswith("https://wayback.archive-it.org/")


def test_closed_but_known(site: Deployment) -> None:
    answer = site.get(f"/{name('page', archive='netarkivet.dk')}")
    assert (answer.status, verdict(answer)) == (451, "closed-but-known")
    assert told(answer)["code"] == "archive-closed"
    assert "location" not in answer.headers


def test_unknown_archives_are_not_guessed(site: Deployment) -> None:
    answer = site.get(f"/{name('page', archive='evil.example')}")
    assert (answer.status, told(answer)["code"]) == (404, "unknown-archive")
    assert "location" not in answer.headers


@pytest.mark.parametrize(
    ("pwid", "status", "said"),
    [
        (
            "urn:pwid:archive.org:2016-01-22T11:20:29Z:site:http://www.dr.dk/a%3Fb=%3Cb%3E",
            200,
            ("unverified", "Internet Archive", "access is open", "with everything on its host"),
        ),
        (
            "urn:pwid:netarkivet.dk:2016-01-22T11:20:29Z:page:http://www.dr.dk",
            451,
            ("closed but known", "access is closed", "with everything that belongs to the page"),
        ),
        (
            "urn:pwid:evil.example:2016-01-22T11:20:29Z:part:http://www.dr.dk",
            404,
            ("unknown archive", "evil.example", "the single archived element"),
        ),
        (
            "urn:pwid:archive.org:2016:page:http://www.dr.dk",
            404,
            ("unverified", "a time to the second", "https://web.archive.org/web/timemap/link/"),
        ),
        (
            f"urn:pwid:{OURS}:2016-01-22T11:20:29Z:page:{DR}",
            200,
            ("exact", "http://r.test/replay/20160122112029/http://www.dr.dk/"),
        ),
        (
            f"urn:pwid:{OURS}:2015-01-22T11:20:29Z:page:{DR}",
            404,
            ("absent", "Other captures"),
        ),
    ],
)
def test_what_is_known_is_told_whatever_becomes_of_it(
    site: Deployment, pwid: str, status: int, said: tuple[str, ...]
) -> None:
    answer = site.get(f"/{pwid}?info", HTML)
    page = answer.body.decode()
    assert answer.status == status
    assert all(text in page for text in said), page
    parsed = parse(pwid)
    assert isinstance(parsed, Pwid)
    for text in (parsed.archive, parsed.time, parsed.coverage or "", parsed.item, parsed.urn):
        assert html.escape(text) in page.replace("&#34;", "&quot;")
    for question in ("cite", "metadata=bibtex", "metadata=csl"):
        assert f'href="/{html.escape(parsed.urn)}?{question}"' in page
        assert site.get(f"/{parsed.urn}?{question}").status == 200
    document = told(site.get(f"/{pwid}?info"))
    assert document["asked"]["uri"] == parsed.item
    assert document["urn"] == parsed.urn


def test_a_redirect_says_where_it_is_told_what_is_known(site: Deployment) -> None:
    answer = site.get(f"/{DRAFTS_OWN}")
    assert (answer.status, answer.headers["location"][:24]) == (302, "https://web.archive.org/")
    urn = "urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk"
    assert links_of(answer) == [
        ("cite-as", f"{site.base}/{urn}"),
        ("describedby", f"{site.base}/{urn}?info"),
        ("linkset", f"{site.base}/{urn}?linkset"),
    ]


def test_what_the_operator_can_choose(tmp_path_factory: pytest.TempPathFactory) -> None:
    place = tmp_path_factory.mktemp("choice")
    closed, unknown = (name("page", archive=one) for one in ("netarkivet.dk", "evil.example"))
    with deployed(place / "a", closed_archives="404", unknown_archives="refuse") as running:
        bodies = [
            running.get(f"/{one}").body.replace(b"netarkivet.dk", b"evil.example")
            for one in (closed, unknown)
        ]
        assert bodies[0] == bodies[1]  # nothing tells the one from the other
        assert verdict(running.get(f"/{closed}")) is None
    with deployed(
        place / "b", closed_archives="local", unknown_archives="standard-form"
    ) as running:
        answer = running.get(f"/{closed}")
        assert (answer.status, verdict(answer)) == (302, "closed-but-known")
        assert answer.headers["location"].startswith("http://kb-prod-wayback.kb.dk:8080/")
        answer = running.get(f"/{unknown}?a=1&b")
        assert (answer.status, verdict(answer)) == (302, "unverified")
        assert answer.headers["location"] == (
            "https://evil.example/pwid?time=2016-01-22T11:20:29Z&coverage=page"
            "&item=http%3A%2F%2Fwww.dr.dk%2F%3Fa%3D1%26b"
        )


@pytest.mark.parametrize(
    "archive",
    [
        "evil.example%2F@archive.org",
        "archive.org%2F..%2F..",
        "archive.org.evil.example",
        "127.0.0.1",
        "localhost",
    ],
)
def test_no_archive_id_leads_out_of_the_registry(site: Deployment, archive: str) -> None:
    answer = site.get(f"/{name('page', archive=archive)}")
    assert answer.status in (400, 404)
    assert "location" not in answer.headers


# the coverages
# -------------


def test_a_page_is_told_with_its_resources(site: Deployment) -> None:
    answer = site.get(f"/{name('page')}")
    assert (answer.status, verdict(answer)) == (200, "exact")
    document = told(answer)
    assert document["capture"]["raw"] == f"/replay/20160122112029id_/{DR}"
    assert document["capture"]["replay"] == f"http://r.test/replay/20160122112029/{DR}"
    found = [(one["uri"], one["sentence"]) for one in document["resources"]]
    assert found == [
        (f"{DR}s.css", "nearest +00:00:02"),
        (f"{DR}a.png", "exact"),
        (f"{DR}gone.png", "absent"),
    ]
    assert site.get(document["capture"]["raw"]).body == PAGE
    page = site.get(f"/{name('page')}", HTML).body.decode()
    assert f'href="http://r.test/replay/20160122112029/{DR}"' in page
    assert "nearest +00:00:02" in page
    assert (
        document["capture"]["digest"] in page
    )  # so that a page that knows it is replayed is known
    pictured = site.get(f"/{name('page', f'{DR}a.png')}")
    assert (pictured.status, pictured.body) == (200, b"\x89PNG")


def test_the_page_has_the_metadata_of_its_pwid(site: Deployment) -> None:
    page = site.get(f"/{name('page')}", HTML).body.decode()
    (found,) = re.findall(r'<script type="application/ld\+json">(.*?)</script>', page, re.DOTALL)
    address = json.loads(found)["@id"].removeprefix(site.base)  # the form as a URN
    assert json.loads(site.get(f"{address}?metadata=jsonld").body) == json.loads(found)


def test_the_page_says_the_status_of_what_was_captured(site: Deployment) -> None:
    """A piece whose captured answer was 404 is captured exactly, and still missing."""
    page = site.get(f"/{name('page', f'{DR}torn/')}", HTML).body.decode()
    row = page[page.index("Resources of the page") :]
    assert "lost.png" in row
    assert ", status 404" in row
    assert (
        "status" not in site.get(f"/{name('page')}", HTML).body.decode().partition("Resources")[2]
    )


def test_a_site_is_listed(site: Deployment) -> None:
    document = told(site.get(f"/{name('subsite', f'{DR}crooked/?info')}?nearest"))
    assert len(document["members"]) == 6
    assert {one["verdict"] for one in document["members"]} == {"exact"}
    whole = told(site.get(f"/urn:{name('site')}?limit=4"))
    assert len(whole["members"]) == 4
    seen = [one["capture"]["uri"] for one in whole["members"]]
    while whole["next"]:
        whole = told(site.get(whole["next"]))
        seen += [one["capture"]["uri"] for one in whole["members"]]
    assert len(seen) == len(set(seen))
    assert f"{DR}film" in seen


def test_a_cursor_of_another_list_is_refused(site: Deployment) -> None:
    first = told(site.get(f"/urn:{name('site')}?limit=1"))
    cursor = first["next"].partition("cursor=")[2]
    assert site.get(f"/urn:{name('site')}?cursor={cursor}").status == 200
    crooked = name("subsite", f"{DR}crooked/%3Finfo")
    assert site.get(f"/urn:{crooked}?nearest").status == 200
    for wrong, of in (("garbage", name("site")), (cursor, crooked)):
        answer = site.get(f"/urn:{of}?nearest&cursor={wrong}")
        assert (answer.status, told(answer)["code"]) == (400, "invalid-request")


def test_the_other_coverages(site: Deployment) -> None:
    for coverage, uri, body in (
        ("snapshot", DR, b"\x89PNG of a page"),
        ("recording", f"{DR}film", b"film"),
        ("collection", f"{DR}list", b"pwid:a.org:2016:page:http://a/"),
        ("part", f"{DR}gone", b"not here"),
    ):
        answer = site.get(f"/{name(coverage, uri)}")
        assert (answer.status, verdict(answer), answer.body) == (200, "exact", body), coverage
    assert site.get(f"/{name('recording')}").status == 404
    assert site.get(f"/{name('part', f'{DR}gone')}").headers["x-archive-orig-status"] == "404"


def test_what_fits_twice_is_a_choice(site: Deployment) -> None:
    answer = site.get(f"/{name('part', f'{DR}twice')}")
    assert (answer.status, verdict(answer)) == (300, "exact;fits=2")
    raw = [one["raw"] for one in told(answer)["fits"]]
    assert [site.get(one).body for one in raw] == [b"one", b"two"]
    assert site.get(raw[0].replace("id_~sha1:", "id_~sha1:A")).status == 404
    assert site.get(f"/{name('part', f'{DR}twice')}?nearest").status == 200
    day = site.get(f"/{name('part', f'{DR}list', at='2016-01-22')}")
    assert (day.status, verdict(day)) == (200, "exact")


def arc(*bodies: bytes) -> bytes:
    """An ARC file, version 1, of responses of one URL and second; ARC has no digests."""
    text = b"1 0 test\nURL IP-address Archive-date Content-type Archive-length\n\n"
    made = b"filedesc://a.arc 0.0.0.0 20160122112029 text/plain %d\n%s\n" % (len(text), text)
    for body in bodies:
        block = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n" + body
        made += b"%sarc 127.0.0.1 20160122112029 text/plain %d\n" % (DR.encode(), len(block))
        made += block + b"\n"
    return made


def test_captures_without_digests_are_compared_by_their_bytes(
    site: Deployment, tmp_path: Path
) -> None:
    """Twice the same file is no riddle; what differs is a choice, and each can be had."""
    target = f"/{name('part', f'{DR}arc')}"
    for file in ("a.arc", "b.arc"):
        (tmp_path / file).write_bytes(arc(b"one"))
        site.registry.archive.add_file(tmp_path / file)
    answer = site.get(target)
    assert (answer.status, answer.body, verdict(answer)) == (200, b"one", "exact;fits=2")
    (tmp_path / "c.arc").write_bytes(arc(b"two"))
    site.registry.archive.add_file(tmp_path / "c.arc")
    answer = site.get(target)
    assert (answer.status, verdict(answer)) == (300, "exact;fits=3")
    fits = told(answer)["fits"]
    sha1 = (base64.b32encode(hashlib.sha1(body).digest()).decode() for body in (b"one", b"two"))
    one, two = (f"sha1:{digest}" for digest in sha1)
    assert [fit["digest"] for fit in fits] == [one, one, two]
    assert [site.get(fit["raw"]).body for fit in fits] == [b"one", b"one", b"two"]


# items and answers
# -----------------


@pytest.mark.parametrize(
    "path", ["x?a=1&b=2", "50%25 off", "a#b", "?info", "?nearest", "%3Cscript%3E"]
)
def test_crooked_items(site: Deployment, path: str) -> None:
    item = f"{DR}crooked/{path}".replace(" ", "%20")
    escaped = item.replace("%", "%25").replace("?", "%3F").replace("#", "%23")
    answer = site.get(f"/urn:pwid:{OURS}:2016-01-22T11:20:29Z:part:{escaped}")
    assert (answer.status, verdict(answer), answer.body) == (200, "exact", path.encode())
    if path != "?nearest":
        assert site.get(f"/{name('part', item)}").body == path.encode()


def test_bytes_of_others_cannot_run_here(site: Deployment) -> None:
    answer = site.get(f"/{name('part')}")
    assert answer.headers["content-disposition"] == "attachment"
    assert answer.headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert answer.headers["x-content-type-options"] == "nosniff"
    page = site.get(f"/{name('page', f'{DR}%3Cscript%3Ealert(1)%3C/script%3E')}", HTML)
    assert b"<script>" not in page.body
    assert page.body.count(b"<script") == page.body.count(b'<script type="application/ld+json">')


def test_a_registered_pwid_is_an_identifier_like_others(site: Deployment) -> None:
    mine = name("page", "http://registered.example/")
    assert site.get(f"/{mine}").status == 404
    site.bind(mine, "https://elsewhere.example/")
    answer = site.get(f"/{mine}")
    assert (answer.status, answer.headers["location"]) == (302, "https://elsewhere.example/")
    assert verdict(answer) is None


def test_thttp_and_head(site: Deployment) -> None:
    assert site.get(f"/uri-res/N2R?urn:{name('part')}").body == PAGE
    head = site.ask("HEAD", f"/{name('part')}")
    assert (head.status, verdict(head), head.body) == (200, "exact", b"")
    assert parse(name("part")) == parse(f"urn:{name('part')}")


REGISTERED = "https://web.archive.org/web/20160122112029/http://www.dr.dk"


@pytest.mark.parametrize(
    "form", [DRAFTS_OWN, "urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk"]
)
def test_thttp_of_what_another_archive_may_have(site: Deployment, form: str) -> None:
    """RFC 2169: "the same answer" for equivalent names; the address is that of the draft's own
    example, "access https address"."""

    def asked(service: str, *fields: str) -> Answer:
        return site.get(f"/uri-res/{service}?{form}", *fields)

    one = asked("N2L")
    assert (one.status, one.headers["location"], verdict(one)) == (303, REGISTERED, "unverified")
    squid = asked("N2L", "Accept: text/plain")
    assert (squid.status, squid.headers["location"]) == (200, REGISTERED)
    assert squid.body == f"# {form}\r\n{REGISTERED}\r\n".encode()
    assert asked("N2Ls").body.splitlines()[1:] == [REGISTERED.encode()]
    names = asked("I2Ns").body.splitlines()[1:]
    assert [parse(one.decode()) for one in names] == [parse(DRAFTS_OWN)]
    assert told(asked("N2C"))["verdict"] == "unverified"
    assert asked("N2Rs").headers["location"] == REGISTERED


def test_thttp_of_what_is_kept_here(site: Deployment) -> None:
    """What is kept here counts as located at this resolver; what is not is nowhere."""
    at = site.get(f"/uri-res/N2L?{name('part')}")
    assert (at.status, verdict(at)) == (303, "exact")
    assert site.get(at.headers["location"].removeprefix(site.base)).body == PAGE
    for service in ("N2L", "N2Ls", "N2Ns", "N2C"):
        missing = name("part", f"{DR}never")
        assert site.get(f"/uri-res/{service}?{missing}").status == 404
        unknown = name("page", archive="nobody.example")
        assert site.get(f"/uri-res/{service}?{unknown}").status == 404
        closed = name("page", archive="netarkivet.dk")
        assert site.get(f"/uri-res/{service}?{closed}").status == 451


def test_a_pwid_is_registered_and_bound_as_all_others(site: Deployment) -> None:
    """ "Any scheme can be registered and bound"."""
    token = site.token("all of a PWID")
    mine = f"/urn:{DRAFTS_OWN}/registered%3Fa=b"
    there = {"locations": ["https://elsewhere.example/"]}

    def post(verb: str, body: object) -> int:
        return site.post(f"{mine}?{verb}", body, token=token).status

    assert post("bind", there) == 404
    assert post("register", {}) == 201
    assert post("bind", there) == 201
    assert site.get(mine).headers["location"] == "https://elsewhere.example/"
    assert site.get(f"/uri-res/N2L?{mine[1:]}").headers["location"] == "https://elsewhere.example/"
    assert post("break", {"uri": "https://elsewhere.example/"}) == 200
    assert post("alias", {"other": "hdl:1/dr"}) == 201
    assert post("withdraw", {"reason": "a court said so"}) == 200
    assert site.get(mine).status == 410


@pytest.mark.parametrize("coverage", ["site", "subsite"])
def test_a_scope_needs_no_capture_of_its_own_address(site: Deployment, coverage: str) -> None:
    """Ruling pwid-scope: 200 if anything within was captured; it is told about its own address."""
    answer = site.get(f"/{name(coverage, f'{DR}crooked/')}")
    assert answer.status == 200
    assert answer.headers["perdure-verdict"] == "absent"
    document = json.loads(answer.body)
    assert document["verdict"] == "absent"
    assert f"{DR}crooked/x?a=1&b=2" in [one["capture"]["uri"] for one in document["members"]]
    assert site.get(f"/{name(coverage, 'http://never.example/')}").status == 404
    page = site.get(f"/{name(coverage, f'{DR}crooked/')}", HTML)
    assert page.status == 200


@pytest.mark.parametrize(
    ("question", "uri"),
    [
        ("time=2016-01-22T11:20:29Z&coverage=part&item=http://www.dr.dk/a.png", f"{DR}a.png"),
        (
            "time=2016-01-22T11:20:29Z&coverage=part&item=http://www.dr.dk/crooked/x?a=1&b=2",
            f"{DR}crooked/x?a=1&b=2",
        ),
        (
            "item=http%3A%2F%2Fwww.dr.dk%2Fcrooked%2Fx%3Fa%3D1%26b%3D2&time=2016&coverage=part",
            f"{DR}crooked/x?a=1&b=2",
        ),
        (
            "it%65m=http://www.dr.dk/crooked/x?a=1&b=2&ti%6De=2016&cover%61ge=part",
            f"{DR}crooked/x?a=1&b=2",
        ),
    ],
)
def test_the_endpoint_of_the_draft(site: Deployment, question: str, uri: str) -> None:
    """Draft-04 section 5: `/pwid?time=…&coverage=…&item=…` (ruling pwid-endpoint)."""
    asked, named = site.get(f"/pwid?{question}"), site.get(f"/{parse(name('part', uri)).path}")
    assert (asked.status, asked.body) == (200, named.body)
    assert verdict(asked) == verdict(named) == "exact"


def test_the_endpoint_says_what_it_needs(site: Deployment) -> None:
    assert site.get("/pwid?time=2016&item=http://www.dr.dk/").status == 400
    assert site.get("/pwid").status == 400
    absent = site.get("/pwid?time=2015-01-22T11:20:29Z&coverage=part&item=http://www.dr.dk/")
    assert absent.status == 404


def links_of(answer: Answer) -> list[tuple[str, str]]:
    """Relation and target of each link in the header."""
    return [
        (rel, target)
        for target, rel in re.findall(r'<([^>]*)>; rel="([^"]*)"', answer.headers["link"])
    ]


def as_urn(path: str) -> str:
    """The form in which a PWID can be asked about: a `?` in the other one belongs to the item."""
    pwid = parse(path)
    assert isinstance(pwid, Pwid)
    return pwid.urn


def link_context(site: Deployment, path: str) -> dict[str, Any]:
    """The links of the page of a PWID, from its link set."""
    path = as_urn(path)
    answer = site.get(f"/{path}?linkset")
    assert (answer.status, answer.headers["content-type"]) == (200, "application/linkset+json")
    contexts = {one["anchor"]: one for one in json.loads(answer.body)["linkset"]}
    found: dict[str, Any] = contexts[f"{site.base}/{path}?info"]
    return found


@pytest.mark.parametrize("question", ["", "?info"])
@pytest.mark.parametrize("coverage", ["part", "page", "site"])
def test_one_cite_as_everywhere(site: Deployment, coverage: str, question: str) -> None:
    """RFC 8574 section 3: "a single preferred URI"; signposting level 2 says what level 1 says."""
    path = as_urn(name(coverage))
    cited = f"{site.base}/{path}"
    assert [one for rel, one in links_of(site.get(f"/{path}{question}")) if rel == "cite-as"] == [
        cited
    ]
    assert [one["href"] for one in link_context(site, path)["cite-as"]] == [cited]


def test_a_link_set_of_a_capture_has_the_links_of_memento(site: Deployment) -> None:
    """RFC 7089 section 2.2: original, timegate, timemap and memento, the last with its time."""
    links = link_context(site, name("part"))
    assert links["original"] == [{"href": DR}]
    assert links["timegate"] == [{"href": f"{site.base}/timegate/{DR}"}]
    assert {one["type"] for one in links["timemap"]} == {
        "application/link-format",
        "application/json",
    }
    time = "Fri, 22 Jan 2016 11:20:29 GMT"
    assert links["memento"] == [
        {"href": f"http://r.test/replay/20160122112029/{DR}", "datetime": [time]}
    ]
    (item,) = links["item"]
    assert site.get(item["href"].removeprefix(site.base)).body == PAGE
    records = [one["href"] for one in links["describedby"]]
    assert {site.get(one.removeprefix(site.base)).status for one in records} == {200}


def test_a_link_set_of_another_archive_leads_there(site: Deployment) -> None:
    links = link_context(site, DRAFTS_OWN.replace(":page:", ":part:") + "/")
    assert links["item"] == [{"href": f"https://web.archive.org/web/20160122112029id_/{DR}"}]
    assert "memento" not in links


def test_no_link_set_of_what_was_not_captured(site: Deployment) -> None:
    assert site.get(f"/{as_urn(name('part', f'{DR}never'))}?linkset").status == 404


def test_no_capture_is_linked_if_several_fit(site: Deployment) -> None:
    assert "memento" not in link_context(site, name("part", f"{DR}twice"))
