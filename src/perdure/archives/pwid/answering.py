"""Answer a PWID with a document for machines: the verdict, and the capture or archive. Pure.

How it works: the server and the command line resolve a PWID in the same steps, `answer_locally` for
the captures of this registry and `answer_elsewhere` for all other archives, and show the same
document.

What must stay true: the document shows what was requested, what is returned, and how far they
differ; a closed archive looks the same as an unknown one, unless the operator allows otherwise.
"""

from __future__ import annotations

from typing import Any

import msgspec

from perdure.archives.capture.pages import PageInventory, SiteMember, list_members
from perdure.archives.choosing import choose_capture, prefer_intact
from perdure.archives.port import Capture
from perdure.archives.pwid.comparing import compare_fits
from perdure.archives.pwid.known import Archive, Archives
from perdure.archives.pwid.making import make_pwid
from perdure.archives.pwid.verdict import (
    CaptureVerdict,
    Judgement,
    format_distance,
    interpret_pwid,
    judge_elsewhere,
    judge_evidence,
    look_up_evidence,
    measure_delta,
)
from perdure.archives.readable import ReadableArchive
from perdure.errors import ArchiveClosed, NotCaptured, NotFound, UnknownArchive
from perdure.ids.pwid import Pwid
from perdure.settings import Settings

_MOST_OFFERED = 10


class ForeignPlayback(msgspec.Struct, frozen=True, kw_only=True):
    """The address at which another archive should play back a PWID. It has not been checked."""

    judgement: Judgement
    archive: Archive | None
    """None if it is not in the registry of archives."""
    url: str


def is_ours(settings: Settings, pwid: Pwid) -> bool:
    """Return whether a PWID is answered from the captures of this registry."""
    own = (settings.archive_id, *settings.archive_aliases)
    return pwid.archive.removeprefix("~") in tuple(filter(None, own))


def is_scope(pwid: Pwid) -> bool:
    """Return whether a PWID names a set of URLs."""
    return pwid.coverage in ("subsite", "site")


def answer_locally(archive: ReadableArchive, pwid: Pwid, *, nearest: bool) -> Judgement:
    """Return the verdict on a PWID of this registry, with the capture.

    A `site` or `subsite` names a set: if anything in it was captured, the verdict is about its own
    address, perhaps without a capture. Raises CaptureWithdrawn if what the PWID names was taken
    down; Forbidden or Unauthenticated if the reader may not read it; NotCaptured if no capture
    fits: that error lists the captures nearest to it.
    """
    captures, files = archive.captures, archive.files
    wanted = interpret_pwid(pwid)
    archive.require_served(str(pwid), pwid.item, wanted.first, wanted.last)
    judgement = judge_evidence(wanted, look_up_evidence(captures, wanted))
    if nearest and judgement.verdict is not CaptureVerdict.EXACT:
        judgement = choose_capture(captures, files, wanted)
    if judgement.capture is None and is_scope(pwid) and list_members(captures, wanted, limit=1)[0]:
        return judgement  # ruling: pwid-scope
    if judgement.capture is None:
        archive.explain_absence(str(pwid), pwid.item, wanted.first, wanted.last)
        once = {(one.uri, one.date): one for one in reversed(judgement.offered)}
        distinct = [one for one in judgement.offered if once[one.uri, one.date] is one]
        raise NotCaptured(
            identifier=str(pwid),
            verdict=judgement.verdict.value,
            offered=tuple(
                capture_fields(pwid, one) | {"delta": measure_delta(wanted, one)}
                for one in distinct[:_MOST_OFFERED]
            ),
        )
    return compare_fits(files, prefer_intact(files, judgement))


def answer_elsewhere(archives: Archives, settings: Settings, pwid: Pwid) -> ForeignPlayback:
    """Return the address to which a PWID of another archive leads.

    Raises UnknownArchive; ArchiveClosed; NotFound if its time or its item does not name a single
    capture there, so that no address exists.
    """
    found = archives.find_archive(pwid.archive)
    part = pwid.coverage == "part"
    if found is None:
        url = archives.make_playback_url(pwid)  # the standard form, if the operator allows it
        if url is None:
            raise UnknownArchive(identifier=str(pwid), archive=pwid.archive)
        return ForeignPlayback(
            judgement=judge_elsewhere(access="unknown", moved=False), archive=None, url=url
        )
    judgement = judge_elsewhere(access=found.access, moved=bool(found.moved_to))
    if judgement.verdict is CaptureVerdict.CLOSED:
        inside = archives.make_local_url(pwid)
        if settings.closed_archives == "404":
            raise UnknownArchive(identifier=str(pwid), archive=pwid.archive)
        if settings.closed_archives == "451" or inside is None:
            raise ArchiveClosed(archive=found.id)
        return ForeignPlayback(judgement=judgement, archive=found, url=inside)
    address = (archives.make_raw_url(pwid) if part else None) or archives.make_playback_url(pwid)
    if address is None:
        raise NotFound(identifier=str(pwid))
    return ForeignPlayback(judgement=judgement, archive=found, url=address)


