"""OAI-PMH 2.0 over `/oai`: the six verbs, dates, sets, tokens, deleted records, and its errors.

Sections are those of The Open Archives Initiative Protocol for Metadata Harvesting 2.0. Sickle,
another's client, harvests the same repository.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from lxml import etree
from tests.server.deployment import SERIES, Deployment, deployed, text

import perdure
from perdure.ids import parse
from perdure.metadata import dublin_core, public_xml
from perdure.metadata.datacite_words import NAMESPACE as DATACITE
from perdure.metadata.xml_text import validate_record
from perdure.model.commands import Restrict, Withdraw
from perdure.model.reading_rules import Access, ReadingRule
from perdure.server.apis.oai.requests import read_request
from perdure.upkeep.collection.public_collections import PublicCollections
from perdure.upkeep.indexing import open_memberships

PYTHON = Path(__file__).parents[2] / ".peers" / "bin" / "python"
OFFICIAL = Path(__file__).parents[2] / ".peers" / "OAI-PMH.xsd"
SCHEMAS = Path(perdure.__file__).parent / "metadata" / "schemas"
PERDURE = [sys.executable, "-m", "perdure.cli"]
OAI = "{http://www.openarchives.org/OAI/2.0/}"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    place = tmp_path_factory.mktemp("oai") / "registry"
    with deployed(place, contact="keeper@archive.example") as running:
        yield running


@cache
def load_official_schema() -> Any:
    """The protocol's own XML Schema with those of the metadata; None if it is not installed."""
    if not OFFICIAL.exists():
        return None
    ours = Path(tempfile.mkdtemp()) / "perdure.xsd"
    ours.write_bytes(public_xml.write_record_schema())
    imported = {
        OAI: OFFICIAL,
        f"{{{dublin_core.NAMESPACE}}}": SCHEMAS / "oai_dc.xsd",
        f"{{{DATACITE}}}": SCHEMAS / "datacite-4.7.xsd",
        f"{{{public_xml.NAMESPACE}}}": ours,
    }
    lines = (
        f'<import namespace="{space.strip("{}")}" schemaLocation="{file}"/>'
        for space, file in imported.items()
    )
    text = f'<schema xmlns="http://www.w3.org/2001/XMLSchema">{"".join(lines)}</schema>'
    return etree.XMLSchema(etree.fromstring(text))


class Repository:
    """A deployment that is harvested, and the names in it."""

    def __init__(self, site: Deployment) -> None:
        self.site = site

    def ask(self, **arguments: str) -> Any:
        """Ask, and return the root of the answer."""
        answer = self.site.get(f"/oai?{urlencode(arguments)}")
        assert (answer.status, answer.headers["content-type"]) == (200, "text/xml; charset=utf-8")
        root: Any = etree.fromstring(answer.body)
        official = load_official_schema()
        if official is not None:
            official.assertValid(root)
        assert root.find(f"{OAI}responseDate").text.endswith("Z")
        assert root.find(f"{OAI}request").text == f"{self.site.base}/oai"
        return root

    def fail(self, **arguments: str) -> str:
        """Ask, and return the code of the error."""
        return str(self.ask(**arguments).find(f"{OAI}error").get("code"))

    def list_headers(self, **arguments: str) -> list[Any]:
        """List all headers, page by page."""
        found: list[Any] = []
        asked = {"verb": "ListIdentifiers", "metadataPrefix": "oai_dc", **arguments}
        while True:
            root = self.ask(**asked)
            found += root.iter(f"{OAI}header")
            token = root.find(f".//{OAI}resumptionToken")
            if token is None or not token.text:
                return found
            asked = {"verb": asked["verb"], "resumptionToken": token.text}


@pytest.fixture(scope="module")
def repository(site: Deployment) -> Repository:
    return Repository(site)


def mint(site: Deployment, words: str, **fields: Any) -> str:
    """Mint a document, and return the name of the resource."""
    return str(parse(site.mint(text(words.encode()), **fields)).resource)


def name_of(header: Any) -> str:
    return str(header.find(f"{OAI}identifier").text)


