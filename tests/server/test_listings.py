"""Patterns and intervals over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from tests.server.conftest import Answer
from tests.server.deployment import OTHER_SERIES, SERIES, Deployment, deployed, resource, text

from perdure.ids import parse
from perdure.model.about import About, DescriptionText
from perdure.model.commands import Assign, Commit, Describe, Register, Withdraw
from perdure.model.records import Location, Value

DAYS = ("1997/09/01", "1997/09/30", "1997/11/02", "1998/01/01")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Twelve letters on each of four days, the first of them with two versions held here, too."""
    with deployed(tmp_path_factory.mktemp("listings") / "registry", page_size=5) as running:
        for day in DAYS:
            for serial in range(1, 13):
                name = f"pdi://{SERIES}/{day}/{serial}.text.1"
                place = Location(uri=f"https://a.example/{day}/{serial}")
                running.do(Register(identifier=parse(name), locations=(place,)))
        first = parse(f"pdi://{SERIES}/{DAYS[0]}/1")
        running.do(Commit(identifier=first, contents=(text(b"1"), text(b"1", "html", "text/html"))))
        running.do(Commit(identifier=first, contents=(text(b"2"),)))
        running.bind("pdi://elsewhere.gov.us/1997/09/01/1.text.1", "https://b.example/")
        yield running


def uris(answer: Answer) -> list[str]:
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/uri-list"
    lines = answer.body.decode("ascii").split("\r\n")
    assert lines[-1] == ""
    assert "" not in lines[:-1]
    return [line for line in lines[:-1] if not line.startswith("#")]


def following(site: Deployment, target: str, *fields: str) -> list[Answer]:
    """All pages, by way of `rel="next"`."""
    pages = [site.get(target, *fields)]
    while 'rel="next"' in pages[-1].headers.get("link", ""):
        query = pages[-1].headers["link"].partition(">")[0].removeprefix("<")
        assert "cursor=" in query
        pages.append(site.get(target.partition("?")[0] + query, *fields))
    return pages


def test_intervals_show_what_is_in_them(site: Deployment) -> None:
    """ "a browser can provide a directory list of all the documents in a year, a month, or on a
    day" (section 2.3)."""
    series = f"pdi://{SERIES}"
    assert uris(site.get(f"/{series}/")) == [f"{series}/1997/", f"{series}/1998/"]
    assert uris(site.get(f"/{series}/1997/")) == [f"{series}/1997/09/", f"{series}/1997/11/"]
    assert uris(site.get(f"/{series}/1997/9/")) == [
        f"{series}/1997/09/01/",
        f"{series}/1997/09/30/",
    ]
    assert uris(site.get(f"/{series}/1997/12/")) == []


def test_a_day_lists_its_identifiers_page_by_page(site: Deployment) -> None:
    target = f"/pdi://{SERIES}/1997/09/30/"
    pages = following(site, target)
    assert [len(uris(page)) for page in pages] == [5, 5, 2]
    found = [one for page in pages for one in uris(page)]
    assert found == [f"pdi://{SERIES}/1997/09/30/{serial}" for serial in range(1, 13)]


def test_a_page_may_be_shorter_and_not_longer(site: Deployment) -> None:
    target = f"/pdi://{SERIES}/1997/09/30/"
    assert len(uris(site.get(f"{target}?limit=3"))) == 3
    assert len(uris(site.get(f"{target}?limit=100"))) == 5
    assert [len(uris(one)) for one in following(site, f"{target}?limit=5")] == [5, 5, 2]
    assert [len(uris(one)) for one in following(site, f"{target}?l%69mit=5")] == [5, 5, 2]
    names = site.get(f"/uri-res/N2Ns?pdi://{SERIES}/1997/09/30/?l%69mit=3")
    assert len(uris(names)) == 3
    for wrong in ("0", "-1", "x", "99999999999"):
        assert site.get(f"{target}?limit={wrong}").status == 400


