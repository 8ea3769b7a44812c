"""POST over HTTP: the operations that come without bytes, and bodies that are not what they need.

The server logs all it can, and one token per operation shows that a token covers what it says.
"""

from __future__ import annotations

import hashlib
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.server.conftest import Answer, parse_answers, received
from tests.server.deployment import (
    AUTHORITY,
    OTHER_SERIES,
    SERIES,
    SHOULDER,
    Deployment,
    deployed,
    problem,
    receipt,
    resource,
    text,
    today,
)

from perdure.policy.operations import OPERATIONS
from perdure.registry import initialise

LETTER = b"To whom it may concern.\r\n"
MINT = f"/pdi://{SERIES}/?mint"
UNKNOWN = f"/pdi://{SERIES}/1997/09/01/1.text.1"
PLACE = "https://a.example/letter"
CLEAN_HEAD = re.compile(
    rb"HTTP/1\.1 [0-9]{3} [ -~]+\r\n(?:[a-z-]+: [!-~](?:[ -~]*[!-~])?\r\n)+\r\n"
)
BODIES: dict[str, dict[str, object]] = {
    "bind": {"locations": [PLACE]},
    "break": {"uri": PLACE},
    "alias": {"other": "doi:10.1000/182"},
    "withdraw": {"reason": "a mistake"},
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with deployed(
        tmp_path_factory.mktemp("operating") / "registry",
        log_level="debug",
        contact="archive@a.example",
    ) as running:
        yield running


@pytest.fixture(scope="module")
def secret(site: Deployment) -> str:
    return site.token("all")


@pytest.fixture(scope="module")
def single(site: Deployment) -> dict[str, str]:
    """A token for each operation, that covers nothing else."""
    return {one: site.token(f"only {one}", operations=(one,)) for one in OPERATIONS}


@pytest.fixture
def letter(site: Deployment) -> str:
    return site.mint(text(LETTER, charset="us-ascii"))


def record(site: Deployment, name: str) -> dict[str, Any]:
    answer = site.get(f"/{name}?info", "Accept: application/json")
    assert answer.status == 200
    found: dict[str, Any] = json.loads(answer.body)
    return found


def send(site: Deployment, target: str, body: bytes, secret: str, *fields: str) -> Answer:
    return site.ask("POST", target, f"Authorization: Bearer {secret}", *fields, body=body)


def next_serial(site: Deployment) -> int:
    return int(site.mint().split("/")[-1].partition(".")[0]) + 1


# mint and register
# -----------------


def test_mint_without_bytes(site: Deployment, secret: str) -> None:
    number = next_serial(site)
    body = {"locations": [PLACE], "metadata": {"title": "A letter"}, "format": "html"}
    name = receipt(site.post(MINT, body, token=secret), 201)["identifier"]
    assert name == f"pdi://{SERIES}/{today()}/{number}.html.1"
    answer = site.get(f"/{name}")
    assert (answer.status, answer.headers["location"]) == (302, PLACE)
    assert record(site, name)["metadata"] == {"title": "A letter"}
    typed = receipt(site.post(MINT, {"type": "video/mp4"}, token=secret), 201)["identifier"]
    assert typed == f"pdi://{SERIES}/{today()}/{number + 1}.video+mp4.1"


@pytest.mark.parametrize("body", [{}, {"locations": [PLACE]}, {"uid": "a-speech"}])
def test_a_reserved_name_has_no_format_before_its_first_bytes(
    site: Deployment, secret: str, body: dict[str, Any]
) -> None:
    """ "Format and version become part of the name with the first bytes … No format is invented."
    # ruling: pdi-reserved-name"""
    number = next_serial(site)
    reserved = receipt(site.post(MINT, body, token=secret), 201)["identifier"]
    assert reserved == f"pdi://{SERIES}/{today()}/{body.get('uid', number)}"
    kept = site.put(f"/{reserved}", b"<p>x", "Content-Type: text/html", token=secret)
    assert (kept.status, kept.headers["content-location"]) == (201, f"{reserved}.html.1")
    assert site.get(f"/{reserved}").body == b"<p>x"


def test_the_server_of_a_location_is_asked_only_on_request(site: Deployment, secret: str) -> None:
    asked = {"locations": ["http://127.0.0.1:9/x"], "ask": True}
    problem(site.post(MINT, asked, token=secret), 400, "invalid-request")
    problem(site.post(MINT, {"ask": True}, token=secret), 400, "invalid-request")
    assert site.post(MINT, asked | {"ask": False}, token=secret).status == 201
    assert site.post(MINT, asked | {"type": "text/html"}, token=secret).status == 201


def test_mint_a_given_unique_id(site: Deployment, secret: str) -> None:
    """A unique-id is plain text, escaped where the grammar demands it  # ruling: pdi-uid"""
    stem = f"pdi://{SERIES}/{today()}"
    for uid, written in (("press-release", "press-release"), ("a.b/c", "a%2eb%2fc")):
        found = receipt(site.post(MINT, {"uid": uid}, token=secret), 201)
        assert found["identifier"] == f"{stem}/{written}"
        problem(site.post(MINT, {"uid": uid}, token=secret), 409, "conflict")  # never reused
    problem(site.post(MINT, {"uid": "7"}, token=secret), 400, "invalid-request")
    problem(site.post(MINT, {"uid": ""}, token=secret), 400, "malformed-identifier")
    for other in (f"/ark:{SHOULDER}?mint", f"/URN:{AUTHORITY}::?mint"):
        problem(site.post(other, {"uid": ""}, token=secret), 400, "invalid-request")


@pytest.mark.parametrize("target", [f"/ark:{SHOULDER}?mint", f"/URN:{AUTHORITY}::?mint"])
def test_mint_under_other_authorities(site: Deployment, secret: str, target: str) -> None:
    body = {"locations": [PLACE]}
    names = {receipt(site.post(target, body, token=secret), 201)["identifier"] for _ in range(3)}
    assert len(names) == 3
    assert {site.get(f"/{name}").headers["location"] for name in names} == {PLACE}


def test_mint_is_safe_to_repeat_with_a_key(site: Deployment, secret: str) -> None:
    body, other = {"metadata": {"a": "1"}}, {"metadata": {"a": "2"}}
    key = "Idempotency-Key: post-1"
    found = [receipt(site.post(MINT, body, key, token=secret), 201) for _ in range(2)]
    assert [one["replayed"] for one in found] == [False, True]
    assert found[0]["identifier"] == found[1]["identifier"]
    problem(site.post(MINT, other, key, token=secret), 400, "invalid-request")
    yours = receipt(site.post(MINT, body, key, token=site.token("somebody else")), 201)
    assert not yours["replayed"]
    assert yours["identifier"] != found[0]["identifier"]


def test_a_series_that_nobody_owns(site: Deployment, secret: str) -> None:
    found = problem(site.post("/pdi://nobody.us/?mint", {}, token=secret), 404, "unknown-authority")
    assert found["known"] == [SERIES, OTHER_SERIES]
    problem(site.post("/ark:1/x?mint", {}, token=secret), 404, "not-found")
    found = problem(site.post("/URN:IANA:7::?mint", {}, token=secret), 404, "unknown-authority")
    assert (found["authority"], found["known"]) == ("IANA:7", ["IANA:42117"])
    problem(site.post("/URN:NOBODY:7::?mint", {}, token=secret), 404, "not-found")


@pytest.mark.parametrize(
    "name",
    [
        f"pdi://{SERIES}/1997/09/01/7.text.1",
        "pdi://archive.elsewhere.us/1997/09/01/1.text.1",
        "ark:12345/x6np1wh8k",
        "hdl:1839/00-0000-0000-0009-3C7E-F",
        "urn:isbn:0451450523",
        "URN:IANA:1::x:::",
    ],
)
def test_register(site: Deployment, secret: str, name: str) -> None:
    body = {"locations": [PLACE], "metadata": {"a": "b"}}
    assert receipt(site.post(f"/{name}?register", body, token=secret), 201)["identifier"] == name
    assert site.get(f"/{name}").headers["location"] == PLACE
    again = receipt(site.post(f"/{name}?register", body, token=secret), 200)
    assert again["outcome"] == "unchanged"


def test_a_number_or_a_day_to_come_is_not_registered(site: Deployment, secret: str) -> None:
    """ "Serial numbers ... SHOULD be incremented by 1 as each new PDI is minted" (section 2.4),
    and restart at 1 on each day."""
    number = next_serial(site)
    tomorrow = f"{datetime.now(UTC) + timedelta(days=1):%Y/%m/%d}"
    for name in (f"{today()}/{10**18 - 2}", f"{today()}/{number + 500}", f"{tomorrow}/1"):
        answer = site.post(f"/pdi://{SERIES}/{name}?register", {}, token=secret)
        assert "section 2." in str(problem(answer, 400, "invalid-request")["rule"])
    assert next_serial(site) == number + 1  # the one that was minted to know it


# bind, break, alias, withdraw
# ----------------------------


def test_bind_and_break(site: Deployment, secret: str, letter: str) -> None:
    """ "the indirect binding MUST be broken, and the original machine representation associated
    directly with the PDI" (section 3.6.2)."""
    promise = {"uri": PLACE, "sha512": hashlib.sha512(LETTER).hexdigest()}
    found = receipt(site.post(f"/{letter}?bind", {"locations": [promise]}, token=secret), 201)
    assert (found["outcome"], found["revision"]) == ("created", 2)
    again = receipt(site.post(f"/{letter}?bind", {"locations": [promise]}, token=secret), 200)
    assert (again["outcome"], again["revision"]) == ("unchanged", 2)
    other = promise | {"sha512": hashlib.sha512(b"other").hexdigest(), "uri": f"{PLACE}2"}
    answer = site.post(f"/{letter}?bind", {"locations": [other]}, token=secret)
    problem(answer, 409, "conflict")
    assert PLACE in site.get(f"/{letter}?locations").body.decode()
    broken = receipt(site.post(f"/{letter}?break", {"uri": PLACE}, token=secret), 200)
    assert (broken["outcome"], broken["revision"]) == ("changed", 3)
    assert PLACE not in site.get(f"/{letter}?locations").body.decode()
    assert site.get(f"/{letter}").body == LETTER
    answer = site.post(f"/{letter}?break", {"uri": PLACE}, token=secret)
    problem(answer, 400, "invalid-request")


def test_a_promise_that_is_kept_nowhere_is_not_broken(site: Deployment, secret: str) -> None:
    name = site.mint()
    promise = {"uri": PLACE, "sha512": hashlib.sha512(b"elsewhere").hexdigest(), "version": 1}
    site.post(f"/{name}?bind", {"locations": [promise]}, token=secret)
    problem(site.post(f"/{name}?break", {"uri": PLACE}, token=secret), 409, "conflict")
    assert site.get(f"/{name}").headers["location"] == PLACE


def test_alias(site: Deployment, secret: str, letter: str) -> None:
    body = {"other": "doi:10.1000/182"}
    assert receipt(site.post(f"/{letter}?alias", body, token=secret), 201)["outcome"] == "created"
    again = receipt(site.post(f"/{letter}?alias", body, token=secret), 200)
    assert again["outcome"] == "unchanged"
    assert "doi:10.1000/182" in site.get(f"/uri-res/N2Ns?{letter}").body.decode()
    for wrong, code in (("nothing", "unknown-scheme"), ("pdi://a.us/1", "malformed-identifier")):
        answer = site.post(f"/{letter}?alias", {"other": wrong}, token=secret)
        problem(answer, 400, code)
    pattern = {"other": f"pdi://{SERIES}/1997/*/*/*"}
    problem(site.post(f"/{letter}?alias", pattern, token=secret), 400, "invalid-request")


def test_withdraw_one_version(site: Deployment, secret: str, letter: str) -> None:
    site.commit(letter, text(b"second"))
    name = resource(letter)
    body = {"reason": "a mistake", "version": 1}
    assert receipt(site.post(f"/{name}?withdraw", body, token=secret), 200)["outcome"] == "changed"
    tomb = problem(site.get(f"/{letter}"), 410, "gone")["tombstone"]
    assert (tomb["reason"], tomb["by"]) == ("a mistake", "all")
    assert site.get(f"/{name}.text.2").body == b"second"
    again = receipt(site.post(f"/{name}?withdraw", body, token=secret), 200)
    assert again["outcome"] == "unchanged"


def test_two_persons_erase_a_part(site: Deployment, letter: str) -> None:
    """Ruling tombstone-silence: "`erase` (law: two persons, recorded)"."""
    anna, bert = site.token("anna of the law"), site.token("bert of the law")
    path = f"/{letter}?erase"
    body = {"reason": "the law", "part": "char=0,7"}
    for _ in range(2):
        assert receipt(site.post(path, body, token=anna), 202)["outcome"] == "proposed"
    assert site.get(f"/{letter}").status == 200
    (listed,) = json.loads(site.get("/proposals", f"Authorization: Bearer {bert}").body)[
        "proposals"
    ]
    assert (listed["act"], listed["reason"]) == ("erase", "the law")
    problem(site.post(path, body | {"reason": "a law"}, token=bert), 409, "conflict")
    problem(site.post(path, {"reason": "the law"}, token=bert), 409, "conflict")
    assert receipt(site.post(path, body, token=bert), 200)["outcome"] == "changed"
    assert site.get(f"/{letter}").status == 410
    assert bytes(7) + LETTER[7:] in b"".join(
        one.read_bytes() for one in (site.root / "segments").glob("*.warc")
    )


def test_a_tombstone_page_says_what_it_was(site: Deployment, secret: str, letter: str) -> None:
    """Ruling tombstone-silence: "A tombstone says what, when, why, whom to ask, and the metadata
    that *people* had given" and "digest and length only where kept on purpose"."""
    name, reason = resource(letter), "names  a witness\nand another <one>"
    about = json.dumps({"titles": [{"value": "A letter"}], "creators": [{"name": "Doe, Jane"}]})
    site.ask(
        "POST",
        f"/{name}?metadata",
        f"Authorization: Bearer {secret}",
        "Content-Type: application/vnd.perdure.about+json",
        body=about.encode(),
    )
    receipt(site.post(f"/{name}?withdraw", {"reason": reason}, token=secret), 200)
    day = datetime.now(UTC).date().isoformat()
    page = site.get(f"/{name}", "Accept: text/html")
    assert page.status == 410
    html = page.body.decode()
    for said in (
        "A letter",
        "Doe, Jane",
        "names  a witness\nand another &lt;one&gt;",
        f"withdrawn on {day}",
        "archive@a.example",
    ):
        assert said in html
    for question in ("", "?info", "?landing", "?history", "?metadata=jsonld"):
        for accept in ("text/html", "application/json"):
            told = site.get(f"/{name}{question}", f"Accept: {accept}").body.decode()
            assert hashlib.sha512(LETTER).hexdigest() not in told
            assert f"{len(LETTER)} bytes" not in told
    assert f"(withdrawn on {day}; " in site.get(f"/{name}?cite=apa").body.decode()
    assert f"note = {{Withdrawn on {day}" in site.get(f"/{name}?cite=bibtex").body.decode()
    assert f"N1  - Withdrawn on {day}" in site.get(f"/{name}?cite=ris").body.decode()
    assert "zurückgezogen am" in site.get(f"/{name}?cite=apa&locale=de").body.decode()
    assert 'dateType="Withdrawn"' in site.get(f"/{name}?metadata=datacite").body.decode()


def test_a_silent_withdrawal_says_what_and_when(site: Deployment, secret: str) -> None:
    body = {"metadata": {"title": "Jane Doe"}, "locations": ["https://jane.example/"]}
    minted = site.post(MINT, body, token=secret)
    name = json.loads(minted.body)["identifier"].removesuffix(".text.1")
    receipt(
        site.post(f"/{name}?withdraw", {"reason": "private", "silent": True}, token=secret), 200
    )
    for question in ("", "?info", "?landing", "?history", "?metadata", "?cite", "?locations"):
        for accept in ("text/html", "application/json", "application/xml"):
            told = site.get(f"/{name}{question}", f"Accept: {accept}").body.lower()
            assert b"jane" not in told, (question, accept)


def test_a_digest_is_shown_if_it_was_kept(site: Deployment, secret: str, letter: str) -> None:
    body = {"reason": "a mistake", "keep_digest": True}
    receipt(site.post(f"/{letter}?withdraw", body, token=secret), 200)
    assert hashlib.sha512(LETTER).hexdigest() in site.get(f"/{letter}?info").body.decode()


def test_found_quotations_are_told_to_the_withdrawer(site: Deployment, secret: str) -> None:
    pytest.importorskip("numpy")
    words = " ".join(f"told{number}" for number in range(15))
    name = resource(site.mint(text(words.encode())))
    memo = site.mint(text(f"It says: {words.upper()}.".encode()))
    answer = receipt(site.post(f"/{name}?withdraw", {"reason": "x"}, token=secret), 200)
    assert answer["quoted_in"] == [memo]
    assert "unsearched" not in answer


def test_withdraw_the_whole(site: Deployment, secret: str, letter: str) -> None:
    site.commit(letter, text(b"second"))
    name = resource(letter)
    receipt(site.post(f"/{name}?withdraw", {"reason": "secret"}, token=secret), 200)
    for one in (name, letter, f"{name}.text.2"):
        problem(site.get(f"/{one}"), 410, "gone")
    problem(site.post(f"/{name}?bind", BODIES["bind"], token=secret), 409, "conflict")
    assert record(site, name)["identifier"]  # the identifier stays for ever


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"reason": "a", "version": 0}, 400, "invalid-request"),
        ({"reason": "a", "version": -1}, 400, "invalid-request"),
        ({"reason": "a", "version": 2}, 400, "invalid-request"),
        ({"reason": "a", "version": 10**18}, 400, "invalid-request"),
        ({"reason": ""}, 400, "invalid-request"),
        ({"reason": " \r\n"}, 400, "invalid-request"),
        ({}, 400, "invalid-request"),
    ],
)
def test_what_cannot_be_undone_is_not_done_by_mistake(
    site: Deployment, secret: str, letter: str, body: dict[str, object], status: int, code: str
) -> None:
    """Version 0 means no version, not every version; a name of one version is not of another."""
    problem(site.post(f"/{letter}?withdraw", body, token=secret), status, code)
    if body.get("version") != 2:
        whole = site.post(f"/{resource(letter)}?withdraw", body, token=secret)
        assert whole.status in (400, 404)
    assert site.get(f"/{letter}").body == LETTER


