"""Reading rules about captures, over HTTP: by address and time, and by the names of captures."""

from __future__ import annotations

import json
from base64 import b32encode
from collections.abc import Iterator
from hashlib import sha1
from pathlib import Path
from typing import Any

import pytest
from tests.archives.warcs import Warc
from tests.server.conftest import Answer
from tests.server.deployment import Deployment, deployed, problem
from tests.server.test_withholding import configure
from tests.server.write_ways import ask, ask_plainly, count_fast

from perdure.ids import parse
from perdure.model.assertions import CONTEXT
from perdure.model.commands import Alias, Register, Restrict
from perdure.model.queries import PUBLIC_READER
from perdure.model.reading_rules import Access, ReadingRule
from perdure.model.records import Location
from perdure.upkeep.asserting import store_assertion

OWN, ALIAS = "archive.example.org", "old.example.org"
PAGE, SECRET = "http://a.example/", "http://a.example/secret/x.html"
YEARS = (2014, 2016, 2018)
MARKER = "xyzzymarker"
DIGEST = "sha1:" + b32encode(sha1(f"<p>{MARKER} 2014</p>".encode()).digest()).decode()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    warc = Warc(tmp_path_factory.mktemp("archive") / "a.warc.gz")
    for year in YEARS:
        date = f"{year}-01-26T20:06:24Z"
        warc.response(SECRET, date, f"<p>{MARKER} {year}</p>".encode())
        warc.response(PAGE, date, f"<img src=/secret/x.html> {year}".encode())
        made = f"{year}-01-26T20:07:00Z"
        warc.resource(f"urn:text:{SECRET}", made, f"{MARKER} {year}".encode(), "text/plain")
    warc.revisit(PAGE, "2019-01-26T20:06:24Z", DIGEST, SECRET, "2014-01-26T20:06:24Z")
    return warc.finish()