def test_patterns(site: Deployment) -> None:
    pattern = f"/pdi://{SERIES}/*/09/*/1.text.*"
    found = [one for page in following(site, pattern) for one in uris(page)]
    assert found == [
        f"pdi://{SERIES}/1997/09/01/1.text.1",
        f"pdi://{SERIES}/1997/09/01/1.text.2",
        f"pdi://{SERIES}/1997/09/01/1.text.3",
        f"pdi://{SERIES}/1997/09/30/1.text.1",
    ]
    html = f"/pdi://{SERIES}/1997/*/*/*.html.*"
    assert [one for page in following(site, html) for one in uris(page)] == [
        f"pdi://{SERIES}/1997/09/01/1.html.2"  # version 1 is what lies at the location
    ]


def test_listings_as_json(site: Deployment) -> None:
    target = f"/pdi://{SERIES}/1997/09/30/"
    page = json.loads(site.get(target, "Accept: application/json").body)
    assert page["about"] == f"pdi://{SERIES}/1997/09/30/"
    assert len(page["identifiers"]) == 5
    rest = json.loads(site.get(target + page["next"], "Accept: application/json").body)
    assert rest["identifiers"][0] == f"pdi://{SERIES}/1997/09/30/6"
    pages = following(site, target, "Accept: application/json")
    assert json.loads(pages[-1].body)["next"] is None


def test_listings_as_pages_link_to_what_they_list(site: Deployment) -> None:
    page = site.get(f"/pdi://{SERIES}/1997/09/30/", "Accept: text/html").body.decode()
    assert f'<A HREF="{site.base}/pdi://{SERIES}/1997/09/30/1">' in page
    assert 'rel="next" href="?cursor=' in page


def test_a_series_that_nobody_owns_and_nobody_knows(site: Deployment) -> None:
    assert site.get("/pdi://nobody.us/").status == 404
    assert site.get("/pdi://nobody.us/1997/*/*/*").status == 404
    assert uris(site.get(f"/pdi://{OTHER_SERIES}/")) == []  # owned, and empty
    assert uris(site.get("/pdi://elsewhere.gov.us/")) == ["pdi://elsewhere.gov.us/1997/"]  # known


def test_a_pattern_of_parts_lists_nothing(site: Deployment) -> None:
    assert site.get(f"/pdi://{SERIES}/1997/*/*/*.text.*#char=1,2").status == 501


@pytest.mark.parametrize(
    "cursor",
    [
        *("garbage", "zzz", "%00%0d%0a", "19970930/a1", "a.us/19970930/a1"),
        *(f"{SERIES}/{key}" for key in ("19970930", "19970930/b1", "19970930/x", "19980101/a1")),
    ],
)
@pytest.mark.parametrize("interval", ["1997/09/30/", "1997/*/*/*.text.*", "1997/"])
def test_a_cursor_that_is_none_of_the_listing_is_refused(
    site: Deployment, interval: str, cursor: str
) -> None:
    answer = site.get(f"/pdi://{SERIES}/{interval}?cursor={cursor}")
    assert (answer.status, json.loads(answer.body)["code"]) == (400, "invalid-request")


def test_a_cursor_is_a_place_that_need_not_be_taken(site: Deployment) -> None:
    """ "Paged by a stable cursor": the key of the last one seen, and empty at the beginning."""
    target = f"/pdi://{SERIES}/1997/09/30/"
    assert uris(site.get(f"{target}?cursor=")) == uris(site.get(target))
    behind = uris(site.get(f"{target}?cursor={SERIES}%2f19970930%2fb99"))
    assert behind == []