def test_if_match(site: Deployment, secret: str, letter: str) -> None:
    for number, (verb, body) in enumerate(BODIES.items(), start=1):
        stale = f'If-Match: "r{number + 1}"'
        answer = site.post(f"/{letter}?{verb}", body, stale, token=secret)
        problem(answer, 412, "precondition-failed")
        current = f'If-Match: "r{number}"'
        found = site.post(f"/{letter}?{verb}", body, current, token=secret)
        assert receipt(found, found.status)["revision"] == number + 1
        assert found.status in (200, 201)


@pytest.mark.parametrize("condition", ['If-Match: "zz"', 'If-Match: "r1"', "If-Match: *"])
def test_what_is_made_matches_no_state(site: Deployment, secret: str, condition: str) -> None:
    """ "the condition is false if the origin server does not have a current representation for
    the target resource" and then it "MUST NOT perform the requested method" (RFC 9110 section
    13.1.1)."""
    number = next_serial(site)
    for target in (MINT, f"/ark:{SHOULDER}?mint", f"/URN:{AUTHORITY}::?mint"):
        answer = site.post(target, {}, condition, token=secret)
        problem(answer, 412, "precondition-failed")
    answer = site.post("/hdl:1839/unmatched?register", {}, condition, token=secret)
    problem(answer, 412, "precondition-failed")
    assert site.get("/hdl:1839/unmatched?info").status == 404
    assert next_serial(site) == number + 1
    receipt(site.post(MINT, {}, "If-None-Match: *", token=secret), 201)


