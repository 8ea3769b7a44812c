"""Descriptions and changed content on a landing page: values for its template.

How it works: the page shows one description, in which the levels are merged. `list_levels` lists
the description of each level on its own (resource, version, format, part), so that a reader sees
which is which (ruling: version-metadata). `list_changed_content` lists the locations
whose content was not the one that was bound, with the evidence (ruling: drift).

What must stay true: the values come from a record as readers may see it; nothing here is markup.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote

import msgspec

from perdure.ids import Identifier
from perdure.metadata.homes import add_home, find_home, find_type
from perdure.model.about import About, Agent, Code, Funding, Relation, Rights
from perdure.model.records import WHOLE_RESOURCE, Level, LocationDrift, Record
from perdure.policy.levels import (
    describe_own,
    is_resource_described,
    is_same_level,
    list_containing,
    name_document,
    name_level,
    spell_level,
)
from perdure.policy.showing import find_withdrawal
from perdure.reading.targets import append_question, spell_part_path, spell_path
from perdure.upkeep.linkcheck.breaking import list_drifts
from perdure.upkeep.linkcheck.verdict import LinkFinding, LinkVerdict

MOST_LEVELS = 100
"""Levels that the page lists as links; the record has all."""
_WEB = ("http://", "https://")
_SAFE = ":/?#[]@!$&'()*+,;=%~"
_LICENCE = re.compile(
    r"https?://creativecommons\.org/(?:licenses|publicdomain)/([a-z-]+)/(\d\.\d)(?=/|\Z)"
)


class FactValue(msgspec.Struct, frozen=True, kw_only=True):
    """A value of a statement."""

    text: str
    href: str = ""
    """The address of what the text names; empty if it has none."""
    codes: tuple[tuple[str, str], ...] = ()
    """Identifiers of a person or an organisation, with their addresses."""
    badge: str = ""
    """The short name of a licence."""


Facts = list[tuple[str, list[FactValue]]]
"""Statements, each a name and its values."""


class ShownLevel(msgspec.Struct, frozen=True, kw_only=True):
    """A level of description."""

    level: Level
    name: str
    href: str
    is_this: bool = False
    """True if the page is that of this level."""
    facts: Facts = []


class ShownLevels(msgspec.Struct, frozen=True, kw_only=True):
    """The levels of a description; none if only the resource has a description."""

    seen: tuple[ShownLevel, ...] = ()
    """Those that a reader of the name sees, the widest first."""
    others: tuple[ShownLevel, ...] = ()
    """Other levels that have a description, without their facts."""
    more: int = 0
    """The number of other levels that are left out."""


class ChangedContent(msgspec.Struct, frozen=True, kw_only=True):
    """A location whose content was not the one that was bound."""

    evidence: LocationDrift
    is_bound: bool
    """True if the location is still bound, so that redirects only skip it."""


def list_facts(about: About) -> Facts:
    """List the statements of a description, without its titles and its abstract."""
    publisher = about.publisher
    rows = [
        ("Creator", [_show_agent(one) for one in about.creators]),
        ("Contributor", [_show_agent(one) for one in about.contributors]),
        ("Publisher", [_show_named(publisher.name, publisher.code)] if publisher else []),
        ("Year", _show_texts(about.year)),
        ("Date", _show_texts(*(f"{one.value} ({one.kind.lower()})" for one in about.dates))),
        ("Kind", _show_texts(about.resource_type, about.resource_kind)),
        ("Language", _show_texts(about.language)),
        ("Subject", _show_texts(*(one.value for one in about.subjects))),
        ("Edition", _show_texts(about.version, about.edition)),
        ("Rights", [_show_rights(one) for one in about.rights]),
        ("Also known as", [_show_code(one) for one in about.codes]),
        ("Related", [_show_relation(one) for one in about.relations]),
        ("Funding", [_show_funding(one) for one in about.fundings]),
    ]
    return [(name, values) for name, values in rows if values]


def _show_texts(*texts: str) -> list[FactValue]:
    return [FactValue(text=one) for one in texts if one]


def _show_agent(agent: Agent) -> FactValue:
    codes = tuple(filter(None, map(_link_code, agent.codes)))
    return FactValue(text=name_agent(agent.name, agent.given, agent.family), codes=codes)


def _show_named(name: str, code: Code | None) -> FactValue:
    link = _link_code(code) if code is not None else None
    return FactValue(text=name, codes=(link,) if link else ())


def _show_rights(rights: Rights) -> FactValue:
    href = _find_address(rights.uri or rights.value)
    badge = name_licence(href) or rights.code
    return FactValue(text=rights.value or rights.uri or badge, href=href, badge=badge)


def _show_code(code: Code) -> FactValue:
    return FactValue(
        text=f"{code.value} ({code.scheme})", href=_find_address(code.value, code.scheme)
    )


def _show_relation(one: Relation) -> FactValue:
    return FactValue(text=f"{one.relation}: {one.value}", href=_find_address(one.value, one.scheme))


def _show_funding(one: Funding) -> FactValue:
    text = " ".join((one.funder, one.award)).strip()
    value = _show_named(text, one.code)
    return msgspec.structs.replace(value, href=_find_address(one.award_uri))


def _link_code(code: Code) -> tuple[str, str] | None:
    """Return the text and the address of a code, or None if it has no address."""
    href = _find_address(code.value, code.scheme)
    if not href:
        return None
    scheme = code.scheme or find_type(href)
    number = href.removeprefix(find_home(scheme)) if find_home(scheme) else href
    return f"{scheme} {number}", href


def _find_address(value: str, scheme: str = "") -> str:
    """Return the web address of a code, or an empty text."""
    address = value if value.startswith(_WEB) else add_home(value, scheme)
    return quote(address, safe=_SAFE) if address.startswith(_WEB) else ""


def name_licence(address: str) -> str:
    """Return the short name of a Creative Commons licence or mark, or an empty text.

    >>> name_licence("https://creativecommons.org/licenses/by-sa/4.0/deed.de")
    'CC BY-SA 4.0'
    >>> name_licence("http://creativecommons.org/publicdomain/zero/1.0/")
    'CC0 1.0'
    """
    found = _LICENCE.match(address)
    if found is None:
        return ""
    kind, version = found.groups()
    return {"zero": f"CC0 {version}", "mark": f"PDM {version}"}.get(
        kind, f"CC {kind.upper()} {version}"
    )


def name_agent(name: str, given: str, family: str) -> str:
    """Return the name of a person or an organisation, or else its parts."""
    return name or " ".join(one for one in (given, family) if one)


def list_abstracts(about: About) -> list[str]:
    """List the descriptions in words that are an abstract, or of no particular kind."""
    return [one.value for one in about.descriptions if one.kind in ("", "Abstract")]


def list_levels(identifier: Identifier, record: Record, level: Level) -> ShownLevels:
    """List the levels that a reader of `level` sees, and the other levels of the record.

    If only the resource has a description, there are none (see `find_inherited`).
    """
    if not record.narrower:
        return ShownLevels()
    level = name_document(record, level)
    seen = list_containing(record, level)
    chain = [WHOLE_RESOURCE, *(one.level for one in seen)]
    if not any(is_same_level(one, level) for one in chain):
        chain.append(level)
    others = [one.level for one in record.narrower if one not in seen]
    return ShownLevels(
        seen=tuple(_show_level(identifier, record, one, level) for one in chain),
        others=tuple(_name_level(identifier, one) for one in others[:MOST_LEVELS]),
        more=max(0, len(others) - MOST_LEVELS),
    )


def find_inherited(identifier: Identifier, record: Record, level: Level) -> ShownLevel | None:
    """Return the resource if the complete description of a narrower level is that of the resource,
    or None."""
    if level == WHOLE_RESOURCE or record.narrower or not is_resource_described(record):
        return None
    return _show_level(identifier, record, WHOLE_RESOURCE, level)


def _show_level(identifier: Identifier, record: Record, level: Level, page: Level) -> ShownLevel:
    about = describe_own(record, level)
    titles = [("Title", _show_texts(*(one.value for one in about.titles)))]
    texts = [("Description", _show_texts(*(one.value for one in about.descriptions)))]
    return msgspec.structs.replace(
        _name_level(identifier, level),
        is_this=is_same_level(level, page),
        facts=[
            *(titles if about.titles else ()),
            *list_facts(about),
            *(texts if texts[0][1] else ()),
        ],
    )


def _name_level(identifier: Identifier, level: Level) -> ShownLevel:
    return ShownLevel(
        level=level,
        name=spell_level(identifier, level),
        href=_find_page(identifier, level),
    )


def _find_page(identifier: Identifier, level: Level) -> str:
    """Return the path of the page of a level, or of the list of a version in all its formats."""
    name = name_level(identifier, level)
    if level.part and name.whole is name:
        return append_question(f"/{spell_part_path(name, level.part)}", "landing")
    path = f"/{spell_path(name)}"
    return path if name.is_pattern else append_question(path, "landing")


def list_changed_content(
    identifier: Identifier, record: Record, findings: Mapping[str, LinkFinding]
) -> tuple[ChangedContent, ...]:
    """List the locations that were broken for their content, and those that could be.

    Nothing is said of what was withdrawn, unless its digest was kept.
    # rulings: drift, tombstone-silence
    """
    noticed = (
        drift
        for finding in findings.values()
        if finding.verdict is LinkVerdict.DRIFT and find_withdrawal(identifier, record) is None
        for drift in list_drifts(record, finding)
        if not _is_withdrawn(record, drift)
    )
    return (
        *(ChangedContent(evidence=one, is_bound=True) for one in noticed),
        *(ChangedContent(evidence=one, is_bound=False) for one in record.drifted),
    )


def _is_withdrawn(record: Record, drift: LocationDrift) -> bool:
    version = record.version(drift.version) if drift.version is not None else None
    return version is not None and version.tombstone is not None
