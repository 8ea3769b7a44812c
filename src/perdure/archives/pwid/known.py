"""The registry of web archives: their names, and how each one plays back its captures.

How it works: `archives.toml`, next to this file, comes with the package and has one entry for each
archive. The setting `archives_file` names a file of the same form, whose entries are added or
replace those with the same id. `Archives` finds an archive by its id or one of its aliases and gets
addresses from `perdure.archives.pwid.playback`.

What must stay true: the entries agree with published lists of archives
(docs/reference/web-archives.md), and are marked as unverified if the lists differ; an address leads
to an archive of the registry, unless the operator has chosen to trust that unknown archives resolve
their own PWIDs.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal
from urllib.parse import quote

import msgspec

from perdure.archives.pwid import playback
from perdure.archives.pwid.making import make_pwid
from perdure.archives.pwid.playback import ArchiveFault, Pattern
from perdure.errors.configuring import (
    ArchiveEntryInvalid,
    ArchiveNameTwice,
    ArchivesTableUnknown,
    EntryFields,
    SettingUnreadable,
)
from perdure.ids.pwid import Pwid
from perdure.settings import Settings

_SETTING = "archives_file"
_MOVES = 4  # followed from archive to archive


class Example(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """A PWID and its addresses in an archive. It shows their form; the capture may not exist."""

    pwid: str
    url: str
    raw: str = ""


class Archive(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """One archive. An empty field means that the value is unknown."""

    id: str
    """The id in PWIDs: a domain, in lower case."""
    name: str = ""
    aliases: tuple[str, ...] = ()
    """Other ids of the archive that are in use."""
    access: Literal["open", "mixed", "closed", "unknown"] = "unknown"
    """Open to everyone, partly only on site, or only on site."""
    status: Literal["listed", "unverified"] = "unverified"
    """Whether the lists that name it agree."""
    note: str = ""
    patterns: tuple[Pattern, ...] = ()
    """The preferred pattern comes first."""
    local: str = ""
    """The form of addresses that only its own network can reach."""
    timegate: str = ""
    timemap: str = ""
    cdx: str = ""
    """The endpoint of its CDX server API, without a query."""
    resolver: str = ""
    """Its own resolver of PWIDs, with the slot `{pwid}`."""
    moved_to: str = ""
    """The id of the archive that has taken over its captures."""
    sources: tuple[str, ...] = ()
    """The lists that name it."""
    example: Example | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return (self.id, *self.aliases)

    def find_pattern_on(self, day: str) -> Pattern | None:
        """Return the pattern in which to write addresses on a day, `2026-11-21`, or None."""
        return next((one for one in self.patterns if one.is_valid_on(day)), None)


def utc_day() -> str:
    """Return today's date in UTC."""
    return datetime.now(UTC).date().isoformat()


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A possible PWID of a playback address."""

    pwid: Pwid
    archive: Archive
    collection: str = ""


class Archives:
    """All known archives."""

    def __init__(
        self,
        entries: Iterable[Archive],
        *,
        standard_form: bool = False,
        today: Callable[[], str] = utc_day,
    ) -> None:
        """`standard_form`: trust that unknown archives resolve their own PWIDs."""
        self._entries = {one.id: one for one in entries}
        self._by_name = {name: one for one in self._entries.values() for name in one.aliases}
        self._by_name |= self._entries
        self._standard_form = standard_form
        self._today = today

    def __iter__(self) -> Iterator[Archive]:
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)

    def find_archive(self, archive_id: str) -> Archive | None:
        """Return the archive with this id or alias, in any case, or None."""
        return self._by_name.get(archive_id.lower().removeprefix("~"))

    def find_keeper(self, archive_id: str) -> Archive | None:
        """Return the archive that has the captures of this one today."""
        found = self.find_archive(archive_id)
        for _ in range(_MOVES):
            if found is None or not found.moved_to or found.find_pattern_on(self._today()):
                break
            found = self.find_archive(found.moved_to)
        return found

    def make_playback_url(self, pwid: Pwid, *, collection: str = "") -> str | None:
        """Return the address at which a PWID is played back, or None.

        It is None if the archive is unknown or has no such addresses, if the item is not a URI, or
        if the time is less precise than a second, so that the archive would choose a capture. It is
        not checked that the capture exists.
        """
        return self._make_address(pwid, collection, raw=False) or self._make_standard_url(pwid)

    def make_raw_url(self, pwid: Pwid, *, collection: str = "") -> str | None:
        """Return the address of its record as captured, without additions, or None."""
        return self._make_address(pwid, collection, raw=True)

    def make_local_url(self, pwid: Pwid) -> str | None:
        """Return the address of its playback in the archive's own network, or None."""
        archive, time = self.find_archive(pwid.archive), playback.format_digits(pwid)
        if archive is None or time is None or not playback.is_uri(pwid.item):
            return None
        return (
            playback.fill_pattern(archive.local, time=time, uri=pwid.item)
            if archive.local
            else None
        )

    def make_timegate_url(self, pwid: Pwid) -> str | None:
        """Return the TimeGate of the item (RFC 7089), or None. The time goes in Accept-Datetime."""
        return self._make_endpoint(pwid, "timegate")

    def make_timemap_url(self, pwid: Pwid) -> str | None:
        """Return the TimeMap of the item, a list of all its captures (RFC 7089), or None."""
        return self._make_endpoint(pwid, "timemap")

    def make_cdx_url(self, pwid: Pwid) -> str | None:
        """Return the query for the item's captures in the CDX server API, or None."""
        archive = self.find_keeper(pwid.archive)
        if archive is None or not archive.cdx or not playback.is_uri(pwid.item):
            return None
        return f"{archive.cdx}?url={quote(pwid.item, safe='')}"

    def make_resolver_url(self, pwid: Pwid) -> str | None:
        """Return the address at which the archive itself resolves the PWID, or None."""
        archive = self.find_archive(pwid.archive)
        if archive is None or not archive.resolver:
            return None
        return archive.resolver.replace("{pwid}", quote(pwid.urn, safe=":"))

    def read_playback_url(self, url: str) -> tuple[Candidate, ...]:
        """Return the PWIDs that a playback address can mean, the likeliest first.

        An address with a page mark, or without a mark, means the page; others mean a part. The
        result is empty if no archive has such addresses, or if the time has fewer than 14 digits
        and so does not name a capture.
        """
        found: list[tuple[int, Candidate]] = []
        for archive in self:
            local = (Pattern(url=archive.local),) if archive.local else ()
            for pattern in (*archive.patterns, *local):
                candidate = _make_candidate(archive, pattern, url)
                if candidate is not None:
                    found.append((-playback.measure_specificity(pattern), candidate))
                    break
        return tuple(one for _, one in sorted(found, key=lambda pair: pair[0]))

    def _make_address(self, pwid: Pwid, collection: str, *, raw: bool) -> str | None:
        archive, time = self.find_keeper(pwid.archive), playback.format_digits(pwid)
        pattern = archive.find_pattern_on(self._today()) if archive else None
        if pattern is None or time is None or not playback.is_uri(pwid.item):
            return None
        form = pattern.raw if raw else pattern.url
        chosen = collection or pattern.collection
        return (
            playback.fill_pattern(form, time=time, uri=pwid.item, collection=chosen)
            if form
            else None
        )

    def _make_endpoint(self, pwid: Pwid, name: str) -> str | None:
        archive = self.find_keeper(pwid.archive)
        form = getattr(archive, name) if archive else ""
        if not form or not playback.is_uri(pwid.item):
            return None
        return playback.fill_pattern(form, uri=pwid.item)

    def _make_standard_url(self, pwid: Pwid) -> str | None:
        if not self._standard_form or self.find_archive(pwid.archive) is not None:
            return None
        return playback.make_standard_form(pwid)


