"""Assertions: `assert`, `conjoin`, `assertions`, `retract`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from perdure.cli import options
from perdure.cli.command import PerdureCommand, here, to_json
from perdure.cli.paths import StatedPath
from perdure.cli.receipts import print_receipt

if TYPE_CHECKING:
    from perdure.ids import Identifier
    from perdure.ids.named_parts import Name
    from perdure.reading.assertions import HeldAssertion

_STREAM = StatedPath(exists=True, dir_okay=False, allow_dash=True)
_SCOPES = ("same", "part", "overlapping", "whole", "set")
_series = click.option(
    "--series",
    metavar="SERIES",
    default="",
    help="Series in which the assertion gets its identifier. Default: that of the first TARGET.",
)


@click.command("assert", cls=PerdureCommand)
@click.argument("targets", metavar="TARGET...", nargs=-1, type=options.NAMED_SET)
@click.option(
    "--motivation",
    "motivations",
    multiple=True,
    metavar="WORD",
    help="Why: commenting, questioning, retracts, supersedes …, a term such as cito:disputes, or "
    "an absolute IRI. Repeat it for several.",
)
@click.option("--body", metavar="TEXT", default="", help="What you say, as plain text.")
@click.option(
    "--file",
    type=_STREAM,
    metavar="FILE",
    help="A Web Annotation in JSON-LD (- for stdin), instead of TARGET, --motivation and --body.",
)
@click.option(
    "--lines",
    type=_STREAM,
    metavar="FILE",
    help="Many of them, one per line (- for stdin).",
)
@click.option(
    "--accept", metavar="ID", help="Make a proposal an assertion of its author, by its id."
)
@click.option("--refuse", metavar="ID", help="Delete a proposal, by its id.")
@_series
@click.option("--creator", metavar="IRI", default="", help="Who says it, as an IRI.")
@options.add_actor("Who asserts it")
def assert_(
    targets: tuple[Name, ...],
    motivations: tuple[str, ...],
    body: str,
    file: str | None,
    lines: str | None,
    accept: str | None,
    refuse: str | None,
    series: str,
    creator: str,
    by: str | None,
) -> None:
    """Assert something about each TARGET, and print the identifier of the assertion.

    TARGET is an identifier of any scheme, also a version, a format, a part, a citation, an
    interval, a pattern or another assertion. One of this registry must exist. The assertion becomes
    a document of its own, and what it is about does not change.
    """
    from perdure.model.assertions import LONGEST, write_assertion
    from perdure.model.records import LOCAL
    from perdure.model.timestamps import format_timestamp
    from perdure.upkeep.asserting import store_assertion

    said = bool(targets or motivations or body or creator)
    if sum((said, *(one is not None for one in (file, lines, accept, refuse)))) != 1:
        raise click.UsageError(
            "give TARGET and what you say of it, or one of --file, --lines, --accept and --refuse"
        )
    actor = by or LOCAL
    if accept is not None or refuse is not None:
        _settle_proposal(accept, refuse, actor)
        return
    if lines is not None:
        _store_lines(lines, series, actor)
        return
    with here().open_registry() as registry:
        if file is not None:
            with click.open_file(file, "rb") as stream:
                data = stream.read(LONGEST + 1)
        else:
            if not targets:
                raise click.UsageError("give at least one TARGET")
            data = write_assertion(
                tuple(map(_spell_target, targets)),
                motivations or (("commenting",) if body else ()),
                body=body,
                creator=creator,
                created=format_timestamp(registry.clock()),
            )
        receipt = store_assertion(registry, data, series=series, by=actor)
    print_receipt(receipt)


def _settle_proposal(accept: str | None, refuse: str | None, actor: str) -> None:
    from perdure.upkeep.proposing import accept_proposal, delete_proposal

    with here().open_registry() as registry:
        if accept is not None:
            print_receipt(accept_proposal(registry, accept, by=actor))
        elif refuse is not None:
            delete_proposal(registry, refuse)
            here().print_answer({"id": refuse, "outcome": "deleted"}, refuse)


def _spell_target(named: Name) -> str:
    from perdure.ids.named_parts import join_part

    if named.names is not None:
        raise click.UsageError(f"{named.names} is the beginning of identifiers, not an identifier")
    identifier, part = join_part(named.identifier, named.part)
    if part is not None:
        raise click.UsageError(f"identifiers such as {identifier} cannot name a part")
    return str(identifier)


def _store_lines(path: str, series: str, by: str) -> None:
    """Store the assertions of a file; report each line that is refused, and go on."""
    from perdure.cli import exits
    from perdure.errors.root import count_things
    from perdure.upkeep.asserting import store_assertions

    stored = refused = 0
    with here().open_registry() as registry, click.open_file(path, "rb") as stream:
        for line in store_assertions(registry, stream, series=series, by=by):
            if line.receipt is not None:
                stored += 1
                here().print_answer(
                    {"line": line.number, "identifier": line.receipt.identifier},
                    line.receipt.identifier,
                )
            else:
                refused += 1
                here().print_note(f"line {line.number}: {line.error}")
    here().print_summary(
        {"stored": stored, "refused": refused},
        f"{count_things(stored, 'assertion')} stored, {refused} refused",
    )
    if refused:
        click.get_current_context().exit(exits.FINDINGS)


@click.command(cls=PerdureCommand)
@click.argument("parts", metavar="PART...", nargs=-1, required=True, type=options.IDENTIFIER)
@click.option("--body", metavar="TEXT", default="", help="What the parts have in common.")
@_series
@options.add_actor("Who conjoins them")
def conjoin(parts: tuple[Identifier, ...], body: str, series: str, by: str | None) -> None:
    """Mint an identifier for several parts together, and print it.

    Each PART is the identifier of a part, with format and version; there are at least two. The
    document of the new identifier is an assertion that says which parts it stands for. So you can
    assert something about all of them together, sign them, and cite them by one name.
    """
    from perdure.model.records import LOCAL
    from perdure.upkeep.asserting import conjoin_parts

    with here().open_registry() as registry:
        receipt = conjoin_parts(registry, parts, body=body, series=series, by=by or LOCAL)
    print_receipt(receipt)


@click.command(cls=PerdureCommand)
@click.argument("named", metavar="[IDENTIFIER]", required=False, type=options.NAMED)
@click.option("--proposed", is_flag=True, help="List the proposals that wait to be accepted.")
@click.option("--by", metavar="NAME", default="", help="Only those of this actor.")
@click.option("--motivation", metavar="WORD", default="", help="Only those with this motivation.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(_SCOPES),
    help="Only those about exactly this, a part of it, a part that overlaps it, its whole, or a "
    "set that it belongs to. Repeat it for several.",
)
@click.option("--standing", is_flag=True, help="Leave out those that were retracted.")
@click.option(
    "--form",
    type=click.Choice(["text", "page", "array"]),
    default="text",
    help="page: an AnnotationPage in JSON-LD; array: the annotations as a JSON array.",
)
def assertions(
    named: Name | None,
    proposed: bool,
    by: str,
    motivation: str,
    scopes: tuple[str, ...],
    standing: bool,
    form: str,
) -> None:
    """List the assertions about IDENTIFIER, about its versions, formats and parts, about what it is
    a part of, and about intervals and patterns that it belongs to.

    Each line says how it is about IDENTIFIER: same, part, overlapping, whole or set. With
    --proposed, list the assertions that people without the right to make them have proposed.
    """
    from perdure.ids import parse
    from perdure.model.assertions import find_iri
    from perdure.model.queries import LOCAL_READER
    from perdure.policy.assertion_scope import AssertionScope
    from perdure.reading.annotation_pages import write_annotations, write_page
    from perdure.reading.assertions import AssertionQuery, describe_assertion
    from perdure.upkeep.asserting import resolve_subject

    if (named is None) != proposed:
        raise click.UsageError("give IDENTIFIER, or --proposed")
    if named is None:
        _list_proposals(by)
        return
    with here().open_registry() as registry:
        query = AssertionQuery(
            name=resolve_subject(registry, parse(_spell_target(named))),
            reader=LOCAL_READER,
            by=by,
            motivation=find_iri(motivation) if motivation else "",
            scopes=frozenset(map(AssertionScope, scopes or _SCOPES)),
            is_standing=standing,
        )
        found = registry.assertions.walk_assertions(query)
        base = registry.settings.base_url
        if form == "page":
            click.echo(to_json(write_page(str(query.name), list(found), base)))
        elif form == "array":
            click.echo(to_json(write_annotations(list(found), base)))
        else:
            for held in found:
                here().print_answer(describe_assertion(held), _describe_line(held))
            here().end_list(f"no assertions about {query.name} found")


def _list_proposals(by: str) -> None:
    from perdure.upkeep.proposing import describe_proposal, list_proposals

    with here().open_registry() as registry:
        for one in list_proposals(registry):
            if by in ("", one.by):
                about = " ".join(target.iri for target in one.assertion.targets)
                words = (one.id, *one.assertion.words, "by", one.by, "at", one.at)
                here().print_answer(describe_proposal(one), f"{' '.join(words)}: {about}")
    here().end_list("no proposed assertions")


def _describe_line(held: HeldAssertion) -> str:
    words = [held.identifier, held.scope, *held.assertion.words, "by", held.by, "at", held.at]
    line = " ".join(map(str, words))
    if held.retracted_by:
        line += f", retracted by {held.retracted_by[0]}"
    body = held.assertion.body_text
    return f"{line}: {body}" if body else line


@click.command(cls=PerdureCommand)
@click.argument("identifier", type=options.IDENTIFIER)
@click.argument("reason", default="")
@options.add_actor("Who made the assertion, and retracts it")
def retract(identifier: Identifier, reason: str, by: str | None) -> None:
    """Retract the assertion IDENTIFIER by a further assertion, which gives REASON.

    Only the actor who made an assertion can retract it. It stays, and is marked as retracted.
    """
    from perdure.model.records import LOCAL
    from perdure.upkeep.asserting import retract_assertion

    with here().open_registry() as registry:
        receipt = retract_assertion(registry, identifier, reason, by=by or LOCAL)
    print_receipt(receipt)
