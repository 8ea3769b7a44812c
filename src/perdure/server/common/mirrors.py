"""The right to mirror: which changes, records and bytes the bearer of a token may have; and writes
that wait until mirrors have them.

How it works: `Prefer: mirrored=2` (RFC 7240) with a write holds the answer back until two mirrors
of everything have asked for the changes after it, or until the time is over: ten seconds, or those
of `wait`. The write is durable in any case; `Preference-Applied` says that it is mirrored, too.

What must stay true: a mirror gets nothing that is outside a scope of its token, or of a token from
which it was granted; of changes to tokens it gets the hash alone. It gets every reading rule about
something that it may have, or else it would serve what is closed.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Sequence

import msgspec

from perdure.errors import Forbidden
from perdure.errors.credentials import RightMissing
from perdure.ids import parse
from perdure.model import stored
from perdure.model.changes import BEGIN, RULE, WITHOUT_RECORDS, Change, Line
from perdure.model.reading_rules import ReadingRule
from perdure.model.records import Record, Token
from perdure.policy import rights
from perdure.policy.naming import identify_record
from perdure.policy.reading_rules import read_rule
from perdure.policy.rights import may_overlap
from perdure.server.common import auth
from perdure.server.common.answers import Answer
from perdure.server.common.request import Request
from perdure.server.common.service import Service

RIGHT = "mirror"
_MIRRORED = re.compile(r"(?:^|[,;\s])mirrored\s*=\s*\"?([1-9])\b", re.ASCII | re.IGNORECASE)
_WAIT = re.compile(r"(?:^|[,;\s])wait\s*=\s*\"?([0-9]{1,4})", re.ASCII | re.IGNORECASE)
_USUAL_WAIT, _LONGEST_WAIT = 10, 60  # seconds
_LOOK_EVERY = 0.05  # seconds
_decode_rule = msgspec.json.Decoder(ReadingRule).decode


class MirrorRights:
    """The rights of one mirror at one moment."""

    def __init__(self, chain: tuple[Token, ...], now: str) -> None:
        """`chain`: the token of the mirror, and the tokens from which it was granted."""
        self._chain = chain
        self._now = now
        self.name = chain[0].name
        granting = all("delegate" in one.operations for one in chain[1:])
        self.covers_all = granting and all(map(_covers_all, chain))
        """True if it may have everything but tokens, and so all reading rules."""

    def select_lines(self, change: Change, lines: Sequence[Line]) -> Sequence[Line] | None:
        """The lines of a change that the mirror may have; None if it may only see that it exists.

        A change that wrote no record has its one line, or none.
        """
        if change.act == BEGIN:
            return lines
        if change.act == RULE and len(lines) == 1:
            return lines if self.may_see_rule(_decode_rule(lines[0][1])) else None
        if change.act in WITHOUT_RECORDS:
            return None
        if self.covers_all:
            return lines
        shown = [line for line in lines if self.may_mirror(line[0], stored.decode_stored(line[1]))]
        return shown or None

    def may_see_rule(self, rule: ReadingRule) -> bool:
        """Return True if a reading rule may be about something that the mirror may have."""
        if self.covers_all:
            return True
        subject = read_rule(rule)
        if subject.is_scope or subject.captures is not None:
            about = "pwid:" if subject.captures is not None else subject.about
            return all(
                any(may_overlap(about, scope) for scope in one.authorities) for one in self._chain
            )
        what = rights.make_object(parse(subject.about))
        return all(
            any(rights.covers_object(scope, what) for scope in one.authorities)
            for one in self._chain
        )

    def may_mirror(self, key: str, record: Record) -> bool:
        """Return True if the mirror may have a record and its bytes."""
        if self.covers_all:
            return True
        what = rights.make_object(identify_record(key, record))
        try:
            rights.check_right(self._chain, RIGHT, what, self._now)
        except Forbidden:
            return False
        return True


def check_mirror(service: Service, request: Request) -> MirrorRights:
    """Return the rights of the mirror that asks. Raises Unauthenticated or Forbidden."""
    token = auth.find_bearer(service, request)
    chain = tuple(service.bearers.trace_chain(token)) if token.granted_by else (token,)
    now = auth.current_time(service)
    for one in chain:
        rights.check_valid(one, now)
    if RIGHT not in token.operations:
        raise RightMissing(who=token.name, needed=RIGHT)
    return MirrorRights(chain, now)


def _covers_all(token: Token) -> bool:
    """True if a token is about all names."""
    is_dated = token.first_day or token.last_day
    return RIGHT in token.operations and "*" in token.authorities and not is_dated


async def wait_for_mirrors(service: Service, request: Request, answer: Answer) -> Answer:
    """Hold back the answer to a write as long as the client prefers, see above."""
    preferred = request.read_field(b"prefer")
    wanted = _MIRRORED.search(preferred)
    if wanted is None:
        return answer
    matched = _WAIT.search(preferred)
    seconds = min(int(matched[1]), _LONGEST_WAIT) if matched else _USUAL_WAIT
    head = await asyncio.to_thread(service.registry.head)
    if head is None:
        return answer
    end = time.monotonic() + seconds
    while True:
        found = await asyncio.to_thread(service.mirror_marks.count_mirrors, head.mark)
        if found >= int(wanted[1]):
            answer.fields.append((b"preference-applied", b"mirrored=%d" % int(wanted[1])))
            return answer
        if time.monotonic() >= end or service.stopping.is_set():
            return answer
        await asyncio.sleep(_LOOK_EVERY)
