"""Withdrawals by two persons, tokens and proposals, as people who signed in see and decide them."""

from __future__ import annotations

import asyncio
import html
import json
import re
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from tests.server.browser import Browser, run_browser
from tests.server.conftest import Answer
from tests.server.deployment import SERIES, Deployment, deployed, resource, text
from tests.server.test_depositing import FORM, post, sign_in, upload
from tests.server.test_proposed_assertions import list_about, propose

from perdure.ids import parse
from perdure.model.commands import Erase
from perdure.registry import initialise
from perdure.upkeep.citations.received import CitationReported, ReceivedCitations
from perdure.upkeep.composing import compose_document, mint_composite

HTML = "Accept: text/html"
WITHDRAW, TOKENS, PROPOSALS = "/desk/withdraw", "/desk/tokens", "/desk/proposals"
REASON = 'It names a witness,\n<b>who</b> asked "us" to.'


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    root = tmp_path_factory.mktemp("site") / "registry"
    initialise(root, series=(SERIES,))
    settings = root / "perdure.toml"  # of all processes, not only of the server
    two = settings.read_text("utf-8").replace("[perdure]", "[perdure]\nwithdrawal_persons = 2", 1)
    settings.write_text(two, "utf-8")
    with deployed(root, assertions="tokens", draft_bytes=1000) as running:
        yield running


@pytest.fixture(scope="module")
def anna(site: Deployment) -> str:
    return sign_in(site, site.token("anna"))


@pytest.fixture(scope="module")
def bert(site: Deployment) -> str:
    return sign_in(site, site.token("bert"))


def find_page(name: str) -> str:
    return f"{WITHDRAW}?of={quote(name, safe='')}"


def read_fields(answer: Answer) -> dict[str, str]:
    """The hidden fields of the form on a page."""
    page = answer.body.decode()
    found = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page)
    return {name: html.unescape(value) for name, value in found}


def decide(site: Deployment, cookie: str, name: str, act: str, **more: str) -> Answer:
    fields = read_fields(site.get(find_page(name), HTML, cookie))
    return post(site, WITHDRAW, fields | {"act": act} | more, cookie)


# withdrawals  # ruling: two-persons
# -----------


def test_what_contains_a_copy_is_told_before_and_after(
    site: Deployment, anna: str, bert: str
) -> None:
    """Ruling tombstone-silence: "documents held here that contain a copy … are listed to the
    withdrawer and keep their bytes"."""
    source = site.mint(text(b"what a witness saw"))
    quoted = f'<!doctype html><q cite="{source}#char=0,4"></q>'.encode()
    composed = compose_document(site.registry, quoted, "text/html")
    composite = resource(mint_composite(site.registry, composed, SERIES).identifier)
    same = site.mint(text(b"what a witness saw"))
    name = resource(source)
    for cookie in (anna, bert):
        page = site.get(find_page(name), HTML, cookie).body.decode()
        assert composite in page
        assert same in page
        assert source not in page
    decide(site, anna, name, "withdraw", reason="x")
    answer = decide(site, bert, name, "confirm")
    assert (answer.status, answer.headers["location"]) == (303, find_page(name))
    page = site.get(find_page(name), HTML, bert).body.decode()
    assert "These are still served" in page
    assert composite in page
    assert source not in page


def test_found_quotations_are_told_before_and_after(site: Deployment, anna: str, bert: str) -> None:
    """Ruling tombstone-silence: "documents held here that contain a copy (composites, found
    quotations) are listed to the withdrawer"; nobody can search for them afterwards."""
    pytest.importorskip("numpy")
    words = " ".join(f"witness{number}" for number in range(15))
    name = resource(site.mint(text(words.encode())))
    memo = site.mint(text(f"It says: {words.upper()}.".encode()))
    for cookie in (anna, bert):
        page = site.get(find_page(name), HTML, cookie).body.decode()
        assert "Documents that have passages of it" in page
        assert memo in page
    assert decide(site, anna, name, "withdraw", reason="x").status == 303
    answer = decide(site, bert, name, "confirm")
    assert answer.status == 200
    assert memo in answer.body.decode()
    assert "withdrawn already" in answer.body.decode()
    assert memo not in site.get(find_page(name), HTML, bert).body.decode()
    assert site.get(f"/{name}?bytes").status == 410


