"""Words of numbered changes that the disk damaged: what a rebuild finds again, and what it proves.

Each word is damaged in the bytes of the file, since SQL would change the index of the table, too.
What was written is known from the changes that were listed before.
"""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import apsw
import pytest
from msgspec.structs import replace
from tests.conftest import TODAY, Clock, Desk, copy_as_new, text

from perdure.errors.corruption import ChangeWordMissing
from perdure.model.changes import ACTS, Change
from perdure.model.commands import Restrict, SaveToken
from perdure.model.reading_rules import Access, ReadingRule
from perdure.model.records import LOCAL, Token
from perdure.registry import Registry
from perdure.storage.segments.store import Segments
from perdure.storage.sqlite.opening import FILE
from perdure.storage.sqlite.store import SqliteStore
from perdure.upkeep.changes.walking import check_changes
from perdure.upkeep.full_audit import audit_registry
from perdure.upkeep.transfer.renewal import rebuild_registry

NOW = "2026-11-22T00:00:00Z"
ROOT = Path(__file__).parents[2]
TOGETHER = 32  # changes, of which the first is stored with the chain before it


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory, pristine: Path) -> Path:
    """A registry with 8 changes by two actors."""
    return make_registry(copy_as_new(pristine, tmp_path_factory.mktemp("words") / "few"), 1)


@pytest.fixture(scope="module")
def longer(tmp_path_factory: pytest.TempPathFactory, pristine: Path) -> Path:
    """A registry with more changes than lie between two stored chains."""
    root = copy_as_new(pristine, tmp_path_factory.mktemp("words") / "many")
    return make_registry(root, TOGETHER)


def make_registry(root: Path, count: int) -> Path:
    desk = Desk(root, Clock())
    desk.mint(text("one"))
    desk.commit(f"{TODAY}/1", text("two"))
    for number in range(count):
        desk.bind(f"hdl:10.9999/{number}", "https://a.example", register=True, by="a librarian")
    desk.mint()
    desk.alias("hdl:10.9999/0", f"{TODAY}/1")
    desk.withdraw(f"{TODAY}/1.text.1")
    desk.registry.close()
    with contextlib.closing(apsw.Connection(str(root / FILE))) as connection:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    return root


def list_changes(root: Path) -> list[Change]:
    with Registry(root, environment={}) as registry:
        return registry.changes(limit=1000)


def find_word(root: Path, word: str) -> tuple[int, int]:
    """Its number, and its checksum."""
    with contextlib.closing(apsw.Connection(str(root / FILE))) as connection:
        number, sum = connection.execute("SELECT number, sum FROM words WHERE text=?", (word,)).get
        return number, sum


