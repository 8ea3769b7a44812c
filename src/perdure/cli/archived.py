"""PWIDs for `get` and `resolve`: the same verdicts on the command line as over HTTP.

How it works: a PWID that was registered is an identifier like others. All others are judged by
`perdure.archives.answering`: those of our own archive by its captures, those of another one by what
is known of that archive.

What must stay true: what is not exact is given only where `--nearest` was; the verdict is always
told, on stderr where stdout has the bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

from perdure.app import Registry
from perdure.archives import answering, pages
from perdure.archives.port import Capture
from perdure.archives.revisits import original
from perdure.archives.verdict import Judgement, asked
from perdure.cli.fetching import Bytes, Delivery, Elsewhere, from_location
from perdure.errors import InvalidRequest, NotFound
from perdure.ids import Identifier
from perdure.ids.pwid import Pwid

_MEMBERS = 1000


def archived(registry: Registry, identifier: Identifier) -> Pwid | None:
    """The identifier, if it is a PWID that was not registered here."""
    if not isinstance(identifier, Pwid) or registry.resolver.record(identifier) is not None:
        return None
    return identifier


def delivery(
    registry: Registry, pwid: Pwid, *, nearest: bool, follow: bool
) -> tuple[Delivery, Judgement]:
    """The bytes that a PWID leads to, or where they may be; with the verdict.

    Raises what `perdure.archives.answering` raises, InvalidRequest for what is more than one thing.
    """
    if not answering.is_ours(registry.settings, pwid):
        found = answering.elsewhere(registry.web_archives, registry.settings, pwid)
        name = str(pwid)
        if follow:
            return from_location(name, found.url, None), found.judgement
        return Elsewhere(identifier=name, uri=found.url), found.judgement
    judgement = answering.local(registry.archive.captures, pwid, nearest=nearest)
    if pwid.coverage in ("subsite", "site"):
        reason = "it is a list of captures, which 'perdure resolve' tells"
        raise InvalidRequest(what=f"get of a {pwid.coverage}", reason=reason, rule=None)
    if judgement.is_ambiguous and not nearest:
        reason = f"it fits {len(judgement.fits)} captures, which 'perdure resolve' tells"
        raise InvalidRequest(what=str(pwid), reason=reason, rule="ruling pwid-time")
    assert judgement.capture is not None  # noqa: S101  (else NotCaptured was raised)
    pieces = _payload(registry, judgement.capture)
    return Bytes(identifier=str(pwid), pieces=pieces, promises=False), judgement


def _payload(registry: Registry, capture: Capture) -> Iterator[bytes]:
    library = registry.archive
    found = original(library.captures, capture)
    if found.capture is None:
        raise NotFound(identifier=f"{capture.uri} at {capture.date}: original {found.wanted}")
    with closing(library.files.open(found.capture)) as record:
        yield from record.payload()


def resolution(registry: Registry, pwid: Pwid, *, nearest: bool) -> tuple[dict[str, Any], str]:
    """The verdict and what it is about: for machines, and as lines for people."""
    if not answering.is_ours(registry.settings, pwid):
        archives = registry.web_archives
        found = answering.elsewhere(archives, registry.settings, pwid)
        document = answering.elsewhere_fields(archives, pwid, found)
        return document, f"{found.judgement.sentence}\t{found.url}"
    captures = registry.archive.captures
    judgement = answering.local(captures, pwid, nearest=nearest)
    document = answering.verdict_fields(pwid, judgement)
    capture = judgement.capture
    assert capture is not None  # noqa: S101  (else NotCaptured was raised)
    if judgement.is_ambiguous:
        lines = [
            _line(judgement.sentence, answering.capture_fields(pwid, one)) for one in judgement.fits
        ]
        return document, "\n".join(lines)
    lines = [_line(judgement.sentence, document["capture"])]
    if pwid.coverage in ("subsite", "site"):
        document["members"], lines = [], []
        for member in _members(registry, pwid):
            fields = answering.member_fields(pwid, member)
            document["members"].append(fields)
            lines.append(_line(fields["sentence"], fields["capture"]))
    elif pwid.coverage in ("page", None) and pages.is_html(capture.media_type):
        page = pages.resources(captures, registry.archive.files, capture)
        document |= answering.page_fields(pwid, page)
        for one in document["resources"]:
            lines.append(_line(one["sentence"], one["capture"] or {"uri": one["uri"], "date": "-"}))
    return document, "\n".join(lines)


def _members(registry: Registry, pwid: Pwid) -> Iterator[pages.Member]:
    after: str | None = ""
    while after is not None:
        found, after = pages.members(
            registry.archive.captures, asked(pwid), after=after, limit=_MEMBERS
        )
        yield from found


def _line(sentence: str, fields: dict[str, Any]) -> str:
    """A capture in one line; nothing in it can be taken for a control character."""
    uri = fields["uri"].encode("unicode_escape").decode("ascii")
    return f"{sentence}\t{fields['date']}\t{uri}"
