"""Harvesting from others by OAI-PMH: what is taken, what is refused, and repositories that lie.

Sections are those of The Open Archives Initiative Protocol for Metadata Harvesting 2.0. The first
test harvests a running resolver; the others a repository whose answers are written here.
"""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.server.deployment import deployed, resource, text
from tests.upkeep.harvested import (
    NOW,
    OAI,
    Repository,
    count,
    frame,
    read,
    run,
    write_map,
)

from perdure.cli import exits
from perdure.errors import InvalidRequest, Unavailable
from perdure.ids import parse
from perdure.model.commands import Bind, Withdraw
from perdure.model.records import Location
from perdure.registry import Registry
from perdure.upkeep.harvesting.maps import MapMalformed, read_map
from perdure.upkeep.harvesting.pages import PageMalformed, read_page
from perdure.upkeep.harvesting.state import FILE

PERDURE = [sys.executable, "-m", "perdure.cli"]
DC = "http://www.openarchives.org/OAI/2.0/oai_dc/"


def write_record(name: str, *identifiers: str, title: str = "A title") -> str:
    """A record in Dublin Core."""
    said = "".join(f"<dc:identifier>{one}</dc:identifier>" for one in identifiers)
    return (
        f"<record><header><identifier>{name}</identifier><datestamp>{NOW}</datestamp></header>"
        f'<metadata><oai_dc:dc xmlns:oai_dc="{DC}" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:title>{title}</dc:title>{said}</oai_dc:dc></metadata></record>"
    )


def write_deleted(name: str) -> str:
    return (
        f'<record><header status="deleted"><identifier>{name}</identifier>'
        f"<datestamp>{NOW}</datestamp></header></record>"
    )


def write_list(*records: str, token: str = "") -> bytes:
    end = f"<resumptionToken>{token}</resumptionToken>" if token else ""
    return frame(f"<ListRecords>{''.join(records)}{end}</ListRecords>")


def test_a_resolver_is_harvested_whole_then_what_changed(
    tmp_path: Path, local_registry: Path
) -> None:
    """Section 2.5.1: deleted records; section 2.7.1: selective harvesting by datestamps."""
    with deployed(tmp_path / "origin") as origin:
        names = [f"doi:10.5555/{number}" for number in range(120)]  # more than a page
        for name in names:
            origin.bind(name, f"https://a.example/{name[4:]}")
        url = f"{origin.base}/oai"
        assert count(run(local_registry, url)) == (120, 0, 0)
        record = read(local_registry, names[3])
        assert [one.uri for one in record.locations] == [f"{origin.base}/{names[3]}"]
        assert record.about.titles == () or record.about.titles[0].value
        whole = next(one.content for one in record.attached if one.format == "oai")
        assert origin.get(
            f"/oai?verb=GetRecord&metadataPrefix=oai_dc&identifier={names[3]}"
        ).body.count(b"<dc:identifier>") == whole.count(b"<dc:identifier>")

        origin.do(Withdraw(identifier=parse(names[3]), reason="gone"))
        origin.bind(names[4], "https://b.example/4")
        done = run(local_registry, url)
        assert json.loads(done.stdout)["deleted"] == 1
    gone = read(local_registry, names[3])
    assert gone.tombstone is not None
    assert gone.tombstone.silent
    assert read(local_registry, names[5]).revision == 1


def test_a_killed_harvest_goes_on_and_takes_nothing_twice(
    repository: Repository, local_registry: Path
) -> None:
    """`kill -9` while each page is asked for: nothing is lost, and no record is changed again."""
    for page in range(4):
        records = [
            write_record(f"oai:r:{page}-{at}", f"doi:10.5555/{page}-{at}") for at in range(3)
        ]
        token = f"t{page + 1}" if page < 3 else ""
        repository.pages[f"t{page}" if page else ""] = write_list(*records, token=token)
    for killed_at in ("t1", "t2", "t3"):
        _kill_at(repository, local_registry, killed_at)
    assert count(run(local_registry, repository.url)) == (3, 0, 0)  # only the last page is left
    assert sum("metadataPrefix" in asked for asked in repository.asked) == 1
    for page in range(4):
        for at in range(3):
            assert read(local_registry, f"doi:10.5555/{page}-{at}").revision == 1
    # the next one begins at the time of the first answer of the list
    repository.pages[""] = frame('<error code="noRecordsMatch"/>')
    assert count(run(local_registry, repository.url)) == (0, 0, 0)
    assert repository.asked[-1]["from"] == NOW


