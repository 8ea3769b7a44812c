"""Withdrawals that name the documents with passages of what is withdrawn."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from tests.conftest import TODAY, Desk, text

pytest.importorskip("numpy")

from perdure.errors import Conflict
from perdure.ids import parse
from perdure.model.commands import Bind, Erase, Outcome, Receipt, Restrict, Withdraw
from perdure.model.queries import PUBLIC_READER
from perdure.model.reading_rules import Access, ReadingRule
from perdure.storage.spool import make_content
from perdure.upkeep import withdrawing
from perdure.upkeep.quotations import FILE
from perdure.upkeep.withdrawing import execute_command, execute_commands, find_quoting

SENTENCE = " ".join(f"word{number}" for number in range(15))
LETTER, MEMO = f"{TODAY}/1", f"{TODAY}/2.text.1"


@pytest.fixture
def quoted(desk: Desk) -> Desk:
    """A letter, a memorandum that quotes it and declares nothing, and another document."""
    desk.mint(text(f"Dear Sir, {SENTENCE}. Yours"))
    desk.mint(text(f"He wrote:\n> {SENTENCE.upper()}.\nSo he did."))
    desk.mint(text("Nothing of it."))
    return desk


def withdraw(desk: Desk, name: str = LETTER, **fields: object) -> Receipt:
    command = Withdraw(identifier=parse(name), reason="a court said so", by="ann")
    return execute_command(desk.registry, replace(command, **fields))


def test_who_withdraws_is_told_of_found_quotations(quoted: Desk) -> None:
    """Ruling tombstone-silence: "documents held here that contain a copy (composites, found
    quotations) are listed to the withdrawer and keep their bytes"."""
    receipt = withdraw(quoted)
    assert (receipt.outcome, receipt.quoted_in, receipt.unsearched) == (
        Outcome.CHANGED,
        (MEMO,),
        "",
    )
    assert quoted.served(f"{TODAY}/2").startswith(b"He wrote:")
    assert withdraw(quoted).quoted_in == ()  # nothing is read of what was withdrawn


def test_a_document_that_is_named_otherwise_is_not_named_twice(quoted: Desk) -> None:
    quoted.mint(text(f"Dear Sir, {SENTENCE}. Yours"))
    receipt = withdraw(quoted)
    assert (receipt.copies, receipt.quoted_in) == ((f"{TODAY}/4.text.1",), (MEMO,))


def test_only_the_texts_that_are_withdrawn_are_searched_for(quoted: Desk) -> None:
    quoted.commit(LETTER, text("Dear Madam, all is well."))
    assert withdraw(quoted, version=2).quoted_in == ()
    assert withdraw(quoted, f"{LETTER}.text.1").quoted_in == (MEMO,)


def test_names_that_are_withdrawn_together_do_not_name_each_other(quoted: Desk) -> None:
    quoted.mint(text(f"Once more: {SENTENCE}."))
    commands = [
        Withdraw(identifier=parse(f"{TODAY}/{number}"), reason="x", by="ann") for number in (1, 2)
    ]
    answers = execute_commands(
        quoted.registry, [*commands, Bind(identifier=parse(f"{TODAY}/9"), locations=())]
    )
    assert isinstance(answers[0], Receipt)
    assert isinstance(answers[1], Receipt)
    assert answers[0].quoted_in == answers[1].quoted_in == (f"{TODAY}/4.text.1",)
    assert isinstance(answers[2], Exception)


def test_an_erasure_says_it_too(quoted: Desk) -> None:
    quoted.reopen(erasure_persons=1)
    erase = Erase(identifier=parse(LETTER), reason="a court said so", by="ann")
    assert execute_command(quoted.registry, erase).quoted_in == (MEMO,)


def test_closed_documents_are_named_only_to_those_who_may_read_them(quoted: Desk) -> None:
    rule = ReadingRule(about=f"{TODAY}/2", access=Access.CLOSED)
    quoted.registry.door.execute_command(Restrict(rule=rule))
    command = Withdraw(identifier=parse(LETTER), reason="x", by="ann")
    assert find_quoting(quoted.registry, command, PUBLIC_READER).names == ()
    assert find_quoting(quoted.registry, command).names == (MEMO,)


def test_a_withdrawal_waits_for_no_long_index(
    quoted: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(withdrawing, "_MOST_BEHIND", 2)
    receipt = withdraw(quoted)
    assert (receipt.outcome, receipt.quoted_in) == (Outcome.CHANGED, ())
    assert receipt.unsearched == "the index of passages lacks 4 changes; 'perdure index' adds them"


def test_a_withdrawal_is_carried_out_without_the_index(quoted: Desk) -> None:
    (quoted.root / FILE).mkdir(parents=True)  # where a file should be
    receipt = withdraw(quoted)
    assert receipt.outcome is Outcome.CHANGED
    assert "index of passages" in receipt.unsearched


def test_what_has_no_text_says_nothing(desk: Desk) -> None:
    picture = make_content(b"\x89PNG\r\n\x1a\n", format="png", media_type="image/png")
    name = desk.mint(picture).identifier
    bound = desk.bind(f"{TODAY}/memo", "https://a.example/", register=True).identifier
    for one in (name, bound):
        receipt = withdraw(desk, one)
        assert (receipt.outcome, receipt.remarks) == (Outcome.CHANGED, {})


def test_a_refused_withdrawal_is_an_error(quoted: Desk) -> None:
    with pytest.raises(Conflict):
        withdraw(quoted, expect=7)
    assert quoted.served(LETTER).startswith(b"Dear")
