"""Sitemaps, robots.txt and ResourceSync. `resync`, not ours, copies all documents."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.robotparser import RobotFileParser

import pytest
from lxml import etree
from tests.server.deployment import SERIES, Deployment, deployed, problem, text

from perdure.ids import parse
from perdure.model.commands import Restrict, Withdraw
from perdure.model.reading_rules import Access, ReadingRule
from perdure.server.apis import sitemaps

RESYNC = Path(__file__).parents[2] / ".peers" / "bin" / "resync-sync"
MAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
RS = "{http://www.openarchives.org/rs/terms/}"


def read(site: Deployment, path: str) -> Any:
    answer = site.get(path)
    assert (answer.status, answer.headers["content-type"]) == (200, "application/xml")
    return etree.fromstring(answer.body)


def list_addresses(root: Any) -> list[str]:
    return [one.text for one in root.iter(f"{MAP}loc")]


@pytest.fixture(scope="module")
def names(site: Deployment) -> dict[str, str]:
    found = {word: str(site.mint(text(word.encode()))) for word in ("one", "two", "closed", "gone")}
    generic = {word: str(parse(name).resource) for word, name in found.items()}
    site.commit(generic["one"], text(b"one again"))
    site.do(Restrict(rule=ReadingRule(about=generic["closed"], access=Access.CLOSED)))
    site.do(Withdraw(identifier=parse(generic["gone"]), reason="wrong"))
    return generic


def test_a_sitemap_lists_the_pages_that_the_public_may_read(
    site: Deployment, names: dict[str, str]
) -> None:
    found = list_addresses(read(site, "/sitemap.xml"))
    assert f"{site.base}/{names['one']}?landing" in found
    for word in ("closed", "gone"):
        assert not any(names[word] in one for one in found)
    for one in found:
        assert site.get(one.removeprefix(site.base)).status == 200


def test_crawlers_find_the_sitemap_and_leave_interfaces_alone(site: Deployment) -> None:
    robots = RobotFileParser()
    robots.parse(site.get("/robots.txt").body.decode().splitlines())
    assert robots.site_maps() == [f"{site.base}/sitemap.xml"]
    assert not robots.can_fetch("x", f"{site.base}/oai?verb=ListRecords&metadataPrefix=oai_dc")
    assert robots.can_fetch("x", f"{site.base}/pdi://{SERIES}/1997/09/01/1?landing")


def test_the_lists_lead_to_one_another(site: Deployment, names: dict[str, str]) -> None:
    """Section 8: "a Source Description … MUST point to … Capability Lists"."""
    source = read(site, "/.well-known/resourcesync")
    assert source.find(f"{RS}md").get("capability") == "description"
    (capabilities,) = list_addresses(source)
    root = read(site, capabilities.removeprefix(site.base))
    kinds = [one.find(f"{RS}md").get("capability") for one in root.iter(f"{MAP}url")]
    assert kinds == ["resourcelist", "changelist", "resourcedump", "changedump"]
    for kind, there in zip(kinds, list_addresses(root), strict=True):
        listed = read(site, there.removeprefix(site.base))
        assert listed.find(f"{RS}md").get("capability") == kind


def test_resources_have_the_digests_of_their_bytes(site: Deployment, names: dict[str, str]) -> None:
    root = read(site, "/resourcesync/resourcelist.xml")
    seen = set()
    for one in root.iter(f"{MAP}url"):
        there, said = one.find(f"{MAP}loc").text, one.find(f"{RS}md")
        body = site.get(there.removeprefix(site.base)).body
        assert said.get("hash") == f"sha-512:{hashlib.sha512(body).hexdigest()}"
        assert said.get("length") == str(len(body))
        seen.add(there.removeprefix(f"{site.base}/"))
    assert {f"{names['one']}.text.1", f"{names['one']}.text.2"} <= seen
    assert not any(one.startswith((names["closed"], names["gone"])) for one in seen)


def test_changes_tell_what_is_gone(site: Deployment, names: dict[str, str]) -> None:
    root = read(site, "/resourcesync/changelist.xml")
    assert root.find(f"{RS}md").get("from")
    rows = [
        (one.find(f"{MAP}loc").text.removeprefix(f"{site.base}/"), one.find(f"{RS}md"))
        for one in root.iter(f"{MAP}url")
    ]
    said = {name: md.get("change") for name, md in rows}
    assert said[f"{names['gone']}.text.1"] == "deleted"
    assert said[f"{names['one']}.text.2"] == "created"
    assert not any(name.startswith(names["closed"]) for name in said)
    times = [md.get("datetime") for _, md in rows]
    assert all(times)


def test_a_long_list_has_parts(site: Deployment, names: dict[str, str]) -> None:
    harvest = site.registry.harvest
    runs = harvest.list_runs(2, 100)
    assert len(runs) > 1
    ends = [*runs[1:], None]
    parts = [harvest.list_range(low, end, limit=10) for low, end in zip(runs, ends, strict=True)]
    listed = [str(one.identifier) for part in parts for one in part]
    assert len(listed) == len(set(listed))
    assert len(listed) == len(list_addresses(read(site, "/sitemap.xml")))


@pytest.mark.parametrize("path", [sitemaps.SITEMAP, sitemaps.RESOURCES])
def test_parts_that_do_not_exist(site: Deployment, path: str) -> None:
    assert list_addresses(read(site, f"{path}?part=99")) == []
    for wrong in ("x", "-1", "1000000", "%00", ""):
        problem(site.get(f"{path}?part={wrong}"), 400, "invalid-request")


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Deployment]:
    with deployed(tmp_path / "registry") as running:
        yield running


def test_resync_copies_everything(fresh: Deployment, tmp_path: Path) -> None:
    if not RESYNC.exists():
        pytest.skip("resync is not installed (make test installs it)")
    for word in ("one", "two", "three"):
        fresh.mint(text(word.encode()))
    copy = tmp_path / "copy"
    there = f"{fresh.base}{sitemaps.RESOURCES}"
    words = [str(RESYNC), "--baseline", "--noauth", "--sitemap", there, f"{fresh.base}/", str(copy)]
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    held = sorted(one.read_text() for one in copy.rglob("*") if one.is_file())
    assert held == ["one", "three", "two"], done.stdout + done.stderr
