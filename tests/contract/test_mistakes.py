"""The same mistake has the same code on the command line and over HTTP.

How it works: `vectors/mistakes.json` spells each mistake as a command and as a request, with the
code of its error. The malformed names of all other vectors are mistakes, too: each is resolved by
both faces. A mistake changes nothing, so that all are made on one registry.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from click.testing import CliRunner
from tests.contract.fixture import ENVIRONMENT, make_registry
from tests.contract.table import TABLE
from tests.server.conftest import Answer
from tests.server.deployment import Deployment, deployed

from perdure.cli import exits, perdure
from perdure.errors import PerdureError
from perdure.ids.name_set import read_set

VECTORS = Path(__file__).parents[2] / "vectors"
CASES: list[dict[str, Any]] = json.loads((VECTORS / "mistakes.json").read_text("utf-8"))["cases"]
_LONGEST = 3000  # characters; a longer target is refused before it is read
JSON = "Content-Type: application/json"
EXITS = {kind.code: code for kind, code in exits.CODES.items()}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    root = make_registry(tmp_path_factory.mktemp("mistakes"))
    with deployed(root, **TABLE["settings"]) as running:
        yield running


@pytest.fixture(scope="module")
def bearer(site: Deployment) -> str:
    return f"Authorization: Bearer {site.token('clumsy')}"


def _run_command(site: Deployment, words: list[str]) -> tuple[str, int]:
    runner = CliRunner(env=ENVIRONMENT | {"PERDURE_REGISTRY": str(site.root)})
    result = runner.invoke(perdure, [words[0], "--json", *words[1:]])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code, result.stdout
    code: str = json.loads(result.stderr.splitlines()[-1])["code"]
    return code, result.exit_code


def _read_code(answer: Answer) -> str:
    assert answer.status >= 400, (answer.status, answer.body)
    code: str = json.loads(answer.body)["code"]
    return code


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"].replace(" ", "-"))
def test_both_faces_say_the_same(
    case: dict[str, Any], site: Deployment, bearer: str, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.write_text(case.get("file", ""))
    places = {"{out}": str(tmp_path / "out"), "{file}": str(file)}
    told = _run_command(site, [places.get(word, word) for word in case["command"]])
    method, _, target = case["request"].partition(" ")
    fields = [bearer, *case.get("fields", ())] if method != "GET" else []
    body = case.get("file", "").encode()
    if "body" in case:
        fields, body = [*fields, JSON], json.dumps(case["body"]).encode()
    answered = _read_code(site.ask(method, target, *fields, body=body))
    assert told == (case["code"], EXITS[case["code"]])
    assert answered == case.get("answered", case["code"])
    assert not (tmp_path / "out").exists()


# malformed names
# ---------------


def _list_malformed() -> Iterator[str]:
    """Each malformed text of the vectors of names that can be sent, and is not also a set."""
    for path in sorted(VECTORS.glob("*.json")):
        rows = json.loads(path.read_text("utf-8"))
        cases = rows.get("cases", ()) if isinstance(rows, dict) else rows
        for case in cases if isinstance(cases, list) else ():
            if isinstance(case, dict) and "error" in case and "text" in case:
                text: str = case["text"]
                if _is_comparable(text):
                    yield text


def _is_comparable(text: str) -> bool:
    """False for what the faces read differently, by their nature.

    A command takes what people paste, without the blanks around it and without the query of an
    address; a target has an escaped `#`, and nothing is the page of the server; the beginning of
    names is listed over HTTP.
    """
    if not text or text != text.strip() or len(text) > _LONGEST or "%23" in text:
        return False
    if text.startswith(("http://", "https://")) and ("?" in text or "#" in text):
        return False
    try:
        return read_set(text).is_single
    except PerdureError:
        return True


MALFORMED = sorted(set(_list_malformed()))


@pytest.mark.parametrize("text", MALFORMED, ids=lambda text: ascii(text)[1:60])
def test_a_malformed_name_is_the_same_mistake(text: str, site: Deployment) -> None:
    told, code = _run_command(site, ["resolve", "--", text])
    answered = _read_code(site.get(f"/{quote(text, safe='')}?info"))
    assert (told, answered, code) == ("malformed-identifier", "malformed-identifier", EXITS[told])


def test_most_malformed_names_of_the_vectors_are_compared() -> None:
    assert len(MALFORMED) > 200


@pytest.mark.parametrize("command", ["resolve", "get", "describe", "history"])
@pytest.mark.parametrize("text", ["hdl:1839/", "hdl:9999/", "ark:12345/", "urn:example:"])
def test_the_beginning_of_names_is_no_name(command: str, text: str, site: Deployment) -> None:
    """Nor is it reported as another name, which nobody has typed."""
    assert _run_command(site, [command, text]) == ("malformed-identifier", 3)