def test_one_proposes_and_another_confirms(site: Deployment, anna: str, bert: str) -> None:
    name = resource(site.mint(text(b"about a witness")))
    typed = REASON.replace("\n", "\r\n")  # HTML, 4.10.22.4: a form sends CRLF
    answer = decide(site, anna, name, "withdraw", reason=typed)
    assert (answer.status, answer.headers["location"]) == (303, find_page(name))
    assert site.get(f"/{name}?bytes").body == b"about a witness"
    seen = site.get(find_page(name), HTML, bert).body.decode()
    assert html.escape(REASON).replace("&#x27;", "&#39;") in seen.replace("&#34;", "&quot;")
    assert "anna" in seen
    assert decide(site, bert, name, "confirm").status == 303
    tombstone = site.get(f"/{name}?bytes")
    assert tombstone.status == 410
    stored = site.registry.listings.find_record(parse(name))
    assert stored is not None
    assert stored.tombstone is not None
    assert stored.tombstone.reason == REASON
    assert "withdrawn already" in site.get(find_page(name), HTML, bert).body.decode()


def test_nobody_confirms_alone(site: Deployment, anna: str) -> None:
    """ "Two tokens are two persons only if they have different keys and no grant chain in common
    below the operator"."""
    name = resource(site.mint(text(b"kept")))
    assert decide(site, anna, name, "withdraw", reason="No.").status == 303
    assert 'value="confirm"' not in site.get(find_page(name), HTML, anna).body.decode()
    decide(site, anna, name, "confirm")
    made = post(
        site,
        TOKENS,
        {"act": "grant", "name": "puppet", "may-withdraw": "yes", "scopes": "*"},
        anna,
    )
    secret = re.search(r"perdure_[A-Za-z0-9_-]+", made.body.decode())
    assert secret
    decide(site, sign_in(site, secret[0]), name, "confirm")
    assert site.get(f"/{name}?bytes").body == b"kept"


def test_the_reason_is_repeated_word_for_word(site: Deployment, anna: str, bert: str) -> None:
    name = resource(site.mint(text(b"kept, too")))
    decide(site, anna, name, "withdraw", reason="It is wrong.")
    answer = decide(site, bert, name, "confirm", reason="It is  wrong.")
    assert answer.status == 409
    assert b"It is wrong." in answer.body
    assert site.get(f"/{name}?bytes").status == 200


def test_a_proposal_is_refused(site: Deployment, anna: str, bert: str) -> None:
    name = resource(site.mint(text(b"stays")))
    decide(site, anna, name, "withdraw", reason="Perhaps.")
    assert name in site.get(PROPOSALS, HTML, bert).body.decode()
    assert decide(site, bert, name, "refuse").status == 303
    assert name not in site.get(PROPOSALS, HTML, bert).body.decode()
    assert site.get(f"/{name}?bytes").status == 200


def test_what_changed_since_it_was_seen_is_not_decided(
    site: Deployment, anna: str, bert: str
) -> None:
    """ "A proposal names a revision … and is void when a further version is committed"."""
    name = resource(site.mint(text(b"first")))
    decide(site, anna, name, "withdraw", reason="The first is wrong.")
    fields = read_fields(site.get(find_page(name), HTML, bert))
    site.commit(name, text(b"second"))
    answer = post(site, WITHDRAW, fields | {"act": "confirm"}, bert)
    assert answer.status == 409
    assert site.get(f"/{name}?bytes").body == b"second"


def test_an_erasure_is_confirmed_with_its_right(site: Deployment, anna: str, bert: str) -> None:
    name = resource(site.mint(text(b"secret address")))
    site.do(Erase(identifier=parse(name), reason="The law asks for it."))
    may_only_withdraw = sign_in(site, site.token("carl", operations=("withdraw",)))
    assert decide(site, may_only_withdraw, name, "confirm").status == 409
    assert site.get(f"/{name}?bytes").status == 200
    assert decide(site, bert, name, "confirm").status == 303
    assert site.get(f"/{name}?bytes").status == 410
    assert b"secret address" not in b"".join(
        one.read_bytes() for one in (site.root / "segments").iterdir()
    )


