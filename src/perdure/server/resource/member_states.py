"""The state of a member of a collection, as the page of the collection shows it.

How it works: the state of a member with a record here is that of the record, as every list shows
it, unless the collection gives another digest than the record. That of a PWID is the verdict of
this registry's own archive, or of the registry of archives. A check of the collection on the
command line knows more, because it reads all bytes, and may ask other archives.

What must stay true: no bytes are read and no other server is asked; nothing is said that the reader
may not know; two digests are called different only if both can be read.
"""

from __future__ import annotations

import msgspec

from perdure.archives.pwid import answering
from perdure.errors import (
    ArchiveClosed,
    Forbidden,
    LegallyUnavailable,
    NotCaptured,
    NotFound,
    PerdureError,
    Unauthenticated,
)
from perdure.errors.lookup import CaptureWithdrawn
from perdure.ids import Identifier, parse
from perdure.ids.pwid import Pwid
from perdure.model.collection import CollectionMember
from perdure.model.records import Record
from perdure.policy.naming import read_qualifiers
from perdure.server.common import asking
from perdure.server.common.lists import EntryFacts
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.resource import browsing
from perdure.upkeep.collection.digests import OURS, MeasuredBytes, digest_agrees
from perdure.upkeep.collection.status import State


def describe_member(service: Service, request: Request, member: CollectionMember) -> EntryFacts:
    """Describe a member by its record or capture here, as far as its reader may know it."""
    try:
        identifier = parse(member.identifier)
    except PerdureError:
        return EntryFacts(state="not a known identifier")
    name = identifier.whole
    try:
        resolved = asking.resolve_listed(service, request, name)
    except (Forbidden, Unauthenticated, LegallyUnavailable):
        return EntryFacts(state="closed", date=name.assigned_on or "")
    except NotFound:
        record = None
    else:
        name, record = resolved.identifier, resolved.record
    if record is not None:
        facts = browsing.describe_entry(service, request, name, record)
        is_compared = identifier.whole is identifier and facts.length is not None
        if is_compared and not _may_have_digest(name, record, member.digest):
            return msgspec.structs.replace(facts, state=State.CHANGED.value)
        return facts
    if isinstance(name, Pwid):
        return EntryFacts(state=_judge_pwid(service, request, name))
    is_ours = service.settings.is_numbered_here(name)
    return EntryFacts(state=State.ABSENT.value if is_ours else "elsewhere")


def _may_have_digest(name: Identifier, record: Record, promised: str) -> bool:
    """Return False if no document that a name may mean has the digest in a collection."""
    number, format = read_qualifiers(name)
    version = record.newest if number is None else record.version(number)
    meant = [
        one
        for one in (version.representations if version is not None else ())
        if format is None or one.format == format
    ]
    if not all(one.is_shown for one in meant):
        return True
    known = (MeasuredBytes(one.length, {OURS: bytes.fromhex(one.sha512)}) for one in meant)
    return any(digest_agrees(promised, one) is not False for one in known)


def _judge_pwid(service: Service, request: Request, pwid: Pwid) -> str:
    """Return the verdict on a PWID, without asking its archive."""
    if not answering.is_ours(service.settings, pwid):
        try:
            archives = service.registry.web_archives
            return answering.answer_elsewhere(archives, service.settings, pwid).judgement.sentence
        except ArchiveClosed:
            return State.CLOSED.value
        except NotFound:  # no address there, or an archive that is not known or must not be named
            return State.UNVERIFIED.value
    if not service.serves_captures():
        return "closed"
    archive = asking.read_archive(service, request)
    try:
        return answering.answer_locally(archive, pwid, nearest=False).sentence
    except NotCaptured as error:
        return error.verdict
    except CaptureWithdrawn:
        return "withdrawn"
    except PerdureError:  # not for this reader
        return "closed"
