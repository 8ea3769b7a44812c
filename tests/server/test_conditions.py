"""Entity tags and conditional requests: every answer that is computed from a record has them.

Sources: RFC 9110 sections 8.8.3 and 13.
"""

from __future__ import annotations

from http import HTTPStatus

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.server.deployment import Deployment, problem, resource, text

from perdure.server.common.answers import Answer
from perdure.server.common.conditions import (
    _describes_unmodified,
    add_entity_tag,
    read_entity_tags,
)

COLLECTION = b'{"collection": 1, "title": "Two", "members": [{"identifier": "doi:10.1000/182"}]}\n'
BROWSER = "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@pytest.fixture(scope="module")
def letter(site: Deployment) -> str:
    name = site.mint(text(b"Dear Sir, I am not an entity\r\n"))
    site.bind(resource(name), "https://mirror.example/1")
    return name


@pytest.fixture(scope="module")
def targets(site: Deployment, letter: str) -> tuple[str, ...]:
    kind = "application/vnd.perdure.collection+json"
    collection = site.mint(text(COLLECTION, "json", kind))
    site.bind("hdl:21.T14999/tagged", "https://a.example/1")
    day = "/".join(letter.split("/")[:6])
    series = "/".join(letter.split("/")[:3])
    name = resource(letter)
    return (
        *(f"/{name}?{one}" for one in ("info", "landing", "linkset", "locations", "history")),
        *(f"/{name}?{one}" for one in ("cite", "metadata=datacite", "metadata=bibtex")),
        *(f"/{letter}{one}" for one in ("", "?bytes", "?linkset", "?landing", "%23char=0,4")),
        *(f"/{letter}%23char=0,4?{one}" for one in ("info", "landing", "linkset", "cite")),
        *(f"/{collection}", f"/{collection}?members", f"/{collection}?landing"),
        *(f"/{day}/", f"/{series}/", f"/{day}/?cite=apa", f"/{day}/?info", f"/{day}/?locations"),
        *("/", "/authorities", "/openapi.json", "/problems/not-found"),
        *(f"/uri-res/N2C?{name}", f"/uri-res/N2Ls?{name}", f"/uri-res/N2Ns?{name}"),
        "/api/handles/21.T14999/tagged",
    )


def test_every_answer_has_a_tag_and_is_not_sent_twice(
    site: Deployment, targets: tuple[str, ...]
) -> None:
    """ "An origin server SHOULD send an ETag for any selected representation for which detection of
    changes can be reasonably and consistently determined" (RFC 9110 section 8.8.3)."""
    for target in targets:
        for accept in ("Accept: */*", BROWSER):
            answer = site.get(target, accept)
            assert answer.status == 200, target
            tag = answer.headers["etag"]
            for field in (tag, f'"other", W/{tag}', "*"):
                again = site.get(target, accept, f"If-None-Match: {field}")
                assert (again.status, again.body) == (304, b""), (target, field)
                assert again.headers["etag"] == tag
                for name in ("cache-control", "content-location", "vary", "expires"):
                    assert again.headers.get(name) == answer.headers.get(name), (target, name)
            head = site.ask("HEAD", target, accept)
            assert head.headers["etag"] == tag, target


def test_only_what_is_named_is_not_sent(site: Deployment, targets: tuple[str, ...]) -> None:
    for target in targets:
        tag = site.get(target).headers["etag"]
        for field in (tag.strip('"'), '"other"', f"{tag}x", ""):
            assert site.get(target, f"If-None-Match: {field}").status == 200, (target, field)
        assert site.get(target, f"If-Match: {tag}").status == 200
        failed = site.get(target, 'If-Match: "other"')
        problem(failed, 412, "precondition-failed")


def test_a_change_changes_the_tags(site: Deployment) -> None:
    name = resource(site.mint(text(b"changes")))
    questions = ("info", "landing", "linkset", "locations", "history")
    before = {one: site.get(f"/{name}?{one}").headers["etag"] for one in questions}
    site.bind(name, "https://new.example/1")
    for question, tag in before.items():
        answer = site.get(f"/{name}?{question}", f"If-None-Match: {tag}")
        assert answer.status == 200, question
        assert answer.headers["etag"] != tag


def test_forms_have_different_tags(site: Deployment, letter: str) -> None:
    forms = ("application/json", "text/html", "text/uri-list", "text/plain")
    found = {
        site.get(f"/{resource(letter)}?locations", f"Accept: {one}").headers["etag"]
        for one in forms
    }
    assert len(found) == len(forms)


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("POST", "/dois"),
        ("PUT", "/dois/10.5072/coded"),
        ("PUT", "/id/ark:99999/fk4coded"),
        ("POST", "/tokens"),
        ("POST", "/operations"),
        ("POST", "/annotations/oma.eop.gov.us/"),
    ],
)
def test_no_interface_takes_a_coded_body(site: Deployment, method: str, target: str) -> None:
    operations = ("assert", "bind", "delegate", "mint", "register")
    secret = site.token(f"codes {method} {target}", operations=operations)
    fields = (f"Authorization: Bearer {secret}", "Content-Encoding: gzip")
    found = site.ask(method, target, *fields, "Content-Type: application/json", body=b"\x1f\x8b")
    assert (found.status, found.headers["accept-encoding"]) == (415, "identity")


@pytest.mark.parametrize("question", ["?bind", "?metadata", "?withdraw"])
def test_a_coded_body_is_not_supported(site: Deployment, letter: str, question: str) -> None:
    """ "If the problem was caused by an unsupported content coding, the Accept-Encoding response
    header field ought to be used" (RFC 9110 section 15.5.16)."""
    secret = site.token(f"codes {question}")
    bearer = f"Authorization: Bearer {secret}"
    fields = (bearer, "Content-Encoding: gzip", "Content-Type: application/ld+json")
    found = site.ask("POST", f"/{letter}{question}", *fields, body=b"\x1f\x8b")
    problem(found, 415, "content-not-supported")
    assert found.headers["accept-encoding"] == "identity"
    found = site.ask("PUT", "/pdi://oma.eop.gov.us/", *fields, body=b"\x1f\x8b")
    problem(found, 415, "content-not-supported")
    assert found.headers["accept-encoding"] == "identity"
    part = site.ask(
        "PUT", "/pdi://oma.eop.gov.us/", bearer, "Content-Range: bytes 0-1/9", body=b"ab"
    )
    problem(part, 400, "invalid-request")


tags = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E, exclude_characters='"'))


@given(st.lists(st.tuples(st.booleans(), tags)), st.sampled_from([",", ", ", " ,\t"]))
def test_tags_are_read_as_they_are_written(listed: list[tuple[bool, str]], comma: str) -> None:
    """ "entity-tag = [ weak ] opaque-tag" and "opaque-tag = DQUOTE *etagc DQUOTE" (8.8.3)."""
    written = comma.join(f'{"W/" if weak else ""}"{tag}"' for weak, tag in listed)
    found = read_entity_tags(written)
    assert found.strong == {tag for weak, tag in listed if not weak}
    assert found.weak == {tag for weak, tag in listed if weak}
    assert not found.any


@given(tags)
def test_a_tag_without_quotation_marks_names_nothing(tag: str) -> None:
    for written in (tag, f"W/{tag}", f'"{tag}', f'{tag}"', f"'{tag}'", f'"x" "{tag}"'):
        found = read_entity_tags(written)
        assert tag not in found.strong | found.weak or not tag
    assert read_entity_tags("*").any


def test_an_answer_that_must_not_be_stored_has_no_tag() -> None:
    """A tag would invite caches to ask again for what they must not have."""
    plain = Answer(HTTPStatus.OK, [(b"content-type", b"text/plain")], b"x")
    assert b"etag" in dict(add_entity_tag(plain).fields)
    secret = Answer(HTTPStatus.OK, [(b"cache-control", b"no-store")], b"x")
    assert b"etag" not in dict(add_entity_tag(secret).fields)


def test_an_answer_without_body_keeps_its_address() -> None:
    """RFC 9110 section 15.4.5: a 304 "MUST generate" Content-Location if the 200 would have it."""
    assert _describes_unmodified(b"content-location")
    assert not _describes_unmodified(b"content-type")