def damage_row(root: Path, word: str, how: str) -> None:
    """Flip a bit of the row of a word, or of both copies of the word and of its checksum."""
    number, sum = find_word(root, word)
    ending = sum.to_bytes((sum.bit_length() + 8) // 8)
    data = bytearray((root / FILE).read_bytes())
    row = word.encode() + ending
    assert data.count(row) == 1
    at = data.index(row)
    if how == "text":
        data[at + 1] ^= 1
    elif how == "not UTF-8":
        data[at + 1] ^= 0x80
    elif how == "checksum":
        data[at + len(row) - 1] ^= 4
    elif how == "number":
        assert data[at - 5] == number  # before four bytes that say the types of the columns
        data[at - 5] = 90
    else:
        entry = word.encode() + number.to_bytes() * (number > 1)  # SQLite stores no byte of 0 and 1
        index = data.index(entry) if data.index(entry) != at else data.index(entry, at + 1)
        data[at + 1] ^= 1
        data[at + len(row) - 1] ^= 4
        data[index + 1] ^= 1
    (root / FILE).write_bytes(data)


def rebuild(root: Path) -> list[str]:
    steps = list(rebuild_registry(root, SqliteStore(), Segments, now=NOW))
    return [step.problem for step in steps if step.problem]


def list_flaws(root: Path, *, against: Change | None = None) -> list[str]:
    with Registry(root, environment={}) as registry:
        head = against.head if against else None
        found = [one.problem for one in check_changes(registry.records, against=head)]
        return [one for one in (*found, *(f.problem for f in audit_registry(registry))) if one]


@pytest.mark.parametrize("word", ["begin", LOCAL, "a librarian", "commit", "register", "withdraw"])
@pytest.mark.parametrize("how", ["text", "not UTF-8", "checksum", "number"])
def test_a_damaged_word_loses_no_number(written: Path, place: Path, how: str, word: str) -> None:
    root = copy_as_new(written, place / "registry")
    before = list_changes(root)
    damage_row(root, word, how)
    assert list_flaws_of_damage(root)
    assert any(repr(word) in problem for problem in rebuild(root))
    after = list_changes(root)
    assert after[: len(before)] == before
    assert [(one.epoch, one.number, one.act) for one in after[len(before) :]] == [(2, 1, "begin")]
    assert list_flaws(root, against=before[-1]) == []


def list_flaws_of_damage(root: Path) -> list[str]:
    with Registry(root, environment={}) as registry:
        return [one.problem for one in audit_registry(registry) if one.problem]


@pytest.mark.parametrize("word", ["commit", "a librarian"])
def test_the_chain_or_a_digest_proves_a_word_of_which_nothing_is_left(
    longer: Path, place: Path, word: str
) -> None:
    """Neither copy of the word is left, nor its checksum. Act: the next chain that is stored, of
    change 33, covers it. Actor: the digest of each of its changes covers it."""
    root = copy_as_new(longer, place / "registry")
    before = list_changes(root)
    damage_row(root, word, "all")
    assert any(repr(word) in problem for problem in rebuild(root))
    assert list_changes(root)[: len(before)] == before
    assert list_flaws(root, against=before[-1]) == []


def test_an_act_that_nothing_proves_is_lost_and_said_to_be(longer: Path, place: Path) -> None:
    """The withdrawal is behind the last chain that is stored. Its number is lost, and those back to
    that chain; what they wrote gets numbers of the new epoch."""
    root = copy_as_new(longer, place / "registry")
    before = list_changes(root)
    assert before[-1].act == "withdraw"
    damage_row(root, "withdraw", "all")
    with Registry(root, environment={}) as registry, pytest.raises(ChangeWordMissing):
        registry.changes(limit=1000)
    found = " ".join(rebuild(root))
    assert "nothing proves what it was" in found
    assert f"from position {TOGETHER + 1} to {len(before)} are lost" in found
    after = list_changes(root)
    assert after[:TOGETHER] == before[:TOGETHER]
    lost = sum(one.count for one in before[TOGETHER:])
    assert [one.act for one in after[TOGETHER:]] == ["begin"] + ["rebuild"] * lost
    assert list_flaws(root) == []


def test_the_acts_are_those_that_are_documented() -> None:
    page = (ROOT / "docs/reference/changes.md").read_text(encoding="utf-8")
    table = page.partition("| act | meaning |\n| --- | --- |\n")[2].partition("\n\n")[0]
    cells = [row.split("|")[1] for row in table.splitlines()]
    assert sorted(ACTS) == sorted(re.findall(r"`([a-z-]+)`", " ".join(cells)))


def test_nothing_is_left_without_a_change_if_changes_are_lost(place: Path, pristine: Path) -> None:
    """Earlier revisions, changes of tokens and reading rules get new changes: else a later change
    would get the same place, and a mirror would never hear of the rule."""
    root = copy_as_new(pristine, place / "registry")
    desk = Desk(root, Clock())
    desk.bind("hdl:10.9999/1", "https://a.example", register=True)
    desk.bind("hdl:10.9999/1", "https://b.example")
    desk.bind("hdl:10.9999/1", "https://c.example")
    token = Token(name="t", digest="0" * 64, operations=("mint",), authorities=("*",))
    desk.registry.door.execute_command(SaveToken(token=token))
    rule = ReadingRule(about="hdl:10.9999/1", access=Access.CLOSED)
    desk.registry.door.execute_command(Restrict(rule=rule))
    desk.registry.close()
    with contextlib.closing(apsw.Connection(str(root / FILE))) as connection:
        connection.execute("DROP TRIGGER changes_stay")
        connection.execute("DELETE FROM changes WHERE position=2")
    assert rebuild(root)
    found = [(one.act, one.first, one.revision) for one in list_changes(root)]
    key = "hdl:10.9999/1"
    assert found[0] == ("begin", "", 0)
    assert sorted(found[1:]) == [
        *(("rebuild", key, revision) for revision in (1, 2, 3)),
        ("restrict", "rule:1", 1),
        ("token", "token:t", 1),
    ]
    assert [one for one in found if one[1] == key] == [("rebuild", key, 1 + at) for at in range(3)]
    desk = Desk(root, Clock())
    for number in range(2, 8):  # at the positions of the changes that were lost
        desk.bind(f"hdl:10.9999/{number}", "https://a.example", register=True)
    desk.registry.door.execute_command(SaveToken(token=replace(token, name="u", digest="1" * 64)))
    desk.registry.close()
    assert list_flaws(root) == []