def test_a_form_needs_right_origin_and_sense(site: Deployment, anna: str) -> None:
    name = resource(site.mint(text(b"untouched")))
    poor = sign_in(site, site.token("poor", operations=("mint",)))
    assert site.get(find_page(name), HTML, poor).status == 403
    for path in (WITHDRAW, TOKENS, PROPOSALS):
        foreign = site.ask(
            "POST", path, FORM, "Origin: https://evil.example", anna, HTML, body=b"of=x"
        )
        assert foreign.status == 403, path
        assert site.get(path, HTML).status == 303
    assert site.get(f"{WITHDRAW}?of=pdi://{SERIES}/1990/01/01/1", HTML, anna).status == 404
    assert site.get(f"{WITHDRAW}?of=%3Cscript%3E", HTML, anna).status == 400
    for fields in ({"revision": "x"}, {"revision": "1", "version": "-1"}, {"revision": "9" * 40}):
        answer = post(site, WITHDRAW, fields | {"of": name, "reason": "x"}, anna)
        assert answer.status == 409
        assert b"load the page again" in answer.body
    assert decide(site, anna, name, "withdraw", reason="  ").status == 409
    assert site.get(f"/{name}?bytes").status == 200


# tokens
# ------


def test_a_token_is_shown_once(site: Deployment, anna: str) -> None:
    fields = {
        "act": "grant",
        "name": "new <i>one</i>",
        "may-mint": "yes",
        "may-describe": "yes",
        "scopes": f"{SERIES}\r\nhdl:1839/*\r\n",
        "ends": "2999-12-31",
    }
    answer = post(site, TOKENS, fields, anna)
    assert (answer.status, answer.headers["cache-control"]) == (201, "no-store")
    secret = re.findall(r"perdure_[A-Za-z0-9_-]{20,}", answer.body.decode())
    assert len(secret) == 1
    made = site.registry.records.find_token_named("new <i>one</i>")
    assert made is not None
    assert (made.operations, made.granted_by) == (("mint", "describe"), "anna")
    assert (made.authorities, made.expires) == ((SERIES, "hdl:1839/*"), "2999-12-31T23:59:59Z")
    assert site.put(f"/pdi://{SERIES}/", b"by it", token=secret[0]).status == 201
    listed = site.get(TOKENS, HTML, anna).body.decode()
    assert "new &lt;i&gt;one&lt;/i&gt;" in listed
    assert secret[0] not in listed
    assert secret[0] not in json.dumps(site.log())
    again = post(site, TOKENS, fields, anna)
    assert again.status == 409
    assert b"perdure_" not in again.body


def test_a_token_is_ended(site: Deployment, anna: str) -> None:
    secret = site.token("short", granted_by="anna", operations=("mint",))
    assert site.put(f"/pdi://{SERIES}/", b"before", token=secret).status == 201
    assert post(site, TOKENS, {"act": "end", "name": "short"}, anna).status == 303
    assert site.put(f"/pdi://{SERIES}/", b"after", token=secret).status == 401


@pytest.mark.parametrize(
    "wrong",
    [
        {"may-erase": "yes"},  # not the giver's
        {"scopes": "*"},
        {"scopes": ""},
        {"name": ""},
        {"name": "key:x"},
        {"first": "yesterday"},
        {"ends": "2026-13-01"},
        {"key": "not a key"},
    ],
)
def test_a_wrong_grant_is_explained_and_keeps_what_was_typed(
    site: Deployment, wrong: dict[str, str]
) -> None:
    name = f"giver of {sorted(wrong.items())}"
    giver = site.token(name, operations=("mint", "delegate"), authorities=(SERIES,))
    fields = {"act": "grant", "name": "typed", "may-mint": "yes", "scopes": SERIES}
    cookie = sign_in(site, giver)
    answer = post(site, TOKENS, fields | wrong, cookie)
    assert answer.status == 409, answer.body
    assert b'role="alert"' in answer.body
    assert site.registry.records.find_token_named("typed") is None


def test_only_managed_tokens_are_seen_and_ended(site: Deployment) -> None:
    mine = sign_in(site, site.token("mine", operations=("mint",), authorities=(SERIES,)))
    site.token("not mine", operations=("mint",), authorities=(SERIES,))
    page = site.get(TOKENS, HTML, mine).body.decode()
    assert "not mine" not in page
    assert 'name="scopes"' not in page
    assert post(site, TOKENS, {"act": "end", "name": "not mine"}, mine).status == 409
    kept = site.registry.records.find_token_named("not mine")
    assert kept is not None
    assert kept.revoked is None


# proposals
# ---------


