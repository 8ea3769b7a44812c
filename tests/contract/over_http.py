"""Faces that are asked over HTTP: one request, its redirects followed, and the outcome read.

How it works: `ask` sends the request that a face spells, follows redirects that lead to this
resolver, as `curl -L` does, and reads the answer by the question. A redirect that leads elsewhere
is the outcome itself.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

from tests.contract import over_foreign
from tests.contract.fixture import BASE, DELEGATE, LABELS
from tests.contract.table import Cell, Outcome, fill_spelling
from tests.contract.terms import make_list, name_record, read_name_at, read_picture
from tests.server.conftest import Answer
from tests.server.deployment import Deployment

ACCEPT = {
    "description": "application/json",
    "locations": "text/uri-list",
    "names": "text/uri-list",
    "listing": "text/uri-list",
    "members": "text/uri-list",
    "cited by": "text/uri-list",
    "references": "text/uri-list",
    "link set": "application/linkset+json",
}
_MOST_REDIRECTS = 5
_NOT_FOLLOWED = ("location",)


def ask(site: Deployment, cell: Cell, kind: dict[str, Any]) -> Outcome:
    """The outcome of a cell over HTTP."""
    target = fill_spelling(cell.spelling, kind)
    accept = f"Accept: {ACCEPT.get(cell.question, '*/*')}"
    for _ in range(_MOST_REDIRECTS):
        answer = site.get(target, accept)
        there = answer.headers.get("location", "")
        if answer.status == 307:  # to another resolver, which is asked the same
            written = target.removeprefix("/").replace("#", "%23")
            return {"is": "answered-elsewhere" if there == DELEGATE + written else there}
        if not 300 < answer.status < 400:
            break
        if cell.question in _NOT_FOLLOWED or not there.startswith(f"{BASE}/"):
            return {"is": "redirect", "to": read_name_at(there)}
        target = there.removeprefix(BASE)
    foreign = over_foreign.READERS.get(cell.face)
    if foreign is not None:
        return foreign(answer, cell.question)
    shown = answer.status == 410 and cell.question == "page"  # a tombstone has a page
    if answer.status >= 400 and not shown:
        return _read_error(answer)
    if answer.status == 300:
        return make_list(_read_lines(answer)) | {"is": "choices"}
    return READERS[cell.question](answer)


def _read_error(answer: Answer) -> Outcome:
    problem = json.loads(answer.body)
    if "responseCode" in problem:
        return {"is": _HANDLE_ERRORS[problem["responseCode"]]}
    return {"is": problem["code"]}


_HANDLE_ERRORS = {100: "not-found", 301: "not-found", 102: "malformed-identifier"}


def _read_document(answer: Answer) -> Outcome:
    if answer.headers["content-type"].startswith("application/json"):
        return _read_description(answer)
    return {"is": "bytes", "of": _label(answer.body)}


def _label(data: bytes) -> str:
    return LABELS.get(hashlib.sha512(data).hexdigest(), f"unknown bytes {data[:80]!r}")


def _read_thing(answer: Answer) -> Outcome:
    if "perdure-part" not in answer.headers and "/iiif/" not in answer.headers.get("link", ""):
        return _read_document(answer)
    if answer.headers["content-type"].startswith("image/"):
        return read_picture(answer.body)
    return {"is": "part", "text": answer.body.decode()}


def _read_digest(answer: Answer) -> Outcome:
    """The digest that is promised, if the bytes that were sent have it."""
    if b'"responseCode"' in answer.body:
        return _read_checksum(answer)
    promised = re.fullmatch("sha-512=:(.+):", answer.headers.get("repr-digest", ""))
    if promised is None:
        return {"is": "no digest"}
    digest = base64.b64decode(promised[1]).hex()
    label = LABELS.get(digest, digest)
    return {"is": "digest", "of": label if label == _label(answer.body) else "other bytes"}


def _read_description(answer: Answer) -> Outcome:
    if answer.headers["content-type"].startswith("text/plain"):  # ERC
        where = re.search(rb"^where: (.+)$", answer.body, re.MULTILINE)
        assert where is not None
        return {"is": "described", "as": name_record(where[1].decode())}
    found = json.loads(answer.body)
    return {"is": "described", "as": name_record(found.get("identifier") or found["pwid"])}


def _read_citation(answer: Answer) -> Outcome:
    return {"is": "cited", "as": read_name_at(json.loads(answer.body)["URL"])}


def _read_metadata(answer: Answer) -> Outcome:
    found = ElementTree.fromstring(answer.body).find(
        "{http://datacite.org/schema/kernel-4}identifier"
    )
    assert found is not None
    return {"is": "metadata", "about": found.text}


def _read_history(answer: Answer) -> Outcome:
    return {"is": "history", "revisions": len(json.loads(answer.body)["revisions"])}


def _read_values(answer: Answer, type: str) -> list[str]:
    values = json.loads(answer.body)["values"]
    return [one["data"]["value"] for one in values if one["type"] == type]


def _read_checksum(answer: Answer) -> Outcome:
    (checksum,) = _read_values(answer, "CHECKSUM")
    digest = checksum.removeprefix("sha512:")
    return {"is": "digest", "of": LABELS.get(digest, digest)}


def _read_lines(answer: Answer) -> list[str]:
    if b'"responseCode"' in answer.body:
        return _read_values(answer, "URL")
    lines = answer.body.decode("ascii").split("\r\n")
    return [one for one in lines if one and not one.startswith("#")]


def _read_list(answer: Answer) -> Outcome:
    return make_list(_read_lines(answer))


def _read_linkset(answer: Answer) -> Outcome:
    (name,) = json.loads(answer.body)["linkset"][0]["cite-as"]
    return {"is": "link set", "of": read_name_at(name["href"])}


def _read_page(answer: Answer) -> Outcome:
    assert answer.headers["content-type"].startswith("text/html")
    found = re.search(b'rel="cite-as" href="([^"]+)"|href="([^"]+)" rel="cite-as"', answer.body)
    return {"is": "page", "of": read_name_at((found[1] or found[2]).decode()) if found else ""}


READERS: dict[str, Callable[[Answer], Outcome]] = {
    "bytes": _read_thing,
    "part": _read_thing,
    "verify": _read_digest,
    "verify part": _read_digest,
    "location": _read_document,
    "locations": _read_list,
    "names": _read_list,
    "description": _read_description,
    "citation": _read_citation,
    "metadata": _read_metadata,
    "history": _read_history,
    "assertions": lambda answer: {
        "is": "assertions",
        "about": len(json.loads(answer.body)["items"]),
    },
    "link set": _read_linkset,
    "page": _read_page,
    "listing": _read_list,
    "members": _read_list,
    "cited by": _read_list,
    "references": _read_list,
    "text": lambda answer: {"is": "text", "text": answer.body.decode()},
}
