"""A citation in every interface: never 200 for what does not exist.  # ruling: pdi-citation"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.server.deployment import Deployment, deployed, resource, text

import perdure
from perdure.cli import exits
from perdure.cli import perdure as command
from perdure.errors import PerdureError
from perdure.ids import parse
from perdure.model.commands import Withdraw
from perdure.server.common.problems import STATUS

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "vectors" / "citation-answers.json").read_text("utf-8")
)["cases"]
BROWSER = "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
FORMS = [
    ("/{}", ""),
    ("/{}", BROWSER),
    ("/{}", "Accept: application/json"),
    ("/{}?bytes", ""),
    ("/{}?info", ""),
    ("/{}?landing", BROWSER),
    ("/{}?cite=csl", ""),
    ("/uri-res/N2R?{}", ""),
    ("/uri-res/I2R?{}", BROWSER),
]
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
    with perdure.open(site.root) as registry, pytest.raises(PerdureError) as refused:
        registry.resolve(case["citation"].format_map(names))
    assert refused.value.code == case["code"]
    kinds = (kind for kind in type(refused.value).__mro__ if kind in STATUS)
    assert STATUS[next(kinds)] == case["status"]
