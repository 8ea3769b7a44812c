"""The OpenAPI document: valid, complete, and true of a server that runs.

Schemathesis is an independent judge: it validates the document against the schema that the OpenAPI
Initiative publishes, makes requests of every operation (good and bad ones), and compares statuses,
media types, schemas, `Allow` and authentication of the answers with the document. It runs as a
program, with a fixed seed and a bounded number of examples, on the loopback only.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import schemathesis
from tests.server.deployment import Deployment, deployed, text

from perdure.policy.rates import Rate
from perdure.reading import targets
from perdure.server.common import problems
from perdure.server.common.target_kinds import TargetKind
from perdure.server.protocol.limits import write_rate_fields
from perdure.server.resource import operating
from perdure.server.routes.openapi import describe_interface
from perdure.server.routes.questions import QUESTIONS
from perdure.server.routes.table import ROUTES

CONFIGURATION = Path(__file__).parent / "schemathesis.toml"
PREFIX = "21.T14999"
SEED = "14"
_READ_FIELD = re.compile(
    r"""(?:read_field|fields\.get)\(b"([a-z-]+)"|b"([a-z-]+)" (?:not )?in request\.fields"""
)
_OF_EVERY_MESSAGE = {
    "accept-encoding",
    "origin",
    "sec-fetch-site",
    "authorization",
    "cache-control",  # of an answer
    "connection",
    "content-encoding",
    "content-length",
    "content-range",
    "content-type",
    "cookie",  # the session of a client of EZID
    "host",
    "max-forwards",
    "signature",
    "trailer",
    "transfer-encoding",
    "via",
    "x-forwarded-for",
}
_LEFT_OUT = "^((askMethods|echoRequest)Of|runBatch$|sendContents$)"
"""OPTIONS and TRACE of pages: one handler answers all of them. The others: Schemathesis cannot
write JSON Lines, and OpenAPI 3.1 cannot describe them (tests/server/test_batches.py)."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    root = tmp_path_factory.mktemp("openapi") / "registry"
    with deployed(root, handle_prefixes=PREFIX) as running:
        yield running


@pytest.fixture(scope="module")
def document(site: Deployment) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(site.get("/openapi.json").body)
    return found


# the document
# ------------


def test_it_is_valid(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1.")
    schemathesis.openapi.from_dict(document).validate()
    broken = document | {"paths": {"/x": {"get": {"responses": {"200": {"content": 1}}}}}}
    with pytest.raises(Exception, match="content"):
        schemathesis.openapi.from_dict(broken).validate()


def test_every_route_is_described(document: dict[str, Any]) -> None:
    described = {
        (method.upper(), pattern) for pattern, item in document["paths"].items() for method in item
    }
    routes = {(method, one.pattern) for one in ROUTES if one.kinds for method in one.methods}
    assert described == routes
    names = [one["operationId"] for item in document["paths"].values() for one in item.values()]
    assert len(names) == len(set(names))


def test_every_variable_of_a_path_is_a_parameter(document: dict[str, Any]) -> None:
    for pattern, item in document["paths"].items():
        for operation in item.values():
            given = {one["name"] for one in operation["parameters"] if one["in"] == "path"}
            assert given == set(re.findall(r"\{(\w+)\}", pattern)), pattern


def test_every_question_is_a_parameter(document: dict[str, Any]) -> None:
    """ "every … parameter (also `?info`, `?part=` …)" """
    asked = {one["name"] for one in document["paths"]["/{name}"]["get"]["parameters"]}
    assert asked >= {"name", "info", "part", "metadata", "cite", "landing", "quote", "region"}
    known = {
        *targets._VERBS,
        *targets._BARE,
        *targets._PARAMETERS,
        *targets._TYPED,
        *targets._FLAGS,
    }
    known |= {*targets._OF_PROXIES}
    assert {one.name for one in QUESTIONS} == known


def test_every_header_field_that_is_read_is_a_parameter() -> None:
    """Those of every message aside: of its framing, its target and its sender."""
    server = Path(targets.__file__).parents[1] / "server"
    read = {
        name
        for path in server.rglob("*.py")
        for found in _READ_FIELD.findall(path.read_text("utf-8"))
        for name in found
        if name
    }
    assert {"if-match", "content-language", "prefer", "accept-datetime"} <= read
    known = {one.name.lower() for route in ROUTES for one in route.parameters}
    assert read - _OF_EVERY_MESSAGE <= known
    assert {"content-digest", "repr-digest"} <= known  # the digests of a body are read as a list


def test_problems_that_say_what_to_do_have_the_fields_for_it(document: dict[str, Any]) -> None:
    limited = document["components"]["responses"]["Problem429"]["headers"]
    rates = {name.decode() for name, _ in write_rate_fields("requests", Rate(600, 60), 2)}
    assert {name.lower() for name in limited} == rates
    refused = document["components"]["responses"]["Problem415"]["headers"]
    assert set(refused) == {"Accept", "Accept-Encoding"}


def test_every_operation_has_its_body(document: dict[str, Any]) -> None:
    operation = document["paths"]["/{name}"]["post"]
    chosen = {one["query"]: one for one in operation["x-operations"]}
    assert set(chosen) == {*operating.VERBS, "metadata", "signatures"}
    bound = chosen["bind"]["body"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
    assert document["components"]["schemas"][bound]["required"] == ["locations"]


def test_every_problem_is_told(document: dict[str, Any]) -> None:
    told = {code: one["status"] for code, one in document["x-problems"].items()}
    assert told == {code: status for code, (status, _) in problems.list_explanations().items()}
    responses = document["components"]["responses"]
    for code, status in told.items():
        assert f"`{code}`" in responses[f"Problem{status}"]["description"]
        assert problems.JSON in responses[f"Problem{status}"]["content"]


_OPEN_FORMS = ("/oai", "/sparql", "/webmention", "/sign-in", "/sign-out")
"""Pages to which anyone may post: they write nothing to the registry."""


def test_everything_that_needs_a_right_says_so(document: dict[str, Any]) -> None:
    assert set(document["components"]["securitySchemes"]) == {
        *("bearer", "basic", "session", "signature"),
    }
    for pattern, item in document["paths"].items():
        for method, operation in item.items():
            only_reads = "handles" in pattern or pattern in _OPEN_FORMS
            writes = method in ("put", "delete") or (method == "post" and not only_reads)
            security = operation.get("security", [{}])
            assert ({} not in security) or not writes, (method, pattern)


def test_what_openapi_cannot_say(document: dict[str, Any]) -> None:
    forms = json.dumps(document["paths"]["/{name}"]["get"]["x-spellings"])
    assert all(one in forms for one in ("absolute form", "raw #", "%23"))
    assert document["paths"]["/uri-res/{service}"]["get"]["x-query-string"]["required"] is True


def test_a_route_that_is_known_and_never_allowed_is_left_out() -> None:
    assert "delete" not in describe_interface(ROUTES, "/")["paths"]["/{name}"]
    assert any(one.methods == ("DELETE",) and not one.kinds for one in ROUTES)
    assert TargetKind.PAGE in ROUTES[0].kinds


def test_the_document_is_not_sent_twice(site: Deployment) -> None:
    first = site.get("/openapi.json")
    assert (first.status, first.headers["content-type"]) == (200, "application/json")
    again = site.get("/openapi.json", f"If-None-Match: {first.headers['etag']}")
    assert (again.status, again.body) == (304, b"")


def test_the_address_of_the_resolver(tmp_path: Path) -> None:
    with deployed(tmp_path / "registry", base_url="https://id.example.org/r") as site:
        found = json.loads(site.get("/openapi.json").body)
        assert found["servers"] == [{"url": "https://id.example.org/r"}]


# the server
# ----------


def judge(site: Deployment, place: Path, *options: str, more: str = "") -> None:
    """Let Schemathesis judge the server. Fails with what it says."""
    configuration = place / "schemathesis.toml"
    configuration.write_text(CONFIGURATION.read_text("utf-8") + more)
    program = Path(sys.executable).with_name("schemathesis")
    done = subprocess.run(
        [
            *(program, "--config-file", configuration, "run", f"{site.base}/openapi.json"),
            *("--phases", "examples,coverage,fuzzing", "--seed", SEED, "--no-shrink"),
            *("--generation-database", "none", "--exclude-method", "HEAD"),
            *("--exclude-operation-id-regex", _LEFT_OUT, *options),
        ],
        capture_output=True,
        text=True,
        cwd=place,
        env={name: value for name, value in os.environ.items() if "proxy" not in name.lower()},
    )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr
    failed = [one for one in site.log() if one["level"] == "error"]
    assert not failed


def test_every_operation(site: Deployment, tmp_path: Path) -> None:
    """With a token that may do everything; a check of Schemathesis leaves it out again."""
    token = site.token("everything")
    judge(site, tmp_path, "--max-examples", "4", "-H", f"Authorization: Bearer {token}")


def test_a_name_that_is_known(site: Deployment, tmp_path: Path) -> None:
    name = site.mint(text(b"To whom it may concern.\r\n"))
    parameters = f'\n[parameters]\n"path.name" = "{quote(name, safe="")}"\n'
    bearer = f"Authorization: Bearer {site.token('author')}"
    options = ("--max-examples", "8", "--include-path", "/{name}", "-H", bearer)
    judge(site, tmp_path, *options, more=parameters)
