"""Collections over HTTP: one identifier and a part identifier reach every member."""

from __future__ import annotations

import hashlib
import html
import json
import re

import pytest
from tests.server.deployment import SERIES, Deployment, text

from perdure.ids import parse
from perdure.model import collection as members
from perdure.model.collection import Collection, CollectionMember
from perdure.model.commands import Content, Register, Restrict, Withdraw
from perdure.model.reading_rules import Access, ReadingRule
from perdure.upkeep.collection import forms

LETTER = b"To whom it may concern\r\n"
PWID = "pwid:archive.org:2016-01-22T11.20.29Z:page:http://www.dr.dk"


def document(*found: CollectionMember, **about: object) -> Content:
    fields = {"title": "A corpus"} | about | {"members": found}
    data = members.write_collection(Collection(**fields))  # type: ignore[arg-type]
    return text(data, members.FORMAT, members.MEDIA_TYPE)


@pytest.fixture(scope="module")
def letter(site: Deployment) -> str:
    return site.mint(text(LETTER))


@pytest.fixture(scope="module")
def corpus(site: Deployment, letter: str) -> str:
    return site.mint(
        document(
            CollectionMember(identifier=letter, name="letter", title="<b>A letter</b>"),
            CollectionMember(identifier=f"{letter}#char=3,7", name="a part"),
            CollectionMember(identifier=PWID),
            CollectionMember(identifier="doi:10.1000/182"),
            CollectionMember(identifier="hdl:1839/00-0000"),
            CollectionMember(identifier="ark:12148/btv1b8449691v"),
            CollectionMember(identifier="urn:isbn:9780141036144"),
        )
    )


def test_a_number_reaches_each_member(site: Deployment, corpus: str, letter: str) -> None:
    """ISO 24619 section 3.1.8: "referenced by a single PID concatenated with a part identifier in
    order to access the components of the collection".
    """
    base = site.base
    expected = [
        f"{base}/{letter}",
        f"{base}/{letter}%23char=3,7",
        f"{base}/urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk",
        "https://doi.org/10.1000/182",
        "https://hdl.handle.net/1839/00-0000",
        "https://n2t.net/ark:12148/btv1b8449691v",
        f"{base}/urn:isbn:9780141036144",
    ]
    found = [site.get(f"/{corpus}%23member={number}") for number in range(1, 8)]
    assert [one.status for one in found] == [302] * 7
    assert [one.headers["location"] for one in found] == expected


@pytest.mark.parametrize("name", ["%23member=letter", "#member=letter", "?part=member%3Dletter"])
def test_a_name_reaches_its_member(site: Deployment, corpus: str, letter: str, name: str) -> None:
    found = site.get(f"/{corpus}{name}")
    assert found.headers["location"] == f"{site.base}/{letter}"
    assert f'<{site.base}/{corpus}%23member=1>; rel="canonical"' in found.headers["link"]
    assert f'<{site.base}/{corpus}>; rel="collection"' in found.headers["link"]
    followed = site.get(found.headers["location"].removeprefix(site.base))
    assert followed.body == LETTER


def test_a_name_with_a_blank_is_escaped(site: Deployment, corpus: str, letter: str) -> None:
    found = site.get(f"/{corpus}%23member=a%20part")
    assert found.headers["location"] == f"{site.base}/{letter}%23char=3,7"


def test_whoever_wants_json_gets_the_entry(site: Deployment, corpus: str, letter: str) -> None:
    found = site.get(f"/{corpus}%23member=1", "Accept: application/json")
    assert found.status == 200
    assert json.loads(found.body)["identifier"] == letter
    assert found.headers["content-type"].startswith("application/json")


@pytest.mark.parametrize("part", ["member=8", "member=nobody", "member=99999999999999"])
def test_what_is_no_member_is_not_found(site: Deployment, corpus: str, part: str) -> None:
    found = site.get(f"/{corpus}%23{part}")
    assert found.status == 404
    assert json.loads(found.body)["extent"] == "7 members"


@pytest.mark.parametrize(("part", "status"), [("member=0", 400), ("member=-1", 404)])
def test_numbers_begin_with_1(site: Deployment, corpus: str, part: str, status: int) -> None:
    assert site.get(f"/{corpus}%23{part}").status == status


def test_only_collections_have_members(site: Deployment, letter: str) -> None:
    assert site.get(f"/{letter}%23member=1").status == 501
    assert site.get(f"/{letter}?members").status == 406


def test_a_document_that_is_no_collection_says_so(site: Deployment) -> None:
    broken = site.mint(text(b"{}", members.FORMAT, members.MEDIA_TYPE))
    for target in (f"/{broken}%23member=1", f"/{broken}?members"):
        assert site.get(target).status in (404, 500, 422), target