def test_what_is_there_already(site: Deployment, secret: str) -> None:
    """With `*`, "the condition is false if the origin server has a current representation for the
    target resource" (RFC 9110 section 13.1.2), and where a tag is that of what is there."""
    target, body, anew = "/hdl:1839/there", {"locations": [PLACE]}, "If-None-Match: *"
    keyed = (anew, "Idempotency-Key: there")
    found = [
        json.loads(site.post(f"{target}?register", {}, *keyed, token=secret).body)["replayed"]
        for _ in range(2)
    ]
    assert found == [False, True]
    for verb, sent in (("register", body), ("bind", body), ("alias", {"other": "hdl:1839/x"})):
        for condition in (anew, 'If-None-Match: "r2", "r1"'):
            answer = site.post(f"{target}?{verb}", sent, condition, token=secret)
            problem(answer, 412, "precondition-failed")
    other = 'If-None-Match: "r2"'
    assert receipt(site.post(f"{target}?bind", body, other, token=secret), 201)["revision"] == 2


def test_a_registration_of_what_is_known_under_a_condition(site: Deployment, secret: str) -> None:
    target, body = "/hdl:1839/matched?register", {"locations": [PLACE]}
    receipt(site.post(target, {}, token=secret), 201)
    problem(site.post(target, body, 'If-Match: "r2"', token=secret), 412, "precondition-failed")
    assert receipt(site.post(target, body, 'If-Match: "r1"', token=secret), 201)["revision"] == 2


