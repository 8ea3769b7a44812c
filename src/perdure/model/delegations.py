"""Delegations: which other resolver answers for some names, and how. Pure.

A delegation is an assertion (`perdure.model.assertions`) with the motivation `delegates` about a
set of names: a series, an interval or a pattern of PDIs, an ARK shoulder, a Handle prefix, a naming
authority, one name. Its body says to which resolvers, and on which terms:

    {"@context": ["http://www.w3.org/ns/anno.jsonld", {"pd": "urn:perdure:delegation#"}],
     "type": "Annotation", "motivation": "prov:actedOnBehalfOf",
     "target": "pdi://press.oma.eop.gov.us/1993/",
     "body": {"type": "pd:Delegation",
              "pd:resolver": {"id": "https://resolver.archives.example/", "type": "pd:http"},
              "pd:role": "pd:resolver", "pd:how": "pd:redirect", "pd:effective": "2001-01-20"}}

A revocation is an assertion with the same motivation whose target is the delegation that it ends,
with format and version, and whose body has the type `pd:Revocation` and a day.

What must stay true: a delegation never changes. The newest one for the same names holds, and a
revocation ends one for the days from its own day on; both stay readable.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any, Literal, get_args

import msgspec

from perdure.errors import PerdureError
from perdure.errors.delegations import DelegationMalformed
from perdure.ids import Identifier, parse, scheme_of
from perdure.ids.name_set import NameSet, read_set
from perdure.ids.urls import normalise_url
from perdure.model.assertions import CONTEXT, DELEGATES, VOCABULARIES, Assertion, read_assertion

How = Literal["redirect", "proxy", "refer"]
"""Send the reader there (307), ask there and pass the answer on, or say who knows (300)."""
Role = Literal["authority", "resolver", "mirror", "successor"]
"""An authority assigns these names and resolves them; a resolver only resolves them; a mirror has a
copy of what is here; a successor has taken all of them over (section 4 of the draft)."""
Kind = Literal["http", "thttp"]
"""The protocol of a resolver: HTTP with identifiers as paths (section 3.8.2), or RFC 2169."""
HOWS: tuple[How, ...] = get_args(How)
ROLES: tuple[Role, ...] = get_args(Role)
KINDS: tuple[Kind, ...] = get_args(Kind)
MOST_RESOLVERS = 16
LONGEST_URL = 2048
LONGEST_REASON = 2000
_PREFIX = "pd:"
_DAWN, _DUSK = "0000-00-00", "9999-99-99"
_DAY = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
_BASE = re.compile(r"https?://[A-Za-z0-9._-]+(?::[0-9]{1,5})?(?:/[!$&'()*+,;=:@%A-Za-z0-9._~/-]*)?")
_BASE6 = re.compile(r"https?://\[[0-9A-Fa-f:.]+\](?::[0-9]{1,5})?(?:/[!-~]*)?")


class Resolver(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A resolver to which names are delegated. Made by `read_resolver`, which checks it."""

    base: str
    """Its address up to the identifier, with a slash at its end: `https://pid.example/`."""
    kind: Kind = "http"
    priority: int = 10
    """Lower ones are asked first (RFC 2782)."""
    weight: int = 1
    """The share among those of one priority."""


