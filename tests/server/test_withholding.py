"""Captures that were taken down, and an archive that is closed, over HTTP (tombstone-silence)."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.archives.warcs import Warc
from tests.server.conftest import Answer
from tests.server.deployment import Deployment, deployed, problem

from perdure.archives.withholding import Withholding
from perdure.ids import parse
from perdure.model.collection import CollectionMember
from perdure.model.commands import Withdraw
from perdure.upkeep.collection.checking import MemberChecker
from perdure.upkeep.collection.status import State

OWN = "archive.example.org"
REPLAY = "http://replay.test"
AT, SECOND = "2014-01-26T20.06.24Z", "20140126200624"
IANA = "http://www.iana.example/"
SECRET = "http://a.example/secret/"


def fill(place: Path) -> Path:
    warc = Warc(place / "a.warc.gz")
    warc.response(IANA, "2014-01-26T20:06:24Z", b"<title>withdrawn</title>")
    warc.response(IANA, "2016-01-26T20:06:24Z", b"<title>2016</title>")
    for year in (2014, 2016):
        warc.response(f"{SECRET}x.html", f"{year}-01-26T20:06:24Z", f"secret {year}".encode())
    warc.response(
        "http://a.example/",
        "2014-01-26T20:06:24Z",
        b"<img src=/secret/x.html><img src=/open.png>",
    )
    return warc.finish()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Deployment]:
    path = fill(tmp_path)
    with deployed(configure(tmp_path / "registry")) as running:
        running.registry.archive.add_file(path)
        yield running


def configure(root: Path, **more: str) -> Path:
    """Settings of all processes, not only of the server."""
    root.mkdir()
    settings = {"archive_id": OWN, "content_origin": REPLAY} | more
    lines = "".join(f'{name} = "{text}"\n' for name, text in settings.items())
    (root / "perdure.toml").write_text(f"[perdure]\n{lines}")
    return root


def pwid(coverage: str, uri: str, at: str = AT) -> str:
    return f"/pwid:{OWN}:{at}:{coverage}:{uri}"


def page(site: Deployment, path: str) -> Answer:
    lines = f"GET {path} HTTP/1.1\r\nHost: replay.test\r\nConnection: close\r\n\r\n"
    return site.send(lines.encode())[-1]


def list_urls(site: Deployment, question: str) -> list[str]:
    found = site.get(f"/cdx?{question}&output=json")
    lines = found.body.decode().splitlines() if found.status == 200 else []
    return [json.loads(one)["timestamp"][:4] for one in lines]


def test_a_withdrawn_capture_is_nowhere(site: Deployment) -> None:
    """Without `bind` first; the tombstone answers wherever this capture is named."""
    named = parse(f"pwid:{OWN}:{AT}:part:{IANA}")
    assert site.get(pwid("part", IANA)).status == 200
    site.do(Withdraw(identifier=named, reason="court order", by="Ada"))
    for coverage in ("part", "page", "other"):
        found = site.get(pwid(coverage, IANA))
        assert found.status == 410, coverage
        assert b"court order" in found.body
        assert b"<title>withdrawn" not in found.body
    assert site.get(pwid("part", IANA) + "?nearest").status == 410
    assert site.get(f"/replay/{SECOND}id_/{IANA}").status == 410
    assert page(site, f"/replay/{SECOND}/{IANA}").status == 410
    assert list_urls(site, f"url={IANA}") == ["2016"]
    assert list_urls(site, "url=iana.example&matchType=domain") == ["2016"]
    told = site.get(f"/timemap/link/{IANA}").body.decode()
    assert "2016" in told
    assert SECOND not in told
    gate = site.get(f"/timegate/{IANA}", "Accept-Datetime: Sun, 26 Jan 2014 20:06:24 GMT")
    assert "/20160126200624" in gate.headers["location"]
    assert site.get(pwid("part", IANA, "2016-01-26T20.06.24Z")).status == 200


def test_a_prefix_includes_the_page_of_the_folder_itself(site: Deployment, tmp_path: Path) -> None:
    """The key of a URL has no slash at its end, so that of the folder sorts before its contents."""
    warc = Warc(tmp_path / "folder.warc.gz")
    for uri in (SECRET, "http://a.example/secretary"):
        warc.response(uri, "2014-01-26T20:06:24Z", b"folder")
    site.registry.archive.add_file(warc.finish())
    assert site.get(pwid("part", SECRET)).body == b"folder"
    site.registry.archive.take_down(
        Withholding(uri=SECRET, match="prefix", reason="order", at="2026", by="Ada")
    )
    for asked in (pwid("part", SECRET), pwid("subsite", SECRET), pwid("part", f"{SECRET}x.html")):
        assert site.get(asked).status == 410, asked
    assert list_urls(site, f"url={SECRET}") == []
    assert site.get(pwid("part", "http://a.example/secretary")).body == b"folder"


DERIVED = (
    *(f"urn:text:{IANA}", f"urn:thumbnail:{IANA}", f"urn:fullPage:{IANA}"),
    *(f"screenshot:{IANA}", f"youtube-dl:00001:{IANA}", f"urn:text:{SECRET}x.html"),
)


def test_what_a_crawler_made_of_a_page_goes_with_it(site: Deployment, tmp_path: Path) -> None:
    """Ruling tombstone-silence: "no text, derived title, preview, index entry, part, quotation or
    capture of it"; browser-based crawlers store text and pictures beside the page."""
    warc = Warc(tmp_path / "derived.warc.gz")
    for uri in DERIVED:
        for year in (2014, 2016):
            warc.resource(uri, f"{year}-01-26T20:06:31Z", b"withdrawn", "text/plain")
    warc.resource(f"urn:view:{IANA}other", "2014-01-26T20:06:31Z", b"other", "image/png")
    site.registry.archive.add_file(warc.finish())
    later = AT.replace("24Z", "31Z")
    for uri in DERIVED:
        assert site.get(pwid("part", uri, later)).body == b"withdrawn"
    site.do(Withdraw(identifier=parse(f"pwid:{OWN}:{AT}:page:{IANA}"), reason="order", by="Ada"))
    site.registry.archive.take_down(
        Withholding(
            uri=SECRET, match="prefix", last="20141231235959", reason="order", at="2026", by="Ada"
        )
    )
    for uri in DERIVED:
        assert site.get(pwid("part", uri, later)).status == 410, uri
        assert site.get(f"/replay/20140126200631id_/{uri}").status in (404, 410), uri
        assert list_urls(site, f"url={uri}") == ["2016"], uri
        assert site.get(pwid("part", uri, later.replace("2014", "2016"))).status == 200
    assert site.get(pwid("part", f"urn:view:{IANA}other", later)).body == b"other"


