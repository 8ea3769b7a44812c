"""Delegations to other resolvers: `delegate`, `undelegate`, `delegations`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from perdure.cli import options
from perdure.cli.command import PerdureCommand, here
from perdure.cli.paths import StatedPath
from perdure.cli.receipts import print_receipt

if TYPE_CHECKING:
    from perdure.ids import Identifier
    from perdure.ids.name_set import NameSet
    from perdure.model.delegations import HeldDelegation
    from perdure.signing.signers import Signer

_FILE = StatedPath(exists=True, dir_okay=False, path_type=Path)
_key = click.option(
    "--key",
    type=_FILE,
    metavar="FILE",
    help="Sign it with this private key: Ed25519 of OpenSSH or in PEM, or of minisign. Needed if "
    "the names have a list of allowed signers.",
)
_passphrase = click.option(
    "--passphrase-file",
    type=_FILE,
    metavar="FILE",
    help="The first line is the passphrase of the key. Default: ask on a terminal.",
)
_reason = click.option("--reason", metavar="TEXT", default="", help="Why, for people.")


@click.command(cls=PerdureCommand)
@click.argument("names", metavar="NAMES", type=options.PATTERN)
@click.option(
    "--to",
    "urls",
    required=True,
    multiple=True,
    metavar="URL",
    help="Address of the resolver, up to the identifier. Repeat it for several; the first one is "
    "asked first.",
)
@click.option(
    "--protocol",
    type=click.Choice(["http", "thttp"]),
    default="http",
    show_default=True,
    help="http: identifiers are paths there, as in perdure; thttp: RFC 2169.",
)
@click.option(
    "--role",
    type=click.Choice(["resolver", "authority", "mirror", "successor"]),
    default="resolver",
    show_default=True,
    help="It only resolves the names; also assigns and changes them; has a copy; or has taken them "
    "over, so that it answers also for what is still here.",
)
@click.option(
    "--how",
    type=click.Choice(["redirect", "proxy", "refer"]),
    default="redirect",
    show_default=True,
    help="Send readers there (307), ask there and pass the answer on, or say who knows (300).",
)
@click.option("--subseries", is_flag=True, help="The series to the left of the series, too.")
@click.option("--first-day", metavar="DAY", default="", help="The first date in the names.")
@click.option("--last-day", metavar="DAY", default="", help="The last date in the names.")
@click.option(
    "--effective",
    metavar="DAY",
    default="",
    help="The first day, in UTC, on which it holds. Default: today, or tomorrow if names of today "
    "are given here that will be given there.",
)
@_reason
@_key
@_passphrase
@click.option(
    "--series",
    metavar="SERIES",
    default="",
    help="Series in which the delegation gets its identifier. Default: that of NAMES.",
)
@options.add_actor("Who delegates")
def delegate(
    names: NameSet,
    urls: tuple[str, ...],
    protocol: str,
    role: str,
    how: str,
    subseries: bool,
    first_day: str,
    last_day: str,
    effective: str,
    reason: str,
    key: Path | None,
    passphrase_file: Path | None,
    series: str,
    by: str | None,
) -> None:
    """Say that another resolver answers for NAMES, and print the identifier of the delegation.

    NAMES is a series, an interval or a pattern of PDIs, the beginning of identifiers such as
    hdl:4263537/ or 'ark:12148/b5*', or one identifier. What is here goes on answering readers,
    unless the other resolver is a successor. The delegation is a document, and one numbered change.

    \b
    perdure delegate 'pdi://press.oma.eop.gov.us/1993/' --to https://resolver.archives.example
    """
    from perdure.model.delegations import make_delegation, read_resolver
    from perdure.model.records import LOCAL
    from perdure.upkeep.delegating import delegate_names

    resolvers = tuple(
        read_resolver(url, kind=protocol, priority=place * 10) for place, url in enumerate(urls, 1)
    )
    made = make_delegation(
        names,
        resolvers,
        role=role,
        how=how,
        has_subseries=subseries,
        first_day=first_day,
        last_day=last_day,
        effective=effective,
        reason=reason,
    )
    signer = _find_signer(key, passphrase_file)
    with here().open_registry() as registry:
        receipt = delegate_names(registry, made, signer=signer, series=series, by=by or LOCAL)
    print_receipt(receipt)


@click.command(cls=PerdureCommand)
@click.argument("identifier", metavar="DELEGATION", type=options.IDENTIFIER)
@click.option(
    "--effective",
    metavar="DAY",
    default="",
    help="The first day, in UTC, on which it holds no more. Default: today.",
)
@click.option(
    "--first-day",
    metavar="DAY",
    default="",
    help="End it only for the names from this date on, at once; those before stay delegated.",
)
@click.option(
    "--abandon",
    is_flag=True,
    help="End a hand-over that the successor never took over, and never will.",
)
@_reason
@_key
@_passphrase
@options.add_actor("Who ends it")
def undelegate(
    identifier: Identifier,
    effective: str,
    first_day: str,
    abandon: bool,
    reason: str,
    key: Path | None,
    passphrase_file: Path | None,
    by: str | None,
) -> None:
    """End DELEGATION from a day on, and print the identifier of the revocation.

    DELEGATION is the identifier that 'perdure delegate' printed. The delegation stays readable, and
    the one that it had replaced holds again.
    """
    from perdure.model.records import LOCAL
    from perdure.upkeep.delegating import revoke_delegation

    signer = _find_signer(key, passphrase_file)
    with here().open_registry() as registry:
        receipt = revoke_delegation(
            registry,
            identifier,
            effective=effective,
            first_day=first_day,
            reason=reason,
            is_abandoned=abandon,
            signer=signer,
            by=by or LOCAL,
        )
    print_receipt(receipt)


@click.command(cls=PerdureCommand)
@click.argument("names", metavar="[NAMES]", required=False, type=options.PATTERN)
@click.option("--day", metavar="DAY", default="", help="Those that hold on this day, in UTC.")
@click.option("--all", "every", is_flag=True, help="Also those that ended, or hold later.")
def delegations(names: NameSet | None, day: str, every: bool) -> None:
    """List the delegations to other resolvers, or those that may be about NAMES."""
    from perdure.model.delegations import check_day
    from perdure.policy.delegating import list_replaced, may_overlap
    from perdure.reading.delegations import describe_delegation

    check_day("day", day)
    with here().open_registry() as registry:
        day = day or registry.delegations.today
        held = registry.delegations.list_all()
        replaced = list_replaced(held, day)
        for one in held:
            if not every and (not one.is_in_force(day) or one.identifier in replaced):
                continue
            if names is None or may_overlap(one.delegation, names):
                by = replaced.get(one.identifier)
                fields = describe_delegation(one, day) | {"replaced_by": by and str(by)}
                here().print_answer(fields, _describe_line(one, by))


def _describe_line(held: HeldDelegation, by: Identifier | None) -> str:
    said = held.delegation
    words = [str(said.names)]
    if said.has_subseries:
        words.append("with its subseries")
    if said.first_day or said.last_day:
        words.append(f"of {said.first_day or '…'} to {said.last_day or '…'}")
    words += [f"{said.role} {said.how}", *(one.base for one in said.resolvers)]
    words.append(f"from {held.effective}")
    if held.ended:
        words.append(f"until {held.ended}")
    if by is not None:
        words.append(f"replaced by {by}")
    return f"{held.identifier} {' '.join(words)}"


def _find_signer(key: Path | None, passphrase_file: Path | None) -> Signer | None:
    if key is None:
        return None
    from perdure.cli.signing import read_signing_key

    return read_signing_key(key, passphrase_file)
