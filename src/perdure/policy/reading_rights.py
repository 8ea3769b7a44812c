"""Reading rights: by the rules of a registry, may a reader read this? Pure.

How it works: of the rules that are about a request, or about more, the most specific one governs;
of several equally specific ones, the newest. It admits a reader whose day has come, who is in one
of its networks, or who has a token with the right `read`. Without a rule, everyone may read.

A request also contains the narrower parts of what it names. If a rule that is about such a part
refuses the reader, the bytes of the whole are refused, too. Parts that do not overlap the refused
one remain readable. `Relate` compares two parts; parts that it cannot compare may overlap.

What must stay true: a person on the machine itself reads everything; a rule that cannot be
understood never opens anything.
"""

from __future__ import annotations

import enum
import ipaddress
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

import msgspec

from perdure.errors import (
    Embargoed,
    LegallyUnavailable,
    PerdureError,
    Unauthenticated,
)
from perdure.errors.credentials import (
    ReadingNeedsToken,
    ReadingNotAllowed,
    ReadingOnPremises,
    RightMissing,
)
from perdure.ids import Identifier
from perdure.model.queries import Reader
from perdure.model.reading_rules import Access, ReadingRule
from perdure.model.records import LOCAL, Level
from perdure.policy.levels import find_level
from perdure.policy.naming import same_format
from perdure.policy.network_addresses import parse_networks
from perdure.policy.reading_rules import (
    RuleSubject,
    SubjectIdentity,
    find_rule_key,
    identify_subject,
    read_rule_subject,
)
from perdure.policy.rights import Object, check_right, make_object

READ = "read"
"""The right of a token to read what a rule reserves for tokens."""


class PartRelation(enum.Enum):
    """The relation of one part of a document to another one."""

    SAME = "same"
    INSIDE = "inside"
    """The first is inside the second, and smaller."""
    AROUND = "around"
    """The second is inside the first, and smaller."""
    APART = "apart"
    """No byte, pixel or sample is in both."""
    OVERLAPPING = "overlapping"
    """Each has something that the other one has not, and something is in both."""
    UNKNOWN = "unknown"
    """They cannot be compared, and may overlap."""


Relate = Callable[[str, str], PartRelation]
"""Compares the texts of two parts of the same document."""


def relate_texts(one: str, other: str) -> PartRelation:
    """Compare two parts only by their texts."""
    return PartRelation.SAME if one == other else PartRelation.UNKNOWN


class ReadObject(msgspec.Struct, frozen=True):
    """The thing that a reader wants to read: one level of a resource."""

    name: str
    """Its text, for messages."""
    key: str
    """The key of the rules about it."""
    level: Level
    what: Object
    """The resource, as the scopes of tokens and rules see it."""


def narrow_object(wanted: ReadObject, level: Level) -> ReadObject:
    """Another level of the same resource."""
    return msgspec.structs.replace(wanted, level=level)


def make_read_object(
    identifier: Identifier, part: str | None = None, resource: tuple[str, Object] | None = None
) -> ReadObject:
    """The thing that a name names, with a part that the name cannot include.

    `resource` has the key of the rules about the resource and its object, if they are known.
    """
    name = f"{identifier}#{part}" if part else str(identifier)
    key, what = resource or (find_rule_key(identifier), make_object(identifier))
    return ReadObject(name, key, find_level(identifier, part), what)


def check_reading(
    rules: Iterable[ReadingRule],
    wanted: ReadObject,
    reader: Reader,
    now: str,
    *,
    relate: Relate = relate_texts,
    with_bytes: bool = True,
) -> None:
    """Raise Forbidden or Unauthenticated if the reader may not read something.

    `now` is the time, such as `2026-11-21T12:00:00Z`. Without `with_bytes`, only the description
    of the thing is read, and rules about parts of it do not matter.
    """
    if reader.name == LOCAL:
        return
    there = [rule for rule in rules if _concerns(rule, wanted)]
    governing = choose_rule(there, wanted, relate)
    refused = [rule for rule in (governing,) if rule is not None]
    if with_bytes:
        refused += _list_contained(there, wanted, relate)
    for rule in refused:
        error = find_refusal(rule, wanted, reader, now)
        if error is not None:
            raise error


def choose_rule(
    rules: Sequence[ReadingRule], wanted: ReadObject, relate: Relate = relate_texts
) -> ReadingRule | None:
    """Return the rule that governs: the most specific one, then the newest.

    None if no rule is about all that is wanted.
    """
    found = [rule for rule in rules if _governs(rule, wanted, relate)]
    if not found:
        return None
    most = max(_read_subject(rule).specificity for rule in found)
    closest = [rule for rule in found if _read_subject(rule).specificity == most]
    if most[0]:
        closest = [one for one in closest if not _is_around_any(one, closest, relate)]
    return max(closest, key=lambda rule: rule.number)


