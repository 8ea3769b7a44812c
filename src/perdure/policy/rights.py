"""Rights: the grants of a token, and how they are delegated. Pure.

How it works: a token names operations, scopes and a range of dates, and may expire. Scopes are:

    *                                      everything
    oma.eop.gov.us   IANA:42117            a series or naming authority
    99999/fk4                              an ARK shoulder: all ARKs whose names begin so
    *.eop.gov.us                           a series and all below it
    pdi://oma.eop.gov.us/1997/             an interval or a pattern of PDIs (ruling: pdi-interval)
    pdi://oma.eop.gov.us/1997/09/*/*       all identifiers that match it (ruling: pdi-wildcard)
    hdl:1839/*                             all identifiers that begin so
    hdl:1839/00-0000                       one identifier

The holder of a token with `delegate` can grant a part of its rights to another person. The new
token names the token it came from. Every token of this chain must allow an operation at the time
of the operation. So if one of them is revoked or narrowed, the new token is, too. The holder of a
token with `administer` can see and revoke the tokens within its scopes.

What must stay true: a token never covers more than the token it was granted from. Operations that
no token can allow, because the namespace is monotonic, are refused in `perdure.policy.rules`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import msgspec

from perdure.errors import MalformedIdentifier, UnknownAuthority, UnknownScheme
from perdure.errors.credentials import (
    DelegationLost,
    GrantTooWide,
    RightMissing,
    TokenExpired,
    TokenRevoked,
)
from perdure.errors.tokens import (
    EmptyGrant,
    MalformedScope,
    MalformedTokenName,
    ReservedTokenName,
    UnknownOperation,
    ValidityReversed,
)
from perdure.ids import Authority, Identifier, load_schemes, parse, scheme_of
from perdure.ids.handle import fold_case
from perdure.model.records import LOCAL, Token
from perdure.policy.operations import OPERATIONS

KEY_NAME = "key:"
"""The beginning of a name that is a key: its holder signs requests, and has no token."""
LONGEST_CHAIN = 8
"""The most tokens in a chain of delegation."""
_PDI_LABELS = ("pdi:", "urn:")
_DAWN, _DUSK = "", "9999-99-99"


class Object(msgspec.Struct, frozen=True):
    """The object of an operation."""

    authority: str
    """The series or the naming authority; for an ARK the text after `ark:`, which begins with the
    shoulder; for other identifiers their key."""
    name: str = ""
    """The canonical text of the resource; empty if it does not exist yet."""
    day: str | None = None
    """The date, such as `2026-11-21`; None if the scheme has no dates."""
    folded: bool = False
    """True if the scheme ignores the case of ASCII letters. They are all in lower case then."""


def make_object(identifier: Identifier) -> Object:
    """An identifier as the object of an operation."""
    scheme = scheme_of(identifier)
    authority, name = identifier.assigned_under, str(identifier.resource)
    if scheme.folds_case:
        authority, name = fold_case(authority), fold_case(name)
    return Object(authority, name, identifier.assigned_on, scheme.folds_case)


def make_new_object(authority: Authority, day: str) -> Object:
    """The object of `mint`: a name that an authority will assign on a day, such as `2026-11-21`.

    Raises UnknownAuthority if no names are minted in its scheme.
    """
    scheme = load_schemes()[authority.scheme]
    if scheme.minting is None:
        raise UnknownAuthority(authority=authority.name, known=())
    name = fold_case(authority.name) if scheme.folds_case else authority.name
    beginning = scheme.minting.beginning.format(authority=name, day=day.replace("-", "/"))
    return Object(name, beginning, day, scheme.folds_case)


def check_right(chain: Sequence[Token], operation: str, what: Object, now: str) -> None:
    """Raise Unauthenticated (expired, revoked) or Forbidden (out of scope).

    `chain` is the presented token, then the token it was granted from, and so on.
    """
    presented = chain[0]
    for token in chain:
        check_valid(token, now)
        if token is not presented and "delegate" not in token.operations:
            raise DelegationLost(who=presented.name, granted_by=token.name)
        dated = what.day is None or _is_within_days(token, what.day)
        if operation not in token.operations or not dated or not _is_covered(token, what):
            on = f" on {what.day}" if what.day and not dated else ""
            needed = f"{operation}:{what.authority}{on}"
            raise RightMissing(who=token.name, needed=needed)


def check_asserting(chain: Sequence[Token], about: Sequence[Identifier], now: str) -> None:
    """Raise Unauthenticated or Forbidden unless the chain may assert something about each name.

    About an interval or a pattern, the right must cover all of it.
    """
    for name in about:
        if name.is_pattern:
            check_scope(chain, "assert", str(name.resource), now)
        else:
            check_right(chain, "assert", make_object(name), now)


def check_scope(chain: Sequence[Token], operation: str, scope: str, now: str) -> None:
    """Raise Unauthenticated or Forbidden unless the chain allows an operation on all of a scope.

    A token that is limited to some dates covers no scope.
    """
    for token in chain:
        check_valid(token, now)
        covered = any(is_within(scope, own) for own in token.authorities)
        if token is not chain[0] and "delegate" not in token.operations:
            raise DelegationLost(who=chain[0].name, granted_by=token.name)
        if operation not in token.operations or not covered or token.first_day or token.last_day:
            raise RightMissing(who=token.name, needed=f"{operation}:{scope}")


def check_valid(token: Token, now: str) -> None:
    """Raise Unauthenticated if a token is revoked or expired."""
    if token.revoked:
        raise TokenRevoked(token=token.name, revoked=token.revoked)
    if token.expires and token.expires <= now:
        raise TokenExpired(token=token.name, expires=token.expires)


def _is_covered(token: Token, what: Object) -> bool:
    for scope in token.authorities:  # noqa: SIM110  (three times as fast as any(); every write asks)
        if covers_object(scope, what):
            return True
    return False


def _is_within_days(token: Token, day: str) -> bool:
    return (token.first_day or _DAWN) <= day <= (token.last_day or _DUSK)


def may_overlap(scope: str, other: str) -> bool:
    """Return False only if no name is in both scopes.

    >>> may_overlap("*.gov.us", "oma.eop.gov.us"), may_overlap("a.us", "pdi://a.us/1997/")
    (True, True)
    >>> may_overlap("a.us", "b.us"), may_overlap("hdl:1839/*", "pdi://a.us/")
    (False, False)
    """
    if is_within(scope, other) or is_within(other, scope):
        return True
    one, two = (_find_beginning(text) for text in (scope, other))
    return one.startswith(two) or two.startswith(one)


def _find_beginning(scope: str) -> str:
    """Return what all names in a scope begin with, without the label of PDIs."""
    text = scope.lower()
    for label in ("urn:", "pdi://", "pdi:"):
        text = text.removeprefix(label)
    return text.partition("*")[0]


def covers_object(scope: str, what: Object) -> bool:
    """Return True if the object is in the scope.

    >>> (covers_object("*.eop.gov.us", Object("oma.eop.gov.us")),
    ...  covers_object("*.eop.gov.us", Object("x.us")))
    (True, False)
    """
    pattern = _read_pattern(scope) if scope[:4].lower() in _PDI_LABELS else None
    if pattern is not None:
        return _matches_name(pattern, what.name)
    if what.folded:
        scope = fold_case(scope)
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


@lru_cache(maxsize=4096)
def _read_pattern(scope: str) -> Identifier | None:
    """Return the pattern or interval of PDIs that a scope is, or None if it is none.

    A `*` behind an interval stands for all names that begin so: `pdi://oma.eop.gov.us/1997/*`.
    """
    try:
        found = parse(scope)
    except (MalformedIdentifier, UnknownScheme):
        try:
            found = parse(scope.removesuffix("*"))
        except (MalformedIdentifier, UnknownScheme):
            return None
    return found if found.is_pattern else None


def _matches_name(pattern: Identifier, name: str) -> bool:
    """Return True if a pattern covers a resource, or all names that begin with an interval."""
    try:
        return bool(name) and pattern.matches(parse(name))
    except (MalformedIdentifier, UnknownScheme):
        return False


def _is_series(authority: str) -> bool:
    return "/" not in authority and ":" not in authority


def _is_shoulder(authority: str) -> bool:
    """Return True for `NAAN/shoulder`, or an ARK without `ark:`; no other text has this form."""
    return "/" in authority and ":" not in authority


def is_within(inner: str, outer: str) -> bool:
    """Return True if the text of the scopes shows that `outer` covers all that `inner` covers.

    >>> is_within("pdi://oma.eop.gov.us/1997/*", "*.eop.gov.us"), is_within("*", "hdl:1/*")
    (True, False)
    """
    if outer in ("*", inner):
        return True
    covering = _read_pattern(outer)
    if covering is not None:
        covered = _read_pattern(inner) or _read_pattern(f"pdi://{inner}/")
        if covered is not None:
            return covering.matches(covered)
        if inner[-1:] == "*":
            return covering.is_interval and inner.startswith(str(covering))
        return _matches_name(covering, inner)
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
    """Raise Forbidden if a token would grant more than its giver has.

    `depth` is the number of delegations before the giver's own token. Raises Unauthenticated if the
    giver's token is revoked or expired.
    """
    check_valid(giver, now)
    if "delegate" not in giver.operations:
        raise RightMissing(who=giver.name, needed="delegate")
    if depth >= LONGEST_CHAIN:
        raise GrantTooWide(who=giver.name, limit="chain", bound=str(LONGEST_CHAIN))
    for operation in granted.operations:
        if operation not in giver.operations:
            raise RightMissing(who=giver.name, needed=operation)
    for scope in granted.authorities:
        if not any(is_within(scope, own) for own in giver.authorities):
            raise GrantTooWide(who=giver.name, limit="scope", bound=scope)
    if (granted.first_day or _DAWN) < (giver.first_day or _DAWN):
        raise GrantTooWide(who=giver.name, limit="first-day", bound=str(giver.first_day))
    if (granted.last_day or _DUSK) > (giver.last_day or _DUSK):
        raise GrantTooWide(who=giver.name, limit="last-day", bound=str(giver.last_day))
    if giver.expires and (granted.expires is None or granted.expires > giver.expires):
        raise GrantTooWide(who=giver.name, limit="expiry", bound=giver.expires)


def check_shape(token: Token) -> None:
    """Raise InvalidRequest if a token is malformed, or grants nothing."""
    for operation in token.operations:
        if operation not in OPERATIONS:
            raise UnknownOperation(operation=operation, known=OPERATIONS)
    if not token.operations or not token.authorities:
        raise EmptyGrant()
    for scope in token.authorities:
        if not scope or not scope.isprintable() or not is_scope(scope):
            raise MalformedScope(scope=scope)
    if not token.name or not token.name.isprintable() or len(token.name) > 100:
        raise MalformedTokenName(name=token.name)
    if token.name.strip().casefold() == LOCAL or token.name.startswith(KEY_NAME):
        raise ReservedTokenName(name=token.name)
    if (token.first_day or _DAWN) > (token.last_day or _DUSK):
        raise ValidityReversed(first_day=token.first_day or "", last_day=token.last_day or "")


def is_scope(scope: str) -> bool:
    """Return True if a scope can cover something: only a pattern has a `*` in the middle.

    Rights are those of resources, so the pattern of a scope has no format and no version.
    """
    pattern = _read_pattern(scope)
    if pattern is not None:
        return pattern.resource == pattern
    return "*" not in scope[1:-1]


def manages_token(token: Token, other: Token) -> bool:
    """Return True if the holder of a token may see and revoke another token."""
    if other.granted_by == token.name:
        return True
    return "administer" in token.operations and all(
        any(is_within(scope, own) for own in token.authorities) for scope in other.authorities
    )
