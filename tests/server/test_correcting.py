"""POST ?correct: the media type, charset or language of bytes that stay as they are."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from tests.server.deployment import SERIES, Deployment, deployed, text

BLUEBERRY = "Bl\u00e5b\u00e6r".encode("cp850")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with deployed(tmp_path_factory.mktemp("correcting") / "registry") as running:
        yield running


@pytest.fixture
def danish(site: Deployment) -> str:
    return site.mint(text(BLUEBERRY, charset="windows-1252"))


def test_the_right_to_correct_is_the_right_to_commit(site: Deployment, danish: str) -> None:
    binder = site.token(f"binds {danish}", operations=("bind",))
    answer = site.post(f"/{danish}?correct", {"charset": "cp850"}, token=binder)
    assert answer.status == 403
    assert json.loads(answer.body)["needed"] == f"commit:{SERIES}"
    assert site.post(f"/{danish}?correct", {"charset": "cp850"}).status == 401
    committer = site.token(f"commits {danish}", operations=("commit",))
    body = {"charset": "cp850", "reason": "from DOS"}
    answer = site.post(f"/{danish}?correct", body, token=committer)
    assert answer.status == 200
    told = json.loads(answer.body)
    assert (told["outcome"], told["identifier"], told["revision"]) == ("changed", danish, 2)
    again = json.loads(site.post(f"/{danish}?correct", body, token=committer).body)
    assert (again["outcome"], again["revision"]) == ("unchanged", 2)


def test_entity_tags_change_with_the_reading(site: Deployment, danish: str) -> None:
    """A strong validator changes "whenever a change occurs to the representation data that would be
    observable in the content of a 200 (OK) response" (RFC 9110 section 8.8.1)."""
    token = site.token(f"all of {danish}")
    targets = (f"/{danish}?bytes", f"/{danish}%23char=0,1")
    before = [site.get(one) for one in targets]
    assert before[0].headers["content-type"] == "text/plain; charset=windows-1252"
    site.post(f"/{danish}?correct", {"charset": "cp850"}, token=token)
    after = [
        site.get(one, f"If-None-Match: {old.headers['etag']}")
        for one, old in zip(targets, before, strict=True)
    ]
    assert [one.status for one in after] == [200, 200]
    assert after[0].headers["content-type"] == "text/plain; charset=ibm850"
    assert after[0].body == BLUEBERRY
    site.post(f"/{danish}?correct", {"charset": "windows-1252"}, token=token)
    back = [site.get(one).headers["etag"] for one in targets]
    assert back == [one.headers["etag"] for one in before]


def test_the_record_and_the_history_say_what_was_before(site: Deployment, danish: str) -> None:
    token = site.token(f"history of {danish}")
    body = {"charset": "cp850", "reason": "from DOS"}
    site.post(f"/{danish}?correct", body, 'If-Match: "r1"', token=token)
    shown = json.loads(site.get(f"/{danish}?info", "Accept: application/json").body)
    (one,) = shown["versions"][0]["representations"]
    (correction,) = one["corrections"]
    assert correction["before"] == {"media_type": "text/plain", "charset": "windows-1252"}
    assert correction["reason"] == "from DOS"
    assert "by" not in correction  # who did it is in the history, for those who may see it
    for kind in ("application/xml", "text/html", "text/plain"):
        assert site.get(f"/{danish}?info", f"Accept: {kind}").status == 200
    assert b"windows-1252" in site.get(f"/{danish}?history").body
    late = site.post(f"/{danish}?correct", body, 'If-Match: "r1"', token=token)
    assert late.status == 412


def test_a_reading_alias_answers_and_names_the_name(site: Deployment) -> None:
    name = site.mint(text("\u65e5\u672c".encode(), format="shift_jis", charset="shift_jis"))
    token = site.token(f"alias of {name}")
    told = json.loads(site.post(f"/{name}?correct", {"charset": "utf-8"}, token=token).body)
    (alias,) = told["reading_aliases"]
    assert alias == name.replace(".shift_jis.", ".utf-8.")
    answer = site.get(f"/{alias}?bytes")
    assert (answer.status, answer.headers["content-location"]) == (200, name)
    other = site.put(f"/{alias}", b"other", "Content-Type: text/plain; charset=utf-8", token=token)
    assert json.loads(other.body)["identifier"] != alias  # it keeps its meaning


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"charset": "nosuchcharset"}, 400),
        ({"type": "image/png", "charset": "utf-8"}, 400),
        ({"charset": "utf-8", "version": 0}, 400),
        ({"charset": "utf-8", "version": 9}, 400),  # the name says version 1
        ({"charset": "utf-8", "colour": "red"}, 400),
    ],
)
def test_what_cannot_be_is_refused(
    site: Deployment, danish: str, body: dict[str, object], status: int
) -> None:
    token = site.token(f"refused {danish} {body}")
    assert site.post(f"/{danish}?correct", body, token=token).status == status
    unknown = site.post(f"/pdi://{SERIES}/1997/09/01/1.text.1?correct", {"charset": "utf-8"})
    assert unknown.status == 404


def test_the_same_bytes_with_another_charset_are_a_conflict(site: Deployment, danish: str) -> None:
    token = site.token(f"puts {danish}")
    kind = "Content-Type: text/plain; charset=cp850"
    answer = site.put(f"/{danish}", BLUEBERRY, kind, token=token)
    assert answer.status == 409
    assert b"perdure correct" in answer.body