def test_two_persons_erase_a_capture(site: Deployment) -> None:
    """Ruling tombstone-silence: "`erase` (law: two persons, recorded)"; it answers as before."""
    anna, bert = site.token("anna of the law"), site.token("bert of the law")
    path, body = f"/urn:{pwid('part', IANA)[1:]}?erase", {"reason": "the law"}
    problem(site.post(path, body, token=anna), 404, "not-found")
    assert site.post(path.replace("?erase", "?register"), {}, token=anna).status == 201
    outside = problem(site.post(path, body, token=anna), 409, "conflict")
    assert "outside the registry directory" in outside["detail"]
    (added,) = site.registry.archive.add_file(site.root.parent / "a.warc.gz", move=True)
    held = site.root / "captures" / added.file.path
    assert request_erasure(site, path, anna) == (202, "proposed")
    assert site.get(f"/replay/{SECOND}id_/{IANA}").body == b"<title>withdrawn</title>"
    assert request_erasure(site, path, bert) == (200, "changed")
    assert b"<title>withdrawn" not in gzip.decompress(held.read_bytes())
    for asked in (pwid("part", IANA), pwid("page", IANA), f"/replay/{SECOND}id_/{IANA}"):
        found = site.get(asked)
        assert found.status == 410
        assert b"the law" in found.body
    assert list_urls(site, f"url={IANA}") == ["2016"]
    assert SECOND not in site.get(f"/timemap/link/{IANA}").body.decode()
    later = site.get(pwid("part", IANA, "2016-01-26T20.06.24Z"))
    assert later.body == b"<title>2016</title>"
    assert request_erasure(site, path, bert) == (200, "unchanged")


def request_erasure(site: Deployment, path: str, token: str) -> tuple[int, str]:
    answer = site.post(path, {"reason": "the law"}, token=token)
    return answer.status, json.loads(answer.body)["outcome"]


def test_a_withdrawn_scope_and_span(site: Deployment) -> None:
    site.do(
        Withdraw(identifier=parse(f"pwid:{OWN}:2014:subsite:{SECRET}"), reason="privacy", by="Ada")
    )
    assert site.get(pwid("part", f"{SECRET}x.html")).status == 410
    assert list_urls(site, f"url={SECRET}*") == ["2016"]