@pytest.fixture(scope="module")
def site(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    root = tmp_path_factory.mktemp("closed") / "registry"
    configure(root)
    with (root / "perdure.toml").open("a") as settings:
        settings.write(f'archive_aliases = ["{ALIAS}"]\n')
    with deployed(root) as running:
        running.registry.archive.add_file(files)
        yield running


@pytest.fixture
def restrict(site: Deployment) -> Iterator[Any]:
    """Sets rules, and lifts them at the end."""
    known: dict[tuple[str, ...], ReadingRule] = {}

    def set_rule(about: str, match: str = "", **fields: Any) -> None:
        rule = ReadingRule(**({"about": about, "match": match, "access": Access.CLOSED} | fields))
        known[rule.about, rule.match, rule.first, rule.last] = rule
        site.do(Restrict(rule=rule))

    yield set_rule
    for rule in known.values():
        lifted = ReadingRule(
            about=rule.about,
            match=rule.match,
            first=rule.first,
            last=rule.last,
            access=Access.OPEN,
            lifted=True,
        )
        site.do(Restrict(rule=lifted))


def at(year: int) -> str:
    return f"{year}0126200624"


def name(uri: str, year: int, coverage: str = "part") -> str:
    return f"/pwid:{OWN}:{year}-01-26T20.06.24Z:{coverage}:{uri}"


def list_times(site: Deployment, question: str, *fields: str) -> list[str]:
    answer = site.get(f"/cdx?{question}&output=json", *fields)
    lines = answer.body.decode().splitlines() if answer.status == 200 else []
    return [json.loads(one)["timestamp"][:4] for one in lines]


def list_faces(year: int) -> list[str]:
    """Requests for one capture, in every face."""
    urn = f"/urn:pwid:{OWN}:{year}-01-26T20:06:24Z:part:{SECRET}"
    return [
        f"/replay/{at(year)}id_/{SECRET}",
        name(SECRET, year),
        name(SECRET, year, "page"),
        *(f"{urn}?{word}" for word in ("info", "text", "linkset", "nearest", "metadata", "cite")),
        f"/pwid?archive={OWN}&time={year}-01-26T20.06.24Z&coverage=part&item={SECRET}",
        f"/uri-res/N2L?{name(SECRET, year)[1:]}",
        f"/uri-res/N2R?{name(SECRET, year)[1:]}",
    ]


CASES: list[tuple[dict[str, Any], int, str]] = [
    ({}, 403, "forbidden"),
    ({"access": Access.UNAVAILABLE, "reason": "a court"}, 451, "unavailable-for-legal-reasons"),
    ({"until": "2999-01-01", "reason": "under review"}, 403, "embargoed"),
    ({"by_token": True}, 401, "unauthenticated"),
    ({"networks": ("10.0.0.0/8",)}, 403, "forbidden"),
]


@pytest.mark.parametrize(("fields", "status", "code"), CASES)
def test_every_face_refuses(
    site: Deployment, restrict: Any, fields: dict[str, Any], status: int, code: str
) -> None:
    restrict("http://a.example/secret/", "prefix", last="2014", **fields)
    for target in list_faces(2014):
        answer = site.get(target)
        problem(answer, status, code)
        assert answer.headers["cache-control"] == "private, no-store"
        assert fields.get("until", "") in answer.body.decode()
        assert MARKER not in str(answer)
    for target in list_faces(2016):
        assert site.get(target).status in (200, 302, 303), target


def test_lists_leave_closed_captures_out(site: Deployment, restrict: Any) -> None:
    assert list_times(site, f"url={SECRET}") == ["2014", "2016", "2018"]
    restrict(SECRET, "exact", first="2015", last="2016")
    assert list_times(site, f"url={SECRET}") == ["2014", "2018"]
    assert list_times(site, "url=http://a.example/secret/*") == ["2014", "2018"]
    assert list_times(site, f"url={SECRET}&closest={at(2017)}&limit=1") == ["2018"]
    assert list_times(site, f"url={SECRET}&reverse=true&limit=2") == ["2018", "2014"]
    timemap = site.get(f"/timemap/link/{SECRET}").body.decode()
    assert (timemap.count('rel="memento"'), timemap.count("memento")) == (0, 2)
    assert at(2016) not in timemap
    assert at(2016) not in site.get(f"/timemap/json/{SECRET}").body.decode()
    assert at(2016) not in site.get(f"/timemap/html/{SECRET}").body.decode()
    gate = site.get(f"/timegate/{SECRET}", "Accept-Datetime: Tue, 26 Jan 2016 20:06:24 GMT")
    assert (gate.status, at(2016) in str(gate)) == (302, False)
    for coverage in ("site", "subsite"):
        members = json.loads(site.get(f"{name(PAGE, 2016, coverage)}").body)["members"]
        times = {one["capture"]["uri"]: one["capture"]["time"][:4] for one in members}
        assert times[SECRET] != "2016"
        assert times[PAGE] == "2016"


def test_a_page_does_not_show_its_closed_resources(site: Deployment, restrict: Any) -> None:
    [before] = json.loads(site.get(name(PAGE, 2016, "page")).body)["resources"]
    assert before["capture"]["uri"] == SECRET
    restrict("http://a.example/secret/", "prefix")
    [after] = json.loads(site.get(name(PAGE, 2016, "page")).body)["resources"]
    assert (after["verdict"], after["capture"]) == ("absent", None)


def test_what_a_crawler_made_of_a_page_is_closed_with_it(site: Deployment, restrict: Any) -> None:
    made = f"/replay/20140126200700id_/urn:text:{SECRET}"
    pwid = f"/pwid:{OWN}:2014-01-26T20.07.00Z:other:urn:text:{SECRET}"
    assert site.get(pwid).body.decode() == f"{MARKER} 2014"
    restrict(SECRET, "exact", last="2014")
    assert MARKER not in str(site.get(made))
    answer = site.get(pwid)
    assert (answer.status, MARKER in str(answer)) == (404, False)
    later = f"/pwid:{OWN}:2016-01-26T20.07.00Z:other:urn:text:{SECRET}"
    assert site.get(later).body.decode() == f"{MARKER} 2016"


def test_the_payload_of_a_closed_capture_is_in_no_revisit(site: Deployment, restrict: Any) -> None:
    revisit = f"/replay/{at(2019)}id_/{PAGE}"
    assert MARKER in site.get(revisit).body.decode()
    restrict(SECRET, "exact", last="2014")
    answer = site.get(revisit)
    assert (answer.status, MARKER in str(answer)) == (404, False)


def test_an_open_capture_in_a_closed_host_and_the_reverse(site: Deployment, restrict: Any) -> None:
    restrict(PAGE, "host", by_token=True)
    restrict(SECRET, "exact", access=Access.OPEN)
    assert site.get(f"/replay/{at(2014)}id_/{PAGE}").status == 401
    assert site.get(f"/replay/{at(2014)}id_/{SECRET}").status == 200
    restrict(SECRET, "exact", first="2018", networks=("10.0.0.0/8",))
    assert site.get(f"/replay/{at(2018)}id_/{SECRET}").status == 403
    inside = "X-Forwarded-For: 10.1.2.3"
    assert site.get(f"/replay/{at(2018)}id_/{SECRET}", inside).status == 200
    assert list_times(site, f"url={SECRET}") == ["2014", "2016"]
    assert list_times(site, f"url={SECRET}", inside) == ["2014", "2016", "2018"]


def test_a_token_opens_the_captures_in_its_scope(site: Deployment, restrict: Any) -> None:
    restrict(PAGE, "domain", by_token=True)
    for authorities, status in (
        (("*",), 200),
        ((f"pwid:{OWN}:*",), 200),
        ((f"pwid:{OWN}:2014*",), 200),
        ((f"pwid:{OWN}:2016*",), 403),
        (("oma.eop.gov.us",), 403),
    ):
        bearer = site.token(f"of {authorities}", operations=("read",), authorities=authorities)
        answer = site.get(f"/replay/{at(2014)}id_/{SECRET}", f"Authorization: Bearer {bearer}")
        assert answer.status == status, authorities
        assert answer.headers["cache-control"] == "private, no-store"


@pytest.mark.parametrize(
    "about",
    [
        "*",
        f"pwid:{OWN}:*",
        f"urn:pwid:~{OWN}:*",
        f"pwid:{ALIAS}:2014*",
        f"pwid:{ALIAS}:2014:site:http://a.example/",
        f"pwid:{OWN}:2014*",
        f"pwid:{OWN}:2014-01-26T20.06.24Z:part:{SECRET}",
        f"pwid:{OWN}:2014-01:page:{SECRET}",
        f"pwid:{OWN}:2014:subsite:{SECRET}",
        f"pwid:{OWN}:2014:site:http://a.example/y.html",
    ],
)
def test_rules_about_names_of_captures_close_their_addresses(
    site: Deployment, restrict: Any, about: str
) -> None:
    restrict(about, by_token=True)
    for target in (f"/replay/{at(2014)}id_/{SECRET}", name(SECRET, 2014)):
        answer = site.get(target)
        assert answer.status == 401, (target, answer)
        assert MARKER not in str(answer)
    left = [] if about[-2:] in ("*", ":*") else ["2016", "2018"]
    assert list_times(site, f"url={SECRET}") == left
    assert at(2014) not in str(site.get(f"/timemap/link/{SECRET}"))


def test_rules_about_a_name_and_its_address_must_both_admit(
    site: Deployment, restrict: Any
) -> None:
    pwid = name(SECRET, 2014)
    restrict(pwid[1:], access=Access.OPEN)
    restrict(SECRET, "exact", by_token=True)
    assert site.get(pwid).status == site.get(f"/replay/{at(2014)}id_/{SECRET}").status == 401
    restrict(SECRET, "exact", access=Access.OPEN)
    restrict(pwid[1:], by_token=True)
    assert site.get(pwid).status == site.get(f"/replay/{at(2014)}id_/{SECRET}").status == 401
    restrict(pwid[1:], access=Access.OPEN)
    assert site.get(pwid).status == site.get(f"/replay/{at(2014)}id_/{SECRET}").status == 200


def test_a_span_that_is_closed_in_part_answers_with_the_rest(
    site: Deployment, restrict: Any
) -> None:
    restrict(SECRET, "exact", last="2015", by_token=True)
    found = site.get(f"/pwid:{OWN}:2016:part:{SECRET}")
    assert (found.status, MARKER in found.body.decode()) == (200, True)
    assert site.get(f"/pwid:{OWN}:2014:part:{SECRET}").status == 401
    restrict(SECRET, "exact", first="20140101", last="20140131", access=Access.OPEN)
    assert site.get(f"/pwid:{OWN}:2014:part:{SECRET}").status == 200


def test_where_nothing_is_left_the_rule_answers(site: Deployment, restrict: Any) -> None:
    restrict(SECRET, "exact", by_token=True)
    for target in (
        f"/cdx?url={SECRET}",
        f"/timemap/link/{SECRET}",
        f"/timemap/html/{SECRET}",
        f"/timegate/{SECRET}",
    ):
        assert site.get(target).status == 401, target
    assert site.get("/cdx?url=http://a.example/secret/*").status == 404
    assert site.get("/cdx?url=http://a.example/unknown").status == 404


def test_answers_that_no_rule_decides_are_stored(site: Deployment, restrict: Any) -> None:
    restrict(SECRET, "exact", by_token=True)
    answer = site.get(f"/replay/{at(2016)}id_/{PAGE}")
    assert answer.headers["cache-control"].startswith("public, max-age=")


def test_lists_of_captures_without_rules_stay_on_the_fast_way(
    site: Deployment, restrict: Any
) -> None:
    """Rules about other captures change neither the answer nor the way by which it is given."""

    def ask_twice(uri: str) -> tuple[Answer, Answer, int]:
        before = count_fast(site, "bytes")
        request = f"GET /cdx?url={uri} HTTP/1.1\r\nHost: a\r\n\r\n".encode()
        [answer], plain = ask(site, request), ask_plainly(site, request)
        return answer, plain, count_fast(site, "bytes") - before

    alone, _, _ = ask_twice(PAGE)
    restrict(SECRET, "exact", last="2014")
    restrict(f"pwid:{OWN}:2014-01-26T20.06.24Z:part:{SECRET}", by_token=True)
    answer, plain, fast = ask_twice(PAGE)
    assert (answer.body, fast) == (plain.body, 1)
    assert answer.body == alone.body
    fields = {**answer.headers, "date": "", "connection": "close"}
    assert fields == {**plain.headers, "date": ""}
    assert "cache-control" not in answer.headers
    for uri in (SECRET, f"urn:text:{SECRET}"):
        answer, plain, fast = ask_twice(uri)
        assert (answer.body, fast) == (plain.body, 0)
        assert answer.headers["cache-control"] == "private, no-store"
    restrict(f"pwid:{OWN}:2019*", by_token=True)
    answer, plain, fast = ask_twice(PAGE)
    assert (len(answer.body.splitlines()), fast) == (len(YEARS), 0)


def test_a_registered_capture_is_closed_in_lists_and_to_statements_about_it(
    site: Deployment, restrict: Any
) -> None:
    """Its record is in the registry, and an assertion may quote it."""
    pwid = f"pwid:{OWN}:2018-01-26T20.06.24Z:part:{SECRET}"
    site.do(
        Register(identifier=parse(pwid), locations=(Location(uri=f"http://{MARKER}.example/"),))
    )
    site.do(Alias(identifier=parse(pwid), other=parse("hdl:1/alias")))
    said = {"@context": CONTEXT, "type": "Annotation", "target": pwid, "body": MARKER}
    about = store_assertion(site.registry, json.dumps(said).encode()).identifier
    targets = [
        f"/{pwid}",
        "/hdl:1/alias",
        f"/urn:{pwid}?assertions",
        f"/pwid:{OWN}:2018*?info",
        f"/pwid:{OWN}:2018*?locations",
    ]
    assert any(MARKER in str(site.get(target)) for target in targets)
    restrict(SECRET, "exact", by_token=True)
    for target in targets:
        request = f"GET {target} HTTP/1.1\r\nHost: a\r\n\r\n".encode()
        for answer in (site.get(target), *ask(site, request)):
            assert MARKER not in str(answer), (target, answer)
    assert site.get("/hdl:1/alias").status in (302, 401)
    found = site.registry.assertions.list_assertions(parse(pwid), PUBLIC_READER)
    assert about not in {str(one.identifier) for one in found}


def send_rule(site: Deployment, bearer: str, **fields: Any) -> Answer:
    body = json.dumps(fields).encode()
    return site.ask("POST", "/restrictions", f"Authorization: Bearer {bearer}", body=body)


def test_rules_over_http_need_the_right_to_the_archive(site: Deployment) -> None:
    fields = {"about": "http://a.example/secret/", "match": "prefix", "first": "2014"}
    other = site.token("other", operations=("restrict",), authorities=("oma.eop.gov.us",))
    assert send_rule(site, other, **fields).status == 403
    editor = site.token("editor", operations=("restrict",), authorities=(f"pwid:{OWN}:*",))
    assert send_rule(site, editor, **fields).status == 201
    shown = json.loads(site.get("/restrictions", f"Authorization: Bearer {editor}").body)
    [rule] = shown["restrictions"]
    assert (rule["match"], rule["first"]) == ("prefix", "20140101000000")
    assert json.loads(site.get("/restrictions", f"Authorization: Bearer {other}").body) == {
        "restrictions": []
    }
    assert site.get(f"/replay/{at(2014)}id_/{SECRET}").status == 403
    assert send_rule(site, editor, **fields, lift=True).status == 200
    assert site.get(f"/replay/{at(2014)}id_/{SECRET}").status == 200
    for wrong in ({"match": "suffix"}, {"first": "x"}, {"part": "char=0,1"}, {"about": "a b"}):
        answer = send_rule(site, editor, **(fields | wrong))
        problem(answer, 400, "invalid-request")