def test_every_operation_is_safe_to_repeat_with_a_key(
    site: Deployment, secret: str, letter: str
) -> None:
    """ "A repetition gets the first receipt again, whatever its conditions" (http.md), also when
    the state has moved on."""
    bodies = BODIES | {"register": {"locations": [f"{PLACE}/2"]}}
    others = {
        "bind": {"locations": [f"{PLACE}/3"]},
        "register": {"locations": [f"{PLACE}/3"]},
        "break": {"uri": f"{PLACE}/3"},
        "alias": {"other": "doi:10.1000/183"},
        "withdraw": {"reason": "another"},
    }
    firsts = {}
    for number, verb in enumerate(("bind", "register", "break", "alias", "withdraw"), start=1):
        fields = (f'If-Match: "r{number}"', f"Idempotency-Key: {letter} {verb}")
        answer = site.post(f"/{letter}?{verb}", bodies[verb], *fields, token=secret)
        firsts[verb] = (answer.status, receipt(answer, answer.status), fields)
    revision = record(site, letter)["revision"]
    for verb, (status, first, fields) in firsts.items():
        assert (first["outcome"], first["replayed"]) != ("unchanged", False)
        again = receipt(site.post(f"/{letter}?{verb}", bodies[verb], *fields, token=secret), status)
        assert again == first | {"replayed": True}
        wrong = site.post(f"/{letter}?{verb}", others[verb], *fields, token=secret)
        problem(wrong, 400, "invalid-request")
    assert record(site, letter)["revision"] == revision