def test_a_prefix_is_taken_down(site: Deployment) -> None:
    one = Withholding(
        uri=SECRET, match="prefix", reason="privacy", at="2026-11-22T00:00:00Z", by="Ada"
    )
    site.registry.archive.withheld.add(one)
    assert list_urls(site, f"url={SECRET}*") == []
    assert site.get(pwid("part", f"{SECRET}x.html")).status == 410
    assert page(site, f"/replay/{SECOND}/{SECRET}x.html").status == 410
    listed = json.loads(site.get(pwid("page", "http://a.example/")).body)
    assert [one["verdict"] for one in listed["resources"]] == ["absent", "absent"]
    members = json.loads(site.get(pwid("site", "http://a.example/")).body)["members"]
    assert [one["capture"]["uri"] for one in members] == ["http://a.example/"]


def test_a_lifted_takedown_holds_no_more(site: Deployment) -> None:
    one = Withholding(
        uri=SECRET, match="prefix", reason="privacy", at="2026-11-22T00:00:00Z", by="Ada"
    )
    other = replace(one, uri="http://a.example/", match="host", reason="a court")
    withheld = site.registry.archive.withheld
    for line in (one, other, replace(one, reason="an error", by="Bert", lifts=True)):
        withheld.add(line)
    assert withheld.list_all() == (other,)
    assert [line.by for line in withheld.list_lines()] == ["Ada", "Ada", "Bert"]
    assert list_urls(site, f"url={SECRET}*") == []  # the other one still holds
    withheld.add(replace(other, reason="overruled", lifts=True))
    assert site.get(pwid("part", f"{SECRET}x.html")).status == 200
    assert list_urls(site, f"url={SECRET}*") != []
    withheld.add(one)
    assert site.get(pwid("part", f"{SECRET}x.html")).status == 410


def test_a_member_that_was_taken_down_is_gone_and_not_absent(site: Deployment) -> None:
    member = CollectionMember(identifier=f"pwid:{OWN}:{AT}:part:{IANA}")
    checker = MemberChecker(site.registry)
    assert checker.check(1, member).state is State.EXACT
    site.do(Withdraw(identifier=parse(member.identifier), reason="court order", by="Ada"))
    found = checker.check(1, member)
    assert found.state is State.GONE
    assert found.detail.endswith(": court order")


def test_a_takedown_holds_for_files_that_are_added_later(site: Deployment, tmp_path: Path) -> None:
    site.do(Withdraw(identifier=parse(f"pwid:{OWN}:{AT}:part:{IANA}"), reason="x", by="Ada"))
    (tmp_path / "again").mkdir()
    site.registry.archive.add_file(fill(tmp_path / "again"))
    assert site.get(pwid("page", IANA)).status == 410
    assert list_urls(site, f"url={IANA}") == ["2016", "2016"]


def test_a_line_that_was_cut_off_never_held(site: Deployment, tmp_path: Path) -> None:
    path = site.registry.root / "withheld.jsonl"
    path.write_bytes(b'{"uri":"http://www.iana.exa')
    assert site.get(pwid("part", IANA)).status == 200
    site.do(Withdraw(identifier=parse(f"pwid:{OWN}:{AT}:part:{IANA}"), reason="x", by="Ada"))
    assert len(path.read_bytes().splitlines()) == 1
    path.write_bytes(b"not a takedown\n")
    assert site.get(pwid("part", f"{SECRET}x.html")).status == 503, "rather than be ignored"


def test_the_archive_can_be_closed(tmp_path: Path) -> None:
    """Draft-04 section 1: archives with access for researchers only, or on site."""
    path = fill(tmp_path)
    root = configure(tmp_path / "registry", archives_file="archives.toml")
    table = f'[[archive]]\nid = "{OWN}"\naccess = "closed"\n'
    (root / "archives.toml").write_text(table)
    with deployed(root) as site:
        site.registry.archive.add_file(path)
        for address in (
            pwid("part", IANA),
            f"/replay/{SECOND}id_/{IANA}",
            f"/cdx?url={IANA}",
            f"/cdx?url={IANA}&limit=1",
            f"/timemap/link/{IANA}",
            f"/timegate/{IANA}",
        ):
            found = site.get(address)
            assert found.status == 451, address
            assert b"2016" not in found.body
        assert page(site, f"/replay/{SECOND}/{IANA}").status == 451
        name = f"pwid:{OWN}:{AT}:part:{IANA}"
        program = Path(sys.executable).parent / "perdure"
        command = [str(program), "-C", str(site.registry.root), "get", name]
        done = subprocess.run(command, capture_output=True, check=False)
        assert done.stdout == b"<title>withdrawn</title>", "on its premises it is read"
