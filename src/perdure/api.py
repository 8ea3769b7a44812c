"""The Python interface to a registry, as `perdure.open` returns it.

How it works: `OpenRegistry` is a `Registry` with a method for each common task. Pass a name as text
or as a parsed `Identifier`, and contents as bytes, as a path or as an open file. For everything
else, pass a command (`perdure.model.commands`) to `execute`, or a `Query` to `reading.resolve`.

What must stay true: these methods decide nothing. They build the same commands and queries as the
command line and the server.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from perdure.errors import NothingMatches, PerdureError
from perdure.errors.naming import VersionNotSaid
from perdure.errors.requests import AuthorityNeeded
from perdure.errors.servers import BytesElsewhere
from perdure.ids import Identifier, parse
from perdure.ids.name_set import NameSet, choose_names, make_set, read_set
from perdure.ids.named_parts import Name as PartedName
from perdure.ids.named_parts import split_part
from perdure.model.commands import (
    Alias,
    Bind,
    Command,
    Commit,
    Content,
    Correct,
    Describe,
    Mint,
    Receipt,
    Refuse,
    Withdraw,
)
from perdure.model.queries import LOCAL_READER, Choices, Fetch, Gone, Query, Reader, Want
from perdure.model.records import LOCAL, Location
from perdure.model.verdicts import CitationReport
from perdure.reading.plain_texts import choose_text
from perdure.reading.resolved import Resolved
from perdure.registry import Registry, initialise
from perdure.storage.spool import discard_content
from perdure.upkeep.changing_many import (
    execute_turns,
    list_served,
    make_withdrawal,
    preview_merge,
)
from perdure.upkeep.forgetting import forget_withdrawn
from perdure.upkeep.name_lists import MARK, list_chosen, list_names
from perdure.upkeep.transfer.contents import DeclaredKind, take_in
from perdure.upkeep.transfer.declared_types import ask_format, state_format
from perdure.upkeep.transfer.previewing import RecordChange
from perdure.upkeep.withdrawing import execute_command

if TYPE_CHECKING:
    from perdure.upkeep.citations.listing import ListedCitation
    from perdure.upkeep.quotations.asking import QuotationReport

Name = str | Identifier
Names = Name | Iterable[Name]
"""A set of names: see `OpenRegistry.list_names`."""
Source = bytes | str | PathLike[str] | BinaryIO
"""Bytes to keep: the bytes themselves, the path of a file, or an open file."""


class OpenRegistry(Registry):
    """A registry directory, open for reading and writing. Use it as a context manager."""

    # Writing
    # -------

    def execute(self, command: Command) -> Receipt:
        """Execute a command and return once it is durable. Raises the errors of the command."""
        return execute_command(self, command)

    def mint(
        self,
        *contents: Source,
        authority: str | None = None,
        uid: str | None = None,
        media_type: str | None = None,
        charset: str | None = None,
        language: str | None = None,
        locations: Sequence[str] = (),
        ask: bool = False,
        metadata: Mapping[str, str] | None = None,
    ) -> Receipt:
        """Mint a new identifier. `Receipt.identifier` is its full name.

        Several `contents` are formats of one document. Without any, the name is reserved: it gets
        format and version with its first bytes, unless you state its `media_type`, or `ask` the
        server of its first location for it.
        `authority` is a series, a shoulder or a naming authority; it is needed unless this registry
        has exactly one. Media type and charset are detected if they are not given.

        Raises AuthorityNeeded, UnknownAuthority, InvalidRequest, Conflict, TooLarge, StorageFailed,
        or Unavailable if the server that was asked does not say the type.
        """
        said = DeclaredKind(media_type=media_type, charset=charset, language=language)
        format = "" if contents else state_format(media_type=media_type, charset=charset)
        if ask and not contents and not format:
            format = asyncio.run(ask_format(locations, self.settings))
        with self._take_in(contents, said) as taken:
            return self.execute(
                Mint(
                    authority=self._choose_authority(authority),
                    uid=uid,
                    format=format,
                    contents=taken,
                    locations=tuple(Location(uri=one) for one in locations),
                    metadata=dict(metadata or {}),
                )
            )

    def commit(
        self,
        name: Name,
        *contents: Source,
        version: int | None = None,
        media_type: str | None = None,
        charset: str | None = None,
        language: str | None = None,
        expect: int | None = None,
    ) -> Receipt:
        """Bind bytes to a name as its next version, or as further formats of `version`.

        `expect` is the revision that you saw. Raises NotFound, Conflict, PreconditionFailed,
        InvalidRequest, TooLarge or StorageFailed.
        """
        said = DeclaredKind(media_type=media_type, charset=charset, language=language)
        with self._take_in(contents, said) as taken:
            return self.execute(
                Commit(identifier=_read_name(name), contents=taken, version=version, expect=expect)
            )

    def correct(
        self,
        name: Name,
        *,
        media_type: str | None = None,
        charset: str | None = None,
        language: str | None = None,
        reason: str = "",
        version: int | None = None,
        format: str | None = None,
    ) -> Receipt:
        """Correct the type, charset or language of bytes, which stay as they are under their name.

        Without `version`, the newest version is meant. Raises NotFound, NoSuchVersion,
        NotAcceptable, Conflict or InvalidRequest.
        """
        return self.execute(
            Correct(
                identifier=_read_name(name),
                media_type=media_type,
                charset=charset,
                language=language,
                reason=reason,
                version=version,
                format=format,
            )
        )

    def bind(self, name: Name, *locations: str, register: bool = False) -> Receipt:
        """Bind a name to locations. `register` also accepts a name that is not known yet.

        Raises NotFound, InvalidRequest or Conflict.
        """
        places = tuple(Location(uri=one) for one in locations)
        return self.execute(Bind(identifier=_read_name(name), locations=places, register=register))

    def alias(self, name: Name, other: Name) -> Receipt:
        """Declare that two names name the same resource. Raises NotFound or Conflict."""
        return self.execute(Alias(identifier=_read_name(name), other=_read_name(other)))

    def withdraw(self, name: Name, reason: str, *, version: int | None = None) -> Receipt:
        """Permanently stop serving the bytes of a name.

        If the registry requires two persons, the receipt says that the withdrawal was proposed.
        Raises NotFound, Conflict or InvalidRequest.
        """
        return self.execute(Withdraw(identifier=_read_name(name), reason=reason, version=version))

    def withdraw_names(
        self, names: Names, reason: str
    ) -> Iterator[tuple[Identifier, Receipt | PerdureError]]:
        """Withdraw all names of a set, and yield each with its receipt or the error that it met.

        Iterate to the end. `names` are as for `list_names`. Raises the errors of `list_names`.
        """
        commands = (
            make_withdrawal(name, reason) for name in list(list_served(self, self._read_set(names)))
        )
        for command, answer in execute_turns(self, commands):
            assert isinstance(command, Withdraw)  # noqa: S101  (as made above)
            yield command.identifier, answer

    def merge_metadata(
        self, names: Names, patch: Mapping[str, object], *, apply: bool = False
    ) -> list[RecordChange]:
        """Merge a patch (RFC 7396) into the descriptions of all names of a set.

        Return what changes in each name that does not say so already; each has an `undo_line` for
        `perdure import --replace`. Without `apply`, nothing is changed. `names` are as for
        `list_names`. Raises the errors of `list_names`, InvalidMetadata, or the error of the first
        name that could not be changed, after all others were.
        """
        data = msgspec.json.encode(patch)
        changes = list(preview_merge(self, self._read_set(names), data))
        if apply:
            commands = [Describe(identifier=parse(one.identifier), patch=data) for one in changes]
            answers = [answer for _, answer in execute_turns(self, commands)]
            for answer in answers:
                if isinstance(answer, PerdureError):
                    raise answer
        return changes

    def refuse(self, name: Name, *, version: int | None = None) -> Receipt:
        """Refuse the withdrawal that is proposed for a name. Raises NotFound or Conflict."""
        return self.execute(Refuse(identifier=_read_name(name), version=version))

    # Reading
    # -------

    def list_names(self, names: Names) -> Iterator[Identifier]:
        """Yield the names of a set that are known here.

        `names` is a pattern, an interval or the beginning of names (`hdl:1839/*`), several names,
        or what the command line takes for them: `@FILE`, `@IDENTIFIER` of a collection,
        `@search:WORDS`. Raises MalformedIdentifier, NotFound if nothing matches, or one of several
        names is not known, OSError if the file cannot be read, or the errors of the collection or
        the search.
        """
        return list_chosen(self, self._read_set(names))

    def _read_set(self, names: Names) -> NameSet:
        if isinstance(names, Identifier):
            return make_set(names)
        if isinstance(names, str) and not names.startswith(MARK):
            return read_set(names)
        text = names if isinstance(names, str) else "the names"
        listed = (
            (one.text for one in list_names(self, names.removeprefix(MARK)))
            if isinstance(names, str)
            else names
        )
        chosen = [_read_name(one).whole for one in listed]
        for name in chosen:
            self.listings.require_known(make_set(name))
        if not chosen:
            raise NothingMatches(identifier=text)
        return choose_names(chosen, text)

    def resolve(
        self, name: Name, *, part: str | None = None, want: Want = Want.RESOURCE
    ) -> Resolved:
        """Resolve a name. `Resolved.step` is the answer.

        If only other resolvers may know the name, `Resolved.elsewhere` lists them, as the setting
        `forward` says. No network is asked. Raises NotFound, MalformedIdentifier or Forbidden.
        """
        return self._resolve(name, part, want, accepts_elsewhere=True)

    def _resolve(
        self,
        name: Name,
        part: str | None,
        want: Want = Want.RESOURCE,
        *,
        accepts_elsewhere: bool = False,
    ) -> Resolved:
        if isinstance(name, str):
            written = split_part(name)
            identifier, behind, doubt = written.identifier, written.part, written.doubt
        else:
            identifier, behind, doubt = name, None, None
        return self.reading.resolve(
            Query(
                identifier=identifier,
                part=behind if part is None else part,
                delimiter="?part=" if part is not None else "#",
                doubt=doubt,
                reader=Reader(name=LOCAL),
                want=want,
                accepts_elsewhere=accepts_elsewhere,
            ),
        )

    def check(self, citation: Name) -> CitationReport:
        """Check whether one document quotes another: `citing@origin=cited`.

        Raises the errors of either side, PartNotFound or PartOutOfRange for a place or a part that
        does not exist, and InvalidRequest if it is not a citation of two versions.
        """
        return self.citations.check_citation(_read_name(citation), Reader(name=LOCAL))

    def read(self, name: Name, *, part: str | None = None) -> bytes:
        """Read the bytes of a name, or of a part of it.

        Raises NotFound, NoSuchVersion, NotAcceptable, BytesElsewhere if they are not held here or
        were withdrawn, VersionNotSaid for a part of a document with several versions, or the errors
        of cutting a part (MalformedPart, PartNotFound, PartOutOfRange, PartNotSupported).
        """
        resolved = self._resolve(name, part)
        step = resolved.step
        if isinstance(step, Choices) and resolved.inside is not None:
            self.documents.require_part_kind(resolved, step)
            versions = tuple(str(one.identifier) for one in step.fetches)
            raise VersionNotSaid(identifier=str(resolved.whole), versions=versions)
        if not isinstance(step, Fetch):
            raise BytesElsewhere(identifier=str(resolved.asked))
        if resolved.inside is None:
            return self.listings.read_bytes(step.representation)
        _, pieces = self.documents.open_part(resolved, step)
        return b"".join(pieces)

    def read_text(self, name: Name, *, part: str | None = None) -> str:
        """Read the plain text of a name, or of a part of it.

        Raises NotFound, NoSuchVersion, NotAcceptable, BytesElsewhere if the bytes were withdrawn,
        PartNotSupported if they are not held here or have no text, VersionNotSaid, the errors of
        cutting a part, or Undecodable, OverBudget or MissingLibrary if the text cannot be read.
        """
        resolved = self._resolve(name, part)
        resolved.require_single()
        step = choose_text(resolved)
        if not isinstance(step, Fetch):
            raise BytesElsewhere(identifier=str(resolved.asked))
        return self.documents.read_text(resolved, step)

    # Citing
    # ------

    def cited_by(
        self,
        name: Name,
        *,
        part: str | None = None,
        kinds: Sequence[str] = (),
        since: str = "",
        until: str = "",
    ) -> list[ListedCitation]:
        """List the references to a name, or to names of a set, in documents held here.

        The newest come first. `kinds` are `declared`, `declared:href`, `claimed` …; `since` and
        `until` are days. Raises NotFound, NoSuchVersion, NotAcceptable, BytesElsewhere if the name
        was withdrawn, InvalidRequest for an unknown kind or day, or the errors of cutting a part.
        """
        return self._list_citations("citedby", name, part, kinds, since, until)

    def cites(
        self,
        name: Name,
        *,
        part: str | None = None,
        kinds: Sequence[str] = (),
        since: str = "",
        until: str = "",
    ) -> list[ListedCitation]:
        """List the references in a document, or in the documents of a set. Raises as `cited_by`."""
        return self._list_citations("cites", name, part, kinds, since, until)

    def find_quotations(
        self, name: Name | None = None, *, part: str | None = None, text: str = ""
    ) -> QuotationReport:
        """Find the passages that a document, or a text, has in common with documents held here.

        `QuotationReport.promise` says what is found. Raises NotFound, BytesElsewhere if the
        document was withdrawn, MissingLibrary without `perdure[text]`, or the errors of
        `read_text`.
        """
        from perdure.extractors.plain_text import Characters
        from perdure.upkeep.indexing import bring_up_to_date, open_passages

        with open_passages(self) as index:
            from perdure.upkeep.quotations import asking

            bring_up_to_date(index)
            if name is None:
                whole = Characters(text)
                return asking.find_quotations_in(self, index, whole, "text", LOCAL_READER)
            resolved = self._resolve(name, part)
            report = asking.find_quotations_of(self, index, resolved, LOCAL_READER)
        if isinstance(report, Gone):
            raise BytesElsewhere(identifier=str(resolved.asked))
        return report

    def _list_citations(
        self,
        direction: str,
        name: Name,
        part: str | None,
        kinds: Sequence[str],
        since: str,
        until: str,
    ) -> list[ListedCitation]:
        from perdure.upkeep.citations import asking
        from perdure.upkeep.indexing import bring_up_to_date, open_citations, open_passages

        named = split_part(name) if isinstance(name, str) else PartedName(name)
        rows = asking.read_filter(tuple(kinds), since, until)
        wanted = asking.CitationsWanted(direction, rows, limit=asking.MOST)
        query = Query(
            identifier=named.identifier,
            part=named.part if part is None else part,
            names=named.names,
            reader=LOCAL_READER,
        )
        found: list[ListedCitation] = []
        if asking.FOUND in kinds:
            with open_passages(self) as passages:
                bring_up_to_date(passages)
        with open_citations(self) as index:
            bring_up_to_date(index)
            while True:
                page = asking.ask_citations(self, index, query, wanted)
                if isinstance(page, Gone):
                    raise BytesElsewhere(identifier=str(page.identifier))
                found += page.citations
                if page.cursor is None:
                    return found
                wanted = wanted._replace(cursor=page.cursor)

    # Inside
    # ------

    def _choose_authority(self, given: str | None) -> str:
        owned = tuple(one.name for one in self.settings.owned_authorities)
        if given is None and len(owned) != 1:
            raise AuthorityNeeded(known=owned)
        return owned[0] if given is None else given

    @contextmanager
    def _take_in(
        self, sources: tuple[Source, ...], said: DeclaredKind
    ) -> Iterator[tuple[Content, ...]]:
        """Take in contents for a command. Their spool files are removed if it was refused."""
        taken: list[Content] = []
        try:
            for source in sources:
                with _open_source(source) as (file, name), self.spool() as spool:
                    taken.append(take_in(file, spool, name=name, said=said))
            yield tuple(taken)
        finally:
            for content in taken:
                discard_content(self.incoming, content)


def _read_name(name: Name) -> Identifier:
    return parse(name) if isinstance(name, str) else name


@contextmanager
def _open_source(source: Source) -> Iterator[tuple[BinaryIO, str | None]]:
    """An open file, and a file name from which its type may be detected."""
    if isinstance(source, bytes):
        yield io.BytesIO(source), None
    elif isinstance(source, str | PathLike):
        with Path(source).open("rb") as file:
            yield file, Path(source).name
    else:
        yield source, None


def open_registry(
    root: str | PathLike[str], *, create: bool = False, series: Sequence[str] = ()
) -> OpenRegistry:
    """Open the registry in a directory.

    `create` creates one if the directory has none, and adds `series` to the series minted there.
    Raises BadSettings or Unavailable if there is no registry that this release can open.
    """
    if create:
        initialise(Path(root), series=tuple(series))
    registry = OpenRegistry(Path(root))
    forget_withdrawn(registry)
    return registry