class Delegation(msgspec.Struct, frozen=True, kw_only=True):
    """The terms on which other resolvers answer for some names."""

    names: NameSet
    resolvers: tuple[Resolver, ...]
    """In the order of their priorities. There is at least one."""
    role: Role = "resolver"
    how: How = "redirect"
    has_subseries: bool = False
    """The series to the left of the series are delegated, too (section 2.2)."""
    first_day: str = ""
    """The first and the last date in the names (`1993-01-20`); empty if there is no limit."""
    last_day: str = ""
    effective: str = ""
    """The first day, in UTC, on which it holds; empty for the day of its record."""
    reason: str = ""

    @property
    def writes(self) -> bool:
        """True if the names are also assigned and changed there."""
        return self.role in ("authority", "successor")

    @property
    def is_hand_over(self) -> bool:
        """True if it precedes the records that are still here."""
        return self.role == "successor"

    def narrow_days(self, first_day: str) -> Delegation:
        """Return the delegation without the names from a date on.

        Raises DelegationMalformed if it has no names before that date, none from it on, or names
        without dates.
        """
        if not scheme_of(self.names.example).has_patterns:
            raise DelegationMalformed(place="first-day", expected="missing, as names have no dates")
        first, last = _find_days(self.names.example)  # `1993-00-00` to `1993-99-99`, of a year
        first = max(first.replace("-00", "-01"), self.first_day, date.min.isoformat())
        if not first < first_day <= min(last, self.last_day or _DUSK):
            expected = f"a day of the delegation after {first}"
            raise DelegationMalformed(place="first-day", expected=expected)
        before = date.fromisoformat(first_day) - timedelta(days=1)
        return msgspec.structs.replace(self, last_day=before.isoformat())

    def covers(self, name: Identifier) -> bool:
        """Return True if everything that a name, an interval or a pattern names is delegated."""
        if not self.names.contains(name) and not self._covers_below(name):
            return False
        if not (self.first_day or self.last_day):
            return True
        first, last = _find_days(name)
        return (self.first_day or _DAWN) <= first and last <= (self.last_day or _DUSK)

    def _covers_below(self, name: Identifier) -> bool:
        """Return True if a name is in a series below the delegated one, on its days."""
        if not self.has_subseries or name.kind != self.names.example.kind:
            return False
        if not name.assigned_under.endswith(f".{self.names.example.assigned_under}"):
            return False
        first, last = _find_days(self.names.example)
        from_day, to_day = _find_days(name)
        return first <= from_day and to_day <= last

    @property
    def breadth(self) -> tuple[int, int, int]:
        """The order of preference: the most specific first (sorted ascending).

        The most specific series or beginning, then the shortest interval.
        """
        example = self.names.example
        if not scheme_of(example).has_patterns:
            return -len(self.names.low), 0, 0
        first, last = _find_days(example)
        days = _count_days(max(first, self.first_day), min(last, self.last_day or _DUSK))
        return -example.assigned_under.count("."), int(self.has_subseries), days


