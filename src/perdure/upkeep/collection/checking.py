"""The check of one member: held here, in an archive, elsewhere, or gone.

How it works: a member that this registry holds is read, and a part is cut. The digest of the result
is compared with the promise of the registry and with that of the collection. A PWID is looked up in
the web archive of this registry. If that has an exact capture, its payload is read (the payload of
a revisit comes from its original), and for a page the check reports which of its resources are
kept. Otherwise the registry of archives describes the archive that the PWID names.
Nothing is fetched, unless the caller wants the archives to be asked: then the TimeGate of each says
which captures it has, and exact captures are read there.

What must stay true: a failure in one member is the state of that member, and never keeps another
from being checked; bytes are read in pieces, whatever their length.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing

import msgspec

from perdure.archives.capture import pages
from perdure.archives.capture.wholes import collect_whole
from perdure.archives.choosing import prefer_intact
from perdure.archives.digests import algorithm_of
from perdure.archives.files import heads
from perdure.archives.files.records import WarcRecord
from perdure.archives.index.revisits import find_original
from perdure.archives.opening import is_redirect
from perdure.archives.port import Capture
from perdure.archives.pwid import known, verdict
from perdure.archives.pwid.answering import is_ours
from perdure.archives.pwid.asking import Inquirer
from perdure.archives.pwid.verdict import (
    CaptureVerdict,
    Judgement,
    WantedCapture,
    interpret_pwid,
    judge_evidence,
    look_up_evidence,
    measure_delta,
)
from perdure.errors import (
    Corrupt,
    MalformedPart,
    NotAcceptable,
    NotFound,
    PartNotFound,
    PartNotSupported,
    PerdureError,
)
from perdure.errors.root import count_things
from perdure.ids import Identifier, parse
from perdure.ids.pwid import Pwid
from perdure.model.collection import CollectionMember
from perdure.model.queries import LOCAL_READER, Fetch, Gone, Query, Redirect
from perdure.reading.resolved import Resolved
from perdure.registry import Registry
from perdure.upkeep.collection.digests import (
    MeasuredBytes,
    digest_agrees,
    measure_bytes,
)
from perdure.upkeep.collection.status import MOST_NAMED, CheckedMember, State

_STATES = {
    CaptureVerdict.EXACT: State.EXACT,
    CaptureVerdict.OTHER_URI: State.OTHER_URI,
    CaptureVerdict.NEAREST: State.NEAREST,
    CaptureVerdict.ABSENT: State.ABSENT,
    CaptureVerdict.CLOSED: State.CLOSED,
    CaptureVerdict.MOVED: State.MOVED,
    CaptureVerdict.UNVERIFIED: State.UNVERIFIED,
}


class MemberChecker:
    """Checks members one by one."""

    def __init__(self, registry: Registry, *, ask: bool = False, pieces: bool = True) -> None:
        """Set up a check. `ask`: ask other archives, too; `pieces`: look for the pieces of
        pages."""
        self._registry = registry
        self._looks_for_pieces = pieces
        self._archives = known.load_archives(registry.settings, registry.root)
        networks = registry.settings.private_networks
        self._inquirer = Inquirer(self._archives, networks=networks) if ask else None

    def check(self, number: int, member: CollectionMember) -> CheckedMember:
        """Check a member and return its state. Raises no PerdureError."""
        blank = CheckedMember(
            number=number,
            identifier=member.identifier,
            name=member.name,
            promised=member.digest,
            state=State.UNREADABLE,
        )
        try:
            identifier = parse(member.identifier)
            if isinstance(identifier, Pwid):
                return self._check_archived(blank, identifier)
            return self._check_registered(blank, identifier)
        except Corrupt as error:
            return _with_state(blank, State.DAMAGED, detail=error.problem())
        except (PartNotFound, NotAcceptable) as error:
            return _with_state(blank, State.ABSENT, detail=error.problem())
        except (PartNotSupported, MalformedPart) as error:
            return _with_state(blank, State.UNREADABLE, detail=error.problem())
        except PerdureError as error:
            return _with_state(blank, State.UNREADABLE, detail=str(error))

    # registered members
    # ------------------

    def _check_registered(self, blank: CheckedMember, identifier: Identifier) -> CheckedMember:
        try:
            resolved = self._registry.reading.resolve(
                Query(reader=LOCAL_READER, identifier=identifier)
            )
            step = resolved.choose(whole=True)
        except NotFound as error:
            return self._judge_unknown(blank, identifier, error)
        match step:
            case Fetch():
                return self._check_held(blank, resolved, step)
            case Gone(tombstone=tombstone):
                detail = f"withdrawn {tombstone.at}: {tombstone.reason}"
                return _with_state(blank, State.GONE, detail=detail)
            case Redirect(location=location):
                return _with_state(blank, State.LOCATED, where=location.uri)
        return _with_state(blank, State.KNOWN)

    def _judge_unknown(
        self, blank: CheckedMember, identifier: Identifier, error: NotFound
    ) -> CheckedMember:
        ours = self._registry.settings.is_numbered_here(identifier)
        version_is_missing = type(error) is not NotFound
        state = State.ABSENT if ours or version_is_missing else State.FOREIGN
        return _with_state(blank, state, detail=error.problem() if state is State.ABSENT else "")

    def _check_held(self, blank: CheckedMember, resolved: Resolved, step: Fetch) -> CheckedMember:
        one = step.representation
        media_type, pieces = one.media_type, self._registry.bytes.read_chunks(one)
        if resolved.inside is not None:
            part, pieces = self._registry.documents.open_part(resolved, step)
            media_type = part.media_type
        found = measure_bytes(pieces, blank.promised)
        is_whole = resolved.inside is None
        if is_whole and found.values["sha512"].hex() != one.sha512:
            detail = f"the registry promised sha512:{one.sha512}"
            return _with_measured(blank, State.DAMAGED, found, media_type, detail=detail)
        return _judge_measured(blank, State.HELD, found, media_type)

    # archived members
    # ----------------

    def _check_archived(self, blank: CheckedMember, pwid: Pwid) -> CheckedMember:
        here = self.judge_here(pwid)
        if here.verdict is CaptureVerdict.EXACT and here.capture is not None:
            return self._check_captured(blank, pwid, here.capture)
        if is_ours(self._registry.settings, pwid):
            wanted = interpret_pwid(pwid)
            withheld = self._registry.archive.withheld
            taken = withheld.find_covering(wanted.uri, wanted.first, wanted.last)
            if taken is not None:
                detail = f"withdrawn {taken.at}: {taken.reason}"
                return _with_state(blank, State.GONE, where=pwid.archive, detail=detail)
            found = _with_state(blank, State.ABSENT, where=pwid.archive)
            return _with_nearest(found, _STATES[here.verdict], wanted, here)
        archive = self._archives.find_archive(pwid.archive)
        if archive is None:
            detail = "an archive that is not in the registry of archives"
            return _with_state(blank, State.UNVERIFIED, where=pwid.archive, detail=detail)
        judged = verdict.judge_elsewhere(access=archive.access, moved=bool(archive.moved_to))
        where = self._archives.make_playback_url(pwid) or archive.id
        if self._inquirer is not None and judged.verdict is not CaptureVerdict.CLOSED:
            there = self._inquirer.ask_archive(pwid)
            if there is not None:
                return self._check_answer(
                    _with_state(blank, State.UNVERIFIED, where=where), pwid, there
                )
        detail = f"now kept by {archive.moved_to}" if judged.verdict is CaptureVerdict.MOVED else ""
        return _with_state(blank, _STATES[judged.verdict], where=where, detail=detail)

    def _check_answer(self, blank: CheckedMember, pwid: Pwid, there: Judgement) -> CheckedMember:
        """Check a PWID by the answer of its own archive."""
        if there.verdict is not CaptureVerdict.EXACT or self._inquirer is None:
            return _with_nearest(blank, _STATES[there.verdict], interpret_pwid(pwid), there)
        data = self._inquirer.read_capture(pwid)
        if data is None:
            return _with_state(blank, State.CONFIRMED)
        return _judge_measured(blank, State.EXACT, measure_bytes(iter((data,)), blank.promised), "")

    def judge_here(self, pwid: Pwid) -> Judgement:
        """Judge a PWID by the web archive of this registry, whichever archive the PWID names."""
        wanted = interpret_pwid(pwid)
        archive = self._registry.archive
        return prefer_intact(
            archive.files, judge_evidence(wanted, look_up_evidence(archive.captures, wanted))
        )

    def _check_captured(self, blank: CheckedMember, pwid: Pwid, capture: Capture) -> CheckedMember:
        archive = self._registry.archive
        found = find_original(archive.captures, capture, archive.files)
        with closing(archive.files.open_record(found.capture or capture)) as record:
            if found.capture is None and not is_redirect(record):
                detail = f"{found.how}: {found.wanted}"
                return _with_state(blank, State.ABSENT, where=pwid.archive, detail=detail)
            if heads.find_value(record.fields, "WARC-Segment-Number"):
                detail = "recorded in segments, but only the first can be read"
                return _with_state(blank, State.UNREADABLE, where=pwid.archive, detail=detail)
            measured = measure_bytes(record.read_payload(), blank.promised)
            wrong = find_digest_fault(record)
        if wrong:
            return _with_measured(blank, State.DAMAGED, measured, capture.media_type, detail=wrong)
        recorded = capture.digest == blank.promised != ""
        checked = _judge_measured(blank, State.EXACT, measured, capture.media_type)
        if recorded and checked.state is State.CHANGED:  # of the payload as it was transferred
            checked = _with_measured(blank, State.EXACT, measured, capture.media_type)
        checked = _with_state(checked, checked.state, where=f"{pwid.archive}, {capture.file}")
        is_page = pwid.coverage == "page" and pages.has_resources(capture)
        return self._add_pieces(checked, capture) if is_page else checked

    def _add_pieces(self, checked: CheckedMember, page: Capture) -> CheckedMember:
        """Add to a page how many of its resources are kept."""
        if not self._looks_for_pieces:
            return checked
        found = collect_whole(self._registry.archive.captures, self._registry.archive.files, page)
        kept, lost = len(found.captures) - 1, len(found.missing)
        told = [checked.detail] if checked.detail else []
        if lost:
            told.append(
                f"{lost} of {count_things(kept + lost, 'piece')} of the page are not kept here"
            )
        if found.unread or not found.complete:
            told.append("the list of its pieces may be incomplete")
        return msgspec.structs.replace(
            checked, pieces=kept, missing=found.missing[:MOST_NAMED], detail="; ".join(told)
        )


def _with_nearest(
    blank: CheckedMember, state: State, wanted: WantedCapture, found: Judgement
) -> CheckedMember:
    """Return the state of a member without an exact capture, with the nearest one as detail."""
    offered = found.offered[0] if found.offered else found.capture
    if offered is None:
        return _with_state(blank, state)
    away = measure_delta(wanted, offered)
    state = State.NEAREST if state is State.ABSENT else state
    return _with_state(
        blank, state, delta=away, detail=f"{offered.uri} {verdict.format_distance(away)}"
    )


def find_digest_fault(record: WarcRecord) -> str:
    """Return how a record differs from the digests recorded with it, or an empty text.

    Some writers digest the payload with the chunks of the transfer, some without, and some the
    whole block. A revisit does
    not contain its payload, and the payload digest of a segmented record covers all segments, so
    neither is checked. Raises Corrupt.
    """
    kind, block, payload, segment = (
        heads.find_value(record.fields, f"WARC-{name}")
        for name in ("Type", "Block-Digest", "Payload-Digest", "Segment-Number")
    )
    wrong = _describe_mismatch(block, (record.read_block,))
    if wrong or kind == "revisit" or segment:
        return wrong
    if payload == block:  # as warcprox writes it for requests; the block has this digest
        return ""
    return _describe_mismatch(payload, (record.read_entity, record.read_unchunked))


def _describe_mismatch(promised: str, several: Iterable[Callable[[], Iterator[bytes]]]) -> str:
    """Return how the digest of bytes differs, or an empty text if one way to read them agrees."""
    found = None
    for pieces in several if promised else ():
        found = measure_bytes(pieces(), promised)
        if digest_agrees(promised, found) is not False:
            return ""
    if found is None:
        return ""
    algorithm = algorithm_of(promised)
    actual = base64.b32encode(found.values[algorithm]).decode()
    return f"{promised} was recorded with it, but it has {algorithm}:{actual}"


def _judge_measured(
    blank: CheckedMember, state: State, found: MeasuredBytes, media_type: str
) -> CheckedMember:
    if blank.promised and digest_agrees(blank.promised, found) is False:
        detail = f"the collection says {blank.promised}"
        return _with_measured(blank, State.CHANGED, found, media_type, detail=detail)
    return _with_measured(blank, state, found, media_type)


def _with_measured(
    blank: CheckedMember, state: State, found: MeasuredBytes, media_type: str, *, detail: str = ""
) -> CheckedMember:
    return _with_state(
        blank, state, digest=found.digest, length=found.length, media_type=media_type, detail=detail
    )


def _with_state(checked: CheckedMember, state: State, **fields: object) -> CheckedMember:
    """Return the same member in another state."""
    return msgspec.structs.replace(checked, state=state, **fields)
