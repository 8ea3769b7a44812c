"""Who may do what: what a token grants, and how it is handed on. Pure.

How it works: a token names operations, scopes and a range of dates, and may end. A scope is one of

    *                                      everything
    oma.eop.gov.us   IANA:42117            a series or naming authority
    99999/fk4                              an ARK shoulder: all ARKs whose names begin so
    *.eop.gov.us                           a series and all below it
    pdi://oma.eop.gov.us/1997/*   hdl:1839/*   all identifiers that begin so
    hdl:1839/00-0000                       one identifier

Whoever holds `delegate` can grant a part of what he has to somebody else. Such a token names the
one it came from; all that it came through must allow what is done with it, at the time when it is
done, so that whatever ends or narrows one of them ends or narrows it, too. Whoever holds
`administer` sees and revokes the tokens that lie within his scopes.

What must stay true: a token never covers more than the one that it was granted from; what no token
can do, because the namespace is monotonic, is not decided here but in `perdure.policy.rules`.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from perdure.errors import Forbidden, InvalidRequest, NotFound, Unauthenticated, quote
from perdure.ids import Identifier
from perdure.ids.ark import Ark
from perdure.ids.handle import FOLDING, Handle
from perdure.ids.pdi import Pdi
from perdure.ids.urn1993 import Urn1993
from perdure.model.records import LOCAL, Token

OPERATIONS = (
    "mint",
    "register",
    "commit",
    "bind",
    "break",
    "alias",
    "describe",
    "withdraw",
    "delegate",
    "administer",
    "mirror",
)
ON_TOKENS = frozenset(("delegate", "administer"))
"""Operations on tokens, not on identifiers."""
LONGEST_CHAIN = 8
"""Hands through which a grant can have gone."""
_DAWN, _DUSK = "", "9999-99-99"


class NoSuchToken(NotFound):
    """There is no token of this name, or none that the caller may know of."""

    def problem(self) -> str:
        return f"not found: no token is called {quote(self.identifier)}"

    def repair(self) -> str:
        return "'perdure token list', or over HTTP GET /tokens, tells which there are"


class Object(msgspec.Struct, frozen=True):
    """What an operation is about."""

    authority: str
    """Series or naming authority; of an ARK all behind `ark:`, of which the shoulder is the
    beginning; for other identifiers their key."""
    name: str = ""
    """Canonical text of the resource; empty where it will be made."""
    day: str | None = None
    """Its date, `2026-11-21`; None where its scheme has none."""
    folded: bool = False
    """Whether its scheme compares without regard to the case of letters of ASCII. They are all in
    lower case then."""


def about(identifier: Identifier) -> Object:
    """An identifier as the object of an operation."""
    match identifier:
        case Pdi(calendar_day=day):
            dated = None if day is None else day.isoformat()
            return Object(identifier.series, str(identifier.resource), dated)
        case Ark():
            name = str(identifier)
            return Object(name.removeprefix("ark:"), name)
        case Urn1993():
            return Object(identifier.authority.lower(), str(identifier).lower(), folded=True)
        case Handle():
            return Object(identifier.key, str(identifier).translate(FOLDING), folded=True)
    return Object(identifier.key, str(identifier.whole))


def check(chain: Sequence[Token], operation: str, what: Object, now: str) -> None:
    """Raises Unauthenticated (expired, revoked) or Forbidden (out of scope).

    `chain` is the token that was presented, then the one that it was granted from, and so on.
    """
    presented = chain[0]
    for token in chain:
        check_valid(token, now)
        if token is not presented and "delegate" not in token.operations:
            raise Forbidden(who=presented.name, needed=f"delegate, which {token.name} has no more")
        dated = what.day is None or _within_days(token, what.day)
        if operation not in token.operations or not dated or not _covered(token, what):
            on = f" on {what.day}" if what.day and not dated else ""
            needed = f"{operation}:{what.authority}{on}"
            raise Forbidden(who=token.name, needed=needed)


def check_valid(token: Token, now: str) -> None:
    """Raises Unauthenticated where a token is revoked or expired."""
    if token.revoked:
        raise Unauthenticated(reason=f"token {token.name} was revoked at {token.revoked}")
    if token.expires and token.expires <= now:
        raise Unauthenticated(reason=f"token {token.name} expired at {token.expires}")


def _covered(token: Token, what: Object) -> bool:
    for scope in token.authorities:  # noqa: SIM110  (three times as fast as any(); every write asks)
        if covers(scope, what):
            return True
    return False


def _within_days(token: Token, day: str) -> bool:
    return (token.first_day or _DAWN) <= day <= (token.last_day or _DUSK)


def covers(scope: str, what: Object) -> bool:
    """Whether a scope has this object in it.

    >>> covers("*.eop.gov.us", Object("oma.eop.gov.us")), covers("*.eop.gov.us", Object("x.us"))
    (True, False)
    """
    if what.folded:
        scope = scope.translate(FOLDING)
    if scope[:2] == "*.":
        below = what.authority == scope[2:] or what.authority.endswith(scope[1:])
        return below and _is_series(what.authority)
    if scope[-1:] == "*":
        return what.authority.startswith(scope[:-1]) or (
            bool(what.name) and what.name.startswith(scope[:-1])
        )
    if _is_shoulder(scope):
        return what.authority.startswith(scope)
    return scope in (what.authority, what.name)


def _is_series(authority: str) -> bool:
    return "/" not in authority and ":" not in authority


def _is_shoulder(authority: str) -> bool:
    """Whether this is `NAAN/shoulder`, or an ARK without `ark:`: nothing else has this shape."""
    return "/" in authority and ":" not in authority


def lies_within(inner: str, outer: str) -> bool:
    """Whether a scope covers nothing that the other one does not cover, as its text shows.

    >>> lies_within("pdi://oma.eop.gov.us/1997/*", "*.eop.gov.us"), lies_within("*", "hdl:1/*")
    (True, False)
    """
    if outer in ("*", inner):
        return True
    series = inner[6:].partition("/")[0] if inner.startswith("pdi://") else inner
    if outer[:2] == "*.":
        below = series[2:] if series[:2] == "*." else series
        plain = "*" not in below and _is_series(below)
        return plain and (below == outer[2:] or below.endswith(outer[1:]))
    if outer[-1:] == "*":
        return inner[:2] != "*." and inner.rstrip("*").startswith(outer[:-1])
    if _is_shoulder(outer):
        return inner.removeprefix("ark:").startswith(outer)
    return inner.startswith(f"pdi://{outer}/")


def check_grant(giver: Token, granted: Token, depth: int, now: str) -> None:
    """Raises Forbidden where somebody would hand on more than he has, InvalidRequest for nonsense.

    `depth` is the number of hands that the giver's own grant has gone through.
    """
    check_valid(giver, now)
    if "delegate" not in giver.operations:
        raise Forbidden(who=giver.name, needed="delegate")
    if depth >= LONGEST_CHAIN:
        raise Forbidden(who=giver.name, needed=f"fewer than {LONGEST_CHAIN} hands before it")
    for operation in granted.operations:
        if operation not in giver.operations:
            raise Forbidden(who=giver.name, needed=operation)
    for scope in granted.authorities:
        if not any(lies_within(scope, own) for own in giver.authorities):
            raise Forbidden(who=giver.name, needed=f"a scope that has {scope} in it")
    if (granted.first_day or _DAWN) < (giver.first_day or _DAWN):
        raise Forbidden(who=giver.name, needed=f"dates before {giver.first_day}")
    if (granted.last_day or _DUSK) > (giver.last_day or _DUSK):
        raise Forbidden(who=giver.name, needed=f"dates after {giver.last_day}")
    if giver.expires and (granted.expires is None or granted.expires > giver.expires):
        raise Forbidden(who=giver.name, needed=f"validity beyond {giver.expires}")


def check_shape(token: Token) -> None:
    """Raises InvalidRequest for a token that means nothing."""
    for operation in token.operations:
        if operation not in OPERATIONS:
            raise _nonsense(f"operation {operation[:100]!a}", f"one of {', '.join(OPERATIONS)}")
    if not token.operations or not token.authorities:
        raise _nonsense("the grant", "at least one operation and one scope are needed")
    for scope in token.authorities:
        if not scope or not scope.isprintable() or "*" in scope[1:-1]:
            raise _nonsense(f"scope {scope[:100]!a}", "a * stands at its end, or first as '*.'")
    if not token.name or not token.name.isprintable() or len(token.name) > 100:
        raise _nonsense(f"name {token.name[:100]!a}", "1 to 100 printable characters are needed")
    if token.name.strip().casefold() == LOCAL:
        raise _nonsense(f"name {token.name!a}", "histories call so who works on this machine")
    if (token.first_day or _DAWN) > (token.last_day or _DUSK):
        reason = f"its first day lies after its last, {token.last_day}"
        raise _nonsense(f"first day {token.first_day}", reason)


def manages(token: Token, other: Token) -> bool:
    """Whether the holder of a token may see and revoke another one."""
    if other.granted_by == token.name:
        return True
    return "administer" in token.operations and all(
        any(lies_within(scope, own) for own in token.authorities) for scope in other.authorities
    )


def _nonsense(what: str, reason: str) -> InvalidRequest:
    return InvalidRequest(what=what, reason=reason, rule=None)