def test_a_condition_that_fails_fails_with_a_new_key_too(
    site: Deployment, secret: str, letter: str
) -> None:
    for verb, body in (BODIES | {"register": {"locations": [PLACE]}}).items():
        fields = ('If-Match: "r20"', f"Idempotency-Key: {letter} {verb}")
        answer = site.post(f"/{letter}?{verb}", body, *fields, token=secret)
        problem(answer, 412, "precondition-failed")
    assert record(site, letter)["revision"] == 1


# who may, and on what
# --------------------


@pytest.mark.parametrize(
    ("authority", "inside", "outside"),
    [
        (SHOULDER, "ark:99999/fk4xyz/c3", "ark:99999/fk5xyz"),
        (SHOULDER, "ark:/99999/fk-4abc", "ark:99998/fk4xyz"),
        (AUTHORITY, "urn:iana:42117::Report-1:::", "URN:IANA:4211::Report-1:::"),
        (AUTHORITY.lower(), "URN:IANA:42117::Report-2:::", "URN:IANA:421170::x:::"),
    ],
)
def test_a_token_for_a_shoulder_or_a_naming_authority(
    site: Deployment, authority: str, inside: str, outside: str
) -> None:
    """ "a series, shoulder or naming authority" (docs/how-to/give-rights.md)"""
    token = site.token(f"of {authority} {inside}", authorities=(authority,))
    mint = f"/ark:{SHOULDER}" if authority == SHOULDER else f"/URN:{AUTHORITY}::"
    minted = receipt(site.post(f"{mint}?mint", {}, token=token), 201)["identifier"]
    receipt(site.post(f"/{inside}?register", {}, token=token), 201)
    for name in (minted, inside):
        for verb, body in BODIES.items():
            assert site.post(f"/{name}?{verb}", body, token=token).status in (200, 201), verb
    uploaded = receipt(site.put(mint, LETTER, token=token), 201)["identifier"]
    receipt(site.put(f"/{uploaded}", b"second", token=token), 201)
    site.bind(outside, PLACE)
    problem(site.post(f"/{outside}?register", {}, token=token), 403, "forbidden")
    problem(site.put(f"/{outside}", b"x", token=token), 403, "forbidden")
    for verb, body in BODIES.items():
        problem(site.post(f"/{outside}?{verb}", body, token=token), 403, "forbidden")


def test_a_name_of_ours_is_told_of_another_by_who_may_write_to_both(
    site: Deployment, letter: str
) -> None:
    """Two identifiers name the same resource, "as their owner says"."""
    theirs = site.mint(authority=OTHER_SERIES)
    token = site.token("aliases", operations=("alias",), authorities=(SERIES,))
    site.bind("hdl:10.9999/known", PLACE)
    for other in (
        theirs,
        f"pdi://{OTHER_SERIES}/1997/09/01/never-registered",
        f"ark:{SHOULDER}never",
        f"URN:{AUTHORITY}::never:::",
        "hdl:10.9999/known",
    ):
        answer = site.post(f"/{letter}?alias", {"other": other}, token=token)
        problem(answer, 403, "forbidden")
    assert record(site, letter)["revision"] == 1
    assert letter not in site.get(f"/uri-res/N2Ns?{theirs}").body.decode()
    for other in ("doi:10.1000/182", site.mint(), "ark:99998/fk4x"):
        receipt(site.post(f"/{letter}?alias", {"other": other}, token=token), 201)
    both = site.token("both", operations=("alias",), authorities=(SERIES, OTHER_SERIES))
    receipt(site.post(f"/{letter}?alias", {"other": theirs}, token=both), 201)