def _kill_at(repository: Repository, local_registry: Path, token: str) -> None:
    """Kill a harvest when it asks for a page."""
    process: list[subprocess.Popen[bytes]] = []
    ready = threading.Event()

    def kill() -> None:
        ready.wait()
        process[0].send_signal(signal.SIGKILL)
        process[0].wait()

    repository.on_token[token] = kill
    command = [*PERDURE, "-C", str(local_registry), "harvest", repository.url]
    process.append(subprocess.Popen(command, stderr=subprocess.DEVNULL))
    ready.set()
    assert process[0].wait(300) == -signal.SIGKILL


def test_a_page_that_was_taken_but_not_recorded_is_taken_again(
    repository: Repository, local_registry: Path
) -> None:
    records = [write_record(f"oai:r:{at}", f"doi:10.5555/{at}") for at in range(5)]
    repository.pages[""] = write_list(*records, write_deleted("oai:r:77"))
    assert count(run(local_registry, repository.url)) == (5, 0, 0)
    (local_registry / FILE).unlink()
    repository.pages[""] = write_list(*records[1:], write_deleted("oai:r:0"))
    assert count(run(local_registry, repository.url)) == (4, 1, 0)  # what it brought is found again
    assert read(local_registry, "doi:10.5555/1").revision == 1
    assert read(local_registry, "doi:10.5555/0").tombstone is not None
    assert count(run(local_registry, repository.url, "--again")) == (4, 0, 0)


def test_a_harvest_changes_only_what_it_brought(
    repository: Repository, local_registry: Path
) -> None:
    with Registry(local_registry) as registry:
        name, location = parse("doi:10.5555/ours"), Location(uri="https://a.example/")
        registry.door.execute_command(Bind(identifier=name, locations=(location,), register=True))
    repository.pages[""] = write_list(
        write_record("oai:r:1", "doi:10.5555/ours", "https://evil.example/"),
        write_record("oai:r:2", "pdi://a.example.us/1999/01/01/1", "https://evil.example/"),
        write_record("oai:r:3", "Journal of Tests, 7"),
        write_record("oai:r:4", "https://b.example/4", "doi:10.5555/4", title="Four"),
        write_record("oai:r:5", "doi:10.5555/4", "https://evil.example/"),
        write_record("oai:r:6", "doi:10.6666/6"),
    )
    done = run(local_registry, repository.url, "--only", "doi:10.5555/*", code=exits.FINDINGS)
    assert count(done) == (1, 0, 3)
    assert json.loads(done.stdout)["skipped"] == 2  # the second and the sixth: not of --only
    told = {one["record"]: one for one in map(json.loads, done.stderr.splitlines())}
    assert {name: one["code"] for name, one in told.items()} == {
        "oai:r:1": "conflict",
        "oai:r:3": "invalid-request",
        "oai:r:5": "invalid-request",
    }
    taken = read(local_registry, "doi:10.5555/4")
    assert [one.uri for one in taken.locations] == ["https://b.example/4"]
    assert taken.about.titles[0].value == "Four"
    assert read(local_registry, "pdi://a.example.us/1999/01/01/1") is None
    done = run(local_registry, repository.url, "--again", code=exits.FINDINGS)
    assert "assigned by this registry" in done.stderr
    repository.pages[""] = write_list(write_deleted("oai:r:1"), write_deleted("doi:10.5555/ours"))
    assert count(run(local_registry, repository.url)) == (0, 0, 0)
    assert read(local_registry, "doi:10.5555/ours").tombstone is None


