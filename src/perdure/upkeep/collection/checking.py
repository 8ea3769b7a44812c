"""The check of one member: held here, in an archive, elsewhere, or gone.

How it works: a member that this registry holds is read, and a part is cut. The digest of the result
is compared with the promise of the registry and with that of the collection. A PWID is looked up in
the web archive of this registry. If that has an exact capture, its payload is read (the payload of
a revisit comes from its original), and for a page the check reports which of its resources are
kept. Otherwise the registry of archives says what is known of the archive that the PWID names.
Nothing is fetched, unless the caller wants the archives to be asked: then the TimeGate of each says
which captures it has, and exact captures are read there.

What must stay true: a failure in one member is the state of that member, and never keeps another
from being checked; bytes are read in pieces, whatever their length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing

import msgspec

from perdure.archives.capture import pages
from perdure.archives.capture.wholes import whole
from perdure.archives.files import heads
from perdure.archives.files.records import WarcRecord
from perdure.archives.index.revisits import original
from perdure.archives.port import Capture
from perdure.archives.pwid import known, verdict
from perdure.archives.pwid.answering import is_ours
from perdure.archives.pwid.asking import Inquirer
from perdure.archives.pwid.verdict import Asked, Judgement, Verdict, asked, delta, judge, look_up
from perdure.errors import (
    Corrupt,
    MalformedPart,
    NotAcceptable,
    NotFound,
    PartNotFound,
    PartNotSupported,
    PerdureError,
)
from perdure.extractors.port import body_chunks
from perdure.ids import Identifier, parse
from perdure.ids.pwid import Pwid
from perdure.model.collection import Member
from perdure.model.queries import Fetch, Gone, Query, Redirect
from perdure.model.records import Representation
from perdure.reading.resolve import Resolved
from perdure.registry import Registry
from perdure.storage.segments.directory import Segments
from perdure.upkeep.collection.digests import Measured, agrees, measure
from perdure.upkeep.collection.status import MOST_NAMED, Checked, State

_STATES = {
    Verdict.EXACT: State.EXACT,
    Verdict.OTHER_URI: State.OTHER_URI,
    Verdict.NEAREST: State.NEAREST,
    Verdict.ABSENT: State.ABSENT,
    Verdict.CLOSED: State.CLOSED,
    Verdict.MOVED: State.MOVED,
    Verdict.UNVERIFIED: State.UNVERIFIED,
}


class Checker:
    """Checks members one by one."""

    def __init__(self, registry: Registry, *, ask: bool = False, pieces: bool = True) -> None:
        """Set up a check. `ask`: ask other archives, too; `pieces`: look for the pieces of
        pages."""
        self._registry = registry
        self._looks_for_pieces = pieces
        self._archives = known.load(registry.settings, registry.root)
        networks = registry.settings.private_networks
        self._inquirer = Inquirer(self._archives, networks=networks) if ask else None

    def check(self, number: int, member: Member) -> Checked:
        """Check a member and return its state. Raises no PerdureError."""
        blank = Checked(
            number=number,
            identifier=member.identifier,
            name=member.name,
            promised=member.digest,
            state=State.UNREADABLE,
        )
        try:
            identifier = parse(member.identifier)
            if isinstance(identifier, Pwid):
                return self._archived(blank, identifier)
            return self._registered(blank, identifier)
        except Corrupt as error:
            return _with(blank, State.DAMAGED, detail=error.problem())
        except (PartNotFound, NotAcceptable) as error:
            return _with(blank, State.ABSENT, detail=error.problem())
        except (PartNotSupported, MalformedPart) as error:
            return _with(blank, State.UNREADABLE, detail=error.problem())
        except PerdureError as error:
            return _with(blank, State.UNREADABLE, detail=str(error))

    # registered members
    # ------------------

    def _registered(self, blank: Checked, identifier: Identifier) -> Checked:
        try:
            resolved = self._registry.reading.resolve(Query(identifier=identifier))
            step = resolved.choose(whole=True)
        except NotFound as error:
            return self._unknown(blank, identifier, error)
        match step:
            case Fetch():
                return self._held(blank, resolved, step)
            case Gone(tombstone=tombstone):
                detail = f"withdrawn {tombstone.at}: {tombstone.reason}"
                return _with(blank, State.GONE, detail=detail)
            case Redirect(location=location):
                return _with(blank, State.LOCATED, where=location.uri)
        return _with(blank, State.KNOWN)

    def _unknown(self, blank: Checked, identifier: Identifier, error: NotFound) -> Checked:
        ours = self._registry.settings.is_numbered_here(identifier)
        version_is_missing = type(error) is not NotFound
        state = State.ABSENT if ours or version_is_missing else State.FOREIGN
        return _with(blank, state, detail=error.problem() if state is State.ABSENT else "")

    def _held(self, blank: Checked, resolved: Resolved, step: Fetch) -> Checked:
        one = step.representation
        media_type, pieces = one.media_type, chunks(self._registry.segments, one)
        if resolved.inside is not None:
            source = self._registry.source(step.identifier, one)
            part = self._registry.parts.extract(
                source,
                self._registry.selector(resolved.identifier, source, resolved.part_beside),
            )
            media_type, pieces = part.media_type, body_chunks(part.body, source)
        found = measure(pieces, blank.promised)
        is_whole = resolved.inside is None
        if is_whole and found.values["sha512"].hex() != one.sha512:
            detail = f"the registry promised sha512:{one.sha512}"
            return _found(blank, State.DAMAGED, found, media_type, detail=detail)
        return _judged(blank, State.HELD, found, media_type)

    # archived members
    # ----------------

    def _archived(self, blank: Checked, pwid: Pwid) -> Checked:
        here = self.judge(pwid)
        if here.verdict is Verdict.EXACT and here.capture is not None:
            return self._captured(blank, pwid, here.capture)
        if is_ours(self._registry.settings, pwid):
            found = _with(blank, State.ABSENT, where=pwid.archive)
            return _at_best(found, _STATES[here.verdict], asked(pwid), here)
        archive = self._archives.find(pwid.archive)
        if archive is None:
            detail = "an archive that is not in the registry of archives"
            return _with(blank, State.UNVERIFIED, where=pwid.archive, detail=detail)
        judged = verdict.judge_elsewhere(access=archive.access, moved=bool(archive.moved_to))
        where = self._archives.playback(pwid) or archive.id
        if self._inquirer is not None and judged.verdict is not Verdict.CLOSED:
            there = self._inquirer.ask(pwid)
            if there is not None:
                return self._answered(_with(blank, State.UNVERIFIED, where=where), pwid, there)
        detail = f"now kept by {archive.moved_to}" if judged.verdict is Verdict.MOVED else ""
        return _with(blank, _STATES[judged.verdict], where=where, detail=detail)

    def _answered(self, blank: Checked, pwid: Pwid, there: Judgement) -> Checked:
        """Check a PWID by the answer of its own archive."""
        if there.verdict is not Verdict.EXACT or self._inquirer is None:
            return _at_best(blank, _STATES[there.verdict], asked(pwid), there)
        data = self._inquirer.read(pwid)
        if data is None:
            return _with(blank, State.CONFIRMED)
        return _judged(blank, State.EXACT, measure(iter((data,)), blank.promised), "")

    def judge(self, pwid: Pwid) -> Judgement:
        """Judge a PWID by the web archive of this registry, whichever archive the PWID names."""
        wanted = asked(pwid)
        return judge(wanted, look_up(self._registry.archive.captures, wanted))

    def _captured(self, blank: Checked, pwid: Pwid, capture: Capture) -> Checked:
        archive = self._registry.archive
        found = original(archive.captures, capture)
        if found.capture is None:
            detail = f"{found.how}: {found.wanted}"
            return _with(blank, State.ABSENT, where=pwid.archive, detail=detail)
        with closing(archive.files.open(found.capture)) as record:
            if heads.value_of(record.fields, "WARC-Segment-Number"):
                detail = "recorded in segments, but only the first can be read"
                return _with(blank, State.UNREADABLE, where=pwid.archive, detail=detail)
            measured = measure(record.payload(), blank.promised)
            wrong = fault(record)
        if wrong:
            return _found(blank, State.DAMAGED, measured, capture.media_type, detail=wrong)
        recorded = capture.digest == blank.promised != ""
        checked = _judged(blank, State.EXACT, measured, capture.media_type)
        if recorded and checked.state is State.CHANGED:  # of the payload as it was transferred
            checked = _found(blank, State.EXACT, measured, capture.media_type)
        checked = _with(checked, checked.state, where=f"{pwid.archive}, {capture.file}")
        is_page = pwid.coverage == "page" and pages.is_html(capture.media_type)
        return self._with_pieces(checked, capture) if is_page else checked

    def _with_pieces(self, checked: Checked, page: Capture) -> Checked:
        """Add to a page how many of its resources are kept."""
        if not self._looks_for_pieces:
            return checked
        found = whole(self._registry.archive.captures, self._registry.archive.files, page)
        kept, lost = len(found.captures) - 1, len(found.missing)
        told = [checked.detail] if checked.detail else []
        if lost:
            told.append(f"{lost} of {kept + lost} pieces of the page are not kept here")
        if found.unread or not found.complete:
            told.append("the list of its pieces may be incomplete")
        return msgspec.structs.replace(
            checked, pieces=kept, missing=found.missing[:MOST_NAMED], detail="; ".join(told)
        )


def chunks(segments: Segments, one: Representation) -> Iterator[bytes]:
    """Return the bytes of a representation, in pieces."""
    return segments.chunks(one.segment, one.offset, one.length)


def _at_best(blank: Checked, state: State, wanted: Asked, found: Judgement) -> Checked:
    """Return the state of a member without an exact capture, with the nearest one as detail."""
    offered = found.offered[0] if found.offered else found.capture
    if offered is None:
        return _with(blank, state)
    away = delta(wanted, offered)
    state = State.NEAREST if state is State.ABSENT else state
    return _with(blank, state, delta=away, detail=f"{offered.uri} {verdict.distance(away)}")


def fault(record: WarcRecord) -> str:
    """Return how a record differs from the digests recorded with it, or an empty text.

    Some writers digest the payload with the chunks of the transfer, some without. A revisit does
    not contain its payload, and the payload digest of a segmented record covers all segments, so
    neither is checked. Raises Corrupt.
    """
    kind, block, payload, segment = (
        heads.value_of(record.fields, f"WARC-{name}")
        for name in ("Type", "Block-Digest", "Payload-Digest", "Segment-Number")
    )
    wrong = _unlike(block, (record.block,))
    if wrong or kind == "revisit" or segment:
        return wrong
    return _unlike(payload, (record.entity, record.unchunked))


def _unlike(promised: str, several: Iterable[Callable[[], Iterator[bytes]]]) -> str:
    """Return how the digest of bytes differs, or an empty text if one way to read them agrees."""
    found = None
    for pieces in several if promised else ():
        found = measure(pieces(), promised)
        if agrees(promised, found) is not False:
            return ""
    return f"{promised} was recorded with it, but it has {found.digest}" if found else ""


def _judged(blank: Checked, state: State, found: Measured, media_type: str) -> Checked:
    if blank.promised and agrees(blank.promised, found) is False:
        detail = f"the collection says {blank.promised}"
        return _found(blank, State.CHANGED, found, media_type, detail=detail)
    return _found(blank, state, found, media_type)


def _found(
    blank: Checked, state: State, found: Measured, media_type: str, *, detail: str = ""
) -> Checked:
    return _with(
        blank, state, digest=found.digest, length=found.length, media_type=media_type, detail=detail
    )


def _with(checked: Checked, state: State, **fields: object) -> Checked:
    """Return the same member in another state."""
    return msgspec.structs.replace(checked, state=state, **fields)