def test_a_damaged_record_is_named_and_hides_no_other(tmp_path: Path) -> None:
    with deployed(tmp_path / "registry") as running:
        for serial in (1, 2, 3):
            place = Location(uri=f"https://a.example/{serial}")
            name = parse(f"pdi://{SERIES}/1997/09/01/{serial}.text.1")
            running.do(Register(identifier=name, locations=(place,)))
        day, spoiled = f"pdi://{SERIES}/1997/09/01", parse(f"pdi://{SERIES}/1997/09/01/2").key
        with closing(apsw.Connection(str(tmp_path / "registry/registry.sqlite"))) as file:
            file.execute("DROP TRIGGER records_hold")
            file.execute("UPDATE records SET record='{no' WHERE key=?", (spoiled,))
        answer = running.get(f"/{day}/")
        assert uris(answer) == [f"{day}/1", f"{day}/3"]
        assert f"# damaged: {day}/2\r\n".encode() in answer.body
        assert answer.headers["cache-control"] == "no-store"
        value = json.loads(running.get(f"/{day}/", "Accept: application/json").body)
        assert (value["identifiers"], value["damaged"]) == ([f"{day}/1", f"{day}/3"], [f"{day}/2"])
        assert f"<LI>{day}/2".encode() in running.get(f"/{day}/", "Accept: text/html").body
        assert running.get(f"/{day}/2").status == 500


# every scheme, every question  # ruling: pdi-patterns-everywhere
# -----------------------------


@pytest.fixture(scope="module")
def others(site: Deployment) -> Deployment:
    for name, url in (
        ("hdl:1839/A", "https://a.example/A"),
        ("hdl:1839/b", "https://a.example/b"),
        ("doi:10.5072/x", "https://a.example/x"),
        ("ark:99999/fk4x", "https://a.example/fk4x"),
        ("URN:IANA:42117::x:::", "https://a.example/urn"),
        ("urn:isbn:1", "https://a.example/isbn"),
    ):
        site.bind(name, url)
    return site


@pytest.mark.parametrize(
    ("target", "found"),
    [
        ("/hdl:1839/*", ["hdl:1839/A", "hdl:1839/b"]),
        ("/hdl:1839/", ["hdl:1839/A", "hdl:1839/b"]),
        ("/1839/a*", ["hdl:1839/A"]),
        ("/hdl%3A1839%2F%2A", ["hdl:1839/A", "hdl:1839/b"]),
        ("/https://doi.org/10.5072/*", ["doi:10.5072/x"]),
        ("/ark:/99999/fk4*", ["ark:99999/fk4x"]),
        ("/ark:99999/", ["ark:99999/fk4x"]),
        ("/urn:isbn:", ["urn:isbn:1"]),
        ("/URN:IANA:42117::*", ["URN:IANA:42117::x:::"]),
        ("/uri-res/N2R?hdl:1839/*", ["hdl:1839/A", "hdl:1839/b"]),
        ("/uri-res/N2Ns?hdl:1839/*", ["hdl:1839/A", "hdl:1839/b"]),
        ("/uri-res/N2Ns?hdl:1839/*?limit=1", ["hdl:1839/A"]),
        ("/uri-res/N2Ls?hdl:1839/", ["https://a.example/A", "https://a.example/b"]),
        ("/hdl:1839/*?locations", ["https://a.example/A", "https://a.example/b"]),
        (
            f"/uri-res/N2Ns?urn:pdi://{SERIES}/1997/*/*/1.html.*",
            [f"urn:pdi://{SERIES}/1997/09/01/1.html.2"],
        ),
    ],
)
def test_sets_of_every_scheme(others: Deployment, target: str, found: list[str]) -> None:
    """ "wildcards may be used to obtain information for sets of PDIs" (section 3.6.3)."""
    assert uris(others.get(target)) == found


def test_a_service_pages_through_a_set(others: Deployment) -> None:
    page = others.get("/uri-res/N2Ns?hdl:1839/*?limit=1")
    query = page.headers["link"].partition(">")[0].removeprefix("<")
    assert uris(others.get(f"/uri-res/N2Ns{query}")) == ["hdl:1839/b"]
    listed = others.get("/hdl:1839/*?locations&limit=1")
    query = listed.headers["link"].partition(">")[0].removeprefix("<")
    assert query.startswith("?locations&cursor=")
    assert uris(others.get(f"/hdl:1839/*{query}")) == ["https://a.example/b"]


@pytest.mark.parametrize("target", ["/uri-res/N2C?hdl:1839/*", "/hdl:1839/*?info"])
def test_a_set_is_described(others: Deployment, target: str) -> None:
    shown = json.loads(others.get(target).body)
    assert [one["identifier"] for one in shown["records"]] == ["hdl:1839/A", "hdl:1839/b"]
    assert shown["next"] is None


