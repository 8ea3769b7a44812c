"""The printed answer to a write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perdure.cli.command import here

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perdure.model.commands import Receipt
    from perdure.policy.advice import Advice


def print_receipt(receipt: Receipt, advice: Sequence[Advice] = ()) -> None:
    """Print the identifier on stdout, and remarks: if nothing was written, or only a proposal, the
    formats without a new version, and all advice."""
    from perdure.model.commands import Outcome

    place = here()
    place.print_answer(
        {
            "identifier": receipt.identifier,
            "outcome": str(receipt.outcome),
            "revision": receipt.revision,
            "replayed": receipt.replayed,
        }
        | receipt.remarks
        | ({"advice": advice} if advice else {}),
        receipt.identifier,
    )
    if receipt.replayed:
        place.print_note("this is the answer to the first command with this idempotency key")
    elif receipt.outcome is Outcome.UNCHANGED:
        place.print_note("unchanged: the record says so already")
    elif receipt.outcome is Outcome.PROPOSED:
        place.print_note(
            "proposed: it takes effect when a second person asks for the same, with this reason"
        )
    for name in receipt.left_behind:
        place.print_note(f"{name} has no new version: commit this format with the same --version")
    note_remaining(receipt)
    if receipt.dropped:
        place.print_note(f"not kept: {', '.join(receipt.dropped)}")
    if receipt.undescribed:
        place.print_note(
            f"this describes {receipt.identifier} alone; to describe all versions and formats, "
            f"describe {receipt.undescribed}"
        )
    for name in receipt.reading_aliases:
        place.print_note(f"{name} finds these bytes, too")
    for one in advice:
        place.print_note(f"advice: {one.text} ({one.rule})")


def note_remaining(receipt: Receipt) -> None:
    """Print which copies of what was withdrawn, and documents about it, are still served."""
    place = here()
    for name in receipt.copies:
        place.print_note(f"the same bytes are still held as {name}")
    for name in receipt.written_about:
        place.print_note(f"{name} is about it, or contains it, and is still served")
    for name in receipt.quoted_in:
        place.print_note(f"passages of it are also in {name}, which is still served")
    if receipt.unsearched:
        place.print_note(
            f"not all documents were searched for passages of it: {receipt.unsearched}"
        )
    if receipt.is_list_cut:
        place.print_note("there are more of them than these lists name")
