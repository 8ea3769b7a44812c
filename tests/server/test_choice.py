"""Which location a reader is sent to by the server: both ways agree, and skip what is dead."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import closing

import pytest
from tests.server.deployment import Deployment, deployed

from perdure.ids import parse
from perdure.model.commands import Register
from perdure.model.records import Location
from perdure.upkeep.linkcheck import LinkFinding, Links, LinkVerdict
from perdure.upkeep.linkcheck.state import BoundLocation
from perdure.upkeep.linkcheck.verdict import ExpectedContent

NAME = "hdl:21.T14999/many"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PERDURE_REGION_HEADER", "CF-IPCountry")
        with deployed(tmp_path_factory.mktemp("choice") / "registry") as running:
            running.do(
                Register(
                    identifier=parse(NAME),
                    locations=(
                        Location(uri="https://en.example/", language="en", format="html"),
                        Location(uri="https://fr.example/", language="fr", format="html"),
                        Location(uri="https://eu.example/", region="eu", format="pdf"),
                        Location(uri="https://old.example/", valid_until="2001-01-01", weight=9),
                    ),
                )
            )
            yield running


def sent(site: Deployment, target: str, *fields: str) -> str:
    answer = site.get(f"/{target}", *fields)
    assert answer.status == 302
    return answer.headers["location"].removeprefix("https://").partition(".")[0]


@pytest.mark.parametrize(
    ("question", "field", "expected"),
    [
        ("", "", "en"),
        ("", "Accept-Language: fr, en;q=0.5", "fr"),
        ("", "Accept: application/pdf", "eu"),
        ("", "CF-IPCountry: EU", "eu"),
        ("?region=eu", "", "eu"),
        ("?region=us", "CF-IPCountry: EU", "en"),
        ("", "CF-IPCountry: <script>", "en"),
    ],
)
def test_by_what_is_asked(site: Deployment, question: str, field: str, expected: str) -> None:
    fields = (field,) if field else ()
    for _ in range(2):  # the second time the fast way might remember the first
        assert sent(site, NAME + question, *fields) == expected


def test_caches_are_told_what_it_depends_on(site: Deployment) -> None:
    vary = site.get(f"/{NAME}").headers["vary"]
    assert {one.strip() for one in vary.split(",")} == {"accept", "accept-language", "cf-ipcountry"}


def _found(site: Deployment, name: str, *verdicts: tuple[str, LinkVerdict]) -> None:
    with closing(Links(site.root)) as links:
        run = links.begin_run(
            "", (BoundLocation(name, ExpectedContent(uri)) for uri, _ in verdicts)
        )
        links.save_findings(run, (LinkFinding(uri=uri, verdict=one) for uri, one in verdicts))
        links.end_run(run)


def _wait(site: Deployment, name: str, expected: str) -> None:
    end = time.monotonic() + 10
    while sent(site, name) != expected:
        assert time.monotonic() < end, f"still {sent(site, name)}"
        time.sleep(0.1)


def test_what_is_dead_is_skipped_and_taken_back(site: Deployment) -> None:
    name = "hdl:21.T14999/two"
    places = ("https://one.example/", "https://two.example/")
    site.bind(name, *places)
    assert sent(site, name) == "one"
    _found(site, name, (places[0], LinkVerdict.DEAD), (places[1], LinkVerdict.OK))
    _wait(site, name, "two")
    told = json.loads(site.get(f"/{name}?locations", "Accept: application/json").body)
    assert told["identifiers"] == [places[1], places[0]]
    assert [one["health"]["verdict"] for one in told["locations"]] == ["dead", "ok"]
    page = site.get(f"/{name}?landing").body.decode()
    assert "dead on" in page
    _found(site, name, (places[0], LinkVerdict.OK), (places[1], LinkVerdict.OK))
    _wait(site, name, "one")


def test_where_all_are_dead_the_first_is_given(site: Deployment) -> None:
    site.bind("hdl:21.T14999/one", "https://only.example/")
    _found(site, "hdl:21.T14999/one", ("https://only.example/", LinkVerdict.DEAD))
    time.sleep(1.5)
    assert sent(site, "hdl:21.T14999/one") == "only"


def test_all_fields_are_told(site: Deployment) -> None:
    told = json.loads(site.get(f"/{NAME}?locations", "Accept: application/json").body)
    last = told["locations"][-1]
    assert (last["valid_until"], last["weight"], last["is_valid"]) == ("2001-01-01", 9, False)
    assert "https://old.example/" not in told["identifiers"]


@pytest.mark.parametrize("path", [f"{NAME}?locations", f"uri-res/N2Ls?{NAME}"])
def test_they_are_a_linkset_on_demand(site: Deployment, path: str) -> None:
    answer = site.get(f"/{path}", "Accept: application/linkset+json")
    assert answer.headers["content-type"] == "application/linkset+json"
    (context,) = json.loads(answer.body)["linkset"]
    assert context["anchor"] == f"{site.base}/{NAME}"
    assert context["alternate"][0] == {
        "href": "https://en.example/",
        "type": "text/html",
        "hreflang": ["en"],
    }


@pytest.mark.parametrize(
    "uri", ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "blob:x"]
)
def test_what_runs_is_no_location(site: Deployment, uri: str) -> None:
    body = json.dumps({"locations": [uri]}).encode()
    token = site.token("binder-" + uri[:4])
    answer = site.ask(
        "POST",
        f"/{NAME}?bind",
        f"Authorization: Bearer {token}",
        "Content-Type: application/json",
        body=body,
    )
    assert answer.status == 400
    assert len(site.registry.listings.find_record(parse(NAME)).locations) == 4  # type: ignore[union-attr]


class TestPartsOfWhatLiesElsewhere:
    """A part is looked for where the whole would be: where it lies today, and alive."""

    WHOLE = "ark:12345/x8rd"

    @pytest.fixture(autouse=True)
    def whole(self, site: Deployment) -> None:
        site.do(
            Register(
                identifier=parse(self.WHOLE),
                locations=(
                    Location(uri="https://old.example/x", weight=9, valid_until="2001-01-01"),
                    Location(uri="https://lost.example/x", weight=5),
                    Location(uri="https://well.example/x", format="pdf"),
                    Location(uri="https://page.example/x", format="html", language="fr"),
                ),
            )
        )
        _found(site, self.WHOLE, ("https://lost.example/x", LinkVerdict.DEAD))
        end = time.monotonic() + 10
        while "lost" in site.get(f"/{self.WHOLE}").headers["location"]:
            assert time.monotonic() < end
            time.sleep(0.1)

    @pytest.mark.parametrize("form", ["", "uri-res/N2L?"])
    def test_suffixes_of_arks(self, site: Deployment, form: str) -> None:
        def place(*fields: str) -> str:
            return site.get(f"/{form}{self.WHOLE}/a.b", *fields).headers["location"]

        assert place() == "https://well.example/x/a.b"
        assert place("Accept: text/html") == "https://page.example/x/a.b"
        assert place("Accept-Language: fr") == "https://page.example/x/a.b"