def test_a_set_is_cited_as_a_bibliography(others: Deployment) -> None:
    answer = others.get("/hdl:1839/*?cite")
    assert answer.headers["content-type"] == "text/x-bibliography; charset=utf-8"
    first, second = answer.body.decode().strip().split("\n\n")
    assert first.endswith("(hdl:1839/A)")
    assert second.endswith("(hdl:1839/b)")
    items = json.loads(others.get("/hdl:1839/*?metadata=csl").body)
    assert [one["id"] for one in items] == ["hdl:1839/A", "hdl:1839/b"]
    bibtex = others.get("/hdl:1839/*?cite=bibtex")
    assert bibtex.headers["content-type"] == "application/x-bibtex; charset=utf-8"
    assert bibtex.body.count(b"@misc{") == 2
    assert others.get("/hdl:1839/*?metadata=datacite").status == 400
    assert others.get("/hdl:1839/*?cite=nothing-like-a-style").status == 400


def test_an_alias_in_the_set_is_cited_under_the_other_name(site: Deployment) -> None:
    """Two entries of one handle would have the same BibTeX key, which biber refuses."""
    site.bind("hdl:1842/A", "https://a.example/1842")
    site.bind("hdl:1843/gone", "https://a.example/1843")
    site.do(Withdraw(identifier=parse("hdl:1843/gone"), reason="r"))
    for name, target in (
        *(("1842/alias", "1842/A"), ("1842/loop", "1842/loop2"), ("1842/loop2", "1842/loop")),
        *(("1842/away", "hdl:1843/gone"), ("1843/alias", "1842/A")),
    ):
        value = Value(index=1, type="HS_ALIAS", data=target)
        site.do(Assign(identifier=parse(f"hdl:{name}"), values=(value,)))
    items = json.loads(site.get("/hdl:1842/*?metadata=csl").body)
    assert [one["id"] for one in items] == ["hdl:1842/A", "hdl:1842/loop", "hdl:1842/loop2"]
    bibtex = site.get("/hdl:1842/*?cite=bibtex").body.decode()
    keys = [line for line in bibtex.splitlines() if line.startswith("@")]
    assert len(set(keys)) == len(keys) == 3
    (item,) = json.loads(site.get("/hdl:1843/*?metadata=csl").body)
    assert item["URL"].endswith("/hdl:1843/alias")


def test_a_pattern_of_versions_cites_versions(site: Deployment) -> None:
    """A pattern cites what it lists, each with the description of its own level.

    # rulings: pdi-patterns-everywhere, version-metadata
    """
    name = site.mint(text(b"one"), text(b"<p>one", "html", "text/html"))
    site.commit(name, text(b"two"), text(b"<p>two", "html", "text/html"))
    site.commit(name, text(b"three"), text(b"<p>three", "html", "text/html"))
    whole = resource(name)
    for said, title in ((whole, "Resource"), (f"{whole}.*.2", "Second"), (name, "First text")):
        about = About(titles=(DescriptionText(value=title),))
        site.do(Describe(identifier=parse(said), about=about))
    site.do(Withdraw(identifier=parse(f"{whole}.text.3"), version=3, reason="an error"))
    expected = {
        f"{whole}.*.2": [(f"{whole}.html.2", "Second"), (f"{whole}.text.2", "Second")],
        f"{whole}.text.*": [(f"{whole}.text.1", "First text"), (f"{whole}.text.2", "Second")],
        f"{whole}.html.*": [(f"{whole}.html.1", "Resource"), (f"{whole}.html.2", "Second")],
    }
    for pattern, cited in expected.items():
        pages = following(site, f"/{pattern}?cite=csl&limit=1")
        items = [one for page in pages for one in json.loads(page.body)]
        assert [(one["id"], one["title"]) for one in items] == cited
        listed = [one for page in following(site, f"/{pattern}") for one in uris(page)]
        assert [one for one in listed if not one.endswith(".3")] == [one for one, _ in cited]


