"""Names go from one registry to another, with all that they name: `hand-over`, `take-over`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from perdure.cli import options
from perdure.cli.command import PerdureCommand, here
from perdure.cli.paths import StatedPath
from perdure.errors.root import count_things

if TYPE_CHECKING:
    from perdure.ids.name_set import NameSet
    from perdure.signing.signers import Signer
    from perdure.upkeep.succession.handing import HandedOver
    from perdure.upkeep.succession.taking import TakenOver

_FILE = StatedPath(exists=True, dir_okay=False, path_type=Path)
_passphrase = click.option(
    "--passphrase-file",
    type=_FILE,
    metavar="FILE",
    help="The first line is the passphrase of the key. Default: ask on a terminal.",
)


@click.command("hand-over", cls=PerdureCommand)
@click.argument("names", metavar="NAMES", type=options.PATTERN)
@click.option(
    "--to",
    "urls",
    required=True,
    multiple=True,
    metavar="URL",
    help="Address of the successor: its base_url. Repeat it for its other addresses.",
)
@click.option("--first-day", metavar="DAY", default="", help="The first date in the names.")
@click.option(
    "--last-day", metavar="DAY", default="", help="The last date in the names: a past day."
)
@click.option(
    "-o",
    "--output",
    "place",
    type=StatedPath(path_type=Path),
    metavar="DIR",
    help="Write a package for a successor that cannot ask this registry.",
)
@click.option(
    "--key",
    type=_FILE,
    metavar="FILE",
    help="Sign the act with this private key: Ed25519 of OpenSSH or in PEM, or of minisign.",
)
@_passphrase
@click.option("--reason", metavar="TEXT", default="", help="Why, for people.")
@options.add_actor("Who hands over")
def hand_over(
    names: NameSet,
    urls: tuple[str, ...],
    first_day: str,
    last_day: str,
    place: Path | None,
    key: Path | None,
    passphrase_file: Path | None,
    reason: str,
    by: str | None,
) -> None:
    """Hand NAMES over to a successor, with their records, documents and history.

    NAMES is a series or an interval such as pdi://oma.eop.gov.us/1993/. From now on, this registry
    gives out none of them, and refers all readers to the successor, for ever. The successor runs
    'perdure take-over' with the address of this registry, or with the package.

    If it was interrupted, run the same command again.

    \b
    perdure hand-over pdi://oma.eop.gov.us/1993/ --to https://pid.archives.example --key KEY
    """
    from perdure.model.delegations import make_delegation, read_resolver
    from perdure.model.records import LOCAL
    from perdure.upkeep.succession import handing

    resolvers = tuple(read_resolver(url, priority=at * 10) for at, url in enumerate(urls, 1))
    made = make_delegation(
        names,
        resolvers,
        role="successor",
        first_day=first_day,
        last_day=last_day,
        reason=reason,
    )
    with here().open_registry() as registry:
        done = handing.hand_over(
            registry,
            made,
            signer=_read_signer(key, passphrase_file),
            place=place,
            by=by or LOCAL,
        )
    here().print_answer(done, done.statement)
    _describe_handed(done)


def _describe_handed(done: HandedOver) -> None:
    here().print_note(
        f"handed over: {count_things(done.records, 'record', grouped=True)}, "
        f"{count_things(done.documents, 'document', grouped=True)}, "
        f"{count_things(done.bytes, 'byte', grouped=True)}, up to change {done.head}"
    )
    if done.package is not None:
        here().print_note(f"package: {done.package.path}")
    if done.captures:
        here().print_note(
            f"{count_things(done.captures, 'capture', grouped=True)} of the web archive are not "
            "handed over"
        )
    if not done.signature:
        here().print_note("it is not signed; the successor must add --unsigned, or you --key")


@click.command("take-over", cls=PerdureCommand)
@click.argument("source", metavar="SOURCE")
@click.option(
    "--from-key",
    type=_FILE,
    metavar="FILE",
    help="The public key of the predecessor, which must have signed the act.",
)
@click.option("--unsigned", is_flag=True, help="Take over what the predecessor did not sign.")
@click.option(
    "--token-file",
    type=_FILE,
    metavar="FILE",
    help="A file with a token of the predecessor that has the right mirror for everything.",
)
@click.option(
    "--key",
    type=_FILE,
    metavar="FILE",
    help="Sign the act with this private key of your own.",
)
@_passphrase
@click.option("--dry-run", is_flag=True, help="Check the package, and take nothing over.")
@options.add_actor("Who takes over")
def take_over(
    source: str,
    from_key: Path | None,
    unsigned: bool,
    token_file: Path | None,
    key: Path | None,
    passphrase_file: Path | None,
    dry_run: bool,
    by: str | None,
) -> None:
    """Take over the names that another registry hands over to this one.

    SOURCE is the address of that registry, or a package that 'perdure hand-over' wrote. It is
    checked whole before anything is kept. Records keep their names, their history and the times in
    it; afterwards a new epoch begins, and names to come are given out here.

    If it was interrupted, run the same command again.
    """
    from perdure.model.records import LOCAL
    from perdure.signing.signers import load_public_key
    from perdure.upkeep.succession import taking
    from perdure.upkeep.succession.checking import check_package
    from perdure.upkeep.succession.fetching import fetch_package

    expected = None if from_key is None else load_public_key(from_key)
    package = Path(source)
    if source.lower().startswith(("http://", "https://")):
        secret = token_file.read_text("utf-8").strip() if token_file else ""
        with here().open_registry() as registry:
            package = fetch_package(registry, source, secret)
    if dry_run:
        checked = check_package(package, key=expected, may_be_unsigned=unsigned)
        said = checked.act.hand_over
        facts = {"signer": checked.signer, "records": said.records, "documents": said.documents}
        signed = f"signed by {checked.signer}" if checked.signer else "not signed"
        here().print_summary(facts, f"the package is whole, and {signed}")
        return
    done = taking.take_over(
        here().root,
        package,
        key=expected,
        may_be_unsigned=unsigned,
        signer=_read_signer(key, passphrase_file),
        by=by or LOCAL,
    )
    here().print_answer(done, done.take_over)
    _describe_taken(done, is_known=expected is not None)


def _describe_taken(done: TakenOver, *, is_known: bool) -> None:
    here().print_note(
        f"taken over: {done.names}, {count_things(done.records, 'record', grouped=True)}, "
        f"{count_things(done.documents, 'document', grouped=True)}; epoch {done.epoch} begins"
    )
    if done.signer and not is_known:
        here().print_note(
            f"signed by {done.signer}; compare it with the key of the predecessor, or name that "
            "with --from-key"
        )
    if done.series:
        here().print_note(f"names of {done.series} are given out here from now on")
    if done.captures:
        here().print_note(
            f"{count_things(done.captures, 'capture', grouped=True)} of its web archive stay there"
        )


def _read_signer(key: Path | None, passphrase_file: Path | None) -> Signer | None:
    if key is None:
        return None
    from perdure.cli.signing import read_signing_key

    return read_signing_key(key, passphrase_file)
