"""Withdrawals: `withdraw`, `erase`, `proposals`, `refuse`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from perdure.cli import options
from perdure.cli.command import PerdureCommand, here
from perdure.cli.receipts import print_receipt

if TYPE_CHECKING:
    from perdure.ids import Identifier
    from perdure.ids.name_set import NameSet
    from perdure.ids.named_parts import Name
    from perdure.model.records import Blank

_ELSEWHERE = (
    "backups that are not made again, exports, what readers and caches have copied, and mirrors "
    "until they read this change (docs/how-to/erase.md)"
)
_reason = click.option(
    "--reason",
    required=True,
    metavar="TEXT",
    help="The reason, shown on the tombstone, as typed.",
)
_silent = click.option(
    "--silent", is_flag=True, help="Show nothing of the metadata that people had given."
)
_keep_digest = click.option(
    "--keep-digest", is_flag=True, help="Go on showing the digests and lengths of the bytes."
)


@click.command(cls=PerdureCommand)
@click.argument("names", metavar="IDENTIFIER", type=options.LISTED)
@_reason
@options.add_actor("Who withdraws it")
@options.add_version("Withdraw only this version.")
@_silent
@_keep_digest
@click.option(
    "--apply",
    is_flag=True,
    help="For a pattern or a list: withdraw the names; without this they are shown.",
)
@options.expect
def withdraw(
    names: NameSet,
    reason: str,
    by: str | None,
    version: int | None,
    silent: bool,
    keep_digest: bool,
    apply: bool,
    expect: int | None,
) -> None:
    """Stop serving the bytes of IDENTIFIER, forever.

    The name stays, with a tombstone that gives the reason, as typed, and what people said of it. If
    IDENTIFIER names a version, only that version is withdrawn. The bytes are kept, but never served
    (erase overwrites them); what was computed from them is deleted. Other names of the same bytes
    are listed, documents about it, and documents with passages of it, at most 1,000 of each; they
    stay as they are.

    If the setting withdrawal_persons is 2, this command proposes the withdrawal, or carries out
    what another person has proposed over HTTP, for the same reason word for word. All commands on
    this machine come from one person, whatever --by says.

    IDENTIFIER may be a pattern (hdl:1839/*) or a list of names (@FILE). Then it prints the names
    that would be withdrawn, and withdraws them with --apply.
    """
    from perdure.cli import many
    from perdure.model.commands import Withdraw
    from perdure.model.records import LOCAL
    from perdure.upkeep.withdrawing import execute_command

    names = many.find_pattern(names)
    if many.is_set(names) and (version is not None or expect is not None):
        raise click.UsageError("--version and --expect are about one name, not a set of names")
    if apply and not many.is_set(names):
        raise click.UsageError(
            "--apply is for patterns and lists of names; one name is withdrawn at once"
        )
    with here().open_registry() as registry:
        if many.is_set(names):
            many.withdraw_many(
                registry,
                names,
                reason=reason,
                by=by or LOCAL,
                silent=silent,
                keep_digest=keep_digest,
                apply=apply,
            )
            return
        command = Withdraw(
            identifier=names.example,
            reason=reason,
            version=version,
            silent=silent,
            keep_digest=keep_digest,
            expect=expect,
            by=by or LOCAL,
        )
        receipt = execute_command(registry, command)
    print_receipt(receipt)


@click.command(cls=PerdureCommand)
@click.argument("named", metavar="IDENTIFIER", type=options.NAMED)
@_reason
@options.add_actor("Who erases it")
@options.add_version("Erase only this version.")
@click.option("--part", "spec", metavar="SPEC", help="Erase only the bytes of this part.")
@_silent
@_keep_digest
@options.expect
def erase(
    named: Name,
    reason: str,
    by: str | None,
    version: int | None,
    spec: str | None,
    silent: bool,
    keep_digest: bool,
    expect: int | None,
) -> None:
    """Overwrite the bytes of IDENTIFIER with zeros, where this registry keeps them.

    They are withdrawn first, unless that was done before. Their digests go, too, also those in the
    history of the record, unless you keep them on purpose. The segments stay valid, and the change
    informs mirrors. What cannot be reached is listed: backups, exports, copies under other names.
    If it was interrupted, repeat it. With --part, or if IDENTIFIER names a part, only its bytes are
    overwritten; its version is withdrawn.

    If IDENTIFIER is a PWID of your own archive, its captures are overwritten in the archive files
    in the registry directory, which stay valid, WACZ packages too. Records that cannot be
    overwritten are listed with the reason.

    Unless the setting erasure_persons is 1, this command proposes the erasure, or carries out what
    another person has proposed over HTTP. All commands on this machine come from one person.
    """
    from perdure.ids.named_parts import join_part
    from perdure.model.commands import Erase, Outcome
    from perdure.model.records import LOCAL
    from perdure.policy import naming
    from perdure.upkeep.withdrawing import execute_command

    identifier, part = join_part(named.identifier, named.part if spec is None else spec)
    whole = identifier.whole
    with here().open_registry() as registry:
        blanks: tuple[Blank, ...] = ()
        if part is not None or whole is not identifier:
            blanks = registry.documents.find_stretches(identifier, part, version)
            version = blanks[0].version
        command = Erase(
            identifier=naming.check_bindable(whole),
            reason=reason,
            version=version,
            blanks=blanks,
            silent=silent,
            keep_digest=keep_digest,
            expect=expect,
            by=by or LOCAL,
        )
        receipt = execute_command(registry, command)
    print_receipt(receipt)
    if receipt.outcome is not Outcome.PROPOSED:
        for place in receipt.unreached:
            here().print_note(f"not reached: {place}")
        here().print_note(f"not reached: {_ELSEWHERE}")


@click.command(cls=PerdureCommand)
@click.argument("identifier", type=options.IDENTIFIER)
@options.add_actor("Who refuses it")
@options.add_version("Refuse the withdrawal of only this version.")
@options.expect
def refuse(identifier: Identifier, by: str | None, version: int | None, expect: int | None) -> None:
    """Refuse the withdrawal that is proposed for IDENTIFIER.

    If IDENTIFIER names a version, or with --version, the withdrawal of this version is refused.
    """
    from perdure.model.commands import Refuse
    from perdure.model.records import LOCAL

    with here().open_registry() as registry:
        command = Refuse(identifier=identifier, version=version, expect=expect, by=by or LOCAL)
        receipt = registry.door.execute_command(command)
    print_receipt(receipt)


@click.command(cls=PerdureCommand)
def proposals() -> None:
    """List the withdrawals and erasures that one person has proposed and no second person has
    confirmed yet."""
    from perdure.cli import steps
    from perdure.model.timestamps import format_timestamp
    from perdure.policy.proposals import show_proposal

    with here().open_registry() as registry:
        for row in registry.listings.list_proposals(format_timestamp(registry.clock())):
            proposal = row.record.proposal
            if proposal is not None:
                words = f"{row.identifier} {steps.describe_proposal(proposal)}"
                here().print_answer(show_proposal(row), words)
    here().end_list("no proposed withdrawals or erasures")