def test_the_list_has_every_members_own_identifier(
    site: Deployment, corpus: str, letter: str
) -> None:
    """ISO 24619 section 5.6: "a machine-readable metadata description which provides access to the
    relevant information, in particular to the resources that are included, referenced by their own
    individual PIDs".
    """
    found = json.loads(site.get(f"/{corpus}?members", "Accept: application/json").body)
    assert (found["title"], found["size"], found["next"]) == ("A corpus", 7, None)
    assert found["members"][0]["identifier"] == letter
    assert [one["identifier"] for one in found["members"]][2:4] == [PWID, "doi:10.1000/182"]
    assert found["members"][6]["url"] == f"{site.base}/{corpus}%23member=7"
    assert found["members"][6]["part"] == f"{corpus}#member=7"
    assert str(parse(found["members"][6]["part"])) == found["members"][6]["part"]


def test_an_entry_cannot_say_where_it_leads(site: Deployment) -> None:
    data = b'{"collection": 1, "members": [{"identifier": "hdl:1/1", "url": "http://evil"}]}'
    evil = site.mint(text(data, members.FORMAT, members.MEDIA_TYPE))
    found = json.loads(site.get(f"/{evil}?members", "Accept: application/json").body)
    assert found["members"][0]["url"] == f"{site.base}/{evil}%23member=1"


def test_the_record_says_where_the_members_are(site: Deployment, corpus: str) -> None:
    record = json.loads(site.get(f"/{corpus}?info", "Accept: application/json").body)
    (held,) = record["versions"][0]["representations"]
    assert held["members"] == f"{site.base}/{corpus}?members"
    page = site.get(f"/{corpus}?info", "Accept: text/html").body.decode()
    assert f'href="{site.base}/{corpus}?members"' in page


def test_the_list_comes_in_pages(site: Deployment, corpus: str) -> None:
    seen, target = [], f"/{corpus}?members&limit=3"
    while target:
        page = json.loads(site.get(target, "Accept: application/json").body)
        seen += [one["number"] for one in page["members"]]
        target = (page["next"] or "").removeprefix(site.base)
    assert seen == list(range(1, 8))


def test_other_identifiers_have_members_too(site: Deployment) -> None:
    handle = "hdl:1839/corpus"
    one = document(CollectionMember(identifier="doi:10.1000/182", name="x"))
    site.do(Register(identifier=parse(handle), contents=(one,)))
    found = json.loads(site.get(f"/{handle}?members", "Accept: application/json").body)
    (row,) = found["members"]
    assert row["url"] == f"{site.base}/{handle}?part=member=1"
    for target in (row["url"].removeprefix(site.base), f"/{handle}?part=member%3Dx"):
        assert site.get(target).headers["location"] == "https://doi.org/10.1000/182"


def test_the_list_is_a_linkset(site: Deployment, corpus: str) -> None:
    """RFC 9264 section 4.2, RFC 6573 section 2.1."""
    found = site.get(f"/{corpus}?members", "Accept: application/linkset+json")
    first, *each = json.loads(found.body)["linkset"]
    assert first["anchor"] == f"{site.base}/{corpus}"
    assert [one["href"] for one in first["item"]] == [one["anchor"] for one in each]
    assert each[3]["cite-as"] == [{"href": "doi:10.1000/182"}]


def test_people_see_a_page_and_nothing_in_it_is_markup(site: Deployment, corpus: str) -> None:
    whole = corpus.rsplit(".", 2)[0]
    for target in (f"/{corpus}?members", f"/{whole}"):
        page = site.get(target, "Accept: text/html,application/xhtml+xml,*/*;q=0.8")
        assert page.headers["content-type"].startswith("text/html"), target
        assert b"&lt;b&gt;A letter" in page.body
        assert f"{corpus}%23member=7".encode() in page.body
    named = site.get(f"/{corpus}", "Accept: text/html,*/*;q=0.8")
    assert f"{corpus}?members".encode() in named.body  # its landing page


def test_whoever_takes_html_only_gets_the_page(site: Deployment, corpus: str) -> None:
    whole = corpus.rsplit(".", 2)[0]
    page = site.get(f"/{whole}", "Accept: text/html")
    assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert b"&lt;b&gt;A letter" in page.body
    named = site.get(f"/{corpus}", "Accept: text/html")
    assert f"{corpus}?members".encode() in named.body  # its landing page


@pytest.mark.parametrize("kind", ["text/plain", "text/csv", "text/turtle"])
def test_lists_that_are_read_again(site: Deployment, corpus: str, kind: str) -> None:
    """The pages of a list, read and put together, are the collection."""
    whole = members.read_collection(site.get(f"/{corpus}").body)
    found: list[CollectionMember] = []
    target = f"/{corpus}?members&limit=3"
    while target:
        page = site.get(target, f"Accept: {kind}")
        assert (page.status, page.headers["content-type"]) == (200, f"{kind}; charset=utf-8")
        shown = forms.read_collection(page.body)
        assert (shown.title, shown.creators) == (whole.title, whole.creators)
        if kind == "text/turtle":
            assert f"<{corpus}#member={len(found) + 1}>".encode() in page.body
        found += shown.members
        onwards = re.search(r'<([^>]*)>; rel="next"', page.headers.get("link", ""))
        target = onwards[1].removeprefix(site.base) if onwards else ""
    assert tuple(found) == whole.members