# as documents
# ------------


def capture_fields(pwid: Pwid, capture: Capture) -> dict[str, Any]:
    """Return the fields of a capture, with its exact PWID in the archive of another PWID."""
    try:
        exact = str(make_pwid(pwid.archive, capture.date, pwid.coverage or "page", capture.uri))
    except ValueError:  # a URI or a date that a PWID cannot express
        exact = None
    return {
        "pwid": exact,
        "uri": capture.uri,
        "date": capture.date,
        "time": capture.time,
        "kind": capture.kind,
        "media_type": capture.media_type,
        "status": capture.status,
        "digest": capture.digest,
    }


def name_fields(pwid: Pwid) -> dict[str, Any]:
    """Return the fields of a PWID itself, which are known even if it does not resolve."""
    return {
        "identifier": str(pwid),
        "urn": pwid.urn,
        "asked": {
            "archive": pwid.archive,
            "time": pwid.time,
            "coverage": pwid.coverage,
            "uri": pwid.item,
        },
    }


def verdict_fields(pwid: Pwid, judgement: Judgement) -> dict[str, Any]:
    """Return what was requested, the verdict, and the capture that is returned."""
    document: dict[str, Any] = {
        **name_fields(pwid),
        "verdict": judgement.verdict.value,
        "sentence": judgement.sentence,
        "delta": judgement.delta,
    }
    if judgement.capture is not None:
        document["capture"] = capture_fields(pwid, judgement.capture)
    if len(judgement.fits) > 1:
        document["fits"] = [capture_fields(pwid, one) for one in judgement.fits]
    return document


def elsewhere_fields(archives: Archives, pwid: Pwid, found: ForeignPlayback) -> dict[str, Any]:
    """Return the same for another archive, with all its addresses."""
    about = archive_fields(archives, pwid, found.archive)
    return verdict_fields(pwid, found.judgement) | {"url": found.url} | about


def archive_fields(archives: Archives, pwid: Pwid, known: Archive | None) -> dict[str, Any]:
    """Return the entry of the archive that a PWID names, and its addresses for the item."""
    addresses = (
        ("playback", archives.make_playback_url(pwid)),
        ("raw", archives.make_raw_url(pwid)),
        ("timegate", archives.make_timegate_url(pwid)),
        ("timemap", archives.make_timemap_url(pwid)),
        ("cdx", archives.make_cdx_url(pwid)),
        ("resolver", archives.make_resolver_url(pwid)),
    )
    return {
        "archive": known
        and {
            "id": known.id,
            "name": known.name,
            "access": known.access,
            "moved_to": known.moved_to,
        },
        "addresses": {name: address for name, address in addresses if address},
    }


def page_fields(pwid: Pwid, page: PageInventory) -> dict[str, Any]:
    """Return the resources of a page, each with its verdict."""
    part = msgspec.structs.replace(pwid, coverage="part")
    return {
        "resources": [
            {
                "uri": one.uri,
                "role": one.role,
                "within": one.within,
                "verdict": one.judgement.verdict.value,
                "sentence": one.judgement.sentence,
                "delta": one.judgement.delta,
                "capture": capture_fields(part, one.judgement.capture)
                if one.judgement.capture
                else None,
            }
            for one in page.resources
        ],
        "complete": page.complete,
        "unread": list(page.unread),
    }


def member_fields(pwid: Pwid, member: SiteMember) -> dict[str, Any]:
    """Return the fields of a URL of a site."""
    page = msgspec.structs.replace(pwid, coverage="page")
    exact = member.verdict is CaptureVerdict.EXACT
    return {
        "verdict": member.verdict.value,
        "sentence": member.verdict.value if exact else f"nearest {format_distance(member.delta)}",
        "delta": member.delta,
        "capture": capture_fields(page, member.capture),
    }
