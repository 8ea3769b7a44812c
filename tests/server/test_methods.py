"""Methods other than GET, as section 3.8.2 of the draft has them  # rulings: http-405, http-put"""

from __future__ import annotations

import json

import pytest
from tests.server.deployment import OTHER_SERIES, SERIES, Deployment, text

from perdure.ids import parse
from perdure.model.commands import Register

UNKNOWN = f"pdi://{SERIES}/1997/09/01/1.text.1"


@pytest.fixture(scope="module")
def letter(site: Deployment) -> str:
    return site.mint(text(b"To whom it may concern.\r\n"))


# OPTIONS
# -------


def allow(site: Deployment, target: str) -> set[str]:
    answer = site.ask("OPTIONS", target)
    assert (answer.status, answer.body) == (204, b"")
    return set(answer.headers["allow"].split(", "))


def test_options(site: Deployment, letter: str) -> None:
    """ "Returns the HTTP operations supported for the PDI." """
    reading = {"GET", "HEAD", "OPTIONS", "TRACE"}
    assert allow(site, f"/{letter}") == reading | {"PUT", "POST"}
    assert allow(site, letter) == reading | {"PUT", "POST"}
    assert allow(site, f"/pdi://{SERIES}/") == reading | {"PUT", "POST"}
    assert allow(site, f"/pdi://{OTHER_SERIES}/1997/") == reading
    assert allow(site, f"/{letter}#char=0,1") == reading
    assert allow(site, "/healthz") == reading
    assert "GET" in allow(site, "*")


def test_options_on_what_is_unknown(site: Deployment) -> None:
    assert site.ask("OPTIONS", f"/{UNKNOWN}").status == 404
    assert site.ask("OPTIONS", "/pdi://nobody.us/").status == 404
    assert site.ask("OPTIONS", "/nothing").status == 404


def test_a_series_that_is_resolved_but_not_minted_here(site: Deployment) -> None:
    """ "A client MAY check whether an HTTP server resolves a PDI document series by issuing a HTTP
    request using the OPTIONS method on the PDI" (section 3.8.1).  # ruling: series-resolved"""
    site.do(Register(identifier=parse("pdi://mirrored.gov.us/1999/01/02/1")))
    reading = {"GET", "HEAD", "OPTIONS", "TRACE"}
    assert allow(site, "/pdi://mirrored.gov.us/") == reading
    assert allow(site, "/urn:pdi://Mirrored.gov.us/") == reading
    start = json.loads(site.get("/", "Accept: application/json").body)
    assert "mirrored.gov.us" in start["series"]
    assert set(start["minted"]) < set(start["series"])
    assert "mirrored.gov.us" not in start["minted"]
    page = site.get("/", "Accept: text/html").body.decode()
    assert '<a href="/pdi://mirrored.gov.us/">pdi://mirrored.gov.us/</a>' in page
    assert f"pdi://{SERIES}/</a> (minted here)" in page
    assert site.put("/pdi://mirrored.gov.us/", b"x", token=site.token("mirror")).status == 404


# TRACE
# -----


def test_trace_shows_what_arrived_but_no_secrets(site: Deployment, letter: str) -> None:
    answer = site.ask(
        "TRACE", f"{letter}", "X-Way: 1", "Authorization: Bearer x", "Cookie: a=b", "Via: 1.1 c"
    )
    assert (answer.status, answer.headers["content-type"]) == (200, "message/http")
    lines = answer.body.decode().split("\r\n")
    assert lines[0] == f"TRACE {letter} HTTP/1.1"
    assert "x-way: 1" in lines
    assert "via: 1.1 c" in lines
    assert b"Bearer" not in answer.body
    assert b"a=b" not in answer.body


def test_trace_of_what_is_unknown(site: Deployment) -> None:
    """ "When an HTTP method is applied to an unknown PDI, the server MUST return 404." """
    assert site.ask("TRACE", f"/{UNKNOWN}").status == 404
    assert site.ask("TRACE", "*").status == 404  # only OPTIONS is asked of the whole server


# DELETE and others
# -----------------


@pytest.mark.parametrize("target", [f"/{UNKNOWN}", "/pdi://nobody.us/", f"/pdi://{SERIES}/1997/"])
def test_delete_is_not_defined(site: Deployment, target: str) -> None:
    answer = site.ask("DELETE", target)
    assert answer.status == 405
    assert "GET" in answer.headers["allow"]
    assert json.loads(answer.body)["code"] == "method-not-allowed"


def test_delete_of_what_is_known(site: Deployment, letter: str) -> None:
    assert site.ask("DELETE", f"/{letter}").status == 405
    assert site.get(f"/{letter}").status == 200


@pytest.mark.parametrize("method", ["PATCH", "PROPFIND", "MKCOL", "BREW", "get"])
def test_other_methods(site: Deployment, letter: str, method: str) -> None:
    assert site.ask(method, f"/{UNKNOWN}").status == 404
    known = site.ask(method, f"/{letter}")
    assert known.status == 405
    assert "PUT" in known.headers["allow"]
    assert site.ask(method, "/healthz").status == 405


@pytest.mark.parametrize(
    ("method", "ending", "says"),
    [
        ("POST", "{name}", "POST needs one of ?correct, ?bind"),
        ("POST", "{name}?mint", "POST needs one of ?correct, ?bind"),
        ("PUT", "{name}?cite", "remove the query"),
        ("PUT", "{name}%23char=0,1", "remove the part"),
        ("PUT", "pdi://{series}/?cite", "remove it"),
        ("POST", "pdi://{series}/", "with ?mint"),
        ("PUT", "pdi://{series}/{day}/", "PUT /pdi://{series}/"),
        ("PUT", "pdi://{series}/1997/09/", "PUT /pdi://{series}/"),
        ("PUT", "pdi://{series}/{day}/*", "name one of them"),
        ("POST", "pdi://{series}/{day}/?bind", "?mint"),
    ],
)
def test_a_refused_write_says_which_form_would_do(
    site: Deployment, letter: str, method: str, ending: str, says: str
) -> None:
    """ "an Allow header containing a list of valid methods": the one that OPTIONS gives, too."""
    day = "/".join(letter.split("/")[3:6])
    fields = {"name": letter, "series": SERIES, "day": day}
    target = f"/{ending.format(**fields)}"
    answer = site.ask(method, target, body=b"{}")
    assert answer.status == 405
    assert says.format(**fields) in json.loads(answer.body)["detail"]
    allowed = site.ask("OPTIONS", target.partition("?")[0]).headers["allow"]
    assert answer.headers["allow"] == allowed


def test_put_and_post_where_there_is_nothing_to_write(site: Deployment) -> None:
    """ "whenever the server is unable to apply the method to an existing resource … 405"."""
    for method in ("PUT", "POST"):
        assert site.ask(method, f"/pdi://{OTHER_SERIES}/1997/", body=b"x").status == 405
        assert site.ask(method, "/healthz", body=b"x").status == 405
        assert site.ask(method, "/nothing", body=b"x").status == 404
        assert site.ask(method, f"/{UNKNOWN}", body=b"x").status == 404