@pytest.mark.parametrize("fields", [("Bearer nope",), ("Bearer",), ("two",)])
def test_what_was_sent_is_no_token(
    site: Deployment, secret: str, letter: str, fields: tuple[str, ...]
) -> None:
    sent = [f"Authorization: {one}" for one in fields]
    if fields == ("two",):
        sent = [f"Authorization: Bearer {secret}"] * 2
    answer = site.post(f"/{letter}?bind", BODIES["bind"], *sent)
    told = problem(answer, 401, "unauthenticated")
    assert "not a perdure token" in told["detail"]
    assert "nope" not in answer.body.decode()
    assert secret not in answer.body.decode()


def test_no_token_was_sent(site: Deployment, letter: str) -> None:
    for fields in ((), ("Authorization: Basic bm9wZTpub3Bl",)):
        answer = site.post(f"/{letter}?bind", BODIES["bind"], *fields)
        assert "no bearer token was sent" in problem(answer, 401, "unauthenticated")["detail"]


@pytest.mark.parametrize("verb", BODIES)
def test_a_token_covers_the_operation_that_it_names(
    site: Deployment, single: dict[str, str], letter: str, verb: str
) -> None:
    for name, token in single.items():
        if name != verb:
            answer = site.post(f"/{letter}?{verb}", BODIES[verb], token=token)
            assert problem(answer, 403, "forbidden")["needed"] == f"{verb}:{SERIES}"
    assert record(site, letter)["revision"] == 1
    site.bind(letter, PLACE)
    answer = site.post(f"/{letter}?{verb}", BODIES[verb], token=single[verb])
    assert answer.status in (200, 201)


def test_tokens_for_minting_and_registering(site: Deployment, single: dict[str, str]) -> None:
    for name, token in single.items():
        minted = site.post(MINT, {}, token=token)
        assert (minted.status == 201) == (name == "mint")
        registered = site.post(UNKNOWN.replace("1.text", "9.text") + "?register", {}, token=token)
        assert (registered.status == 201) == (name == "register")


@pytest.mark.parametrize("verb", [*BODIES, "mint", "register"])
def test_tokens_that_are_none(site: Deployment, letter: str, verb: str) -> None:
    known = {"mint": MINT, "register": f"{UNKNOWN}?register"}.get(verb, f"/{letter}?{verb}")
    expired = site.token(f"expired {verb}", expires="1997-09-01T00:00:00Z")
    elsewhere = site.token(f"elsewhere {verb}", authorities=(OTHER_SERIES,))
    for token in (None, "perdure_" + "x" * 43, expired):
        answer = site.post(known, BODIES.get(verb, {}), token=token)
        problem(answer, 401, "unauthenticated")
        assert "www-authenticate" in answer.headers
    problem(site.post(known, BODIES.get(verb, {}), token=elsewhere), 403, "forbidden")
    assert record(site, letter)["revision"] == 1


@pytest.mark.parametrize("verb", BODIES)
def test_what_is_unknown(site: Deployment, verb: str) -> None:
    """Names are no secret: that comes before the token."""
    problem(site.post(f"{UNKNOWN}?{verb}", BODIES[verb]), 404, "not-found")


def test_where_no_operation_is_defined(site: Deployment, secret: str, letter: str) -> None:
    day = f"/pdi://{SERIES}/{today()}"
    for target in (f"{day}/*?bind", f"{day}/?withdraw", f"/{letter}", f"/{letter}?mint"):
        answer = site.post(target, BODIES["withdraw"], token=secret)
        problem(answer, 405, "method-not-allowed")
        assert "GET" in answer.headers["allow"]
    for target in (f"/{letter}?info", f"/{letter}?destroy", f"{MINT}&x"):
        problem(site.post(target, {}, token=secret), 400, "invalid-request")
    for verb, body in BODIES.items():
        part = site.post(f"/{letter}%23char=0,1?{verb}", body, token=secret)
        assert part.status in (400, 405), verb
    assert site.get(f"/{letter}").body == LETTER


# bodies
# ------

WRONG_BODIES: list[bytes] = [
    b"{",
    b"null",
    b"[]",
    b"1",
    b'"reason"',
    b"\xff\xfe{}",
    b"\xef\xbb\xbf{}",
    b'{"reason": "\xff"}',
    b'{"reason": "\\ud800"}',
    b'{"reason": "a" "version": 1}',
    b'{"reason": "a"} {"reason": "b"}',
    b"{'reason': 'a'}",
    b"reason=a",
    b'{"unknown": 1}',
    b"\x00",
    b"NaN",
    b"[" * 500_000,
    b'{"a":' * 100_000,
    b'{"reason": ' + b"[" * 500_000,
    b'{"metadata": ' + b'{"a":' * 100_000,
    b'{"locations": ' + b"[" * 500_000,
]
WRONG_TYPES: dict[str, list[object]] = {
    "mint": [
        {"uid": 1},
        {"uid": ["a"]},
        {"format": None},
        {"format": "te xt"},
        {"format": "text\r\nX: 1"},
        {"format": "*"},
        {"format": ""},
        {"locations": PLACE},
        {"locations": [1]},
        {"locations": [None]},
        {"metadata": {"a": 1}},
        {"metadata": ["a"]},
        {"metadata": None},
        {"contents": []},
        {"by": "me"},
    ],
    "bind": [
        {},
        {"locations": []},
        {"locations": {}},
        {"locations": [[]]},
        {"locations": ["no uri"]},
        {"locations": ["//a.example/"]},
        {"locations": ["javascript:alert(1)"]},
        {"locations": ["https://a.example/\r\nX: 1"]},
        {"locations": ["https://a.example/é"]},
        {"locations": ["https://a.example/" + "a" * 9000]},
        {"locations": [{}]},
        {"locations": [{"uri": PLACE, "version": 0}]},
        {"locations": [{"uri": PLACE, "version": 10**18}]},
        {"locations": [{"uri": PLACE, "version": 10**30}]},
        {"locations": [{"uri": PLACE, "version": "1"}]},
        {"locations": [{"uri": PLACE, "weight": -1}]},
        {"locations": [{"uri": PLACE, "weight": 2**31}]},
        {"locations": [{"uri": PLACE, "weight": 0.5}]},
        {"locations": [{"uri": PLACE, "sha512": "abc"}]},
        {"locations": [{"uri": PLACE, "sha512": "A" * 128}]},
        {"locations": [{"uri": PLACE, "format": "a\x00"}]},
        {"locations": [{"uri": PLACE, "language": "de\r\nX: 1"}]},
        {"locations": [{"uri": PLACE, "role": "a;b"}]},
        {"locations": [{"uri": PLACE, "unknown": 1}]},
    ],
    "break": [{}, {"uri": None}, {"uri": 1}, {"uri": ""}, {"uri": "a\r\nX: 1"}],
    "alias": [{}, {"other": 1}, {"other": ""}, {"other": "pdi:\r\n"}, {"other": "a" * 9000}],
    "withdraw": [{"reason": 1}, {"reason": None}, {"reason": "a", "version": "1"}],
}


