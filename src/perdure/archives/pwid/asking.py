"""Ask other archives whether they have the capture that a PWID names, and read it there.

How it works: perdure asks an archive's TimeGate (RFC 7089 section 4) for the item at the time of
the PWID. Redirects lead to the nearest capture. Its address says which capture it is, in a form
that the registry of archives knows. So one small request distinguishes exact, near and absent,
however many captures there are. An exact capture can then be read in its raw form.

What must stay true: a capture is never called absent if its archive was not asked or did not
answer; requests go only to addresses of the registry of archives, by the rules of
`perdure.fetching`.
"""

from __future__ import annotations

import asyncio
from email.utils import format_datetime

from perdure.archives.port import Capture
from perdure.archives.pwid import playback
from perdure.archives.pwid.known import Archives
from perdure.archives.pwid.verdict import (
    CaptureVerdict,
    Evidence,
    Judgement,
    WantedCapture,
    interpret_pwid,
    judge_evidence,
)
from perdure.errors.servers import AnswerCut, EndlessRedirects, ServerRefused
from perdure.fetching import Exchange, Fetcher, Limits
from perdure.fetching.fetcher import find_redirect
from perdure.ids.pwid import Pwid

_LIMITS = Limits(seconds=60.0)
_HOPS = 5
_OK, _NOT_FOUND, _UNAVAILABLE = 200, (404, 410), 451
_CLOSED = (401, 403, _UNAVAILABLE)


class Inquirer:
    """Asks the archives of the registry, one request at a time."""

    def __init__(self, archives: Archives, *, networks: tuple[str, ...]) -> None:
        """`networks` are networks other than the public Internet that may be asked."""
        self._archives = archives
        self._fetcher = Fetcher(user_agent="perdure", networks=networks, limits=_LIMITS)

    def ask_archive(self, pwid: Pwid) -> Judgement | None:
        """Return the verdict of a PWID's archive; None if it has no TimeGate for the PWID.

        Raises Unavailable if the archive does not answer, or does not answer like a TimeGate.
        """
        gate = self._archives.make_timegate_url(pwid)
        return None if gate is None else asyncio.run(self._ask_timegate(pwid, gate))

    async def _ask_timegate(self, pwid: Pwid, gate: str) -> Judgement:
        wanted = interpret_pwid(pwid)
        when = (("Accept-Datetime", format_datetime(pwid.instant, usegmt=True)),)
        url = gate
        for _ in range(_HOPS):
            found = self._find_capture(pwid, url)
            if found is not None:
                return judge_evidence(wanted, _make_evidence(wanted, found))
            answer = await self._fetcher.exchange_once(url, method="HEAD", headers=when)
            if answer.status in _NOT_FOUND:
                return Judgement(verdict=CaptureVerdict.ABSENT)
            if answer.status in _CLOSED:
                return Judgement(verdict=CaptureVerdict.CLOSED)
            onwards = find_redirect(answer)
            if onwards is None:
                raise ServerRefused(url=gate, answered=answer.status)
            url = onwards
        raise EndlessRedirects(url=gate)

    def _find_capture(self, pwid: Pwid, url: str) -> Capture | None:
        """Return the capture at an address, or None if it is not of the PWID's archive."""
        archive = self._archives.find_keeper(pwid.archive)
        for candidate in self._archives.read_playback_url(url):
            time = playback.format_digits(candidate.pwid)
            if archive is not None and candidate.archive.id == archive.id and time is not None:
                return Capture(
                    key="",
                    time=time,
                    date=candidate.pwid.time,
                    uri=candidate.pwid.item,
                    kind="response",
                )
        return None

    def read_capture(self, pwid: Pwid) -> bytes | None:
        """Read the bytes of a PWID from its archive, as captured; None if it has no raw addresses.

        Raises Unavailable if the archive does not send them, or only in part.
        """
        url = self._archives.make_raw_url(pwid)
        if url is None:
            return None
        answer = asyncio.run(self._fetch_raw(pwid, url))
        # a memento is sent with its archived status (RFC 7089 section 4.2)
        is_memento = answer.status == _OK or answer.find_header("Memento-Datetime") is not None
        if not is_memento or answer.truncated:
            if answer.truncated:
                raise AnswerCut(url=url, limit=answer.truncated)
            raise ServerRefused(url=url, answered=answer.status)
        return self._fetcher.decode_content(answer)

    async def _fetch_raw(self, pwid: Pwid, url: str) -> Exchange:
        """Fetch the capture; follow the archive's own redirects, but no archived redirect."""
        for _ in range(_HOPS):
            answer = await self._fetcher.exchange_once(url)
            onwards = find_redirect(answer)
            if onwards is None:
                return answer
            there = self._find_capture(pwid, onwards)
            is_archived = answer.find_header("Memento-Datetime") is not None
            if is_archived or (there is not None and there.uri != pwid.item):
                return answer
            url = onwards
        raise EndlessRedirects(url=url)


def _make_evidence(wanted: WantedCapture, found: Capture) -> Evidence:
    if wanted.first <= found.time <= wanted.last:
        return Evidence(within=(found,))
    if found.time < wanted.first:
        return Evidence(before=(found,))
    return Evidence(after=(found,))
