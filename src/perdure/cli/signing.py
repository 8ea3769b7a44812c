"""Signatures of documents: `statement`, `sign`, `attach-signature`, and `verify --signatures`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from perdure.cli import exits, options
from perdure.cli.command import PerdureCommand, here
from perdure.cli.output import output_file
from perdure.cli.paths import StatedPath
from perdure.cli.receipts import print_receipt
from perdure.errors.root import count_things

if TYPE_CHECKING:
    from perdure.ids.name_set import NameSet
    from perdure.ids.named_parts import Name
    from perdure.reading.signatures import HeldSignature
    from perdure.signing.signers import Signer

_FILE = StatedPath(exists=True, dir_okay=False, path_type=Path)
_STREAM = StatedPath(exists=True, dir_okay=False, allow_dash=True)
_role = click.option(
    "--role",
    type=click.Choice(["author", "issuer", "witness"]),
    default="author",
    show_default=True,
    help="The signer wrote the document, published it under this name, or saw it under this name.",
)
_series = click.option(
    "--series",
    metavar="SERIES",
    default="",
    help="Series in which the signature gets its own identifier. Default: that of IDENTIFIER.",
)


@click.command(cls=PerdureCommand)
@click.argument("named", metavar="IDENTIFIER", type=options.NAMED)
@click.option(
    "--key",
    type=_FILE,
    required=True,
    metavar="FILE",
    help="The public key that will sign it, of SSH or minisign.",
)
@_role
def statement(named: Name, key: Path, role: str) -> None:
    """Print the statement about IDENTIFIER that another program can sign.

    The statement names the version and format that IDENTIFIER names now, with the digest of the
    bytes. IDENTIFIER may also be a part, or an interval such as a month: then the statement is
    about the list of its documents.

    \b
    perdure statement ID --key KEY.pub > statement
    ssh-keygen -Y sign -n perdure-signature-v1 -f KEY statement
    (cat statement; echo; cat statement.sig) | perdure attach-signature ID -
    """
    from perdure.signing.signers import load_public_key
    from perdure.upkeep.signing import make_statement

    public = load_public_key(key)
    with here().open_registry() as registry:
        made = make_statement(registry, named, public.fingerprint, role)
    here().print_answer(
        {"statement": str(made), "identifier": made.identifier, "signer": made.signer},
        str(made).removesuffix("\n"),
    )


@click.command("allowed-signer", cls=PerdureCommand)
@click.argument("principal")
@click.option(
    "--key",
    type=_FILE,
    required=True,
    metavar="FILE",
    help="Public key: of OpenSSH, of minisign, in PEM, or in a certificate.",
)
@click.option("--valid-after", default="", metavar="TIME", help="From when it counts: 20261123Z.")
@click.option("--valid-before", default="", metavar="TIME", help="Until when it counts.")
def allowed_signer(principal: str, key: Path, valid_after: str, valid_before: str) -> None:
    """Print the line by which a list of allowed signers trusts a key of PRINCIPAL.

    PRINCIPAL names the signer, such as ann@a.example. The list is a document of the registry, which
    the setting allowed_signers names.
    """
    from perdure.signing.allowed import write_allowed_signer
    from perdure.signing.signers import load_public_key

    public = load_public_key(key)
    line = write_allowed_signer(
        principal, public, valid_after=valid_after, valid_before=valid_before
    )
    here().print_answer({"line": line, "signer": public.fingerprint}, line)


@click.command(cls=PerdureCommand)
@click.argument("named", metavar="IDENTIFIER", type=options.NAMED)
@click.option(
    "--key",
    type=_FILE,
    required=True,
    metavar="FILE",
    help="Private key: Ed25519 of OpenSSH or in PEM, or of minisign.",
)
@click.option(
    "--passphrase-file",
    type=_FILE,
    metavar="FILE",
    help="The first line is the passphrase of the key. Default: ask on a terminal.",
)
@_role
@_series
@options.add_actor("Who signs it")
def sign(
    named: Name,
    key: Path,
    passphrase_file: Path | None,
    role: str,
    series: str,
    by: str | None,
) -> None:
    """Sign the document that IDENTIFIER names, and store the signature.

    The signature is of a statement, which names the version and format that IDENTIFIER names now,
    so that it cannot be moved to another name. IDENTIFIER may also be a part, or an interval such
    as a month: then the statement is about the list of its documents. The signature becomes a
    document with an identifier of its own, which is printed; the signed document does not change.

    A signature that would not count is refused: the key must be in the list of allowed signers of
    the series (setting allowed_signers), if there is one.
    """
    from perdure.model.records import LOCAL
    from perdure.signing.document import join_signature
    from perdure.upkeep.signing import attach_signature, make_statement

    signer = read_signing_key(key, passphrase_file)
    with here().open_registry() as registry:
        made = make_statement(registry, named, signer.key.fingerprint, role)
        signed = join_signature(made, signer.sign_statement(made))
        receipt = attach_signature(
            registry, made.identifier, str(signed).encode(), series=series, by=by or LOCAL
        )
    print_receipt(receipt)
    here().print_note(f"signed {made.identifier} as {role} with {made.signer}")


def read_signing_key(key: Path, passphrase_file: Path | None) -> Signer:
    """Read a private key; ask for its passphrase if it needs one and there is a terminal."""
    from perdure.errors.signing import KeyLocked
    from perdure.signing.signers import LARGEST_FILE, read_signer

    with key.open("rb") as file:
        data = file.read(LARGEST_FILE)
    passphrase = None
    if passphrase_file is not None:
        with passphrase_file.open("rb") as file:
            passphrase = file.readline(LARGEST_FILE).rstrip(b"\r\n")
    try:
        return read_signer(data, passphrase)
    except KeyLocked:
        if passphrase is not None or not sys.stdin.isatty():
            raise
    asked: str = click.prompt(f"Passphrase of {key.name}", hide_input=True, err=True)
    return read_signer(data, asked.encode())


@click.command("attach-signature", cls=PerdureCommand)
@click.argument("named", metavar="IDENTIFIER", type=options.NAMED)
@click.argument("file", type=_STREAM)
@click.option(
    "--statement",
    "statement_file",
    type=_FILE,
    metavar="FILE",
    help="The statement, if FILE has only the signature.",
)
@click.option(
    "--time-stamp",
    "stamp_files",
    type=_FILE,
    multiple=True,
    metavar="FILE",
    help="Answer of a time-stamping authority about the signed statement (RFC 3161), or its token.",
)
@_series
@options.add_actor("Who attaches it")
def attach_signature(
    named: Name,
    file: str,
    statement_file: Path | None,
    stamp_files: tuple[Path, ...],
    series: str,
    by: str | None,
) -> None:
    """Store a signature of IDENTIFIER that another program made.

    FILE (- for stdin) has the statement, an empty line and the signature; or, with --statement,
    only the signature. The signature is refused if it does not count: if it was made by another key
    than the statement says, is about another name, other bytes or another use, or if its key is
    unknown, expired or revoked. It becomes a document with an identifier of its own, which is
    printed.

    A time stamp proves that the signature is older than the end of its key. It must be of the
    statement, the empty line and the signature, byte for byte, as 'perdure get' writes them, and by
    an authority whose certificate is in the document that the setting time_authorities names.
    """
    from perdure.ids.named_parts import join_part
    from perdure.model.records import LOCAL
    from perdure.signing.document import LONGEST
    from perdure.signing.stamps import LARGEST, write_blocks
    from perdure.upkeep import signing

    with click.open_file(file, "rb") as stream:
        data = stream.read(LONGEST + 1)
    if statement_file is not None:
        with statement_file.open("rb") as stream:
            data = stream.read(LONGEST + 1) + b"\n" + data
    found = []
    for one in stamp_files:
        with one.open("rb") as stream:
            found.append(stream.read(LARGEST + 1))
    data += write_blocks(found).encode()
    identifier, part = join_part(named.identifier, named.part)
    if part is not None:
        raise click.UsageError(f"identifiers such as {identifier} cannot name a part")
    with here().open_registry() as registry:
        receipt = signing.attach_signature(
            registry, identifier, data, series=series, by=by or LOCAL
        )
    print_receipt(receipt)


@click.command("export-signatures", cls=PerdureCommand)
@click.argument("pattern", type=options.PATTERN)
@options.add_output("Write to FILE; it appears when it is complete.")
def export_signatures(pattern: NameSet, output: str) -> None:
    """Write the signatures of the names of PATTERN, with all that is needed to verify them, as ZIP.

    The file has the statements, the signatures, the signed bytes, and all versions of the lists of
    allowed signers. 'perdure verify --signatures --bundle FILE' verifies it without the registry;
    ssh-keygen, minisign and openssl can verify its files, too.
    """
    from perdure.upkeep.signature_bundle import write_bundle

    if here().as_json and output == "-":
        raise click.UsageError("with --json, stdout describes the output: give --output")
    with here().open_registry() as registry, output_file(output) as target:
        count = write_bundle(registry, pattern, target)
    here().print_summary({"signatures": count}, f"{count_things(count, 'signature')} written")


def verify_signatures(pattern: NameSet | None) -> None:
    """Print the verdict on each signature of a set of names, or of the registry."""
    from perdure.upkeep.signing import walk_signatures

    with here().open_registry() as registry:
        _print_verdicts(walk_signatures(registry, pattern))


def verify_bundle(bundle: Path, allowed: Path | None, authorities: Path | None) -> None:
    """Print the verdict on each signature of a bundle."""
    from perdure.signing.allowed import parse_allowed_signers
    from perdure.upkeep import signature_bundle

    trusted = parse_allowed_signers(allowed.read_bytes()) if allowed else None
    certificates = authorities.read_bytes() if authorities else b""
    if trusted is None:
        here().print_note("the bundle itself says whose keys count; --allowed-signers is safer")
    _print_verdicts(signature_bundle.verify_bundle(bundle, trusted, certificates))


def _print_verdicts(signatures: Iterable[HeldSignature]) -> None:
    from perdure.reading.signatures import describe_signature
    from perdure.signing.verdict import SignatureVerdict

    count = bad = 0
    for held in signatures:
        count += 1
        bad += held.judgement.verdict is not SignatureVerdict.VALID
        here().print_answer(describe_signature(held), _write_verdict(held))
    here().print_summary(
        {"signatures": count, "problems": bad},
        f"{count_things(count, 'signature')} checked, {count_things(bad, 'problem')}",
    )
    if bad:
        click.get_current_context().exit(exits.FINDINGS)


def _write_verdict(held: HeldSignature) -> str:
    judgement, stated = held.judgement, held.signed.statement
    who = ", ".join(judgement.principals) or stated.signer
    reason = judgement.reason or judgement.proof
    line = f"{judgement.verdict}: {held.identifier} of {stated.identifier} by {who} ({stated.role})"
    return f"{line}: {reason}" if reason else line
