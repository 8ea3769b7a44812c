"""The table of routes: what is generated from it, and that dispatch follows it."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from tests.server.deployment import AUTHORITY, SERIES, SHOULDER, Deployment, deployed, text, today

from perdure.reading.targets import read_target
from perdure.server.common.target_kinds import TargetKind
from perdure.server.fast import path as fast_path
from perdure.server.resource import methods, reading
from perdure.server.routes.dispatch import find_handler, is_page
from perdure.server.routes.listing import replace_sections, write_tables
from perdure.server.routes.model import Route
from perdure.server.routes.table import ROUTES, find_route

PROJECT = Path(__file__).parents[2]
PAGES = [one for one in ROUTES if not one.is_of_names]
PDI_ESCAPED = quote(f"pdi://{SERIES}/", safe="")


# what is generated
# -----------------


def test_the_reference_and_the_map_are_those_of_the_table() -> None:
    """Run `tools/route_tables.py --write` after a change of the table."""
    tool = [sys.executable, str(PROJECT / "tools/route_tables.py")]
    done = subprocess.run(tool, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_every_listed_route_is_in_the_reference() -> None:
    tables = write_tables(ROUTES)
    page = (PROJECT / "docs/reference/http.md").read_text("utf-8")
    assert all(f"<!-- routes: {name} -->" in page for name in tables)
    for one in ROUTES:
        if one.section:
            assert one.text.replace("|", r"\|") in tables[one.section]


def test_an_unknown_section_of_a_page_is_an_error() -> None:
    with pytest.raises(KeyError):
        replace_sections("<!-- routes: nothing -->\n<!-- end -->", {})


# dispatch
# --------


@pytest.mark.parametrize("route", ROUTES, ids=lambda one: f"{one.methods[0]} {one.operation}")
def test_every_route_is_found_by_its_pattern(route: Route) -> None:
    target = route.pattern.replace("{name}", "urn:x-a:b").replace("{", "").replace("}", "")
    for method in route.methods:
        raw = target.encode()
        found = find_handler(method, read_target(raw), raw)
        assert found is not None
        assert found.handler is route.handler
        allowed = found.allow[route.kinds[0]].decode().split(", ") if route.kinds else []
        assert (method in allowed) is bool(route.kinds)
    assert inspect.iscoroutinefunction(route.handler)


@pytest.mark.parametrize("route", PAGES, ids=lambda one: f"{one.methods[0]} {one.operation}")
def test_what_lies_below_a_page_is_no_identifier(route: Route) -> None:
    """No scheme has a slash in its name."""
    assert ":" not in route.lead
    target = read_target(f"/{route.lead}/http://www.dr.dk/".encode())
    assert is_page(target) is any(one.covers_below for one in PAGES if one.lead == route.lead)


def test_a_page_covers_what_its_pattern_covers() -> None:
    def find(raw: bytes) -> object:
        found = find_handler("GET", read_target(raw), raw)
        return found and found.handler

    assert find(b"/healthz") is find_route("checkHealth").handler
    assert find(b"/healthz/") is None
    assert find(b"/healthz/x") is None
    assert find(b"/nothing") is None
    assert find(b"/tokens/a:b") is find_route("showToken").handler
    assert find(b"/hrls/handles") is find(b"/hrls/handles/") is find(b"/hrls/handles/?URL=*")
    assert find(b"/pdi://a.us/") is find(b"pdi://a.us/") is find(b"/pdi%3a%2f%2fa.us%2f")
    assert find(b"/pdi://a.us/") is reading.answer_get


def test_a_method_without_a_route() -> None:
    def find(method: str, raw: bytes) -> object:
        found = find_handler(method, read_target(raw), raw)
        return found and found.handler

    assert find("PATCH", b"/healthz") is methods.refuse_method
    assert find("PATCH", b"/urn:x-a:b") is methods.refuse_method
    assert find("OPTIONS", b"*") is methods.answer_options
    assert find("TRACE", b"*") is None


def test_the_fast_path_takes_its_prefixes_from_the_table() -> None:
    assert fast_path._HANDLES == b"/api/handles/"
    assert fast_path._CDX == b"/cdx?"


# over HTTP
# ---------


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    root = tmp_path_factory.mktemp("routes") / "registry"
    with deployed(root, handle_prefixes="21.T14999") as running:
        yield running


@pytest.fixture(scope="module")
def token(site: Deployment) -> str:
    return site.token("everything")


PATTERNS = sorted({one.pattern for one in PAGES})


def fill_in(pattern: str) -> str:
    """The path of something that is there, or could be."""
    path = pattern.replace("/annotations/{series}/", f"/annotations/{SERIES}/")
    path = path.replace("/{name}", "/2026/11/21/4") if path != pattern else path
    path = path.replace("{proposal}", f"{'0' * 16}-{'0' * 32}")
    return path.replace("{", "").replace("}", "")


@pytest.mark.parametrize("pattern", PATTERNS)
def test_options_lists_the_methods_of_the_table(site: Deployment, pattern: str) -> None:
    answer = site.ask("OPTIONS", fill_in(pattern))
    if pattern == "/captures":  # there only if the operator enables it
        assert answer.status == 404
        return
    assert answer.status in (200, 204)
    allowed = [method for one in ROUTES if one.pattern == pattern for method in one.methods]
    assert sorted(answer.headers["allow"].split(", ")) == sorted(allowed)


@pytest.mark.parametrize("pattern", [one for one in PATTERNS if one != "/captures"])
def test_a_method_that_is_not_listed_is_405(site: Deployment, pattern: str) -> None:
    listed = {method for one in ROUTES if one.pattern == pattern for method in one.methods}
    for method in {"PUT", "POST", "DELETE", "PATCH"} - listed:
        answer = site.ask(method, fill_in(pattern), body=b"{}")
        assert answer.status == 405
        assert set(answer.headers["allow"].split(", ")) == listed


# a name that is escaped as a whole
# ---------------------------------


NAMES = [
    (f"/pdi://{SERIES}/", f"/{PDI_ESCAPED}"),
    (f"/ark:{SHOULDER}", f"/{quote(f'ark:{SHOULDER}', safe='')}"),
    (f"/URN:{AUTHORITY}::", f"/{quote(f'URN:{AUTHORITY}::', safe='')}"),
]


@pytest.mark.parametrize(("plain", "escaped"), NAMES)
def test_a_name_is_minted_under_an_escaped_authority(
    site: Deployment, token: str, plain: str, escaped: str
) -> None:
    made = [site.post(f"{one}?mint", {}, token=token) for one in (plain, escaped)]
    assert [one.status for one in made] == [201, 201]
    assert site.ask("OPTIONS", escaped).headers == site.ask("OPTIONS", plain).headers


def test_a_document_is_put_under_an_escaped_series(site: Deployment, token: str) -> None:
    made = site.put(f"/{PDI_ESCAPED}", b"bytes", token=token)
    assert made.status == 201
    name = made.headers["content-location"]
    changed = site.put(f"/{quote(name.rsplit('.', 2)[0], safe='')}", b"more", token=token)
    assert changed.status == 201


@pytest.mark.parametrize(
    "name",
    [
        "pdi://{series}/{today}/1.text.1",
        "urn:pdi://{series}/{today}/1.text.1",
        "pdi://{series}/{today}/1.text.1#char=0,4",
        "hdl:21.T14999/ä%20b",
        "doi:10.1000/a?b",
        "ark:/99999/fk4x",
        "urn:x-example:a",
        "pwid:archive.example.org:2016-01-22T11.20.29Z:page:http://www.dr.dk/?a=b",
    ],
)
@pytest.mark.parametrize("query", ["", "?info", "?cite", "?locations", "?history", "?linkset"])
def test_every_face_reads_an_escaped_name(
    site: Deployment, letter: str, name: str, query: str
) -> None:
    written = name.format(series=SERIES, today=today())
    escaped = quote(written, safe="")
    plain = quote(written, safe="%:/?=,", encoding="utf-8")
    if written.startswith("doi:"):
        plain = plain.replace("?", "%3F")
    if written.startswith("pwid:") and query:
        plain = f"urn:{plain.replace('?', '%3F')}"  # the form in which a query can follow
    ask = "/{}{}".format
    one, other = site.get(ask(plain, query)), site.get(ask(escaped, query))
    assert (one.status, one.headers.get("content-type")) == (
        other.status,
        other.headers.get("content-type"),
    )
    if not written.startswith("pwid:"):
        assert one.body == other.body


@pytest.fixture(scope="module")
def letter(site: Deployment) -> str:
    name = site.mint(text(b"To whom it may concern.\r\n"))
    site.bind("hdl:21.T14999/ä%20b", "https://elsewhere.example.org/h")
    site.bind("doi:10.1000/a?b", "https://elsewhere.example.org/d")
    site.bind("ark:/99999/fk4x", "https://elsewhere.example.org/a")
    site.bind("urn:x-example:a", "https://elsewhere.example.org/u")
    return name


@pytest.mark.parametrize("page", ["/uri-res/N2L?{}", "/uri-res/N2C?{}", "/uri-res/N2R?{}"])
def test_a_resolution_service_reads_an_escaped_name(
    site: Deployment, letter: str, page: str
) -> None:
    one, other = site.get(page.format(letter)), site.get(page.format(quote(letter, safe="")))
    assert (one.status, one.body) == (other.status, other.body)
    assert one.status in (200, 303)


def test_an_escaped_name_that_is_not_utf_8_is_malformed(site: Deployment) -> None:
    assert site.get("/urn%3Ax-example%3A%FF").status == 400
    assert site.ask("OPTIONS", "/urn%3Ax-example%3A%FF").status == 400


def test_a_word_with_an_equals_sign_is_the_word(site: Deployment, token: str) -> None:
    site.token("short-lived")
    answer = site.post("/tokens/short-lived?revoke=", {}, token=token)
    assert answer.status == 200
    assert b'"revoked"' in answer.body


def test_kinds_of_names_allow_what_the_table_says(site: Deployment, letter: str) -> None:
    for name, kind in (
        (letter, TargetKind.IDENTIFIER),
        (f"{letter}%23char=0,1", TargetKind.PART),
        (f"pdi://{SERIES}/{today()}/", TargetKind.PATTERN),
        (f"pdi://{SERIES}/", TargetKind.SERIES),
        (f"ark:{SHOULDER}", TargetKind.AUTHORITY),
    ):
        allowed = {
            method
            for one in ROUTES
            if one.is_of_names and kind in one.kinds
            for method in one.methods
        }
        answer = site.ask("OPTIONS", f"/{name}")
        assert set(answer.headers["allow"].split(", ")) == allowed