class Revocation(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a delegation."""

    delegation: Identifier
    effective: str = ""
    """The first day, in UTC, on which the delegation holds no more; empty: that of its record."""
    first_day: str = ""
    """If stated, only names from this date on are no longer delegated, from its record on."""
    reason: str = ""


class HeldDelegation(msgspec.Struct, frozen=True, kw_only=True):
    """A delegation in the registry."""

    identifier: Identifier
    """Of the assertion, with format and version."""
    delegation: Delegation
    by: str
    """The actor who made it."""
    at: str
    """The time of its record, in UTC."""
    order: int = 0
    """The newer of two has the higher number."""
    ended: str = ""
    """The first day on which a revocation or a retraction ends it; empty if none does."""
    ended_by: Identifier | None = None

    @property
    def effective(self) -> str:
        """The first day, in UTC, on which it holds."""
        return self.delegation.effective or self.at[:10]

    def is_in_force(self, day: str) -> bool:
        """Return True if it holds on a day, such as `2001-01-20`."""
        return self.effective <= day and not (self.ended and self.ended <= day)


def _find_days(name: Identifier) -> tuple[str, str]:
    """The first and the last day of names; all days if they have no dates."""
    return name.assigned_between or (_DAWN, _DUSK)


def _count_days(first: str, last: str) -> int:
    """A number that grows with the length of an interval. Missing days count as whole months."""
    return _place_day(last) - _place_day(first)


def _place_day(day: str) -> int:
    year, month, date = (int(one) for one in day.split("-"))
    return (year * 100 + month) * 100 + date


# reading
# -------


def read_delegation(assertion: Assertion) -> Delegation | Revocation:
    """Read the terms of an assertion that delegates, or that ends a delegation.

    Raises DelegationMalformed if it is neither.
    """
    if DELEGATES not in assertion.motivations:
        raise DelegationMalformed(place="motivation", expected="delegates")
    if len(assertion.targets) != 1 or assertion.targets[0].selectors:
        raise DelegationMalformed(place="target", expected="one set of names")
    body = assertion.document.get("body")
    if not isinstance(body, dict):
        raise DelegationMalformed(place="body", expected="one object")
    iri = assertion.targets[0].iri
    if body.get("type") == f"{_PREFIX}Revocation":
        return _read_revocation(iri, body)
    if body.get("type") != f"{_PREFIX}Delegation":
        raise DelegationMalformed(
            place="body.type", expected=f"{_PREFIX}Delegation or {_PREFIX}Revocation"
        )
    listed = body.get(f"{_PREFIX}resolver")
    resolvers = listed if isinstance(listed, list) else [listed]
    return make_delegation(
        _read_names(iri),
        tuple(map(_read_resolver_object, resolvers)),
        role=_read_word(body, "role", "resolver"),
        how=_read_word(body, "how", "redirect"),
        has_subseries=body.get(f"{_PREFIX}subseries") is True,
        first_day=_read_text(body, "firstDay"),
        last_day=_read_text(body, "lastDay"),
        effective=_read_text(body, "effective"),
        reason=_read_text(body, "reason"),
    )


def make_delegation(
    names: NameSet,
    resolvers: tuple[Resolver, ...],
    *,
    role: str = "resolver",
    how: str = "redirect",
    has_subseries: bool = False,
    first_day: str = "",
    last_day: str = "",
    effective: str = "",
    reason: str = "",
) -> Delegation:
    """Return a delegation whose terms agree with one another. Raises DelegationMalformed."""
    if not 0 < len(resolvers) <= MOST_RESOLVERS:
        raise DelegationMalformed(place="resolver", expected=f"1 to {MOST_RESOLVERS} resolvers")
    if role not in ROLES:
        raise DelegationMalformed(place="role", expected=f"one of {', '.join(ROLES)}")
    if how not in HOWS:
        raise DelegationMalformed(place="how", expected=f"one of {', '.join(HOWS)}")
    example = names.example
    if names.chosen is not None or example.is_citation or example.fragment is not None:
        raise DelegationMalformed(place="names", expected="a set of whole names")
    if example.format is not None or example.version is not None:
        raise DelegationMalformed(place="names", expected="names without format and version")
    names = read_set(str(names))  # so that equal delegations are equal values
    if has_subseries and not names.is_interval:
        raise DelegationMalformed(place="names", expected="an interval, if subseries are delegated")
    for place, day in (("first-day", first_day), ("last-day", last_day), ("effective", effective)):
        check_day(place, day)
    if (first_day or last_day) and not scheme_of(example).has_patterns:
        raise DelegationMalformed(place="names", expected="names with dates, if days are stated")
    if (first_day or _DAWN) > (last_day or _DUSK):
        raise DelegationMalformed(place="last-day", expected="the first day or a later one")
    if len(reason) > LONGEST_REASON:
        expected = f"at most {LONGEST_REASON} characters"
        raise DelegationMalformed(place="reason", expected=expected)
    return Delegation(
        names=names,
        resolvers=tuple(sorted(resolvers, key=lambda one: (one.priority, -one.weight, one.base))),
        role=role,
        how=how,
        has_subseries=has_subseries,
        first_day=first_day,
        last_day=last_day,
        effective=effective,
        reason=reason,
    )


def read_resolver(url: str, *, kind: str = "http", priority: int = 10, weight: int = 1) -> Resolver:
    """Return the resolver at an address. Raises DelegationMalformed.

    >>> read_resolver("HTTPS://Resolver.archives.example").base
    'https://resolver.archives.example/'
    """
    if kind not in KINDS:
        raise DelegationMalformed(place="kind", expected=f"one of {', '.join(KINDS)}")
    base = normalise_url(url)
    if not base.endswith("/"):
        base += "/"
    if len(base) > LONGEST_URL or not (_BASE.fullmatch(base) or _BASE6.fullmatch(base)):
        expected = "an http or https URL without user, query and fragment"
        raise DelegationMalformed(place="resolver", expected=expected)
    for place, number in (("priority", priority), ("weight", weight)):
        if not 0 <= number <= 65_535:
            raise DelegationMalformed(place=place, expected="0 to 65535")
    return Resolver(base=base, kind=kind, priority=priority, weight=weight)


def check_day(place: str, day: str) -> None:
    """Raise DelegationMalformed unless a text is empty or a day such as `2001-01-20`."""
    try:
        is_day = not day or bool(_DAY.fullmatch(day) and date.fromisoformat(day))
    except ValueError:
        is_day = False
    if not is_day:
        raise DelegationMalformed(place=place, expected="a day such as 2001-01-20")


def _read_names(iri: str) -> NameSet:
    try:
        return read_set(iri)
    except PerdureError:
        raise DelegationMalformed(place="target", expected="a set of names") from None


def _read_revocation(iri: str, body: Mapping[str, Any]) -> Revocation:
    try:
        ended = parse(iri)
    except PerdureError:
        raise DelegationMalformed(place="target", expected="the name of a delegation") from None
    effective, first_day = _read_text(body, "effective"), _read_text(body, "firstDay")
    check_day("effective", effective)
    check_day("first-day", first_day)
    if effective and first_day:
        raise DelegationMalformed(place="effective", expected="missing, if first-day is stated")
    reason = _read_text(body, "reason")
    return Revocation(delegation=ended, effective=effective, first_day=first_day, reason=reason)


def _read_resolver_object(given: object) -> Resolver:
    url = given.get("id") if isinstance(given, dict) else None
    if not isinstance(given, dict) or not isinstance(url, str):
        raise DelegationMalformed(place="resolver", expected="an object with an id")
    numbers = [given.get(f"{_PREFIX}{name}", default) for name, default in _NUMBERS]
    if not all(type(one) is int for one in numbers):
        raise DelegationMalformed(place="resolver", expected="an object with whole numbers")
    kind = str(given.get("type", "pd:http")).removeprefix(_PREFIX)
    return read_resolver(url, kind=kind, priority=numbers[0], weight=numbers[1])


_NUMBERS = (("priority", 10), ("weight", 1))


def _read_text(body: Mapping[str, Any], name: str) -> str:
    value = body.get(f"{_PREFIX}{name}", "")
    if not isinstance(value, str):
        raise DelegationMalformed(place=name, expected="text")
    return value


def _read_word(body: Mapping[str, Any], name: str, default: str) -> str:
    return _read_text(body, name).removeprefix(_PREFIX) or default


# writing
# -------


def write_delegation(delegation: Delegation, *, creator: str = "", created: str = "") -> bytes:
    """Write the assertion of a delegation, as JSON-LD in UTF-8 that ends in a line feed.

    `creator` is an IRI, `created` a time; what is empty is left out. What it writes reads back as
    the same delegation.
    """
    resolvers = [_write_resolver(one) for one in delegation.resolvers]
    body = {
        "type": f"{_PREFIX}Delegation",
        "pd:resolver": resolvers[0] if len(resolvers) == 1 else resolvers,
        "pd:role": _PREFIX + delegation.role,
        "pd:how": _PREFIX + delegation.how,
        "pd:subseries": delegation.has_subseries,
        "pd:firstDay": delegation.first_day,
        "pd:lastDay": delegation.last_day,
        "pd:effective": delegation.effective,
        "pd:reason": delegation.reason,
    }
    return _write_document(str(delegation.names), body, creator, created)


def write_revocation(revocation: Revocation, *, creator: str = "", created: str = "") -> bytes:
    """Write the assertion that ends a delegation."""
    body = {
        "type": f"{_PREFIX}Revocation",
        "pd:effective": revocation.effective,
        "pd:firstDay": revocation.first_day,
        "pd:reason": revocation.reason,
    }
    return _write_document(str(revocation.delegation), body, creator, created)


def _write_document(target: str, body: Mapping[str, object], creator: str, created: str) -> bytes:
    fields: dict[str, object] = {
        "@context": [CONTEXT, VOCABULARIES],
        "type": "Annotation",
        "motivation": DELEGATES,
        "creator": creator,
        "created": created,
        "body": {name: value for name, value in body.items() if value},
        "target": target,
    }
    kept = {name: value for name, value in fields.items() if value}
    data = msgspec.json.format(msgspec.json.encode(kept), indent=2) + b"\n"
    read_delegation(read_assertion(data))
    return data


def _write_resolver(one: Resolver) -> Mapping[str, object]:
    found: dict[str, object] = {"id": one.base, "type": _PREFIX + one.kind}
    found |= {
        f"{_PREFIX}{name}": getattr(one, name)
        for name, default in _NUMBERS
        if getattr(one, name) != default
    }
    return found