@pytest.mark.parametrize("verb", [*BODIES, "mint", "register"])
def test_bodies_that_are_not_json_or_not_this_json(
    site: Deployment, secret: str, letter: str, verb: str
) -> None:
    unknown = UNKNOWN.replace("1.text", "bodies.text")
    target = {"mint": MINT, "register": f"{unknown}?register"}.get(verb, f"/{letter}?{verb}")
    number = next_serial(site)
    for body in WRONG_BODIES:
        found = problem(send(site, target, body, secret), 400, "invalid-request")
        assert found["what"] == "the body", body[:50]
    assert next_serial(site) == number + 1
    assert record(site, letter)["revision"] == 1
    assert site.get(unknown).status == 404


@pytest.mark.parametrize(
    ("verb", "body"), [(verb, body) for verb, bodies in WRONG_TYPES.items() for body in bodies]
)
def test_values_that_are_of_no_use(
    site: Deployment, secret: str, letter: str, verb: str, body: object
) -> None:
    number = next_serial(site)
    answer = site.post(MINT if verb == "mint" else f"/{letter}?{verb}", body, token=secret)
    assert answer.status == 400, answer.body
    codes = ("invalid-request", "malformed-identifier", "unknown-scheme")
    assert json.loads(answer.body)["code"] in codes
    assert next_serial(site) == number + 1
    assert record(site, letter)["revision"] == 1


def test_how_long_a_body_may_be(site: Deployment, secret: str) -> None:
    """A mebibyte is taken, and a byte more is not, however it is framed."""
    frame = b'{"metadata":{"a":"%s"}}'
    body = frame % (b"x" * ((1 << 20) - len(frame) + 2))
    assert len(body) == 1 << 20
    name = receipt(send(site, MINT, body, secret), 201)["identifier"]
    assert len(record(site, name)["metadata"]["a"]) > 1_000_000
    longer = body + b" "
    problem(send(site, MINT, longer, secret), 413, "too-large")
    chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(longer), longer)
    answer = send(site, MINT, chunked, secret, "Transfer-Encoding: chunked")
    problem(answer, 413, "too-large")


@pytest.mark.parametrize("framing", ["Content-Length: 3", "Transfer-Encoding: chunked"])
@pytest.mark.parametrize("sent", [b"", b"{}"])
def test_a_body_that_is_cut_off_is_no_body(
    site: Deployment, secret: str, framing: str, sent: bytes
) -> None:
    """What arrived would be a request of its own: minting needs nothing."""
    number = next_serial(site)
    part = b"%x\r\n%s\r\n" % (len(sent), sent) if sent and "chunked" in framing else sent
    with site.connect() as wire:
        fields = (f"Authorization: Bearer {secret}", framing, "Expect: 100-continue")
        lines = [f"POST {MINT} HTTP/1.1", "Host: a", *fields, "", ""]
        wire.sendall("\r\n".join(lines).encode())
        assert wire.recv(1000).startswith(b"HTTP/1.1 100 ")  # the server waits for the body
        wire.sendall(part)
    for _ in range(5):
        assert site.get("/readyz").status == 200
    assert next_serial(site) == number + 1


# what must reach no header
# -------------------------

HOSTILE = "a\r\nSet-Cookie: a=b\r\n\r\n<script>\x00\x07\x1b[2J\x7f\u2028é\U0001f4a9"


def heads(site: Deployment, method: str, target: str, *fields: str, body: bytes = b"") -> bytes:
    """A whole answer as it was sent, whose header is found clean."""
    length = [f"Content-Length: {len(body)}"] if body else []
    lines = [f"{method} {target} HTTP/1.1", f"Host: 127.0.0.1:{site.port}", "Connection: close"]
    with site.connect() as wire:
        wire.sendall("\r\n".join([*lines, *fields, *length, "", ""]).encode() + body)
        answer = received(wire)
    found = CLEAN_HEAD.match(answer)
    assert found, answer
    assert b"\r\nset-cookie" not in found[0].lower()
    assert parse_answers(answer, [method])
    return answer


