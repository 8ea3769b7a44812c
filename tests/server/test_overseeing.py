"""The operator's page: who sees it, what its figures are, and its plots."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tests.server.deployment import SERIES, Deployment, deployed, text
from tests.server.test_depositing import sign_in

from perdure.policy.operations import OPERATIONS
from perdure.upkeep.linkcheck.state import BoundLocation, Links
from perdure.upkeep.linkcheck.verdict import ExpectedContent, LinkFinding, LinkVerdict
from perdure.upkeep.milestones import Milestone, note_verification

HTML = "Accept: text/html"
CHECKED = "2026-11-20T00:00:00Z"


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with deployed(tmp_path_factory.mktemp("busy") / "registry") as site:
        for number in range(3):
            site.mint(text(b"document %d" % number))
        site.bind("hdl:1839/one", "https://gone.example/one")
        site.bind("hdl:1839/two", "https://here.example/two")
        links = Links(site.root)
        bound = ("https://gone.example/one", "https://here.example/two")
        expected = [BoundLocation("hdl:1839/x", ExpectedContent(one)) for one in bound]
        run = links.begin_run("", expected)
        verdicts = (LinkVerdict.DEAD, LinkVerdict.OK)
        links.save_findings(
            run,
            [
                LinkFinding(uri=uri, verdict=verdict, reason="404 <b>", checked=CHECKED)
                for uri, verdict in zip(bound, verdicts, strict=True)
            ],
        )
        links.end_run(run)
        links.close()
        note_verification(site.root, Milestone(at="2026-01-01T00:00:00Z", problems=2))
        yield site


def test_figures_are_those_of_the_registry(busy: Deployment) -> None:
    secret = busy.token("reader of figures", operations=("administer",))
    answer = busy.get("/operator", f"Authorization: Bearer {secret}")
    assert (answer.status, answer.headers["cache-control"]) == (200, "no-store")
    found = json.loads(answer.body)
    today = datetime.now(UTC)
    assert found["minted"]["days"][-1] == {"of": f"{today:%Y-%m-%d}", "names": 3}
    assert found["minted"]["months"][-1] == {"of": f"{today:%Y-%m}", "names": 3}
    assert len(found["minted"]["days"]) == 30
    assert len(found["minted"]["months"]) == 24
    assert found["minted"]["authorities"][0] == {"of": SERIES, "names": 3}
    assert found["minted"]["total"] == 5
    assert found["holdings"]["verification"]["problems"] == 2
    assert found["holdings"]["backup"] is None
    assert found["lost"]["verdicts"] == {"dead": 1}
    assert [one["uri"] for one in found["lost"]["shown"]] == ["https://gone.example/one"]
    assert found["lost"]["ended"]
    assert all(one["ends"] > one["begins"] for one in found["traffic"])


@pytest.mark.parametrize(
    ("name", "rights"),
    [
        ("without the right", {"operations": tuple({*OPERATIONS} - {"administer"})}),
        ("of one series", {"authorities": (SERIES,)}),
        ("of some days", {"first_day": "2026-01-01"}),
    ],
)
def test_a_token_that_does_not_administer_everything_sees_nothing(
    busy: Deployment, name: str, rights: dict[str, tuple[str, ...]]
) -> None:
    secret = busy.token(name, **rights)
    answer = busy.get("/operator", f"Authorization: Bearer {secret}")
    assert answer.status == 403
    assert b"gone.example" not in answer.body
    page = busy.get("/operator", HTML, sign_in(busy, secret))
    assert page.status == 403
    assert b"gone.example" not in page.body


def test_nobody_else_sees_it(busy: Deployment) -> None:
    assert busy.get("/operator").status == 401
    there = busy.get("/operator", HTML)
    assert (there.status, there.headers["location"]) == (303, "/sign-in?to=%2Foperator")


class _Figures(HTMLParser):
    """Collects the plots and the texts of their tables."""

    def __init__(self) -> None:
        super().__init__()
        self.titles: list[str] = []
        self.shapes: dict[str, int] = {}
        self.cells: dict[str, list[str]] = {}
        self._in = ""
        self._tag = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._tag = tag
        if tag in ("rect", "polyline") and self._in:
            self.shapes[self._in] += 1

    def handle_endtag(self, tag: str) -> None:
        self._tag = ""
        if tag == "figure":
            self._in = ""

    def handle_data(self, data: str) -> None:
        if self._tag == "figcaption":
            self._in = data
            self.titles.append(data)
            self.shapes[data] = 0
            self.cells[data] = []
        elif self._tag in ("th", "td") and self._in:
            self.cells[self._in].append(data)


def test_each_plot_has_its_table(busy: Deployment) -> None:
    cookie = sign_in(busy, busy.token("operator"))
    answer = busy.get("/operator", HTML, cookie)
    page = answer.body.decode()
    assert answer.status == 200
    figures = _Figures()
    figures.feed(page)
    assert figures.titles[:2] == ["Names by day", "Names by month"]
    assert figures.shapes["Names by day"] == 30
    assert figures.cells["Names by day"][-2:] == [f"{datetime.now(UTC):%Y-%m-%d}", "3"]
    assert len(figures.cells["Names by month"]) == 2 + 2 * 24
    assert "404 &lt;b&gt;" in page
    assert "https://gone.example/one" in page
    assert "style=" not in page
    assert "<script" not in page
    assert re.search(r"Verification</th><td><span class=\"number\">[0-9.]+</span>", page)


def test_the_shared_address_of_ezid_is_left_alone(busy: Deployment) -> None:
    """EZID's guide: `GET /status` answers `success: EZID is up`; a browser gets it, too."""
    assert busy.get("/status", HTML).body.startswith(b"success:")


def test_a_registry_without_anything_has_a_page(tmp_path: Path) -> None:
    with deployed(tmp_path / "registry") as site:
        page = site.get("/operator", HTML, sign_in(site, site.token("operator")))
        assert page.status == 200
        assert "Locations have never been checked." in page.body.decode()
        (site.root / "followers" / "names.sqlite").write_bytes(b"not a database" * 100)
        (site.root / "links.sqlite").write_bytes(b"not a database" * 100)
        page = site.get("/operator", HTML, sign_in(site, site.token("other")))
        assert page.status == 200
        assert "The counts of names cannot be read." in page.body.decode()
