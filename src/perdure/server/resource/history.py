"""The history of a record over HTTP (`?history`): a page, or JSON.

How it works: successive revisions are compared as readers may see them
(`perdure.policy.revisions`). The page tells each difference in words, the newest revision first,
fifty at a time, with the number of the change that wrote it (docs/reference/changes.md). The JSON
has all revisions, the oldest first.

What must stay true: a past revision shows nothing that its present record hides: of what was
withdrawn, what is closed, and private locations. Only administrators of the name see authors.
# ruling: tombstone-silence
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from http import HTTPStatus
from typing import Any

import msgspec

from perdure.errors import NotFound
from perdure.errors.requests import ForeignCursor
from perdure.ids import Identifier
from perdure.model.changes import ChangeMark
from perdure.model.records import WHOLE_RESOURCE, Record
from perdure.policy.levels import describe_level
from perdure.policy.revisions import compare_revisions
from perdure.reading.resolved import Resolved
from perdure.reading.targets import Question, append_question, spell_path
from perdure.server import pages
from perdure.server.common import auth
from perdure.server.common.answers import Answer, make_answer
from perdure.server.common.negotiate import choose_type
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.pages.trail import find_page, make_trail
from perdure.server.resource import facts
from perdure.server.resource.describing import make_public_record
from perdure.storage.ports import Records

EACH = 50  # revisions on a page
_MOST = 40  # differences of a revision that the page tells
_LONGEST = 300  # characters of a value

_LISTS = {"locations": "uri", "aliases": "", "narrower": "identifier"}
"""Members that are lists, and the member of each entry that names it."""
_DESCRIBED = frozenset(("about", "metadata", "attached"))
_TOLD_OTHERWISE = frozenset(
    (
        *("identifier", "urn", "url", "scheme", "status", "targets"),
        *("versions", "tombstone", "broken", *_DESCRIBED, *_LISTS),
    )
)
"""Members that have words of their own, that follow from others, or that never change."""


class TellingDifference(msgspec.Struct, frozen=True, kw_only=True):
    """One difference between a revision and the one before."""

    kind: str
    """The template has a sentence for each kind."""
    name: str = ""
    href: str = ""
    before: str = ""
    after: str = ""
    compare: str = ""
    """The path of the comparison of a version with the one before."""


class ShownRevision(msgspec.Struct, frozen=True, kw_only=True):
    """A revision as the page shows it."""

    number: int
    at: str
    by: str
    """Empty if the reader may not see it."""
    differences: tuple[TellingDifference, ...]
    more: int
    """Differences that are left out."""
    mark: str = ""
    """Epoch and number of its change; empty if it has none."""
    act: str = ""
    changes: str = ""
    """The path of that row of `/changes`."""


async def answer_history(
    service: Service, request: Request, resolved: Resolved, question: Question
) -> Answer:
    """Answer with the revisions of the record.

    Raises NotFound; Unauthenticated or Forbidden if an unfit token is sent.
    """
    identifier = resolved.identifier
    if resolved.pwid is None:
        resolved.require_known()
    is_full = b"authorization" in request.fields
    if is_full:
        auth.check_right(service, auth.find_bearer(service, request), "administer", identifier)
    shown = service.reading.show_history(resolved)
    if not shown:
        raise NotFound(identifier=str(identifier))
    fresh = b"no-store" if is_full else b"public, max-age=%d" % service.settings.fresh_seconds
    fields = ((b"cache-control", fresh), (b"vary", b"accept, authorization"))
    name = identifier.whole
    if choose_type(request.accept, ("application/json", "text/html")) == "text/html":
        last = _read_cursor(question.cursor, len(shown))
        tell = partial(_tell_revisions, is_full=is_full)
        found = await service.read_list(
            tell, service.registry.records, name, request.base_url, shown, last
        )
        path = append_question(f"/{spell_path(name)}", "history")
        body = pages.render_page(
            request.frame,
            "history.html",
            document=str(name),
            trail=[*make_trail(name), (str(name), find_page(name))],
            revisions=found,
            newer=path if last < len(shown) else "",
            older=f"{path}&cursor={last - EACH}" if last > EACH else "",
        )
        return pages.make_page(HTTPStatus.OK, body, *fields)
    body = msgspec.json.encode(
        {
            "identifier": str(name),
            "revisions": list(_write_revisions(name, request.base_url, shown, is_full=is_full)),
        }
    )
    return make_answer(HTTPStatus.OK, "application/json", body, *fields)


def _read_cursor(cursor: str | None, count: int) -> int:
    """Read how many revisions there are up to the first one to show. Raises ForeignCursor."""
    if cursor is None:
        return count
    if re.fullmatch("[0-9]{1,9}", cursor, re.ASCII) and 0 < int(cursor) <= count:
        return int(cursor)
    raise ForeignCursor(cursor=cursor)


def _write_revisions(
    name: Identifier, base: str, past: list[Record], *, is_full: bool
) -> Iterator[dict[str, object]]:
    before: dict[str, object] = {}
    for record in past:
        shown = make_public_record(record, name, base)
        actor = {"by": record.by} if is_full else {}
        yield shown | actor | {"changes": compare_revisions(before, shown)}
        before = shown


def _tell_revisions(
    records: Records, name: Identifier, base: str, past: list[Record], last: int, *, is_full: bool
) -> list[ShownRevision]:
    """Tell the revisions up to one, counted from 1, the newest first."""
    first = max(0, last - EACH)
    found = []
    for place in range(first, last):
        record, before = past[place], past[place - 1] if place else None
        told = list(_tell_differences(name, base, before, record, past[-1]))
        found.append(
            ShownRevision(
                number=record.revision,
                at=record.at,
                by=record.by if is_full else "",
                differences=tuple(told[:_MOST]),
                more=max(0, len(told) - _MOST),
                **_find_change(records, name, record.revision),
            )
        )
    return found[::-1]


def _find_change(records: Records, name: Identifier, revision: int) -> dict[str, str]:
    change = records.find_change(name.key, revision)
    if change is None or not change.is_public:
        return {}
    since = ChangeMark(change.epoch, change.number - 1)
    path = f"/changes?since={since}&limit=1"
    return {"mark": str(change.mark), "act": change.act, "changes": path}


# in words
# --------


def _tell_differences(
    name: Identifier, base: str, before: Record | None, after: Record, present: Record
) -> Iterator[TellingDifference]:
    old = make_public_record(before or Record(), name, base)
    new = make_public_record(after, name, base)
    changed = compare_revisions(old, new)
    if before is None and new["status"] == "reserved":
        yield TellingDifference(kind="reserved")
    for member, kind in (("tombstone", "withdrawn"), ("broken", "unbound")):
        yield from _tell_ending(old[member], new[member], kind, str(name))
    for one in _tell_versions(old["versions"], new["versions"]):
        yield _link_comparison(one, name, present) if one.kind == "version" else one
    for member, key in _LISTS.items():
        if member in changed:
            yield from _tell_list(member, key, old[member], new[member])
    if changed.keys() & _DESCRIBED:
        yield from _tell_description(before or Record(), after)
    for member in changed:
        if member not in _TOLD_OTHERWISE:
            yield TellingDifference(kind="other", name=member)


def _tell_ending(
    old: dict[str, Any] | None, new: dict[str, Any] | None, kind: str, name: str
) -> Iterator[TellingDifference]:
    """Tell that something was withdrawn, erased or bound no longer."""
    if new and not old:
        yield TellingDifference(kind=kind, name=name, before=new["by"], after=new["reason"])
    elif new and old and new.get("erased") and not old.get("erased"):
        yield TellingDifference(kind="erased", name=name)
    elif old and not new:
        yield TellingDifference(kind=f"not-{kind}", name=name)


def _tell_versions(
    old: list[dict[str, Any]], new: list[dict[str, Any]]
) -> Iterator[TellingDifference]:
    known = {one["number"]: one for one in old}
    for version in new:
        before = known.get(version["number"], {})
        number = str(version["number"])
        yield from _tell_ending(
            before.get("tombstone"), version["tombstone"], "version-withdrawn", number
        )
        yield from _tell_ending(before.get("broken"), version["broken"], "version-unbound", number)
        formats = {one["format"]: one for one in before.get("representations", [])}
        for held in version["representations"]:
            same = formats.get(held["format"])
            page = append_question(held["url"], "landing")
            if same is None:
                yield TellingDifference(
                    kind="version" if not before else "format",
                    name=held["identifier"],
                    href=page,
                    before=number,
                    after=held["media_type"],
                )
            elif same != held and not version["tombstone"]:
                yield TellingDifference(kind="reading", name=held["identifier"], href=page)


def _link_comparison(
    told: TellingDifference, name: Identifier, present: Record
) -> TellingDifference:
    """Link a new version to its comparison with the one before, if both are held now."""
    number = int(told.before)
    sides = [present.version(one) for one in (number - 1, number)]
    if present.tombstone or not all(
        one and one.representations and not one.tombstone for one in sides
    ):
        return told
    path = append_question(f"/{spell_path(name)}", f"diff={number - 1},{number}")
    return msgspec.structs.replace(told, compare=path)


def _tell_list(
    member: str, key: str, old: list[Any], new: list[Any]
) -> Iterator[TellingDifference]:
    befores = {one[key] if key else one: one for one in old}
    afters = {one[key] if key else one: one for one in new}
    for one in (*befores, *(one for one in afters if one not in befores)):
        if befores.get(one) == afters.get(one):
            continue
        change = "added" if one not in befores else "removed" if one not in afters else "changed"
        yield TellingDifference(kind=f"{member}-{change}", name=_shorten_text(str(one)))


def _tell_description(before: Record, after: Record) -> Iterator[TellingDifference]:
    """Tell which statements about the resource differ, or that other members of them do."""
    old, new = (_list_statements(one) for one in (before, after))
    is_told = False
    for name in (*old, *(one for one in new if one not in old)):
        if old.get(name, "") != new.get(name, ""):
            is_told = True
            yield TellingDifference(
                kind="statement", name=name, before=old.get(name, ""), after=new.get(name, "")
            )
    if not is_told:
        yield TellingDifference(kind="description")


def _list_statements(record: Record) -> dict[str, str]:
    about = describe_level(record, WHOLE_RESOURCE)
    rows = [
        ("Title", [one.value for one in about.titles]),
        *((name, [one.text for one in some]) for name, some in facts.list_facts(about)),
        ("Description", [one.value for one in about.descriptions]),
    ]
    return {name: _shorten_text("; ".join(values)) for name, values in rows if values}


def _shorten_text(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
