"""Our own format for harvesters: the public record whole, valid, and harvested back."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lxml import etree
from tests.server.deployment import SERIES, Deployment, deployed, text
from tests.server.test_oai import OAI, Repository, mint

from perdure.ids import parse
from perdure.metadata.public_xml import NAMESPACE, read_public_record
from perdure.model.about import About
from perdure.model.commands import Restrict, Withdraw
from perdure.model.public_records import PublicRecord
from perdure.model.reading_rules import Access, ReadingRule
from perdure.registry import Registry, initialise
from perdure.upkeep.harvesting.pages import cut_metadata

PERDURE = [sys.executable, "-m", "perdure.cli"]
DIGEST = hashlib.sha512(b"promised").hexdigest()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with deployed(tmp_path_factory.mktemp("public") / "registry") as running:
        yield running


def run(root: Path, *words: str, given: str = "") -> str:
    done = subprocess.run(
        [*PERDURE, "-C", str(root), *words], input=given, capture_output=True, text=True, check=True
    )
    return done.stdout


def load(site: Deployment, **fields: Any) -> str:
    """Import one line, and return its name."""
    run(site.root, "import", "-", given=json.dumps(fields) + "\n")
    return str(fields["id"])


def read(site: Deployment, name: str) -> PublicRecord:
    """The record as a harvester gets it, valid by the schema that the server serves."""
    root = Repository(site).ask(verb="GetRecord", identifier=name, metadataPrefix="perdure")
    (record,) = root.find(f".//{OAI}metadata")
    assert record.tag == f"{{{NAMESPACE}}}record"
    served = record.get("{http://www.w3.org/2001/XMLSchema-instance}schemaLocation").split()[1]
    answer = site.get(served.removeprefix(site.base))
    assert (answer.status, answer.headers["content-type"]) == (200, "application/xml")
    etree.XMLSchema(etree.fromstring(answer.body)).assertValid(record)
    return read_public_record(etree.tostring(record))


@pytest.fixture(scope="module")
def handle(site: Deployment) -> str:
    """A name with everything that a line can have and that has no bytes."""
    return load(
        site,
        id="hdl:20.500.9999/whole",
        locations=[
            {"uri": "https://a.example/w", "language": "de", "region": "AT", "weight": 3},
            {
                "uri": "https://b.example/w",
                "sha512": DIGEST,
                "size": 8,
                "valid_until": "2999-01-01",
            },
        ],
        metadata={"note": "two\nlines & <marks>"},
        aliases=["doi:10.9999/whole"],
        about={"titles": [{"value": "Whole", "language": "en"}], "year": "1997"},
        attached=[{"format": "cmdi", "media_type": "application/xml", "content": "PGEvPg=="}],
        values=[
            {"index": 7, "type": "EMAIL", "data": "keeper@a.example"},
            {"index": 8, "type": "NOTE", "data": "nobody may read", "permissions": "1100"},
        ],
    )


def test_the_record_has_all_that_is_public(site: Deployment, handle: str) -> None:
    public = read(site, handle)
    assert (public.identifier, public.url) == (handle, f"{site.base}/{handle}")
    assert [one.uri for one in public.locations] == ["https://a.example/w", "https://b.example/w"]
    first, second = public.locations
    assert (first.language, first.region, first.weight) == ("de", "AT", 3)
    assert (second.sha512, second.size, second.valid_until) == (DIGEST, 8, "2999-01-01")
    assert [(one.name, one.value) for one in public.pairs] == [("note", "two\nlines & <marks>")]
    assert public.aliases == ("doi:10.9999/whole",)
    assert public.about is not None
    assert (public.about.title, public.about.year) == ("Whole", "1997")
    assert [(one.format, one.content) for one in public.attachments] == [("cmdi", b"<a/>")]
    assert [(one.index, one.data) for one in public.values] == [(7, "keeper@a.example")]


def test_versions_and_formats_have_their_bytes(site: Deployment) -> None:
    first, second = "Grüße".encode("latin-1"), b"again"
    name = mint(site, "first", metadata={"title": "T"})
    site.commit(name, text(first, charset="iso-8859-1", language="de"))
    site.commit(name, text(second))
    site.do(Withdraw(identifier=parse(name), version=1, reason="a mistake"))
    public = read(site, name)
    assert [one.number for one in public.versions] == [1, 2, 3]
    gone, changed, last = public.versions
    assert gone.withdrawn is not None
    assert gone.withdrawn.reason == "a mistake"
    assert [(one.url, one.sha512, one.length) for one in gone.formats] == [("", "", None)]
    (held,) = changed.formats
    assert (held.media_type, held.charset, held.language) == ("text/plain", "iso-8859-1", "de")
    assert (held.length, held.sha512) == (len(first), hashlib.sha512(first).hexdigest())
    assert site.get(held.url.removeprefix(site.base)).body == first
    assert last.formats[0].sha512 == hashlib.sha512(second).hexdigest()


def test_nothing_that_is_closed_is_told(site: Deployment) -> None:
    name = mint(site, "open")
    site.commit(name, text(b"closed"))
    site.do(Restrict(rule=ReadingRule(about=f"{name}.text.2", access=Access.CLOSED)))
    public = read(site, name)
    digests = {one.sha512 for version in public.versions for one in version.formats}
    assert hashlib.sha512(b"closed").hexdigest() not in digests
    closed = mint(site, "all closed")
    site.do(Restrict(rule=ReadingRule(about=closed, access=Access.CLOSED)))
    asked = {"verb": "GetRecord", "identifier": closed, "metadataPrefix": "perdure"}
    assert Repository(site).fail(**asked) == "idDoesNotExist"


def test_another_perdure_harvests_it_with_nothing_public_lost(
    site: Deployment, handle: str, tmp_path: Path
) -> None:
    """Harvesting what is listed gives the same public record."""
    body = b"harvested bytes"
    name = str(parse(site.mint(text(body), metadata={"title": "Bytes"})).resource)
    initialise(tmp_path / "there", series=("there.a.us",))
    (tmp_path / "there" / "perdure.toml").open("a").write('private_networks = ["127.0.0.1/32"]\n')
    run(tmp_path / "there", "harvest", f"{site.base}/oai", "--prefix", "perdure")
    with Registry(tmp_path / "there") as registry:
        for one in (handle, name):
            record = registry.records.find_record(parse(one).key)
            assert record is not None
            (whole,) = [each.content for each in record.attached if each.format == "oai"]
            public = read(site, one)
            assert read_public_record(cut_metadata(whole.decode(), "record").encode()) == public
            assert (record.about or About()) == (public.about or About())
            pairs = {each.name: each.value for each in public.pairs}
            assert pairs.items() <= record.metadata.items()
            assert set(public.locations) <= set(record.locations)
            assert {each.format for each in public.attachments} < {
                each.format for each in record.attached
            }
            assert not record.aliases
            assert not [each for each in record.values if each.type == "EMAIL"]
            held = {each.uri: each for each in record.locations}
            for version in public.versions:
                for each in version.formats:
                    place = held[each.url]
                    assert (place.sha512, place.size) == (each.sha512, each.length)
                    assert (place.version, place.format) == (version.number, each.format)
    assert name.startswith(f"pdi://{SERIES}/")
    assert "0 refused" in _harvest_again(tmp_path / "there", site)


def _harvest_again(root: Path, site: Deployment) -> str:
    words = ("harvest", f"{site.base}/oai", "--prefix", "perdure", "--again")
    done = subprocess.run([*PERDURE, "-C", str(root), *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr
