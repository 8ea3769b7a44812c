"""How the answer to a write is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perdure.cli.command import here

if TYPE_CHECKING:
    from perdure.model import Receipt


def answer(receipt: Receipt) -> None:
    """The identifier on stdout; a remark where nothing was written."""
    from perdure.model import Outcome

    place = here()
    place.answer(
        {
            "identifier": receipt.identifier,
            "outcome": str(receipt.outcome),
            "revision": receipt.revision,
            "replayed": receipt.replayed,
        },
        receipt.identifier,
    )
    if receipt.replayed:
        place.note("this is the answer to the first command with this idempotency key")
    elif receipt.outcome is Outcome.UNCHANGED:
        place.note("unchanged: it was so already")
