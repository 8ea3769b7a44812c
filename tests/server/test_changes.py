"""`GET /changes`: rows for everybody, full rows for mirrors, and waiting for the next change."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.server.conftest import Answer
from tests.server.deployment import OTHER_SERIES, SERIES, Deployment, deployed, text


def rows(answer: Answer) -> list[dict[str, Any]]:
    assert answer.status == 200, answer.body
    return [json.loads(line) for line in answer.body.splitlines()]


def last(site: Deployment) -> str:
    """The mark of the last change."""
    mark = "1.0"
    while found := rows(site.get(f"/changes?since={mark}")):
        mark = f"{found[-1]['epoch']}.{found[-1]['number']}"
    return mark


def test_everybody_sees_public_rows(site: Deployment) -> None:
    site.mint(text(b"zero"))
    before = last(site)
    name = site.mint(text(b"one"), by="press")
    answer = site.get(f"/changes?since={before}")
    (row,) = rows(answer)
    assert answer.headers["content-type"] == "application/jsonl"
    assert answer.headers["cache-control"] == "no-cache"
    assert (row["act"], row["name"]) == ("mint", name.rpartition(".text")[0])
    assert b"press" not in answer.body
    assert rows(site.get(f"/changes?since={last(site)}")) == []


def test_pages_follow_each_other(site: Deployment) -> None:
    for number in range(5):
        site.mint(text(f"page {number}".encode()))
    whole = rows(site.get("/changes"))
    assert (whole[0]["act"], whole[0]["number"]) == ("begin", 1)
    paged: list[dict[str, Any]] = []
    since = ""
    while found := rows(site.get(f"/changes?limit=2{since}")):
        assert len(found) <= 2
        paged += found
        since = f"&since={found[-1]['number']}"
    assert paged == whole


@pytest.mark.parametrize(
    ("question", "status", "code"),
    [
        ("since=x", 400, "invalid-request"),
        ("since=", 400, "invalid-request"),
        ("limit=0", 400, "invalid-request"),
        ("limit=10001", 400, "invalid-request"),
        ("limit=00000000110001", 400, "invalid-request"),
        ("limit=two", 400, "invalid-request"),
        ("since=9.1", 409, "conflict"),
        ("full", 401, "unauthenticated"),
    ],
)
def test_what_is_refused(site: Deployment, question: str, status: int, code: str) -> None:
    answer = site.get(f"/changes?{question}")
    assert (answer.status, json.loads(answer.body)["code"]) == (status, code)


def test_only_reading(site: Deployment) -> None:
    assert site.ask("POST", "/changes").status == 405


def test_full_rows_are_for_mirrors(site: Deployment) -> None:
    secret = site.token("a mirror", operations=("mirror",))
    minting = site.token("no mirror", operations=("mint",))
    before = last(site)
    site.mint(text(b"two"), by="press")
    refused = site.get(f"/changes?since={before}&full", f"Authorization: Bearer {minting}")
    assert refused.status == 403
    answer = site.get(f"/changes?since={before}&full", f"Authorization: Bearer {secret}")
    row, line = rows(answer)
    assert answer.headers["cache-control"] == "no-store"
    assert (row["act"], row["actor"], len(bytes.fromhex(row["salt"]))) == ("mint", "press", 16)
    assert line["line"]["id"] == row["name"]
    assert row["chain"] == rows(site.get(f"/changes?since={before}"))[0]["chain"]


def test_a_mirror_of_one_series_has_public_rows_of_the_others(site: Deployment) -> None:
    secret = site.token("half a mirror", operations=("mirror",), authorities=(SERIES,))
    before = last(site)
    site.mint(text(b"ours"))
    site.mint(text(b"theirs"), authority=OTHER_SERIES)
    site.token("somebody")
    field = f"Authorization: Bearer {secret}"
    ours, line, theirs, token = rows(site.get(f"/changes?since={before}&full", field))
    assert ("salt" in ours, "line" in line, "salt" in theirs) == (True, True, False)
    assert set(token) == {"epoch", "number", "leaf", "chain"}


def test_who_waits_is_told_of_the_next_change(site: Deployment) -> None:
    before = last(site)
    answers: list[Answer] = []
    waiting = threading.Thread(
        target=lambda: answers.append(site.get(f"/changes?since={before}", "Prefer: wait=30"))
    )
    waiting.start()
    time.sleep(0.3)
    assert not answers
    site.mint(text(b"awaited"))
    waiting.join()
    (row,) = rows(answers[0])
    assert row["act"] == "mint"
    assert answers[0].headers["preference-applied"] == "wait=30"


def test_who_waits_in_vain_is_answered_in_the_end(site: Deployment) -> None:
    answer = site.get(f"/changes?since={last(site)}", "Prefer: respond-async, wait=1")
    assert rows(answer) == []
    assert answer.headers["preference-applied"] == "wait=1"


def test_who_waits_is_answered_when_the_server_stops(tmp_path: Path) -> None:
    """They would be cut off at the end of the time that the server has to stop."""
    with deployed(tmp_path / "registry", grace=10) as site, ThreadPoolExecutor() as clients:
        secret = site.token("a patient writer", operations=("mint",))
        before = last(site)
        patient = ("Prefer: mirrored=1, wait=60",)
        write = clients.submit(site.put, f"/pdi://{SERIES}/", b"one", *patient, token=secret)
        while (mark := last(site)) == before:
            time.sleep(0.05)
        follow = clients.submit(site.get, f"/changes?since={mark}", "Prefer: wait=30")
        time.sleep(0.3)
        assert not write.done()
        assert not follow.done()
        assert site.stop() == 0
    assert rows(follow.result()) == []
    assert write.result().status == 201
    assert "preference-applied" not in write.result().headers