def test_identify_says_who_keeps_the_records(repository: Repository) -> None:
    mint(repository.site, "first")
    identity = repository.ask(verb="Identify").find(f"{OAI}Identify")
    said = {one.tag.removeprefix(OAI): one.text for one in identity}
    assert said["protocolVersion"] == "2.0"
    assert said["baseURL"] == f"{repository.site.base}/oai"
    assert said["adminEmail"] == "keeper@archive.example"
    assert said["deletedRecord"] == "persistent"
    assert said["granularity"] == "YYYY-MM-DDThh:mm:ssZ"
    assert said["earliestDatestamp"] <= min(
        one.find(f"{OAI}datestamp").text for one in repository.list_headers()
    )


def test_every_harvestable_name_is_listed_once(repository: Repository) -> None:
    site = repository.site
    minted = {mint(site, f"number {number}") for number in range(7)}
    site.bind("doi:10.9999/report", "https://example.org/report")
    reserved = str(parse(site.mint()).resource)
    names = [name_of(one) for one in repository.list_headers()]
    assert len(names) == len(set(names))
    assert minted | {"doi:10.9999/report"} <= set(names)
    assert reserved not in names  # it leads to nothing yet


def test_a_changed_record_moves_to_its_new_date(repository: Repository) -> None:
    """The datestamp is that of creation, modification or deletion (section 2.5)."""
    site = repository.site
    name = mint(site, "before")
    (header,) = [one for one in repository.list_headers() if name_of(one) == name]
    time.sleep(1.1)
    site.commit(name, text(b"after"))
    late = mint(site, "later still")
    headers = {name_of(one): one for one in repository.list_headers()}
    dates = {one: headers[one].find(f"{OAI}datestamp").text for one in (name, late)}
    assert header.find(f"{OAI}datestamp").text < dates[name] <= dates[late]
    since = {name_of(one) for one in repository.list_headers(**{"from": dates[name]})}
    assert {name, late} <= since
    before = header.find(f"{OAI}datestamp").text
    assert name not in {name_of(one) for one in repository.list_headers(until=before)}


def test_dates_include_both_ends(repository: Repository) -> None:
    """Both bounds are inclusive, and may be days (section 2.7.1)."""
    name = mint(repository.site, "inclusive")
    root = repository.ask(verb="GetRecord", identifier=name, metadataPrefix="oai_dc")
    at = root.find(f".//{OAI}datestamp").text
    found = repository.list_headers(**{"from": at, "until": at})
    assert name in {name_of(one) for one in found}
    day = at[:10]
    assert name in {name_of(one) for one in repository.list_headers(**{"from": day, "until": day})}


def test_records_are_valid_in_both_formats(repository: Repository) -> None:
    name = mint(repository.site, "described", metadata={"title": "A <short> report & more"})
    for prefix, schema, tag in (
        ("oai_dc", "oai_dc.xsd", f"{{{dublin_core.NAMESPACE}}}dc"),
        ("datacite", "datacite-4.7.xsd", f"{{{DATACITE}}}resource"),
    ):
        root = repository.ask(verb="GetRecord", identifier=name, metadataPrefix=prefix)
        (record,) = root.find(f".//{OAI}metadata")
        assert record.tag == tag
        validate_record(record, prefix, schema)
        assert "A <short> report & more" in " ".join(record.itertext())
        listed = repository.ask(verb="ListRecords", metadataPrefix=prefix)
        for one in listed.iter(tag):
            validate_record(one, prefix, schema)


def test_a_withdrawn_record_stays_as_deleted(repository: Repository) -> None:
    """A deleted record has a header with a status, and no metadata (section 2.5.1)."""
    site = repository.site
    name = mint(site, "to be withdrawn", metadata={"title": "Do not tell"})
    site.do(Withdraw(identifier=parse(name), reason="a mistake"))
    root = repository.ask(verb="GetRecord", identifier=name, metadataPrefix="oai_dc")
    record = root.find(f"{OAI}GetRecord/{OAI}record")
    assert record.find(f"{OAI}header").get("status") == "deleted"
    assert record.find(f"{OAI}metadata") is None
    assert "Do not tell" not in etree.tostring(root).decode()
    states = {name_of(one): one.get("status") for one in repository.list_headers()}
    assert states[name] == "deleted"