def load_archives(settings: Settings, root: Path | None = None) -> Archives:
    """Load the archives of the package and those that the operator added.

    A relative `archives_file` is in the registry directory `root`. Raises BadSettings.
    """
    entries = {one.id: one for one in load_packaged()}
    if settings.archives_file:
        path = (root or Path()) / settings.archives_file
        try:
            text = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise _make_unreadable(path, error) from error
        entries |= {one.id: one for one in read_toml(text, path)}
        _check_names(entries.values(), path)
    return Archives(entries.values(), standard_form=settings.unknown_archives == "standard-form")


@cache
def load_packaged() -> tuple[Archive, ...]:
    """Return the archives that come with the package."""
    text = (files("perdure.archives.pwid") / "archives.toml").read_text("utf-8")
    return read_toml(text, "perdure/archives/pwid/archives.toml")


def read_toml(text: str, where: object) -> tuple[Archive, ...]:
    """Return the archives of a file. Raises BadSettings, which names the faulty entry."""
    try:
        table = tomllib.loads(text)
        entries = msgspec.convert(table.get("archive", []), tuple[Archive, ...])
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise _make_unreadable(where, error) from error
    if set(table) - {"archive"}:
        raise ArchivesTableUnknown(setting=_SETTING, value=where, found=tuple(sorted(table)))
    for entry in entries:
        if fault := find_entry_fault(entry):
            raise ArchiveEntryInvalid(setting=_SETTING, value=where, **fault)
    return entries


def _make_candidate(archive: Archive, pattern: Pattern, url: str) -> Candidate | None:
    played = playback.read_address(pattern, url)
    if played is None:
        return None
    try:
        pwid = make_pwid(archive.id, played.time, "part" if played.part else "page", played.uri)
    except ValueError:  # an impossible time, or an item that a PWID cannot express
        return None
    return Candidate(pwid=pwid, archive=archive, collection=played.collection)


def find_entry_fault(entry: Archive) -> EntryFields | None:
    """Find the fault of an entry, as the fields of an error; None if it is valid."""
    found = _find_fault(entry)
    if found is None:
        return None
    fault, address, slots = found
    return EntryFields(archive=entry.id, fault=fault, address=address, slots=slots)


def _find_fault(entry: Archive) -> ArchiveFault | None:
    if any(not name or name != name.lower() or ":" in name for name in entry.names):
        return ArchiveFault("names")
    both, item = frozenset(("time", "uri")), frozenset(("uri",))
    for pattern in entry.patterns:
        if found := playback.find_dating_fault(pattern):
            return found
    forms = [(pattern.url, both) for pattern in entry.patterns]
    forms += [(pattern.raw, both) for pattern in entry.patterns if pattern.raw]
    forms += [(entry.local, both)] if entry.local else []
    forms += [(form, item) for form in (entry.timegate, entry.timemap) if form]
    forms += [(entry.resolver, frozenset(("pwid",)))] if entry.resolver else []
    forms += [(entry.cdx, frozenset())] if entry.cdx else []
    for form, needed in forms:
        if found := playback.find_fault(form, needed=needed):
            return found
    return None


def _check_names(entries: Iterable[Archive], where: object) -> None:
    taken: dict[str, str] = {}
    for entry in entries:
        for name in entry.names:
            if taken.setdefault(name, entry.id) != entry.id:
                raise ArchiveNameTwice(
                    setting=_SETTING, value=where, name=name, archives=(taken[name], entry.id)
                )


def _make_unreadable(where: object, error: Exception) -> SettingUnreadable:
    return SettingUnreadable(setting=_SETTING, value=where, fault=str(error))