@pytest.mark.parametrize(
    "target",
    [
        "/hdl:1841/*",
        "/hdl:1839/*?part=page=2",
        "/uri-res/N2Ns?hdl:1841/*",
        "/uri-res/N2C?hdl:1841/*",
        "/hdl:1841/*?cite",
        f"/pdi://{SERIES}/1997/*/*/*.nosuch.*",
        "/pdi://nobody.us/1997/?info",
    ],
)
def test_a_set_without_known_names_is_not_found(others: Deployment, target: str) -> None:
    answer = others.get(target)
    assert (answer.status, json.loads(answer.body)["code"]) == (404, "not-found")


def test_an_empty_interval_answers_every_question(others: Deployment) -> None:
    """ "an empty day, month or year of a series that is resolved here is an empty list (200)" """
    year = f"pdi://{SERIES}/1999/"
    for target in (f"/{year}", f"/uri-res/N2Ns?{year}", f"/uri-res/N2Ls?{year}"):
        assert uris(others.get(target)) == []
    assert json.loads(others.get(f"/uri-res/N2C?{year}").body)["records"] == []


def test_one_location_needs_one_name(others: Deployment) -> None:
    assert others.get("/uri-res/N2L?hdl:1839/*").status == 400


def test_a_name_may_be_written_like_a_set(others: Deployment) -> None:
    others.bind("hdl:1842/*", "https://a.example/star")
    answer = others.get("/hdl:1842/*")
    assert (answer.status, answer.headers["location"]) == (302, "https://a.example/star")


def test_authorities_of_every_scheme(others: Deployment) -> None:
    pages = following(others, "/authorities?limit=2")
    assert {len(uris(one)) for one in pages[:-1]} == {2}
    listed = [one for page in pages for one in uris(page)]
    assert listed[:5] == uris(others.get("/authorities"))
    expected = ["doi:10.5072/", "hdl:1839/", f"pdi://{SERIES}/", "urn:isbn:"]
    assert [one for one in listed if one in expected] == expected
    assert {"ark:99999/", "URN:IANA:42117::"} <= {*listed}
    shown = others.get("/authorities", "Accept: text/html").body.decode()
    assert f'HREF="{others.base}/hdl:1839/"' in shown
    assert json.loads(others.get("/", "Accept: application/json").body)["authorities"]
    for one in listed:
        assert others.get(f"/{one}").status == 200


def test_methods_of_a_set(others: Deployment) -> None:
    answer = others.ask("OPTIONS", "/hdl:1839/*")
    assert (answer.status, answer.headers["allow"]) == (204, "GET, HEAD, OPTIONS, TRACE")
    assert others.ask("OPTIONS", "/hdl:1841/*").status == 404


def test_several_names_of_one_thing_are_listed_once(site: Deployment) -> None:
    """Ruling urn93-duplicates; questions about records (`?info`, `?locations`, `?names`) keep
    all."""
    content = b"the same letter under two names"
    day = "pdi://oma.eop.gov.us/1996/04/0"
    names = [f"{day}{number}/1" for number in (1, 2)]
    for name in names:
        site.do(Register(identifier=parse(name), contents=(text(content),)))
    pattern = "pdi://oma.eop.gov.us/1996/04/*/*"
    told = json.loads(site.get(f"/{pattern}", "Accept: application/json").body)
    assert told["identifiers"] == names[:1]
    assert told["also"] == {names[0]: names[1:]}
    for accept in ("text/uri-list", "text/plain"):
        lines = site.get(f"/{pattern}", f"Accept: {accept}").body.decode().splitlines()
        assert lines[1:] == [names[0], f"# also: {names[1]}"]
    page = site.get(f"/{pattern}", "Accept: text/html").body.decode()
    assert f'also <A HREF="{site.base}/{names[1]}">{names[1]}</A>' in page
    described = json.loads(site.get(f"/{pattern}?info", "Accept: application/json").body)
    assert [one["identifier"] for one in described["records"]] == names
    service = site.get(f"/uri-res/N2Rs?{pattern}", "Accept: application/json")
    assert json.loads(service.body)["identifiers"] == names[:1]