def test_a_harvest_of_some_names_skips_the_others(
    repository: Repository, tmp_path: Path, local_registry: Path
) -> None:
    """Records, links and documents alike: a name outside `--only` is no fault."""
    repository.pages[""] = write_list(
        write_record("oai:r:1", "doi:10.5555/1", "https://a.example/1"),
        write_record("oai:r:2", "doi:10.6666/2", "https://a.example/2"),
    )
    done = run(local_registry, repository.url, "--only", "doi:10.5555/*")
    assert json.loads(done.stdout) == {"taken": 1, "deleted": 0, "skipped": 1, "refused": 0}
    with deployed(tmp_path / "origin") as origin:
        first, second = (origin.mint(text(word)) for word in (b"first", b"second"))
        url = f"{origin.base}/.well-known/resourcesync"
        for way in ("links", "documents"):
            done = run(local_registry, url, "--as", way, "--only", str(resource(first)))
            expected = {"taken": 1, "deleted": 0, "skipped": 1, "refused": 0}
            assert json.loads(done.stdout) == expected, way
    assert read(local_registry, first) is not None
    assert read(local_registry, second) is None


def test_links_have_an_address_and_no_description(
    repository: Repository, local_registry: Path
) -> None:
    repository.pages[""] = write_list(
        write_record(
            "oai:r:1", "doi:10.5555/1", "https://doi.org/10.5555/1", "https://b.example/1"
        ),
        write_record("oai:r:2", "doi:10.5555/2"),
    )
    done = run(local_registry, repository.url, "--as", "links", code=exits.FINDINGS)
    assert count(done) == (1, 0, 1)
    record = read(local_registry, "doi:10.5555/1")
    assert ([one.uri for one in record.locations], record.about, record.attached) == (
        ["https://b.example/1"], None, (),
    )  # fmt: skip


def test_a_busy_repository_is_asked_again_when_it_says(
    repository: Repository, local_registry: Path
) -> None:
    repository.pages[""] = write_list(write_record("oai:r:1", "doi:10.5555/1"))
    repository.busy = [(503, {"Retry-After": "1"}, b"")]
    assert count(run(local_registry, repository.url)) == (1, 0, 0)
    repository.busy = [(429, {"Retry-After": "3600"}, b"")]
    done = run(local_registry, repository.url, code=exits.CODES[Unavailable])
    assert "3600 seconds" in done.stderr


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (write_list(write_record("oai:r:1", "doi:10.5555/1"))[:-30], "not XML"),
        (b"<html><body>It works</body></html>", "its root is"),
        (
            b'<!DOCTYPE a [<!ENTITY b "c">]><OAI-PMH xmlns="%s">&b;</OAI-PMH>' % OAI.encode(),
            "document type",
        ),
        (frame(f"<ListRecords>{write_record('', 'doi:10.5555/1')}</ListRecords>"), "no identifier"),
        (frame("<ListRecords><record><metadata/></record></ListRecords>"), "no header"),
        (b"<OAI-PMH xmlns='%s'>" % OAI.encode() + b"<a>" * 10_000, "nested"),
        (frame(f"<ListRecords><resumptionToken>{'x' * 9000}</resumptionToken></ListRecords>"),
         "longer than"),
        (b"\xff\xfe\x00", "not XML"),
    ],
    ids=["half", "page", "entities", "nameless", "headless", "deep", "long-token", "noise"],
)  # fmt: skip
def test_answers_that_are_no_pages_are_refused(body: bytes, said: str) -> None:
    with pytest.raises(PageMalformed) as found:
        read_page(body)
    assert said in str(found.value)


