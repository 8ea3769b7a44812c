"""Words of numbered changes whose rows are damaged or missing, found again and proven.

How it works: the index of the table has each text once more; the acts are few and known; an actor
is the author of the records that the change wrote. So there are candidates for each lost word. A
candidate is accepted

1. if it has the checksum that was stored with the word,
2. or if, as an act, it makes the changes continue the chain up to the next one that is stored,
3. or if, as an actor, it gives the digest of a change from the records that the change wrote,
4. or if the row and the index both have it and it is a known act or actor: then the checksum is
   what was damaged.

What must stay true: nothing is guessed. A word that none of this proves stays lost, and the changes
with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

import apsw

from perdure.errors import Corrupt
from perdure.model import stored
from perdure.model.changes import (
    ACTS,
    WITHOUT_RECORDS,
    Change,
    ChangeMark,
    Deed,
    Line,
    Numbering,
    Scope,
    digest_lines,
)
from perdure.model.records import LOCAL
from perdure.storage.sqlite.change_rows import ChangeRow, unpack_row
from perdure.storage.sqlite.changelog import FULL_EVERY, Epochs
from perdure.storage.sqlite.sums import sum_values
from perdure.storage.sqlite.words import Ask, WordRow, decode_word, read_index, read_rows

_AT_ONCE = 64 * FULL_EVERY  # rows of changes
_PROOFS = 8  # changes or stretches that are kept for a lost word
_CHANGES = "SELECT position, row FROM changes WHERE position>=? AND position<? ORDER BY position"
_LAST = "SELECT coalesce(max(position), 0) FROM changes"
_ACTORS = (
    "SELECT CAST(name AS BLOB) FROM tokens",
    "SELECT CAST(name AS BLOB) FROM token_changes",
    "SELECT CAST(actor AS BLOB) FROM token_changes",
)
_DAMAGED = (Corrupt, apsw.Error, UnicodeError, ValueError, TypeError)
FindLines = Callable[[Change], Sequence[Line]]
"""The lines that a change wrote, as far as they are stored. May raise Corrupt or apsw.Error."""


class _Numbered(NamedTuple):
    """A row of a change, with its mark."""

    mark: ChangeMark
    row: ChangeRow


class _Stretch(NamedTuple):
    """Changes from one with the chain before it up to the next such one."""

    before: bytes
    changes: list[_Numbered]
    after: bytes | None
    """The chain behind them. None if it is not stored, or if rows between are damaged."""


def recover_words(ask: Ask, find_lines: FindLines) -> tuple[dict[int, str], list[str]]:
    """The words of a file by their numbers, and a sentence about each damaged or missing one."""
    rows: list[WordRow] = []
    index: dict[int, bytes] = {}
    with suppress(*_DAMAGED):
        rows = read_rows(ask)
    with suppress(*_DAMAGED):
        index = read_index(ask)
    words = {row.number: row.text.decode() for row in rows if row.is_sound}
    numbers = {row.number for row in rows} | set(index)
    if numbers and len(words) == max(numbers) + 1:
        return words, []
    search = _Search(ask, find_lines, [row for row in rows if not row.is_sound], index)
    return words, search.run(words)


class _Search:
    def __init__(
        self, ask: Ask, find_lines: FindLines, damaged: list[WordRow], index: dict[int, bytes]
    ) -> None:
        self._ask = ask
        self._find_lines = find_lines
        self._texts = {row.number: row.text for row in damaged}
        self._sums = {row.sum for row in damaged if row.has_sum}
        self._index = index
        self._stretches: dict[int, list[_Stretch]] = {}  # by lost acts
        self._changes: dict[int, list[_Numbered]] = {}  # by lost actors

    def run(self, words: dict[int, str]) -> list[str]:
        """Add the lost words that can be proven to `words`, and say what became of each."""
        actors = self._list_actors()
        self._find_uses(words)
        lost = sorted({*self._stretches, *self._changes, *self._texts, *self._index} - set(words))
        problems: list[str] = []
        is_new = True
        while is_new:  # one act can be the missing piece of the proof of another
            is_new = False
            for number in [one for one in lost if one not in words]:
                proven = self._prove_word(number, words, actors)
                if proven is not None:
                    words[number], proof = proven
                    problems.append(
                        f"words, {number}: damaged or missing; it was {words[number]!r}, as {proof}"
                    )
                    is_new = True
        return problems + [
            f"words, {number}: damaged or missing, and nothing proves what it was"
            for number in lost
            if number not in words and (number in self._stretches or number in self._changes)
        ]

    def _list_actors(self) -> list[str]:
        names = [LOCAL]
        for statement in _ACTORS:
            with suppress(*_DAMAGED):
                names += [text.decode() for (text,) in self._ask(statement, ())]
        return list(dict.fromkeys(names))

    # Uses
    # ----

    def _find_uses(self, known: dict[int, str]) -> None:
        """Find changes whose act or actor is lost."""
        with suppress(*_DAMAGED):
            for stretch in self._list_stretches():
                for change in stretch.changes:
                    row = change.row
                    if row.leaf:
                        continue
                    if row.act not in known:
                        self._note_stretch(row.act, stretch)
                    if row.actor not in known:
                        some = self._changes.setdefault(row.actor, [])
                        if len(some) < _PROOFS:
                            some.append(change)

    def _note_stretch(self, act: int, stretch: _Stretch) -> None:
        """Keep a stretch for a lost act: those that can prove it, if there are some."""
        some = self._stretches.setdefault(act, [])
        if stretch.after is not None and len(some) < _PROOFS and stretch not in some[-1:]:
            some.append(stretch)

    def _list_stretches(self) -> Iterator[_Stretch]:
        last: int = self._ask(_LAST, ())[0][0]
        epochs = Epochs.load_epochs(self._ask)
        stretch: _Stretch | None = None
        before, following = ("", ""), 1
        for start in range(1, last + 1, _AT_ONCE):
            for position, data in self._ask(_CHANGES, (start, start + _AT_ONCE)):
                if position != following and stretch:
                    yield stretch
                    stretch = None
                following = position + 1
                try:
                    row, chain = unpack_row(data, before if stretch else ("", ""))
                    if chain is None and stretch is None:
                        continue  # behind a damaged row
                    mark = epochs.find_mark(position)
                except (*_DAMAGED, IndexError):
                    if stretch:
                        yield stretch
                    stretch = None
                    continue
                if chain is not None:
                    if stretch:
                        yield stretch._replace(after=chain)
                    stretch = _Stretch(chain, [], None)
                if stretch:
                    stretch.changes.append(_Numbered(mark, row))
                before = row.at, row.first
        if stretch:
            yield stretch

    # Proofs
    # ------

    def _prove_word(
        self, number: int, words: dict[int, str], actors: list[str]
    ) -> tuple[str, str] | None:
        """A lost word and its proof, or None."""
        stored_texts = (self._index.get(number), self._texts.get(number))
        texts = [decode_word(text) for text in stored_texts if text is not None]
        known = [*ACTS, *actors, *self._list_authors(number, words)]
        candidates = list(dict.fromkeys([*(text for text in texts if text is not None), *known]))
        for text in candidates:
            if sum_values(number, text) in self._sums:
                return text, "its checksum says"
        for text in candidates:
            if self._continues_chain(number, words | {number: text}):
                return text, "the chain of the changes proves"
        for text in candidates:
            if self._gives_digest(number, words, text):
                return text, "the digest of a change proves"
        if len(texts) == len(stored_texts) and texts[0] == texts[1] and texts[0] in known:
            return texts[0], "the index of the words says, too"
        return None

    def _list_authors(self, number: int, words: dict[int, str]) -> list[str]:
        """The authors of the records of some changes whose actor is lost."""
        authors = []
        for change in self._changes.get(number, ()):
            act = words.get(change.row.act)
            if act is not None and act not in WITHOUT_RECORDS:
                with suppress(*_DAMAGED):
                    lines = self._find_lines(_make_change(change, act, ""))
                    authors += [stored.decode_stored(line).by for _, line in lines[:1]]
        return authors

    def _continues_chain(self, number: int, words: dict[int, str]) -> bool:
        """Return True if the changes with this act then lead to the next chain that is stored."""
        return any(_links(stretch, words) for stretch in self._stretches.get(number, ()))

    def _gives_digest(self, number: int, words: dict[int, str], text: str) -> bool:
        """Return True if a change has the digest that it has with this actor."""
        for change in self._changes.get(number, ()):
            salt = change.row.salt
            act = text if change.row.act == number else words.get(change.row.act)
            if salt is None or act is None:
                continue
            with suppress(*_DAMAGED):
                lines = self._find_lines(_make_change(change, act, text))
                if lines and digest_lines(salt, text, lines) == change.row.digest:
                    return True
        return False


def _make_scope(row: ChangeRow) -> Scope:
    return Scope(row.first, row.last, row.records, row.revision)


def _make_change(numbered: _Numbered, act: str, actor: str) -> Change:
    """The change without its chain, which finding its lines does not need."""
    mark, row = numbered
    numbering = Numbering()
    numbering.restart_at(mark.epoch, mark.number - 1, b"")
    return numbering.number_change(Deed(act, row.at, actor), _make_scope(row), row.digest, row.salt)


def _links(stretch: _Stretch, words: dict[int, str]) -> bool:
    """Return True if all acts of a stretch are known and lead to the chain behind it."""
    numbering = Numbering()
    first = stretch.changes[0].mark
    numbering.restart_at(first.epoch, first.number - 1, stretch.before)
    for _, row in stretch.changes:
        if row.leaf:
            numbering.count_leaf(row.leaf)
        elif row.act not in words:
            return False
        else:
            deed = Deed(words[row.act], row.at, "")
            numbering.count_change(deed, _make_scope(row), row.digest)
    return numbering.chain == stretch.after