def test_a_closed_record_is_not_told(repository: Repository) -> None:
    site = repository.site
    name = mint(site, "closed", metadata={"title": "Closed title"})
    site.do(Restrict(rule=ReadingRule(about=name, access=Access.CLOSED)))
    assert name not in {name_of(one) for one in repository.list_headers()}
    got = repository.fail(verb="GetRecord", identifier=name, metadataPrefix="oai_dc")
    assert got == repository.fail(
        verb="GetRecord", identifier=f"pdi://{SERIES}/1994/01/01/1", metadataPrefix="oai_dc"
    )
    assert got == "idDoesNotExist"


def test_sets_follow_schemes_authorities_and_years(repository: Repository) -> None:
    site = repository.site
    name = mint(site, "in a set")
    year = parse(name).assigned_on[:4]  # type: ignore[index]
    site.bind("hdl:20.500.12345/in-a-set", "https://example.org/set")
    listed = repository.ask(verb="ListSets")
    specs = [one.find(f"{OAI}setSpec").text for one in listed.iter(f"{OAI}set")]
    mine = f"pdi:{SERIES}:{year}"
    assert {"pdi", f"pdi:{SERIES}", mine, "hdl", "hdl:20.500.12345"} <= set(specs)
    assert specs.index("pdi") < specs.index(f"pdi:{SERIES}") < specs.index(mine)
    for spec in ("pdi", f"pdi:{SERIES}", mine):
        found = {name_of(one) for one in repository.list_headers(set=spec)}
        assert name in found
        assert all(one.startswith("pdi:") for one in found)
    assert [name_of(one) for one in repository.list_headers(set="hdl:20.500.12345")] == [
        "hdl:20.500.12345/in-a-set"
    ]
    assert repository.fail(verb="ListRecords", metadataPrefix="oai_dc", set="hdl:1") == (
        "noRecordsMatch"
    )