def test_hostile_text_stays_in_bodies(site: Deployment, secret: str) -> None:
    bearer = f"Authorization: Bearer {secret}"
    requests: list[tuple[str, dict[str, object]]] = [
        (MINT, {"metadata": {HOSTILE: HOSTILE}}),
        (MINT, {"uid": HOSTILE}),
        (MINT, {"format": HOSTILE}),
        (MINT, {"locations": [HOSTILE]}),
        (f"/ark:{SHOULDER}?mint", {"uid": HOSTILE}),
        (f"/URN:{AUTHORITY}::?mint", {"uid": HOSTILE}),
    ]
    answers = [
        heads(site, "POST", target, bearer, body=json.dumps(body).encode())
        for target, body in requests
    ]
    assert [int(one[9:12]) for one in answers] == [201, 201, 400, 400, 400, 400]
    documents = 0
    for name in (json.loads(one.partition(b"\r\n\r\n")[2])["identifier"] for one in answers[:2]):
        for verb in ("bind", "break", "alias", "withdraw"):
            member = {"bind": "locations", "break": "uri", "alias": "other", "withdraw": "reason"}
            value = [HOSTILE] if verb == "bind" else HOSTILE
            body = json.dumps({member[verb]: value}).encode()
            answer = heads(site, "POST", f"/{name}?{verb}", bearer, body=body)
            assert int(answer[9:12]) == (200 if verb == "withdraw" else 400)
        for target in (f"/{name}", f"/{name}?info", f"/{name}?history", f"/uri-res/N2C?{name}"):
            for kind in ("application/json", "application/xml", "text/html", "*/*"):
                shown = heads(site, "GET", target, f"Accept: {kind}")
                page = shown.partition(b"\r\n\r\n")[2]
                assert b"<script>\x00" not in page
                if b"\r\ncontent-type: application/xml" in shown:
                    ET.fromstring(page.decode())  # well-formed, whatever was put in
                    documents += 1
    assert documents


def test_secrets_are_written_nowhere(site: Deployment) -> None:
    assert any(line.get("target") == MINT for line in site.log())  # it does log requests
    written = (site.root.parent / f"{site.port}.log").read_text("utf-8")
    assert "perdure_" not in written
    assert "\x1b" not in written


# two persons
# -----------


def test_a_proposal_is_seen_listed_refused_and_confirmed(tmp_path: Path) -> None:
    """Ruling two-persons."""
    root = tmp_path / "registry"
    initialise(root, series=(SERIES,))
    written = (root / "perdure.toml").read_text("utf-8")
    two = written.replace("[perdure]", "[perdure]\nwithdrawal_persons = 2", 1)
    (root / "perdure.toml").write_text(two, "utf-8")
    with deployed(root) as site:
        head = site.token("head", operations=("withdraw", "delegate"), authorities=(SERIES,))
        grant = {"name": "puppet", "operations": ["withdraw"], "authorities": [SERIES]}
        puppet = json.loads(site.post("/tokens", grant, token=head).body)["token"]
        other = site.token("other", operations=("withdraw",), authorities=(SERIES,))
        stranger = site.token("stranger", operations=("withdraw",), authorities=(OTHER_SERIES,))
        name = site.mint(text(LETTER))
        target, body = f"/{name}?withdraw", {"reason": "a mistake"}
        assert site.post(target, body, token=head).status == 202
        assert site.post(target, body, token=puppet).status == 202
        assert site.get(f"/{name}").body == LETTER

        assert record(site, name)["proposal"]["reason"] == "a mistake"
        assert b"puppet" not in site.get(f"/{name}?info").body
        listed = json.loads(site.get("/proposals", f"Authorization: Bearer {other}").body)
        assert [(one["by"], one["reason"]) for one in listed["proposals"]] == [
            ("puppet", "a mistake")
        ]
        none = json.loads(site.get("/proposals", f"Authorization: Bearer {stranger}").body)
        assert none == {"proposals": []}
        assert site.get("/proposals").status == 401

        problem(site.post(f"/{name}?refuse", {}, token=stranger), 403, "forbidden")
        receipt(site.post(f"/{name}?refuse", {}, token=other), 200)
        problem(site.post(f"/{name}?refuse", {}, token=other), 409, "conflict")
        assert site.post(target, body, token=head).status == 202
        problem(site.post(target, {"reason": "another"}, token=other), 409, "conflict")
        assert site.post(target, body, token=other).status == 200
        assert site.get(f"/{name}").status == 410


def test_a_past_day_needs_the_right_to_it(site: Deployment, secret: str) -> None:
    """Ruling pdi-retrospective: "with the right `retrospect`, under a past day of its series"."""
    body: dict[str, Any] = {"day": "1997/09/01", "metadata": {"title": "A letter"}}
    plain = site.token("mints", operations=("mint",))
    assert site.post(MINT, body, token=plain).status == 403
    assert site.post(MINT, body, token=site.token("past", operations=("retrospect",))).status == 403
    both = site.token("both", operations=("mint", "retrospect"))
    body["day"] = "1987/09/01"
    name = receipt(site.post(MINT, body, token=both), 201)["identifier"]
    assert name == f"pdi://{SERIES}/1987/09/01/1"
    for day in ("2999/01/01", "1997/02/30", "x"):
        assert site.post(MINT, {"day": day}, token=both).status == 400
    assert site.post("/ark:99999/fk4?mint", {"day": "1997/09/01"}, token=both).status in (403, 404)
