"""PWIDs for `get` and `resolve`: the same verdicts on the command line as over HTTP.

How it works: a PWID that was registered is an identifier like any other.
`perdure.archives.pwid.answering` judges all others: PWIDs of our own archive by its captures, those
of another archive by the entry of that archive.

What must stay true: a capture that is not exact is returned only with `--nearest`; the verdict is
always printed, on stderr if stdout carries the bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import msgspec

from perdure.archives.capture import pages
from perdure.archives.opening import open_capture
from perdure.archives.port import Capture
from perdure.archives.pwid import answering
from perdure.archives.pwid.verdict import CaptureVerdict, Judgement, interpret_pwid
from perdure.cli.fetching import (
    AtLocation,
    DeliveredBytes,
    Delivery,
    fetch_from_location,
    fetch_from_resolver,
)
from perdure.errors.captures import AmbiguousTime, ManyResources
from perdure.errors.cutting import TextElsewhere
from perdure.errors.limits import AnswerTooLong
from perdure.errors.servers import ForeignAnswer
from perdure.ids.pwid import Pwid
from perdure.registry import Registry

_MEMBERS = 1000
_LISTS = ("subsite", "site")
_LONGEST_DOCUMENT = 16 << 20  # bytes; a page of a thousand resources has one


def deliver_pwid(
    registry: Registry, pwid: Pwid, *, nearest: bool, follow: bool
) -> tuple[Delivery, Judgement]:
    """Return the bytes that a PWID leads to, or the address where they may be, and the verdict.

    Raises what `perdure.archives.pwid.answering` raises, and InvalidRequest if the PWID covers more
    than one resource.
    """
    if not answering.is_ours(registry.settings, pwid):
        found = answering.answer_elsewhere(registry.web_archives, registry.settings, pwid)
        name = str(pwid)
        if follow:
            return fetch_from_location(name, found.url, None), found.judgement
        return AtLocation(identifier=name, uri=found.url), found.judgement
    capture, judgement = choose_capture(registry, pwid, nearest=nearest)
    pieces = _read_payload(registry, capture)
    return DeliveredBytes(identifier=str(pwid), pieces=pieces, promises=False), judgement


def choose_capture(registry: Registry, pwid: Pwid, *, nearest: bool) -> tuple[Capture, Judgement]:
    """Return the only capture in our own archive that a PWID leads to, and the verdict.

    Raises TextElsewhere if the PWID is of another archive, and otherwise the errors of
    `deliver_pwid`.
    """
    if not answering.is_ours(registry.settings, pwid):
        raise TextElsewhere(selector=str(pwid))
    judgement = answering.answer_locally(registry.archive, pwid, nearest=nearest)
    if pwid.coverage in _LISTS:
        raise ManyResources(coverage=pwid.coverage or "page")
    if judgement.is_ambiguous and not nearest:
        raise AmbiguousTime(identifier=str(pwid), fits=len(judgement.fits))
    assert judgement.capture is not None  # noqa: S101  (else NotCaptured was raised)
    return judgement.capture, judgement


def deliver_from_resolver(resolver: str, pwid: Pwid, *, nearest: bool, follow: bool) -> Delivery:
    """Do the same through a resolver, which lists the parts of a page and the URL of its bytes.

    Raises the error that the resolver reports, Unavailable if it does not answer, InvalidRequest if
    the PWID covers more than one resource.
    """
    found = fetch_from_resolver(resolver, pwid, (), follow=follow, nearest=nearest)
    if not isinstance(found, DeliveredBytes) or found.is_archived or not found.verdict:
        return found
    told = _read_document(found)
    raw = told.capture.raw if told.capture else None
    if pwid.coverage in _LISTS or raw is None or not raw.startswith("/replay/"):
        raise ManyResources(coverage=pwid.coverage or "page")
    page = fetch_from_location(str(pwid), f"{resolver.rstrip('/')}{raw}", None)
    return msgspec.structs.replace(page, verdict=found.verdict)


def verdict_sentence(field: str) -> str:
    """Turn the header field with a resolver's verdict into words.

    >>> (verdict_sentence("nearest;delta=-2"), verdict_sentence("exact;fits=2"),
    ...  verdict_sentence("of another kind"))
    ('nearest -00:00:02', 'exact', 'of another kind')
    """
    token, *parameters = field.split(";")
    verdict = next((one for one in CaptureVerdict if one.token == token), None)
    if verdict is None:
        return field
    found = (re.fullmatch("delta=(-?[0-9]{1,12})", one.strip()) for one in parameters)
    delta = next((int(one[1]) for one in found if one), None)
    other_uri = "other-uri" in map(str.strip, parameters)
    return Judgement(verdict=verdict, delta=delta, other_uri=other_uri).sentence


class _RawAddress(msgspec.Struct):
    raw: str | None = None


class _Document(msgspec.Struct):
    """The answer of a resolver about a PWID; only the members that are needed here."""

    capture: _RawAddress | None = None


def _read_document(found: DeliveredBytes) -> _Document:
    data = bytearray()
    for piece in found.pieces:
        data += piece
        if len(data) > _LONGEST_DOCUMENT:
            raise AnswerTooLong(url=found.where, most=_LONGEST_DOCUMENT)
    try:
        return msgspec.json.decode(data, type=_Document)
    except msgspec.MsgspecError as error:
        raise ForeignAnswer(url=found.where, found=str(error)) from None


def _read_payload(registry: Registry, capture: Capture) -> Iterator[bytes]:
    library = registry.archive
    with closing(open_capture(library.captures, library.files, capture).record) as record:
        yield from record.read_payload()


def resolve_pwid(registry: Registry, pwid: Pwid, *, nearest: bool) -> tuple[dict[str, Any], str]:
    """Return the verdict and its subject, as JSON for programs and as lines for people."""
    if not answering.is_ours(registry.settings, pwid):
        archives = registry.web_archives
        found = answering.answer_elsewhere(archives, registry.settings, pwid)
        document = answering.elsewhere_fields(archives, pwid, found)
        return document, f"{found.judgement.sentence}\t{found.url}"
    captures = registry.archive.captures
    judgement = answering.answer_locally(registry.archive, pwid, nearest=nearest)
    document = answering.verdict_fields(pwid, judgement)
    capture = judgement.capture
    if judgement.is_ambiguous and not answering.is_scope(pwid):
        lines = [
            _capture_line(judgement.sentence, answering.capture_fields(pwid, one))
            for one in judgement.fits
        ]
        return document, "\n".join(lines)
    own = document["capture"] if capture else {"uri": pwid.item, "date": "-"}
    lines = [_capture_line(judgement.sentence, own)]
    if answering.is_scope(pwid):
        document["members"] = []
        lines = lines if capture is None else []
        for member in _walk_members(registry, pwid):
            fields = answering.member_fields(pwid, member)
            document["members"].append(fields)
            lines.append(_capture_line(fields["sentence"], fields["capture"]))
    elif capture and pwid.coverage in ("page", None) and pages.has_resources(capture):
        page = pages.list_resources(captures, registry.archive.files, capture)
        document |= answering.page_fields(pwid, page)
        for one in document["resources"]:
            lines.append(
                _capture_line(one["sentence"], one["capture"] or {"uri": one["uri"], "date": "-"})
            )
    return document, "\n".join(lines)


def _walk_members(registry: Registry, pwid: Pwid) -> Iterator[pages.SiteMember]:
    after: str | None = ""
    while after is not None:
        found, after = pages.list_members(
            registry.archive.captures, interpret_pwid(pwid), after=after, limit=_MEMBERS
        )
        yield from found


def _capture_line(sentence: str, fields: dict[str, Any]) -> str:
    """Describe a capture in one line, with control characters escaped."""
    uri = fields["uri"].encode("unicode_escape").decode("ascii")
    return f"{sentence}\t{fields['date']}\t{uri}"