def test_tokens_give_every_record_once(repository: Repository) -> None:
    """The incomplete lists together are the complete list (section 3.5)."""
    site = repository.site
    lines = "".join(
        f'{{"id": "pdi://{SERIES}/1993/02/03/{number}.html.1", '
        f'"locations": ["https://example.org/{number}"]}}\n'
        for number in range(1, 1201)
    )
    path = site.root.parent / "lines.jsonl"
    path.write_text(lines)
    subprocess.run(
        [*PERDURE, "-C", str(site.root), "import", str(path)], check=True, capture_output=True
    )
    found = [name_of(one) for one in repository.list_headers(set=f"pdi:{SERIES}:1993")]
    assert len(found) == 1200 == len(set(found))
    whole = [name_of(one) for one in repository.list_headers()]
    assert len(whole) == len(set(whole))
    assert set(found) <= set(whole)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({}, "badVerb"),
        ({"verb": "Nothing"}, "badVerb"),
        ({"verb": "identify"}, "badVerb"),
        ({"verb": "Identify", "set": "pdi"}, "badArgument"),
        ({"verb": "ListRecords"}, "badArgument"),
        ({"verb": "GetRecord", "metadataPrefix": "oai_dc"}, "badArgument"),
        ({"verb": "ListRecords", "metadataPrefix": "marc21"}, "cannotDisseminateFormat"),
        ({"verb": "ListRecords", "metadataPrefix": "<oai_dc>"}, "badArgument"),
        ({"verb": "ListRecords", "metadataPrefix": "oai_dc", "set": "pdi:"}, "badArgument"),
        ({"verb": "ListRecords", "metadataPrefix": "oai_dc", "from": "1997"}, "badArgument"),
        ({"verb": "ListRecords", "metadataPrefix": "oai_dc", "from": "1997-02-30"}, "badArgument"),
        (
            {"verb": "ListRecords", "metadataPrefix": "oai_dc", "from": "1997-02-03T1:00:00Z"},
            "badArgument",
        ),
        (
            {
                "verb": "ListRecords",
                "metadataPrefix": "oai_dc",
                "from": "1997-02-03",
                "until": "1997-02-03T00:00:00Z",
            },
            "badArgument",
        ),
        (
            {
                "verb": "ListRecords",
                "metadataPrefix": "oai_dc",
                "from": "1997-02-04",
                "until": "1997-02-03",
            },
            "badArgument",
        ),
        (
            {"verb": "ListRecords", "metadataPrefix": "oai_dc", "from": "2999-01-01"},
            "noRecordsMatch",
        ),
        (
            {"verb": "ListRecords", "metadataPrefix": "oai_dc", "until": "1993-01-01"},
            "noRecordsMatch",
        ),
        ({"verb": "ListRecords", "resumptionToken": "x"}, "badResumptionToken"),
        ({"verb": "ListRecords", "resumptionToken": "é\x00"}, "badResumptionToken"),
        ({"verb": "ListRecords", "resumptionToken": "W10"}, "badResumptionToken"),
        ({"verb": "ListSets", "resumptionToken": "W10"}, "badResumptionToken"),
        (
            {"verb": "ListRecords", "resumptionToken": "x", "metadataPrefix": "oai_dc"},
            "badArgument",
        ),
        (
            {"verb": "GetRecord", "metadataPrefix": "oai_dc", "identifier": "no identifier"},
            "idDoesNotExist",
        ),
        (
            {"verb": "GetRecord", "metadataPrefix": "oai_dc", "identifier": "pdi://a.us/*"},
            "idDoesNotExist",
        ),
        ({"verb": "ListMetadataFormats", "identifier": "doi:10.1/unknown"}, "idDoesNotExist"),
    ],
)
def test_errors_are_those_of_the_protocol(
    repository: Repository, arguments: dict[str, str], code: str
) -> None:
    """Errors are elements of the answer, and repeat the arguments unless those are wrong (3.6)."""
    mint(repository.site, "something")
    root = repository.ask(**arguments)
    assert root.find(f"{OAI}error").get("code") == code
    repeated = dict(root.find(f"{OAI}request").attrib)
    if code in ("badVerb", "badArgument"):
        assert repeated == {}
    else:
        assert repeated["verb"] == arguments["verb"]


def test_an_argument_given_twice_is_refused(repository: Repository) -> None:
    answer = repository.site.get("/oai?verb=Identify&verb=Identify")
    assert b'<error code="badVerb">' in answer.body
    answer = repository.site.get("/oai?verb=ListSets&resumptionToken=a&resumptionToken=b")
    assert b'<error code="badArgument">' in answer.body


def test_a_form_asks_the_same(repository: Repository) -> None:
    """GET and POST have the same arguments (section 3.1.1)."""
    body = urlencode({"verb": "ListMetadataFormats"}).encode()
    kind = "Content-Type: application/x-www-form-urlencoded"
    answer = repository.site.ask("POST", "/oai", kind, body=body)
    assert answer.status == 200
    prefixes = etree.fromstring(answer.body).iter(f"{OAI}metadataPrefix")
    assert [one.text for one in prefixes] == ["oai_dc", "datacite", "perdure"]


@pytest.mark.parametrize(
    "text", ["%00", "<script>", "%ff%fe", "a" * 5000, "%EF%BF%BF", '"&\r\n', "\u202e"]
)
def test_hostile_arguments_stay_text(repository: Repository, text: str) -> None:
    escaped = text if text.isascii() and text.startswith("%") else quote(text)
    for verb in ("GetRecord", "ListRecords", escaped):
        for name in ("identifier", "set", "from", "resumptionToken", escaped):
            answer = repository.site.get(f"/oai?verb={verb}&metadataPrefix=oai_dc&{name}={escaped}")
            assert answer.status == 200
            root = etree.fromstring(answer.body)
            if (official := load_official_schema()) is not None:
                official.assertValid(root)


def test_the_official_schema_is_asked() -> None:
    """The schema would find an answer with a wrong element."""
    official = load_official_schema()
    if official is None:
        pytest.skip("OAI-PMH.xsd is not installed (make test fetches it)")
    wrong = f'<OAI-PMH xmlns="{OAI.strip("{}")}"><nothing/></OAI-PMH>'
    assert not official.validate(etree.fromstring(wrong))