def _is_around_any(one: ReadingRule, others: Iterable[ReadingRule], relate: Relate) -> bool:
    part = _read_subject(one).level.part
    return any(
        relate(part, _read_subject(other).level.part) is PartRelation.AROUND for other in others
    )


def _read_subject(rule: ReadingRule) -> RuleSubject:
    return read_rule_subject(rule.about, rule.part)


def _concerns(rule: ReadingRule, wanted: ReadObject) -> bool:
    """Return True if a rule in force is about the resource, or about something in it."""
    return not rule.lifted and _read_subject(rule).covers(wanted.what, wanted.key)


def _governs(rule: ReadingRule, wanted: ReadObject, relate: Relate) -> bool:
    """Return True if a rule is about all that is wanted."""
    subject = _read_subject(rule)
    if subject.is_scope:
        return _concerns(rule, wanted)
    level, narrower = subject.level, wanted.level
    if not _concerns(rule, wanted):
        return False
    if level.version not in (None, narrower.version) or not _is_same_format(level, narrower):
        return False
    if not level.part:
        return True
    if not narrower.part:
        return False
    return relate(narrower.part, level.part) in (PartRelation.SAME, PartRelation.INSIDE)


def _is_same_format(level: Level, narrower: Level) -> bool:
    if level.format is None:
        return True
    return narrower.format is not None and same_format(level.format, narrower.format)


def _list_contained(
    rules: Iterable[ReadingRule], wanted: ReadObject, relate: Relate
) -> list[ReadingRule]:
    """The rules about parts that may be among the bytes of what is wanted, each part's newest."""
    found: dict[SubjectIdentity, ReadingRule] = {}
    for rule in rules:
        level = _read_subject(rule).level
        if not level.part or _governs(rule, wanted, relate):
            continue
        other_version = None not in (level.version, wanted.level.version) and (
            level.version != wanted.level.version
        )
        if other_version or _is_other_format(level, wanted.level):
            continue
        part = wanted.level.part
        if part and relate(part, level.part) is PartRelation.APART:
            continue
        about = identify_subject(rule)
        if about not in found or found[about].number < rule.number:
            found[about] = rule
    return list(found.values())


def _is_other_format(level: Level, wanted: Level) -> bool:
    if level.format is None or wanted.format is None:
        return False
    return not same_format(level.format, wanted.format)


def admits_everyone(rule: ReadingRule, day: str) -> bool:
    """Return True if a rule refuses no one on a day, such as `2026-11-21`, or later."""
    if rule.access is Access.CLOSED:
        return bool(rule.until) and rule.until <= day
    return rule.access is Access.OPEN


def find_refusal(
    rule: ReadingRule, wanted: ReadObject, reader: Reader, now: str
) -> PerdureError | None:
    """Return the error for a reader whom a rule does not admit, or None if it admits the reader."""
    if admits_everyone(rule, now[:10]) or reader.name == LOCAL:
        return None
    if rule.access is Access.UNAVAILABLE:
        return LegallyUnavailable(
            who=_name_reader(reader), identifier=wanted.name, stated=rule.reason, since=rule.at
        )
    if rule.networks and is_in_networks(reader.address, rule.networks):
        return None
    if rule.by_token:
        return _check_token(rule, wanted, reader, now)
    if rule.until:
        return Embargoed(
            who=_name_reader(reader), identifier=wanted.name, stated=rule.reason, until=rule.until
        )
    kind = ReadingOnPremises if rule.networks else ReadingNotAllowed
    return kind(who=_name_reader(reader), identifier=wanted.name, stated=rule.reason)


def _check_token(
    rule: ReadingRule, wanted: ReadObject, reader: Reader, now: str
) -> PerdureError | None:
    """Return the error for a reader without the right `read`, or None."""
    if not reader.tokens:
        if rule.until:
            return Embargoed(
                who=_name_reader(reader),
                identifier=wanted.name,
                stated=rule.reason,
                until=rule.until,
                by_token=True,
            )
        return ReadingNeedsToken(identifier=wanted.name, stated=rule.reason)
    try:
        check_right(reader.tokens, READ, wanted.what, now)
    except RightMissing:
        return ReadingNotAllowed(
            who=_name_reader(reader), identifier=wanted.name, stated=rule.reason
        )
    except Unauthenticated as error:
        return error
    return None


def _name_reader(reader: Reader) -> str:
    return reader.name or "an anonymous reader"


@lru_cache(maxsize=4096)
def is_in_networks(address: str, networks: tuple[str, ...]) -> bool:
    """Return True if the address of a reader is in one of the networks.

    An IPv4 address that is mapped to IPv6 is the IPv4 address. An unknown address is in none.
    Cached, since few readers ask for many things.

    >>> is_in_networks("::ffff:10.1.2.3", ("10.0.0.0/8",)), is_in_networks("", ("0.0.0.0/0",))
    (True, False)
    """
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped:
        found = found.ipv4_mapped
    return any(found in network for network in parse_networks(networks))
