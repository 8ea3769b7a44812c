"""A citation in every interface: its verdict, its bytes, and never 200 for what does not exist.
# rulings: pdi-citation, citation-verdict
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.server.conftest import Answer
from tests.server.deployment import SERIES, Deployment, deployed, resource, text

import perdure
from perdure.cli import exits
from perdure.cli import perdure as command
from perdure.errors import PerdureError
from perdure.ids import parse
from perdure.model.commands import Bind, Register, Withdraw
from perdure.model.records import Location
from perdure.reading.targets import spell_path
from perdure.server.common.problems import STATUS

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "vectors" / "citation-answers.json").read_text("utf-8")
)["cases"]
BROWSER = "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
BYTES = [("/{}", ""), ("/{}?bytes", ""), ("/{}?cite=csl", ""), ("/uri-res/N2R?{}", "")]
DESCRIBING = [
    ("/{}", BROWSER),
    ("/{}", "Accept: application/json"),
    ("/{}", "Accept: application/ld+json"),
    ("/{}", "Accept: application/linkset+json"),
    ("/{}?info", ""),
    ("/{}?linkset", ""),
    ("/{}?landing", BROWSER),
    ("/uri-res/I2C?{}", ""),
]
FORMS = [*BYTES, *DESCRIBING]
Names = dict[str, str]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with deployed(tmp_path_factory.mktemp("citations") / "registry") as running:
        yield running


@pytest.fixture(scope="module")
def names(site: Deployment) -> Names:
    minted = [
        site.mint(text(b"first\r\n", charset="us-ascii")),
        site.mint(text(b"<p>x", "html", "text/html", charset="us-ascii")),
        site.mint(text(b"gone")),
    ]
    site.do(Withdraw(by="clerk", identifier=parse(minted[2]), reason="a court said so"))
    return dict(zip("ABG", map(resource, minted), strict=True))


@pytest.mark.parametrize(("form", "accept"), FORMS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_over_http(
    site: Deployment, names: Names, case: dict[str, Any], form: str, accept: str
) -> None:
    target = form.format(case["citation"].format_map(names).replace("#", "%23"))
    answer = site.get(target, *filter(None, [accept]))
    if "verdict" in case and (form, accept) in DESCRIBING:
        assert answer.status == 200, answer.body
        assert answer.headers["citation"].startswith(f"verdict={case['verdict']}")
        return
    assert answer.status == case["status"], answer.body
    if not accept:
        assert json.loads(answer.body)["code"] == case["code"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_on_the_command_line(site: Deployment, names: Names, case: dict[str, Any]) -> None:
    citation = case["citation"].format_map(names)
    for words in (
        ("get", citation),
        ("cite", citation),
        ("get", "--resolver", site.base, citation),
    ):
        result = CliRunner(env={"PERDURE_REGISTRY": str(site.root)}).invoke(command, words)
        gone = case["status"] == 410 and "--resolver" in words
        assert result.exit_code == (exits.GONE if gone else case["exit"]), (words, result.stderr)
        assert result.stdout == ""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_from_python(site: Deployment, names: Names, case: dict[str, Any]) -> None:
    citation = case["citation"].format_map(names)
    with perdure.open(site.root) as registry:
        if "verdict" in case:
            assert registry.check(citation).verdict == case["verdict"]
            return
        with pytest.raises(PerdureError) as refused:
            registry.check(citation)
    assert refused.value.code == case["code"]
    kinds = (kind for kind in type(refused.value).__mro__ if kind in STATUS)
    assert STATUS[next(kinds)] == case["status"]


# quotations
# ----------

SPEECH = b"Policy speech\r\nWe shall reduce the budget deficit\r\nby half.\r\n"
MEMO = (
    "Memorandum\r\nThe speech: \u201cWe shall not reduce it\u201d. "
    '"We shall reduce the budget\r\ndeficit".\r\n'
)


class Quoted:
    """A speech, a memorandum that quotes it, and a page that embeds it."""

    def __init__(self, site: Deployment) -> None:
        self.speech = site.mint(text(SPEECH))
        self.memo = site.mint(text(MEMO.encode(), charset="utf-8"))
        page = f'<p>See <iframe src="{site.base}/{self.speech}"></iframe>.'
        self.page = site.mint(text(page.encode(), "html", "text/html"))
        self.part = f"{self.speech}#char=15,49"
        self.at = MEMO.index("We shall reduce")
        self.citation = f"{self.memo}@{self.at}={self.part}"


@pytest.fixture(scope="module")
def quoted(site: Deployment) -> Quoted:
    return Quoted(site)


def address(citation: str, verb: str = "") -> str:
    return "/" + citation.replace("#", "%23") + verb


def links(answer: Answer) -> dict[str, str]:
    found = re.findall('<([^>]*)>; rel="([^"]*)"', answer.headers["link"])
    return {rel: target for target, rel in found}


def test_the_bytes_of_a_quotation_are_those_of_the_citing_document(
    site: Deployment, quoted: Quoted
) -> None:
    answer = site.get(address(quoted.citation))
    assert (answer.status, answer.body) == (200, b"We shall reduce the budget\r\ndeficit")
    assert answer.headers["citation"] == "verdict=reflowed, extent=35"
    assert answer.headers["content-type"].startswith("text/plain")
    found = links(answer)
    assert found["cite-as"] == site.base + address(quoted.citation)
    assert found["collection"] == site.base + address(quoted.memo)
    assert found["via"] == site.base + address(quoted.part)
    assert site.get(address(quoted.citation, "?bytes")).body == answer.body
    assert site.get(f"/uri-res/N2R?{address(quoted.citation)[1:]}").body == answer.body
    head = site.ask("HEAD", address(quoted.citation))
    assert (head.status, head.body) == (200, b"")
    assert head.headers["citation"] == answer.headers["citation"]


def test_the_report_as_json(site: Deployment, quoted: Quoted) -> None:
    found = json.loads(site.get(address(quoted.citation, "?info")).body)
    assert (found["verdict"], found["origin"]) == ("reflowed", str(quoted.at))
    assert found["passage"]["text"] == "We shall reduce the budget\ndeficit"
    assert found["quoted"]["text"] == "We shall reduce the budget deficit"
    assert found["part"]["identifier"] == f"{quoted.memo}#char={quoted.at},{quoted.at + 35}"
    assert site.get(found["part"]["url"].removeprefix(site.base)).status == 200


def test_altered_tells_the_words(site: Deployment, quoted: Quoted) -> None:
    citation = f"{quoted.memo}@{MEMO.index('We shall not')}={quoted.speech}#char=15,30"
    found = json.loads(site.get(address(citation, "?info")).body)
    assert (found["verdict"], found["kept"], found["total"]) == ("altered", 3, 3)
    assert found["changes"] == [{"cited": "", "citing": "not"}]
    refused = site.get(address(citation))
    problem = json.loads(refused.body)
    assert (refused.status, problem["code"]) == (404, "citation-not-found")
    assert problem["verdict"] == "altered"
    page = site.get(address(citation), BROWSER)
    assert page.status == 200
    assert b"<ins>not</ins>" in page.body


def test_an_embedded_part_is_the_cited_bytes(site: Deployment, quoted: Quoted) -> None:
    citation = f"{quoted.page}@7={quoted.speech}"
    answer = site.get(address(citation))
    assert (answer.status, answer.body) == (200, SPEECH)
    assert answer.headers["citation"].startswith("verdict=transcluded")


def test_the_web_annotation(site: Deployment, quoted: Quoted) -> None:
    """Web Annotation Data Model 3.1: context, id, type, target; 4: specific resources."""
    answer = site.get(address(quoted.citation), "Accept: application/ld+json")
    assert 'profile="http://www.w3.org/ns/anno.jsonld"' in answer.headers["content-type"]
    found = json.loads(answer.body)
    assert found["@context"] == "http://www.w3.org/ns/anno.jsonld"
    assert (found["type"], found["id"]) == ("Annotation", site.base + address(quoted.citation))
    assert found["body"][0]["source"] == site.base + address(quoted.speech)
    assert found["body"][0]["selector"]["value"] == "char=15,49"
    assert found["body"][1]["value"] == "reflowed"
    assert found["target"]["source"] == site.base + address(quoted.memo)


def test_the_page_shows_both_passages_escaped(site: Deployment, quoted: Quoted) -> None:
    hostile = b"x <script>alert(1)</script> & more"
    kept = site.mint(text(hostile))
    page = site.get(address(f"{kept}@2={kept}#char=2,27", "?landing"), BROWSER)
    assert page.status == 200
    assert b"<script>alert" not in page.body
    assert b"&lt;script&gt;alert(1)&lt;/script&gt;" in page.body
    assert page.headers["content-security-policy"].startswith("default-src 'none'")


def test_a_citation_of_a_quotation_names_both(site: Deployment, quoted: Quoted) -> None:
    answer = site.get(address(quoted.citation, "?cite=apa&locale=de"))
    assert answer.status == 200
    shown = answer.body.decode()
    assert " \u2014 zitiert in " in shown
    assert shown.index(address(quoted.speech)) < shown.index(address(quoted.memo))
    assert len(json.loads(site.get(address(quoted.citation, "?cite=csl")).body)) == 2
    negotiated = site.get(address(quoted.citation), "Accept: text/x-bibliography")
    assert "quoted in" in negotiated.body.decode()


def test_thttp_leads_to_the_citation(site: Deployment, quoted: Quoted) -> None:
    name = address(quoted.citation)
    assert site.get(f"/uri-res/N2L?{name[1:]}").headers["location"] == site.base + name
    listed = site.get(f"/uri-res/N2Ls?{name[1:]}", "Accept: text/uri-list")
    assert (site.base + name).encode() in listed.body
    assert site.get(f"/uri-res/N2C?{name[1:]}").status == 200


FORMATS = ("datacite", "dc", "jsonld", "turtle", "csl", "bibtex", "ris", "json")
BOTH = ("csl", "bibtex", "ris")  # a record of each document


@pytest.mark.parametrize("form", FORMATS)
def test_metadata_of_a_quotation_names_both_documents(
    site: Deployment, quoted: Quoted, form: str
) -> None:
    answer = site.get(address(quoted.citation, f"?metadata={form}"))
    assert answer.status == 200, answer.body
    record = answer.body.decode().replace("\\", "")  # BibTeX escapes
    names = [quoted.part]
    if form != "json":  # which is the description alone
        names.append(quoted.memo if form in BOTH else quoted.citation)
    for name in names:
        assert any(text in record for text in (name, spell_path(parse(name)))), (name, record)
    assert answer.headers["citation"].startswith("verdict=reflowed")
    local = run(site, "metadata", "get", quoted.citation, "--format", form)
    assert (local.exit_code, bool(local.stdout)) == (0, True), local.stderr
    wrong = f"{quoted.memo}@0={quoted.part}"
    assert site.get(address(wrong, f"?metadata={form}")).status == 404


def test_metadata_of_a_quotation_in_the_format_of_accept(site: Deployment, quoted: Quoted) -> None:
    answer = site.get(address(quoted.citation, "?metadata"), "Accept: application/ld+json")
    assert answer.headers["content-type"] == "application/ld+json"
    [cited] = json.loads(answer.body)["citation"]
    assert f"{site.base}/{spell_path(parse(quoted.part))}" in cited.values()
    plain = site.get(address(quoted.citation, "?metadata"))
    assert plain.headers["content-type"] == "application/vnd.datacite.datacite+xml"


def test_references_in_a_style_and_a_language(site: Deployment, quoted: Quoted) -> None:
    plain = site.get(address(quoted.citation, "?cite"))
    assert plain.body == site.get(address(quoted.citation, "?cite=apa")).body
    mla = site.get(address(quoted.citation, "?cite=mla&locale=de")).body
    assert "zitiert in" in mla.decode()
    accept = "Accept: text/x-bibliography; style=mla; locale=de"
    assert site.get(address(quoted.citation), accept).body == mla
    german = site.get(address(quoted.citation, "?cite=mla"), "Accept-Language: de")
    assert german.body == mla
    datacite = "application/vnd.datacite.datacite+xml"
    answer = site.get(address(quoted.citation), f"Accept: {datacite}")
    assert answer.headers["content-type"] == datacite
    records = site.get(address(quoted.citation), "Accept: application/x-bibtex")
    assert records.body == site.get(address(quoted.citation, "?cite=bibtex")).body


@pytest.mark.parametrize("method", ["DELETE", "PUT", "PATCH"])
def test_nothing_writes_a_citation(site: Deployment, quoted: Quoted, method: str) -> None:
    answer = site.ask(method, address(quoted.citation), body=b"x")
    assert answer.status == 405, answer.body
    assert "GET" in answer.headers["allow"]
    allowed = site.ask("OPTIONS", address(quoted.citation)).headers["allow"]
    assert answer.headers["allow"] == allowed


def test_the_text_of_a_quotation(site: Deployment, quoted: Quoted) -> None:
    answer = site.get(address(quoted.citation, "?text"))
    assert answer.body.decode() == "We shall reduce the budget\ndeficit"
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["citation"].startswith("verdict=reflowed")
    assert run(site, "text", quoted.citation).stdout == answer.body.decode()
    wrong = f"{quoted.memo}@0={quoted.part}"
    assert site.get(address(wrong, "?text")).status == 404
    assert run(site, "text", wrong).exit_code == 66


@pytest.mark.parametrize("verb", ["?history", "?play", "?quote=x"])
def test_other_questions_have_no_answer(site: Deployment, quoted: Quoted, verb: str) -> None:
    answer = site.get(address(quoted.citation, verb))
    assert answer.status == 501, answer.body
    assert json.loads(answer.body)["code"] == "part-not-supported"


# the command line
# ----------------


def run(site: Deployment, *words: str) -> Result:
    return CliRunner(env={"PERDURE_REGISTRY": str(site.root)}).invoke(command, words)


def test_get_cite_and_verify(site: Deployment, quoted: Quoted) -> None:
    got = run(site, "get", quoted.citation)
    assert (got.exit_code, got.stdout_bytes) == (0, b"We shall reduce the budget\r\ndeficit")
    cited = run(site, "cite", quoted.citation)
    assert cited.exit_code == 0, cited.stderr
    assert "quoted in" in cited.stdout
    verified = run(site, "verify", quoted.citation)
    assert (verified.exit_code, verified.stdout.split(":")[0]) == (0, "reflowed")
    shown = run(site, "--json", "resolve", quoted.citation)
    over_http = site.get(address(quoted.citation, "?info")).body
    assert json.loads(shown.stdout)["passage"] == json.loads(over_http)["passage"]
    fetched = run(site, "get", "--resolver", site.base, quoted.citation)
    assert (fetched.exit_code, fetched.stdout_bytes) == (0, got.stdout_bytes)


def test_verify_exits_with_1_unless_it_is_a_quotation(site: Deployment, quoted: Quoted) -> None:
    altered = f"{quoted.memo}@{MEMO.index('We shall not')}={quoted.speech}#char=15,30"
    found = run(site, "--json", "verify", altered)
    assert (found.exit_code, json.loads(found.stdout)["verdict"]) == (exits.FINDINGS, "altered")
    wrong = run(site, "verify", f"{quoted.memo}@0={quoted.part}")
    assert (wrong.exit_code, wrong.stdout.split(":")[0]) == (exits.FINDINGS, "elsewhere")
    assert f"{quoted.memo}@{quoted.at}={quoted.part}" in wrong.stdout
    assert run(site, "get", altered).exit_code == 66
    embedded = run(site, "get", f"{quoted.page}@7={quoted.speech}")
    assert (embedded.exit_code, embedded.stdout_bytes) == (0, SPEECH)


def test_what_is_not_held_is_unverifiable(site: Deployment, quoted: Quoted) -> None:
    name = f"pdi://{SERIES}/1997/09/01/7"
    site.do(Register(identifier=parse(name)))
    elsewhere = Location(uri="https://a.example/x")
    site.do(Bind(identifier=parse(f"{name}.text.1"), locations=(elsewhere,)))
    citation = f"{name}.text.1@0={quoted.part}"
    assert run(site, "verify", citation).exit_code == 15
    assert run(site, "get", citation).exit_code == 15
    led = site.get(address(citation))
    there = site.base + address(quoted.part, "?landing")
    assert (led.status, led.headers["location"]) == (303, there)
    assert json.loads(site.get(address(citation, "?info")).body)["verdict"] == "unverifiable"
    assert site.get(address(f"{quoted.memo}@0={name}.text.1")).status == 501