def test_repositories_that_lie_end_the_harvest_and_leave_nothing(
    repository: Repository, local_registry: Path
) -> None:
    unavailable = exits.CODES[Unavailable]
    one = write_record("oai:r:1", "doi:10.5555/1")
    repository.pages[""] = write_list(one, token="t1")
    repository.pages["t1"] = write_list(one, token="t1")
    assert "same resumption token" in run(local_registry, repository.url, code=unavailable).stderr
    repository.pages = {"": frame(f"<ListRecords>{one}</ListRecords>", at="yesterday")}
    assert "no time" in run(local_registry, repository.url, "--again", code=unavailable).stderr
    repository.busy = [(302, {"Location": "http://169.254.169.254/oai"}, b"")]
    done = run(local_registry, repository.url, code=exits.CODES[InvalidRequest])
    assert "169.254.169.254" in done.stderr
    half = write_list(one)
    repository.pages[""] = half
    repository.busy = [(200, {"Content-Length": str(len(half) + 9)}, half)]  # then the whole page
    assert count(run(local_registry, repository.url)) == (1, 0, 0)
    assert list((local_registry / "incoming").iterdir()) == []


# sitemaps and ResourceSync
# -------------------------


def test_lists_of_resourcesync_become_links_with_digests(
    tmp_path: Path, local_registry: Path
) -> None:
    """ANSI/NISO Z39.99-2017: section 10 (resource list), section 12 (change list)."""
    with deployed(tmp_path / "origin") as origin:
        first, second = (origin.mint(text(word)) for word in (b"first", b"second"))
        url = f"{origin.base}/.well-known/resourcesync"
        assert count(run(local_registry, url)) == (2, 0, 0)
        record = read(local_registry, first)
        location = record.locations[0]
        assert location.uri == f"{origin.base}/{first}"
        assert (location.sha512, location.size) == (hashlib.sha512(b"first").hexdigest(), 5)
        assert record.about is None

        origin.do(Withdraw(identifier=parse(first).resource, reason="gone"))
        third = origin.commit(resource(second), text(b"more"))
        done = run(local_registry, url)
        assert count(done)[1:] == (1, 0)
    assert read(local_registry, first).tombstone is not None
    bound = {one.uri for one in read(local_registry, third).locations}
    assert bound == {f"{origin.base}/{second}", f"{origin.base}/{third}"}


def test_an_index_of_sitemaps_goes_on_with_the_part_that_was_not_taken(
    repository: Repository, local_registry: Path
) -> None:
    base = repository.url.removesuffix("/oai")
    parts = [f"{base}/part{at}.xml" for at in range(3)]
    index = "".join(f"<sitemap><loc>{one}</loc></sitemap>" for one in parts)
    repository.paths = {"/sitemap.xml": write_map("sitemapindex", index)} | {
        f"/part{at}.xml": write_map(
            "urlset",
            f"<url><loc>{base}/doi:10.5555/{at}?landing</loc></url>"
            f"<url><loc>{base}/about</loc></url>",
        )
        for at in range(3)
    }
    whole = repository.paths["/part2.xml"]
    repository.paths["/part2.xml"] = b"<urlset>"
    url = f"{base}/sitemap.xml"
    done = run(local_registry, url, code=exits.CODES[Unavailable])
    assert "not <urlset>" in done.stderr
    repository.paths["/part2.xml"] = whole
    done = run(local_registry, url, code=exits.FINDINGS)
    assert count(done) == (1, 0, 1)  # the last part only
    assert "no identifier" in done.stderr
    assert [read(local_registry, f"doi:10.5555/{at}").revision for at in range(3)] == [1, 1, 1]
    away = "<sitemap><loc>http://10.0.0.1/x.xml</loc></sitemap>"
    repository.paths["/sitemap.xml"] = write_map("sitemapindex", away)
    done = run(local_registry, url, code=exits.CODES[Unavailable])
    assert "another host" in done.stderr


@pytest.mark.parametrize(
    "body",
    [b"", b"<html/>", b"\x1f\x8bno", b"<urlset/>",
     b'<!DOCTYPE a><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"/>',
     b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url></url></urlset>',
     b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>a</loc></url>'],
    ids=["empty", "page", "gzip", "namespace", "doctype", "address", "half"],
)  # fmt: skip
def test_maps_that_are_none_are_refused(body: bytes) -> None:
    with pytest.raises(MapMalformed):
        read_map(body)
