"""Following NAPTR records to the resolver of a name (RFC 2168, RFC 3402 to 3404). Pure.

How it works: the records of an owner are tried in the order of `order` and `preference`. The first
whose regular expression matches the name decides (RFC 3403 section 4.1: a client "MUST NOT consider
any NAPTRs with a higher value for order" then). A record with the flag `s` leads to SRV records,
`a` to a host, `u` to an address; without a flag it leads to further NAPTR records. The name itself,
never a result, is the text that expressions are applied to.

Expressions come from strangers. They run in `perdure.policy.templates.expressions`, in time
proportional to the name, and all of one discovery share a budget of steps. An expression that is
not read, or that exceeds the budget, is skipped, and reported.

What must stay true: whatever records contain, following them takes bounded time and ends; nothing
that they produce is used as an address before it was checked as one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

import msgspec

from perdure.errors.discovery import PointerMalformed
from perdure.errors.limits import ExpressionsTooCostly
from perdure.errors.locations import MalformedExpression
from perdure.policy.templates.expressions import Expression, StepBudget

ROOT = "pdi.urn.arpa"
"""The owner of the records of all series (RFC 3405: `urn.arpa`)."""
MOST_REWRITES = 5
MOST_RECORDS = 32
"""Records of one owner that are looked at."""
LONGEST_NAME = 2048
"""The most characters of a name to which an expression is applied."""
MOST_STEPS = 200_000
"""Steps of all expressions of one discovery, which take about a tenth of a second."""
_LONGEST_HOST = 253
_PROTOCOLS = ("https", "http", "thttp", "pdi")
"""The protocols of services that we speak, the preferred ones first."""
_HOST = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?:\.(?!-)[a-z0-9_-]{1,63})*\.?", re.ASCII)
_BACK = re.compile(r"\\([1-9])|\\(.)", re.DOTALL)

Flag = Literal["", "a", "s", "u"]


class Pointer(msgspec.Struct, frozen=True, order=True):
    """A NAPTR record."""

    order: int
    preference: int
    flags: str
    service: str
    regexp: str
    replacement: str
    """A host name, without the dot at its end; empty if the record has an expression."""


class Rewritten(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one record."""

    flag: Flag
    """The flag in lower case: empty for a further look-up of NAPTR records."""
    target: str
    """A host name, or with the flag `u` an address."""
    protocol: str = ""
    pointer: Pointer


class PointerProblem(NamedTuple):
    """A record that was left out, and the reason."""

    pointer: Pointer
    reason: str


def read_protocol(service: str) -> str:
    """Return the protocol of a service that we speak, or an empty text.

    RFC 2168 writes `http+N2L+N2R`, RFC 3404 allows services without a protocol.

    >>> read_protocol("N2L+HTTP"), read_protocol("rcds+N2C"), read_protocol("pdi+https")
    ('http', '', 'https')
    """
    words = service.lower().split("+")
    return next((one for one in _PROTOCOLS if one in words), "")


def rewrite_name(
    name: str, pointers: Iterable[Pointer], budget: StepBudget | None = None
) -> tuple[list[Rewritten], list[PointerProblem]]:
    """Return what the records of one owner say about a name, the best first, and their problems.

    Only records of the lowest order with a match count. The records of all owners of one discovery
    share a budget.
    """
    budget = budget or StepBudget(MOST_STEPS)
    found: list[Rewritten] = []
    problems: list[PointerProblem] = []
    for pointer in sorted(pointers)[:MOST_RECORDS]:
        if found and pointer.order > found[0].pointer.order:
            break
        flag = pointer.flags.lower()
        protocol = read_protocol(pointer.service)
        if flag not in ("", "a", "s", "u"):
            problems.append(PointerProblem(pointer, f"its flag '{flag}' is not supported"))
            continue
        if flag and not protocol:
            problems.append(PointerProblem(pointer, "none of its services is one of ours"))
            continue
        try:
            target = apply_pointer(name, pointer, budget)
        except (ExpressionsTooCostly, MalformedExpression, PointerMalformed) as error:
            problems.append(PointerProblem(pointer, str(error)))
            continue
        if target is None:
            continue
        target, reason = _check_target(target, flag)
        if reason:
            problems.append(PointerProblem(pointer, reason))
            continue
        found.append(
            Rewritten(flag=flag, target=target, protocol=protocol, pointer=pointer)  # type: ignore[arg-type]  # one of four
        )
    return found, problems


