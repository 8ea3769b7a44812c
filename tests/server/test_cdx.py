"""The CDX server API over HTTP, asked by us and by `cdx_toolkit`."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.archives.warcs import Warc
from tests.server.deployment import Deployment, deployed
from tests.server.write_ways import ask, ask_plainly, count_fast
from warcio.archiveiterator import ArchiveIterator

PEERS = Path(__file__).parents[2] / ".peers" / "bin"
MANY = 2500


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    place = tmp_path_factory.mktemp("cdx")
    warc = Warc(place / "a.warc.gz")
    for second in range(3):
        warc.response("http://www.dr.dk/", f"2016-01-22T11:20:2{second}Z", b"%d" % second)
    warc.response("http://tv.dr.dk/a?b=1&c=2", "2017-01-01T00:00:00Z", b"tv", status="404 Gone")
    for number in range(MANY):
        minute, second = divmod(number, 60)
        warc.response("http://hot.example/", f"2018-01-01T00:{minute:02}:{second:02}Z", b"hot")
    path = warc.finish()
    with deployed(place / "registry") as running:
        running.registry.archive.add_file(path)
        yield running


def lines(site: Deployment, question: str) -> list[str]:
    answer = site.get(f"/cdx?{question}")
    assert answer.status == 200, answer.body
    return answer.body.decode().splitlines()


def test_lines_come_in_the_form_that_was_asked_for(site: Deployment) -> None:
    found = lines(site, "url=http%3A%2F%2Fwww.dr.dk%2F&output=json")
    assert [json.loads(one)["timestamp"] for one in found] == [
        "20160122112020",
        "20160122112021",
        "20160122112022",
    ]
    assert lines(site, "url=dr.dk&matchType=domain&filter=status:404&output=text&fl=original") == [
        "http://tv.dr.dk/a?b=1&c=2"
    ]
    answer = site.get("/cdx?url=dr.dk")
    assert answer.headers["content-type"] == "text/x-cdxj; charset=utf-8"
    assert answer.headers["access-control-allow-origin"] == "*"
    assert int(answer.headers["content-length"]) == len(answer.body)


def test_what_cdxj_indexer_writes_is_what_we_answer(site: Deployment) -> None:
    """cdxj-indexer 1.5 reads the same file: every line of ours says what its line says."""
    source = site.root.parent / "a.warc.gz"
    indexer = PEERS / "cdxj-indexer"
    if not indexer.exists():
        pytest.skip("cdxj-indexer is not installed (make unit)")
    theirs = subprocess.run([indexer, "-s", source], check=True, capture_output=True, text=True)
    expected = [one.split(" ", 2) for one in theirs.stdout.splitlines()]
    found = [one.split(" ", 2) for one in lines(site, "url=dr.dk&matchType=domain")]
    assert [(key, time, json.loads(body)) for key, time, body in found] == [
        (key, time, json.loads(body)) for key, time, body in expected if key.startswith("dk,")
    ]


def test_a_long_answer_is_streamed_whole(site: Deployment) -> None:
    answer = site.get("/cdx?url=hot.example")
    assert "content-length" not in answer.headers
    assert len(answer.body.splitlines()) == MANY
    assert site.ask("HEAD", "/cdx?url=hot.example").status == 200


def test_the_fast_way_gives_what_the_plain_way_gives(site: Deployment) -> None:
    """A connection that ends with its answer gets the plain way's."""
    before = count_fast(site, "bytes")
    for question in (
        "url=dr.dk",
        "url=dr.dk&closest=2017&limit=1",
        "url=tv.dr.dk%2Fa%3Fb%3D1%26c%3D2",
    ):
        request = f"GET /cdx?{question} HTTP/1.1\r\nHost: a\r\n\r\n".encode()
        [fast], plain = ask(site, request), ask_plainly(site, request)
        assert fast.status == plain.status == 200
        assert fast.body == plain.body
        fields = {**fast.headers, "date": "", "connection": "close"}
        assert fields == {**plain.headers, "date": ""}
    assert count_fast(site, "bytes") == before + 3


def test_resuming(site: Deployment) -> None:
    first = site.get("/cdx?url=hot.example&limit=1000&showResumeKey=true").body.decode()
    body, _, key = first.rstrip("\n").rpartition("\n\n")
    assert len(body.splitlines()) == 1000
    rest = site.get(f"/cdx?url=hot.example&resumeKey={key}").body.decode().splitlines()
    assert len(rest) == MANY - 1000
    assert rest[0] not in body


def test_nothing_found_is_told_in_words_that_clients_know(site: Deployment) -> None:
    answer = site.get("/cdx?url=nobody.example")
    assert answer.status == 404
    problem = json.loads(answer.body)
    assert problem["message"] == problem["detail"] == "No Captures found for: nobody.example"
    assert problem["code"] == "not-captured"
    assert site.get("/cdx?url=dr.dk&page=1").status == 400
    assert site.get("/cdx").status == 400
    assert json.loads(site.get("/cdx?url=hot.example&showNumPages=true").body) == {
        "pages": 1,
        "pageSize": 5,
        "blocks": 1,
    }


def cdxt(site: Deployment, *arguments: str) -> list[str]:
    program = PEERS / "cdxt"
    if not program.exists():
        pytest.skip("cdx_toolkit is not installed (make unit)")
    done = subprocess.run(
        [program, "--source", f"{site.base}/cdx", *arguments],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_cdx_toolkit_lists_and_counts(site: Deployment) -> None:
    found = cdxt(site, "--limit", "2", "iter", "http://www.dr.dk/", "--jsonl")
    assert [json.loads(one)["timestamp"] for one in found] == ["20160122112020", "20160122112021"]
    assert len(cdxt(site, "iter", "*.dr.dk", "--jsonl")) == 4
    (size,) = cdxt(site, "size", "hot.example")
    assert int(size) > 0
    assert cdxt(site, "iter", "nobody.example", "--jsonl") == []


def test_cdx_toolkit_extracts_what_was_archived(site: Deployment, tmp_path: Path) -> None:
    """`cdxt warc` lists with `/cdx`, and fetches each capture from `/replay/<time>id_/<uri>`."""
    program = PEERS / "cdxt"
    if not program.exists():
        pytest.skip("cdx_toolkit is not installed (make unit)")
    command = (str(program), "--source", f"{site.base}/cdx", "--wb", f"{site.base}/replay")
    done = subprocess.run(
        [*command, "warc", "--prefix", "X", "http://www.dr.dk/"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    (path,) = tmp_path.glob("X*.warc.gz")
    bodies = [
        record.content_stream().read()
        for record in ArchiveIterator(path.open("rb"))
        if record.rec_type == "response"
    ]
    assert bodies == [b"0", b"1", b"2"]
