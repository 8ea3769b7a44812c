"""Asking other archives whether they have what a PWID names, and reading it there.

How it works: an archive's TimeGate (RFC 7089 section 4) is asked for the item at the time of the
PWID and leads, by redirects, to the capture nearest to it; which one that is its address says, in
the form that the registry of archives knows. So one small request tells exact from near from
absent, whatever the number of captures. What is exact can then be read in its raw form.

What must stay true: what an archive was not asked, or did not answer, is never called absent; only
addresses of the registry of archives are asked, by the rules of `perdure.fetching`.
"""

from __future__ import annotations

import asyncio
from email.utils import format_datetime

from perdure.archives.port import Capture
from perdure.archives.pwid import playback
from perdure.archives.pwid.known import Archives
from perdure.archives.pwid.verdict import Asked, Evidence, Judgement, Verdict, asked, judge
from perdure.errors.servers import AnswerCut, EndlessRedirects, ServerRefused
from perdure.fetching import Exchange, Fetcher, Limits
from perdure.fetching.fetcher import redirect
from perdure.ids.pwid import Pwid

_LIMITS = Limits(seconds=60.0)
_HOPS = 5
_OK, _NOT_FOUND, _UNAVAILABLE = 200, (404, 410), 451
_CLOSED = (401, 403, _UNAVAILABLE)


class Inquirer:
    """Asks the archives of the registry, one request at a time."""

    def __init__(self, archives: Archives, *, networks: tuple[str, ...]) -> None:
        """`networks`: those besides the public internet that may be asked."""
        self._archives = archives
        self._fetcher = Fetcher(user_agent="perdure", networks=networks, limits=_LIMITS)

    def ask(self, pwid: Pwid) -> Judgement | None:
        """What its archive has of a PWID; None where that has no TimeGate, or no such captures.

        Raises Unavailable where the archive does not answer, or not as a TimeGate does.
        """
        gate = self._archives.timegate(pwid)
        return None if gate is None else asyncio.run(self._ask(pwid, gate))

    async def _ask(self, pwid: Pwid, gate: str) -> Judgement:
        wanted = asked(pwid)
        when = (("Accept-Datetime", format_datetime(pwid.instant, usegmt=True)),)
        url = gate
        for _ in range(_HOPS):
            found = self._capture(pwid, url)
            if found is not None:
                return judge(wanted, _evidence(wanted, found))
            answer = await self._fetcher.exchange(url, method="HEAD", headers=when)
            if answer.status in _NOT_FOUND:
                return Judgement(verdict=Verdict.ABSENT)
            if answer.status in _CLOSED:
                return Judgement(verdict=Verdict.CLOSED)
            onwards = redirect(answer)
            if onwards is None:
                raise ServerRefused(url=gate, answered=answer.status)
            url = onwards
        raise EndlessRedirects(url=gate)

    def _capture(self, pwid: Pwid, url: str) -> Capture | None:
        """The capture whose address this is, where it is one of the archive of the PWID."""
        archive = self._archives.keeper(pwid.archive)
        for candidate in self._archives.from_playback(url):
            time = playback.digits(candidate.pwid)
            if archive is not None and candidate.archive.id == archive.id and time is not None:
                return Capture(
                    key="",
                    time=time,
                    date=candidate.pwid.time,
                    uri=candidate.pwid.item,
                    kind="response",
                )
        return None

    def read(self, pwid: Pwid) -> bytes | None:
        """The bytes that its archive gives for a PWID, as captured; None where it has no such form.

        Raises Unavailable where it does not give them, or not all of them.
        """
        url = self._archives.raw(pwid)
        if url is None:
            return None
        answer = asyncio.run(self._read(pwid, url))
        # a memento has the status that was archived, whatever that is (RFC 7089 section 4.2)
        is_memento = answer.status == _OK or answer.header("Memento-Datetime") is not None
        if not is_memento or answer.truncated:
            if answer.truncated:
                raise AnswerCut(url=url, limit=answer.truncated)
            raise ServerRefused(url=url, answered=answer.status)
        return self._fetcher.content(answer)

    async def _read(self, pwid: Pwid, url: str) -> Exchange:
        """The answer that has the capture, over the archive's own redirects and no archived one."""
        for _ in range(_HOPS):
            answer = await self._fetcher.exchange(url)
            onwards = redirect(answer)
            if onwards is None:
                return answer
            there = self._capture(pwid, onwards)
            is_archived = answer.header("Memento-Datetime") is not None
            if is_archived or (there is not None and there.uri != pwid.item):
                return answer
            url = onwards
        raise EndlessRedirects(url=url)


def _evidence(wanted: Asked, found: Capture) -> Evidence:
    if wanted.first <= found.time <= wanted.last:
        return Evidence(within=(found,))
    if found.time < wanted.first:
        return Evidence(before=(found,))
    return Evidence(after=(found,))
