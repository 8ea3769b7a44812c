"""Hand-overs: the act of two registries by which names go from one to the other. Pure.

A delegation to a successor (`perdure.model.delegations`) closes the names where they were. Then the
predecessor says what it hands over, as an assertion about that delegation:

    {"motivation": "prov:actedOnBehalfOf", "target": "pdi://oma.eop.gov.us/2001/01/20/7.jsonld.1",
     "body": {"type": "pd:HandOver", "pd:head": "1.1042", "pd:chain": "9f…", "pd:changes": "41…",
              "pd:records": 1040, "pd:documents": 960, "pd:bytes": 81924}}

and the successor says that it took it over, as an assertion about this one (`pd:TakeOver`). Each
signs its own; the two documents and their signatures are the act.

What must stay true: `chain` commits to everything that the predecessor ever wrote, `changes` to
everything that it hands over; nothing that comes after `head` is part of the hand-over.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from perdure.errors.delegations import DelegationMalformed
from perdure.errors.root import PerdureError
from perdure.ids import Identifier, parse
from perdure.model.assertions import CONTEXT, DELEGATES, VOCABULARIES, Assertion, read_assertion
from perdure.model.changes import ChainHead, parse_mark

_HAND_OVER, _TAKE_OVER = "pd:HandOver", "pd:TakeOver"
_SHA256, _SHA512 = re.compile("[0-9a-f]{64}"), re.compile("[0-9a-f]{128}")
_COUNTS = ("records", "documents", "bytes", "rules", "captures")


class HandOver(msgspec.Struct, frozen=True, kw_only=True):
    """The statement of a predecessor about what it hands over."""

    delegation: Identifier
    """The delegation that names the successor, with format and version."""
    head: ChainHead
    """The last change of the predecessor that counts."""
    changes: str
    """SHA-512 of the changes that are handed over, as a package has them."""
    records: int
    documents: int
    """Representations whose bytes are handed over."""
    bytes: int
    rules: int = 0
    """Changes of reading rules."""
    captures: int = 0
    """Captures of the web archive of the predecessor. They stay there."""


class TakeOver(msgspec.Struct, frozen=True, kw_only=True):
    """The statement of a successor that it took a hand-over over."""

    hand_over: Identifier
    """The statement of the predecessor, with format and version."""
    sha512: str
    """That of the statement of the predecessor."""
    epoch: int
    """The epoch of the successor that began then."""


def read_act(assertion: Assertion) -> HandOver | TakeOver | None:
    """Read the statement of one side; None for other assertions.

    Raises DelegationMalformed if it is one, and malformed.
    """
    body = assertion.document.get("body")
    if DELEGATES not in assertion.motivations or not isinstance(body, dict):
        return None
    kind = body.get("type")
    if kind not in (_HAND_OVER, _TAKE_OVER):
        return None
    if len(assertion.targets) != 1 or assertion.targets[0].selectors:
        raise DelegationMalformed(place="target", expected="one document")
    try:
        target = parse(assertion.targets[0].iri)
    except PerdureError:
        raise DelegationMalformed(place="target", expected="the name of a document") from None
    return _read_hand_over(target, body) if kind == _HAND_OVER else _read_take_over(target, body)


def _read_hand_over(delegation: Identifier, body: Mapping[str, Any]) -> HandOver:
    mark = parse_mark(_read_matching(body, "head", re.compile(r"[0-9]+\.[0-9]+")), current=0)
    if mark is None:
        raise DelegationMalformed(place="head", expected="the mark of a change")
    chain = _read_matching(body, "chain", _SHA256)
    return HandOver(
        delegation=delegation,
        head=ChainHead(epoch=mark.epoch, number=mark.number, chain=chain),
        changes=_read_matching(body, "changes", _SHA512),
        **{name: _read_count(body, name) for name in _COUNTS},
    )


def _read_take_over(hand_over: Identifier, body: Mapping[str, Any]) -> TakeOver:
    return TakeOver(
        hand_over=hand_over,
        sha512=_read_matching(body, "sha512", _SHA512),
        epoch=_read_count(body, "epoch"),
    )


def _read_matching(body: Mapping[str, Any], name: str, form: re.Pattern[str]) -> str:
    value = body.get(f"pd:{name}")
    if not isinstance(value, str) or not form.fullmatch(value):
        raise DelegationMalformed(place=name, expected=f"text of the form {form.pattern}")
    return value


def _read_count(body: Mapping[str, Any], name: str) -> int:
    value = body.get(f"pd:{name}", 0)
    if type(value) is not int or value < 0:
        raise DelegationMalformed(place=name, expected="a whole number")
    return value


def write_hand_over(said: HandOver, created: str) -> bytes:
    """Write the statement of the predecessor, as JSON-LD that ends in a line feed."""
    body = {
        "type": _HAND_OVER,
        "pd:head": str(said.head.mark),
        "pd:chain": said.head.chain,
        "pd:changes": said.changes,
    }
    counts = {f"pd:{name}": getattr(said, name) for name in _COUNTS}
    return _write_document(str(said.delegation), body | counts, created)


def write_take_over(said: TakeOver, created: str) -> bytes:
    """Write the statement of the successor, likewise."""
    body = {"type": _TAKE_OVER, "pd:sha512": said.sha512, "pd:epoch": said.epoch}
    return _write_document(str(said.hand_over), body, created)


def _write_document(target: str, body: Mapping[str, object], created: str) -> bytes:
    document = {
        "@context": [CONTEXT, VOCABULARIES],
        "type": "Annotation",
        "motivation": DELEGATES,
        "created": created,
        "body": body,
        "target": target,
    }
    data = msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"
    read_act(read_assertion(data))
    return data
