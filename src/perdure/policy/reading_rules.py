"""Reading rules: what each is about, which one is more specific, and when one is malformed. Pure.

How it works: a rule is about a name, at one level of a document (`perdure.policy.levels`), or about
a scope, written as in tokens (`perdure.policy.rights`). From the most to the least specific:

    pdi://a.us/1997/09/01/1.html.2#char=3,7   a part; one inside another is more specific
    pdi://a.us/1997/09/01/1.html.2            one format of one version
    pdi://a.us/1997/09/01/1.*.2  ….html       a version, a format
    pdi://a.us/1997/09/01/1                   a document
    pdi://a.us/1997/09/                       a scope; of two, the one that fixes more characters
    a.us  *.us  *                             of all the names that it contains

A rule with a `match` is about captures instead (`perdure.policy.capture_subjects`): of two such
rules the one with the longer address is more specific, then the one with the shorter span of time.

What must stay true: if one rule is about everything that another one is about, and about more, the
other one is more specific.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date
from functools import lru_cache

import msgspec

from perdure.errors import MalformedIdentifier, UnknownScheme
from perdure.errors.reading import (
    CapturesHaveNoParts,
    MalformedCaptureAddress,
    MalformedDay,
    MalformedNetwork,
    MalformedSpan,
    MalformedSubject,
    PointlessCondition,
    ReasonTooLong,
    UnknownMatch,
)
from perdure.ids import Identifier, parse
from perdure.ids.named_parts import join_part
from perdure.ids.urlkey import make_url_key
from perdure.model.matches import MATCHES
from perdure.model.reading_rules import Access, ReadingRule
from perdure.model.records import WHOLE_RESOURCE, Level
from perdure.model.timestamps import read_span
from perdure.policy.capture_subjects import (
    CaptureSubject,
    find_capture_subject,
    has_host,
)
from perdure.policy.levels import find_level
from perdure.policy.network_addresses import parse_networks
from perdure.policy.rights import Object, covers_object, is_scope

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_PWIDS = re.compile(r"(?:urn:)?pwid:([^:]*)", re.IGNORECASE)
_ADDRESS = re.compile(r"[^\x00-\x20\x7f]+")
_LONGEST_REASON = 1000  # characters
_LONGEST_ABOUT = 4000  # characters
Specificity = tuple[int, int, int, int]
"""Compares what two rules are about: part, version and format, document, characters of a scope."""


class RuleSubject(msgspec.Struct, frozen=True):
    """The subject of a rule: a level of one resource, a scope of resources, or captures."""

    about: str
    """The canonical text of the name or of the scope, or the address of captures."""
    key: str = ""
    """The key of the rules about the resource; empty for a scope."""
    level: Level = WHOLE_RESOURCE
    part: str = ""
    """The text of a part that the name cannot include."""
    captures: CaptureSubject | None = None

    @property
    def is_scope(self) -> bool:
        return not self.key

    @property
    def specificity(self) -> Specificity:
        """Greater for the more specific of two subjects with the same resource in them."""
        if self.is_scope:
            return 0, 0, 0, _count_fixed(self.about)
        level = self.level
        qualifiers = (level.version is not None) + (level.format is not None)
        return int(bool(level.part)), qualifiers, 1, 0

    def covers(self, what: Object, key: str) -> bool:
        """Return True if a resource is the one that it is about, or in the scope."""
        return covers_object(self.about, what) if self.is_scope else self.key == key


def read_rule(rule: ReadingRule) -> RuleSubject:
    """Return what a rule is about. Raises as `read_subject` if it is not about captures."""
    if rule.match:
        captures = find_capture_subject(rule)
        return RuleSubject(rule.about, captures.key, captures=captures)
    return read_rule_subject(rule.about, rule.part)


def read_subject(about: str, part: str | None = None) -> RuleSubject:
    """Read a name or a scope. Raises MalformedSubject, or MalformedIdentifier for a part.

    >>> read_subject("PDI://a.us/1997/09/01/1.html.2").level
    Level(version=2, format='html', part='')
    >>> read_subject("*.eop.gov.us").is_scope, read_subject("pdi://a.us/1997/").is_scope
    (True, True)
    """
    name = _read_name(about)
    if name is None:
        if part or not _may_be_scope(about):
            raise MalformedSubject(about=about)
        return RuleSubject(_spell_scope(about))
    joined, beside = join_part(name, part or None)
    level = find_level(joined, beside)
    return RuleSubject(str(joined), find_rule_key(joined), level, beside or "")


def find_rule_key(identifier: Identifier) -> str:
    """Return the key of the rules about a resource, which all names equal to it share."""
    return identifier.resource.equal_key or identifier.key


@lru_cache(maxsize=4096)
def read_rule_subject(about: str, part: str) -> RuleSubject:
    """Do the same as `read_subject` for a stored rule. Cached."""
    return read_subject(about, part)


def _read_name(about: str) -> Identifier | None:
    """Return the name of one document or a level of it, or None if the text may be a scope."""
    if about[-1:] == "*":  # in some schemes it is an ordinary character; in a scope it is none
        return None
    try:
        name = parse(about)
    except (MalformedIdentifier, UnknownScheme):
        return None
    if name.is_citation or name.resource.is_pattern:
        return None
    return name


def _may_be_scope(text: str) -> bool:
    return 0 < len(text) <= _LONGEST_ABOUT and text.isprintable() and is_scope(text)


def _spell_scope(scope: str) -> str:
    """Spell a scope in one way only, as the names in it are spelled.

    A series is in lower case. The beginning of PDIs or PWIDs has no `urn:`, and their series or
    archive is in lower case, too.
    """
    for text, rest in ((scope, ""), (scope.removesuffix("*"), "*")):
        try:
            return str(parse(text)) + rest
        except (MalformedIdentifier, UnknownScheme):
            continue
    if ":" not in scope and "/" not in scope:
        return scope.lower()
    found = _PWIDS.match(scope)
    return f"pwid:{found[1].lower()}{scope[found.end() :]}" if found else scope


def _count_fixed(scope: str) -> int:
    """Count the characters that all names in a scope share, twice, so that `x.us` exceeds `*.x.us`.

    Dividers do not count: a wildcard leaves them in a pattern.
    """
    is_below = scope[:2] == "*."
    text = scope[2:] if is_below else scope.removeprefix("pdi://")
    return 2 * sum(one not in "*/" for one in text) + (not is_below)


SubjectIdentity = tuple[str, Level | CaptureSubject]


def identify_subject(rule: ReadingRule) -> SubjectIdentity:
    """Return what a rule is about, the same for all spellings of a name or an address."""
    subject = read_rule(rule)
    return subject.key or subject.about, subject.captures or subject.level


def select_in_force(rules: Iterable[ReadingRule]) -> list[ReadingRule]:
    """Return the rules that no later one replaces or lifts, the oldest first."""
    newest = {identify_subject(rule): rule for rule in rules}
    return sorted(
        (rule for rule in newest.values() if not rule.lifted), key=lambda rule: rule.number
    )


def select_about(rules: Iterable[ReadingRule], subject: str) -> list[ReadingRule]:
    """Return the rules about a name and levels of it, a scope, or captures of an address.

    Raises MalformedSubject.
    """
    if subject[:7].lower() in ("http://", "https:/"):
        place = f"{make_url_key(subject)} "
        return [
            rule
            for rule in rules
            if rule.match and place.startswith(find_capture_subject(rule).beginnings)
        ]
    about = read_subject(subject)
    known = ((rule, read_rule(rule)) for rule in rules)
    return [
        rule
        for rule, other in known
        if other.captures is None
        and (other.about == about.about or (about.key and other.key == about.key))
    ]


def check_rule(rule: ReadingRule) -> ReadingRule:
    """Return the rule with its subject in canonical form.

    Raises InvalidRequest if it is malformed, or if its conditions contradict its access.
    """
    rule = check_captures(rule) if rule.match else _check_names(rule)
    if rule.access is not Access.CLOSED or rule.lifted:
        for name in ("until", "by_token", "networks"):
            if getattr(rule, name):
                raise PointlessCondition(condition=name.replace("_", "-"), access=rule.access)
    if rule.until and not _is_day(rule.until):
        raise MalformedDay(day=rule.until)
    for network in rule.networks:
        _check_network(network)
    if len(rule.reason) > _LONGEST_REASON:
        raise ReasonTooLong(limit=_LONGEST_REASON)
    return rule


def _check_names(rule: ReadingRule) -> ReadingRule:
    if rule.first or rule.last:
        raise MalformedSpan(first=rule.first, last=rule.last)
    subject = read_subject(rule.about, rule.part)
    return msgspec.structs.replace(rule, about=subject.about, part=subject.part)


def check_captures(rule: ReadingRule) -> ReadingRule:
    """Return a rule about captures with times in 14 digits. Raises InvalidRequest."""
    if rule.match not in MATCHES:
        raise UnknownMatch(text=rule.match, known=MATCHES)
    is_address = len(rule.about) <= _LONGEST_ABOUT and _ADDRESS.fullmatch(rule.about)
    if not is_address or (rule.match in ("host", "domain") and not has_host(rule.about)):
        raise MalformedCaptureAddress(about=rule.about)
    if rule.part:
        raise CapturesHaveNoParts(part=rule.part)
    try:
        first = rule.first and read_span(rule.first)[0]
        last = rule.last and read_span(rule.last)[1]
        if first and last and last < first:
            raise ValueError(last)
    except ValueError:
        raise MalformedSpan(first=rule.first, last=rule.last) from None
    return msgspec.structs.replace(rule, first=first, last=last)


def _is_day(text: str) -> bool:
    try:
        return bool(_DAY.fullmatch(text)) and bool(date.fromisoformat(text))
    except ValueError:
        return False


def _check_network(network: str) -> None:
    try:
        parse_networks((network,))
    except ValueError as error:
        raise MalformedNetwork(network=network, fault=str(error)) from error