@pytest.mark.parametrize("kind", ["text/plain", "text/csv", "text/turtle"])
def test_what_could_not_be_read_again_is_not_written(site: Deployment, kind: str) -> None:
    data = b'{"collection": 1, "members": [{"identifier": "hdl:1/1\\nhdl:1/2"}]}'
    evil = site.mint(text(data, members.FORMAT, members.MEDIA_TYPE))
    assert site.get(f"/{evil}?members", f"Accept: {kind}").status == 422


def test_a_list_of_uris(site: Deployment, corpus: str) -> None:
    found = site.get(f"/{corpus}?members", "Accept: text/uri-list").body.decode("ascii")
    assert found.split("\r\n")[3:5] == [PWID, "doi:10.1000/182"]


@pytest.mark.parametrize("cursor", ["0", "x", "-1", "99999999999"])
def test_evil_cursors_are_refused_or_empty(site: Deployment, corpus: str, cursor: str) -> None:
    found = site.get(f"/{corpus}?members&cursor={cursor}", "Accept: application/json")
    assert found.status == 400


def test_numbers_stay_in_a_version(site: Deployment, letter: str) -> None:
    first = site.mint(document(CollectionMember(identifier="hdl:1/1")))
    newer = document(CollectionMember(identifier="hdl:1/2"), CollectionMember(identifier="hdl:1/1"))
    second = site.commit(first.rsplit(".", 2)[0], newer)
    assert site.get(f"/{first}%23member=1").headers["location"].endswith("1/1")
    assert site.get(f"/{second}%23member=1").headers["location"].endswith("1/2")


def test_the_page_says_what_is_known_of_each_member(site: Deployment) -> None:
    gone = site.mint(text(b"soon gone"))
    site.do(Withdraw(identifier=parse(gone.rsplit(".", 2)[0]), reason="It was wrong."))
    here = site.mint(text(LETTER))
    others = [f"hdl:1839/00-{number:04}" for number in range(61)]
    names = [here, f"{here}#char=3,7", gone, *others]
    corpus = site.mint(document(*(CollectionMember(identifier=one) for one in names)))
    answer = site.get(f"/{corpus}?members", "Accept: text/html")
    page = answer.body.decode()
    states = re.findall(r'<span class="state">([^<]*)</span>', page)
    assert states[:4] == ["held", "held", "withdrawn", "elsewhere"]
    assert len(states) == 50
    assert "soon gone" not in page
    assert f'href="{site.base}/{corpus}?bytes" download' in page
    assert site.get(f"/{corpus}?bytes").body.startswith(b"{")
    assert "immutable" not in answer.headers["cache-control"]
    more = re.search(r'rel="next" href="([^"]+)"', page)
    assert more
    rest = site.get(html.unescape(more[1]).removeprefix(site.base), "Accept: text/html")
    assert len(re.findall(r'<li value="', rest.body.decode())) == 14
    assert b'<li value="51"' in rest.body


def test_the_page_says_which_members_are_not_what_the_collection_says(site: Deployment) -> None:
    """docs/reference/collections.md, States of members: "Available, but not what the collection
    says". The list of a page reads no bytes, and compares only digests that are known.
    """
    here, several = site.mint(text(LETTER)), site.mint(text(b"one"), text(b"<p>one", "html"))
    right, wrong = (f"sha512:{hashlib.sha512(one).hexdigest()}" for one in (LETTER, b"other"))
    second = f"sha512:{hashlib.sha512(b'<p>one').hexdigest()}"
    other = f"sha1:{hashlib.sha1(b'other').hexdigest()}"
    closed = site.mint(text(LETTER))
    site.do(Restrict(rule=ReadingRule(about=closed, access=Access.CLOSED)))
    corpus = site.mint(
        document(
            CollectionMember(identifier=here, digest=right),
            CollectionMember(identifier=here.rsplit(".", 2)[0], digest=wrong),
            CollectionMember(identifier=f"{here}#char=3,7", digest=wrong),
            CollectionMember(identifier=several.rsplit(".", 2)[0], digest=second),
            CollectionMember(identifier=several, digest=second),
            CollectionMember(identifier=closed, digest=wrong),
            CollectionMember(identifier=f"pdi://{SERIES}/1999/09/09/9", digest=wrong),
            CollectionMember(identifier=PWID, digest=other),
        )
    )
    page = site.get(f"/{corpus}?members", "Accept: text/html").body.decode()
    assert re.findall(r'<span class="state">([^<]*)</span>', page) == [
        "held",
        "digest changed",
        "held",
        "held",
        "digest changed",
        "closed",
        "absent",
        "unverified",
    ]
