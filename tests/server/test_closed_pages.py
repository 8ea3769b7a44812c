"""What people see of documents that are closed to them, and of what changed last."""

from __future__ import annotations

import json
from collections.abc import Iterator

import lxml.html
import msgspec
import pytest
from tests.server.deployment import SERIES, Deployment, deployed, text, today

from perdure.ids import parse
from perdure.model.about import About, DescriptionText
from perdure.model.commands import Describe, Restrict, Withdraw
from perdure.model.reading_rules import Access, ReadingRule

PAGE = ("Accept: text/html",)
REASON = 'a <b>"private"</b> letter'
MAIL = (
    b"From: A <a@example.org>\r\nSubject: S\r\nContent-Type: text/html\r\n\r\n<p>a &lt;i&gt; b\r\n"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with deployed(tmp_path_factory.mktemp("closed") / "registry") as running:
        yield running


def close(site: Deployment, name: str, **values: object) -> None:
    rule = ReadingRule(about=name, access=Access.CLOSED, reason=REASON)
    site.do(Restrict(rule=msgspec.structs.replace(rule, **values)))


def read(site: Deployment, target: str, status: int) -> lxml.html.HtmlElement:
    answer = site.get(target, *PAGE)
    assert answer.status == status, answer.body
    return lxml.html.document_fromstring(answer.body.decode())


def say(page: lxml.html.HtmlElement) -> str:
    """The words of a page, without those of its frame."""
    (main,) = page.xpath("//main")
    return " ".join(main.text_content().split())


@pytest.mark.parametrize(
    ("rule", "status", "title", "said"),
    [
        ({"until": "2999-01-31"}, 403, "Not open yet", "Everyone, from 2999-01-31 on."),
        (
            {"until": "2999-01-31", "by_token": True},
            403,
            "Not open yet",
            "Until then: Readers who have a token for it.",
        ),
        ({"by_token": True}, 401, "Closed", "Readers who have a token for it."),
        ({"networks": ("10.1.0.0/16",)}, 403, "Closed", "Readers in certain networks only"),
        ({}, 403, "Closed", "You may not read it."),
        (
            {"access": Access.UNAVAILABLE, "at": "2026-01-02T03:04:05Z"},
            451,
            "Not available for legal reasons",
            "No one at present.",
        ),
    ],
)
def test_a_closed_document_has_an_honest_page(
    site: Deployment, rule: dict[str, object], status: int, title: str, said: str
) -> None:
    name = site.mint(text(b"secret words"))
    site.do(
        Describe(
            identifier=parse(name).resource, about=About(titles=(DescriptionText(value="Hidden"),))
        )
    )
    close(site, str(parse(name).resource), **rule)
    page = read(site, f"/{name}", status)
    assert page.xpath("string(//h1)") == title
    assert said in say(page)
    assert REASON in say(page)
    assert name.removesuffix(".text.1") in page.xpath("string(//p[@class='name']/code)")
    assert "secret" not in say(page)
    assert "Hidden" not in say(page)


def test_a_document_of_which_all_formats_are_closed_is_not_broken(site: Deployment) -> None:
    """It was called broken, and its page said that the name is bound to nothing."""
    name = site.mint(text(b"secret words"))
    whole = str(parse(name).resource)
    close(site, f"{whole}.text", until="2999-01-31")
    assert json.loads(site.get(f"/{whole}?info").body)["status"] == "closed"
    listed = json.loads(site.get(f"/pdi://{SERIES}/{today()}/", "Accept: application/json").body)
    (found,) = (one for one in listed["entries"] if one["identifier"] == whole)
    assert found["state"] == "closed"
    assert site.get(f"/{whole}").status == 403
    page = read(site, f"/{whole}?landing", 200)
    assert "it is not open to you" in say(page)
    (why,) = page.xpath("//p[@class='notice']/a/@href")
    assert say(read(site, why.removeprefix(site.base), 403)).startswith("Not open yet")


def test_the_first_page_shows_what_changed_last(site: Deployment) -> None:
    names = [str(parse(site.mint(text(b"words"))).resource) for _ in range(3)]
    for name in names:
        about = About(titles=(DescriptionText(value=f"Title of {name}"),))
        site.do(Describe(identifier=parse(name), about=about))
    site.do(Withdraw(identifier=parse(names[0]), reason="wrong"))
    close(site, names[1])
    page = read(site, "/", 200)
    shown = page.xpath("//ul[@class='entries']/li/a/@href")
    assert shown[:2] == [f"/{names[2]}?landing", f"/{names[2]}"]
    assert f"Title of {names[2]}" in say(page)
    for name in names[:2]:
        assert not [one for one in shown if name in one]
        assert f"Title of {name}" not in say(page)
    counted = page.xpath(f"string(//li[a/@href='/pdi://{SERIES}/'])")
    assert "names" in counted


def test_the_page_of_a_mail_has_its_text(site: Deployment) -> None:
    name = site.mint(text(MAIL, "rfc822", "message/rfc822"))
    page = read(site, f"/{name}", 200)
    shown = page.xpath("string(//section[@aria-labelledby='text']/pre)")
    assert shown.split() == ["From:", "A", "<a@example.org>", "Subject:", "S", "a", "<i>", "b"]
    (there,) = page.xpath("//section[@aria-labelledby='text']//a/@href")
    assert site.get(there).body.decode().split() == shown.split()


def test_an_open_document_is_listed_beside_a_closed_one_with_the_same_bytes(
    site: Deployment,
) -> None:
    """It was taken for another name of the closed one, and so for a proof of its bytes."""
    closed, opened, again = (
        str(parse(site.mint(text(b"the same bytes"))).resource) for _ in range(3)
    )
    close(site, closed)
    answer = site.get(f"/pdi://{SERIES}/{today()}/", "Accept: application/json")
    listed = json.loads(answer.body)
    assert closed in listed["identifiers"]
    assert opened in listed["identifiers"]
    assert listed["also"][opened] == [again]
    formats = site.get(f"/pdi://{SERIES}/{today()}/*.text.1", "Accept: application/json")
    listed = json.loads(formats.body)
    assert f"{opened}.text.1" in listed["identifiers"]
    assert listed["also"][f"{opened}.text.1"] == [f"{again}.text.1"]