HARVESTER = """
import json, sys
from sickle import Sickle
sickle = Sickle(sys.argv[1])
records = list(sickle.ListRecords(metadataPrefix="oai_dc", ignore_deleted=False))
print(json.dumps({
    "name": sickle.Identify().repositoryName,
    "formats": [one.metadataPrefix for one in sickle.ListMetadataFormats()],
    "sets": [one.setSpec for one in sickle.ListSets()],
    "records": [one.header.identifier for one in records],
    "deleted": [one.header.identifier for one in records if one.deleted],
    "titles": [title for one in records if not one.deleted
               for title in one.metadata.get("title", [])],
}))
"""


@pytest.mark.skipif(not PYTHON.exists(), reason="sickle is not installed (.peers)")
def test_sickle_harvests_everything(repository: Repository) -> None:
    site = repository.site
    mint(site, "for sickle", metadata={"title": "Reaped with a sickle"})
    done = subprocess.run(
        [PYTHON, "-c", HARVESTER, f"{site.base}/oai"], check=True, capture_output=True, text=True
    )
    found = json.loads(done.stdout)
    headers = repository.list_headers()
    assert found["records"] == [name_of(one) for one in headers]
    assert found["deleted"] == [name_of(one) for one in headers if one.get("status")]
    assert found["formats"] == ["oai_dc", "datacite", "perdure"]
    assert f"pdi:{SERIES}" in found["sets"]
    assert "Reaped with a sickle" in found["titles"]


SCYTHE = """
import json, sys
sys.modules["brotli"] = None  # that of brotlipy, which pywb needs, is too old for httpx2
from oaipmh_scythe import Scythe
with Scythe(sys.argv[1]) as scythe:
    print(json.dumps([one.header.identifier for one in scythe.list_records()]))
"""


@pytest.mark.skipif(
    not (PYTHON.parent.parent / "lib").exists()
    or not any((PYTHON.parent.parent / "lib").glob("*/site-packages/oaipmh_scythe")),
    reason="oaipmh-scythe is not installed (.peers)",
)
def test_scythe_harvests_everything(repository: Repository) -> None:
    mint(repository.site, "for the scythe", metadata={"title": "Reaped with a scythe"})
    done = subprocess.run(
        [PYTHON, "-c", SCYTHE, f"{repository.site.base}/oai"],
        check=True,
        capture_output=True,
        text=True,
    )
    expected = [name_of(one) for one in repository.list_headers() if not one.get("status")]
    assert [one for one in json.loads(done.stdout) if one in expected] == expected


def test_a_sparse_set_is_searched_by_several_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "503 Service unavailable – a Retry-After period is specified" (section 3.1.2.2)."""
    from perdure.errors.servers import SearchUnfinished
    from perdure.reading import harvest
    from perdure.server.apis.oai.harvesting import MOST_PAGES, _Harvesting

    monkeypatch.setattr(harvest, "MOST_CHANGES", 2)
    with (
        perdure.open(tmp_path / "registry", create=True, series=(SERIES, "rare.a.us")) as registry,
        open_memberships(registry) as index,
    ):
        registry.mint(b"first", authority=SERIES)
        for _ in range(4 * MOST_PAGES):
            registry.mint(b"again", authority=SERIES)
        rare = registry.mint(b"rare", authority="rare.a.us")
        service = SimpleNamespace(registry=registry, settings=registry.settings)
        asked = read_request(
            [("verb", "ListIdentifiers"), ("metadataPrefix", "oai_dc"), ("set", "pdi:rare.a.us")]
        )
        tried, found = 0, ""
        while not found:
            tried += 1
            assert tried < 10
            with suppress(SearchUnfinished):
                found = _Harvesting(
                    service,  # type: ignore[arg-type]  # what it needs
                    "https://a.example",
                    asked,
                    PublicCollections(registry, index),
                ).answer_verb()
        assert tried > 1
        assert str(parse(str(rare.identifier)).resource) in found
        assert registry.harvest.progress == {}