def test_a_proposed_assertion_is_accepted_or_deleted(site: Deployment, anna: str) -> None:
    stranger = site.token("stranger", operations=("mint",), authorities=("99999/fk4",))
    name = site.mint(text(b"to whom it may concern"))
    ids = [
        propose(site, stranger, name, bodyValue=value).rpartition("/")[2]
        for value in ("<b>Yes.</b>", "No.")
    ]
    page = site.get(PROPOSALS, HTML, anna).body.decode()
    assert "&lt;b&gt;Yes.&lt;/b&gt;" in page
    outsider = sign_in(site, site.token("outsider", authorities=("99999/fk4",)))
    assert "Yes." not in site.get(PROPOSALS, HTML, outsider).body.decode()
    for id in ids:
        answer = post(site, PROPOSALS, {"kind": "assertion", "id": id, "act": "accept"}, outsider)
        assert answer.status == 404
    for id, act in zip(ids, ("accept", "delete"), strict=True):
        answer = post(site, PROPOSALS, {"kind": "assertion", "id": id, "act": act}, anna)
        assert answer.status == 303
    assert [one["bodyValue"] for one in list_about(site, name)] == ["<b>Yes.</b>"]
    assert "Yes." not in site.get(PROPOSALS, HTML, anna).body.decode()


def test_a_reported_citation_is_accepted_or_deleted(site: Deployment, anna: str) -> None:
    name = resource(site.mint(text(b"cited elsewhere")))
    received = ReceivedCitations(site.registry)
    for number in (1, 2):
        source = f"https://blog.example/{number}"
        report = CitationReported(source=source, target=name, kind="webmention", title="<i>A</i>")
        received.add_report(report, parse(name))
    first, second = (one.number for one in received.list_reports("waiting"))
    page = site.get(PROPOSALS, HTML, anna).body.decode()
    assert "https://blog.example/1" in page
    assert "<i>A" not in page
    outsider = sign_in(site, site.token("of a shoulder", authorities=("99999/fk4",)))
    assert "blog.example" not in site.get(PROPOSALS, HTML, outsider).body.decode()
    fields = {"kind": "report", "id": str(first), "act": "accept"}
    for id in (str(first), "x", "", "9" * 30, "99999"):
        assert post(site, PROPOSALS, fields | {"id": id}, outsider).status == 404
    assert post(site, PROPOSALS, fields | {"act": "?"}, anna).status == 400
    for number, act in ((first, "accept"), (second, "delete")):
        answer = post(site, PROPOSALS, {"kind": "report", "id": str(number), "act": act}, anna)
        assert answer.status == 303
    assert [(one.number, one.state) for one in received.list_reports()] == [(first, "accepted")]
    received.close()


# drafts
# ------


def test_drafts_are_bounded_in_bytes(site: Deployment) -> None:
    cookie = sign_in(site, site.token("large"))
    first = upload(site, cookie, {"series": SERIES}, (b"a", b"x" * 700))
    assert first.status == 303
    refused = upload(site, cookie, {"series": SERIES}, (b"b", b"y" * 301))
    assert refused.status == 413
    assert upload(site, cookie, {"series": SERIES}, (b"c", b"z" * 300)).status == 303
    other = sign_in(site, site.token("another"))
    assert upload(site, other, {"series": SERIES}, (b"d", b"y" * 1000)).status == 303
    place = first.headers["location"]
    assert post(site, place, {"act": "mint"}, cookie).status == 303
    again = upload(site, cookie, {"series": SERIES}, (b"e", b"y" * 700))
    assert again.status == 303  # what is minted counts no more


# as a person does it
# -------------------


async def wait_for(browser: Browser, selector: str) -> None:
    """Wait until the page has an element."""
    for _ in range(200):
        if await browser.evaluate(f"document.querySelector({json.dumps(selector)}) !== null"):
            return
        await asyncio.sleep(0.05)
    raise AssertionError(selector)


def test_a_person_withdraws_without_a_script(site: Deployment, anna: str) -> None:
    name = resource(site.mint(text(b"seen by a person")))

    async def work(browser: Browser) -> str:
        await browser.forbid_scripts()
        cookie, _, value = anna.removeprefix("Cookie: ").partition("=")
        await browser.call("Network.setCookie", name=cookie, value=value, url=site.base)
        await browser.open(f"{site.base}/deposit")
        await browser.evaluate(f"document.querySelector('#existing').value = {json.dumps(name)}")
        await browser.evaluate("document.querySelector('[formaction]').click()")
        await wait_for(browser, "#reason")
        await browser.evaluate("document.querySelector('#reason').value = 'One.\\nTwo.'")
        await browser.evaluate("document.querySelector('[name=act]').click()")
        await wait_for(browser, "[value=refuse]")
        found: str = await browser.evaluate("document.querySelector('.typed').textContent")
        return found

    assert run_browser(work) == "One.\nTwo."