def _check_target(target: str, flag: str) -> tuple[str, str]:
    """Return a target in its usual form, or the reason why it is none."""
    if flag == "u":
        if not target.lower().startswith(("http://", "https://")):
            return "", "its result is not an address of the web"
        if not (target.isascii() and target.isprintable()) or " " in target:
            return "", "its result is not a URI"
        return target, ""
    host = target.lower().removesuffix(".")
    if len(host) > _LONGEST_HOST or not _HOST.fullmatch(host):
        return "", "its result is not a host name"
    return host, ""


def apply_pointer(name: str, pointer: Pointer, budget: StepBudget | None = None) -> str | None:
    """Apply a record to a name: the new text, or None if its expression does not match.

    Raises PointerMalformed or MalformedExpression if the expression cannot be read,
    ExpressionsTooCostly if it takes more steps than the budget has.

    >>> rule = Pointer(10, 10, "", "", r"!^(urn:)?pdi://([^/]+)/.*$!\\2!i", "")
    >>> apply_pointer("pdi://OMA.eop.gov.us/1997/09/01/1", rule)
    'OMA.eop.gov.us'
    """
    if not pointer.regexp:
        return pointer.replacement
    mark = pointer.regexp[0]
    parts = _split_expression(pointer.regexp)
    if len(parts) != 3 or mark in "0123456789i\\" or parts[2] not in ("", "i"):
        raise PointerMalformed(text=pointer.regexp)
    expression, replacement, flags = parts
    if len(name) > LONGEST_NAME:
        return None
    text = _complete(expression)
    if flags:
        text = text.lower()
    compiled = Expression.compile_text(text)
    budget = budget or StepBudget(MOST_STEPS)
    spans = compiled.match_spans(name.lower() if flags else name, LONGEST_NAME, budget)
    budget.check(name)
    if spans is None:
        return None
    groups = [name[a:b] if 0 <= a <= b else "" for a, b in spans]

    def fill(found: re.Match[str]) -> str:
        if found[1] is None:
            return found[2]
        number = int(found[1])
        return groups[number - 1] if number <= len(groups) else ""

    return _BACK.sub(fill, replacement)


def _split_expression(regexp: str) -> list[str]:
    """Split at the delimiter, unless a backslash precedes it (RFC 3402 section 3.2)."""
    mark, parts, escaped = regexp[0], [""], False
    for sign in regexp[1:]:
        if sign == mark and not escaped:
            parts.append("")
        else:
            parts[-1] = (parts[-1][:-1] if sign == mark else parts[-1]) + sign
        escaped = sign == "\\" and not escaped
    return parts


def _complete(expression: str) -> str:
    """Return an expression that must match all of a name, like one that may match within it."""
    start = "" if expression.startswith("^") else ".*"
    is_anchored = expression.endswith("$") and not expression.endswith("\\$")
    return start + expression + ("" if is_anchored else ".*")


def find_base(address: str, name: str) -> str:
    """Return the part of an address before the name in it; the address itself if it has none.

    >>> find_base("https://pid.example/pdi://a.us/1997/01/01/1", "pdi://a.us/1997/01/01/1")
    'https://pid.example'
    """
    for one in (name, f"urn:{name}"):
        if address.endswith(f"/{one}"):
            return address[: -len(one) - 1]
    return address.rstrip("/")
