"""Reading: `get` bytes, `resolve` an identifier, `list` identifiers, `describe` one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from perdure.cli import exits, options
from perdure.cli.command import PerdureCommand, here
from perdure.cli.damage import DamageReport
from perdure.cli.output import note_other_type, output_file

if TYPE_CHECKING:
    from perdure.cli.fetching import Delivery
    from perdure.ids import Identifier
    from perdure.ids.name_set import NameSet
    from perdure.ids.named_parts import Name
    from perdure.parts import Selector
    from perdure.registry import Registry

_accept = click.option(
    "--accept", multiple=True, metavar="MEDIA/TYPE", help="Best first. Default: any format."
)
_nearest = click.option(
    "--nearest", is_flag=True, help="For a PWID, accept the nearest capture if none is exact."
)
_WANTS = ("I2L", "I2Ls", "I2R", "I2Rs", "I2C", "I2Ns")


@click.command(cls=PerdureCommand)
@click.argument("named", metavar="IDENTIFIER", type=options.NAMED)
@options.add_output("Write to FILE; it appears after its digest was checked.")
@click.option("--resolver", metavar="URL", help="Ask this resolver instead of the registry.")
@options.part
@click.option("--follow", is_flag=True, help="Fetch bytes that are elsewhere from their location.")
@_nearest
@_accept
def get(
    named: Name,
    output: str,
    resolver: str | None,
    follow: bool,
    nearest: bool,
    part: str | None,
    accept: tuple[str, ...],
) -> None:
    """Write the bytes that IDENTIFIER names to stdout, and check them on the way.

    Without a registry, the resolver of IDENTIFIER is discovered, as 'perdure discover' shows.

    If the bytes do not have their promised digest, the command fails, and with --output leaves no
    file. With --json a description of the bytes goes to stdout, so --output is needed.
    """
    from perdure.cli import archived, fetching, queries
    from perdure.ids.named_parts import join_part
    from perdure.ids.pwid import Pwid

    if here().as_json and output == "-":
        raise click.UsageError("with --json, stdout describes the output: give --output")
    identifier, part = join_part(named.identifier, named.part if part is None else part)
    found: Delivery
    if resolver is not None:
        if isinstance(identifier, Pwid) and part is None:
            found = archived.deliver_from_resolver(
                resolver, identifier, nearest=nearest, follow=follow
            )
        else:
            found = fetching.fetch_from_resolver(
                resolver, identifier, accept, follow=follow, part=part
            )
        if isinstance(found, fetching.DeliveredBytes) and found.verdict:
            here().print_note(archived.verdict_sentence(found.verdict))
        _write_delivery(found, output)
        return
    if not here().has_registry():
        from perdure.cli import remote

        _write_delivery(remote.deliver(identifier, part, accept, follow=follow), output)
        return
    with here().open_registry() as registry:
        resolved = registry.reading.resolve(
            queries.make_query(registry, identifier, accept, part=part, accepts_elsewhere=True)
        )
        if resolved.pwid is not None:
            pwid = resolved.pwid
            found, judgement = archived.deliver_pwid(registry, pwid, nearest=nearest, follow=follow)
            here().print_note(judgement.sentence)
            _write_delivery(found, output)
            return
        resolved.require_single()
        _write_delivery(fetching.fetch_from_registry(registry, resolved, follow=follow), output)


def _part_fields(selector: Selector | None) -> dict[str, object]:
    from perdure.parts import annotation

    if selector is None:
        return {}
    return {"reading": selector.reading, "selector": annotation.write_annotation(selector)}


def _write_delivery(delivery: Delivery, output: str) -> None:
    """Write bytes, or say why there are none."""
    from perdure.cli.fetching import AtLocation, DeliveredBytes, write_bytes

    if isinstance(delivery, DeliveredBytes):
        with output_file(output) as file:
            written = write_bytes(delivery, file)
        if delivery.promises and not delivery.sha512 and not delivery.sha256:
            here().print_note("no digest was promised, so none was checked")
        if delivery.media_type:
            note_other_type(output, delivery.media_type)
        if here().as_json:
            about = {
                "identifier": delivery.identifier,
                "length": written.length,
                "sha512": written.sha512,
            }
            here().print_answer(about | _part_fields(delivery.selector), "")
        return
    here().print_failure(delivery, delivery.sentence)
    gone = not isinstance(delivery, AtLocation)
    click.get_current_context().exit(exits.GONE if gone else exits.ELSEWHERE)


@click.command(cls=PerdureCommand)
@click.argument("identifier", type=options.IDENTIFIER)
@click.option(
    "--want",
    multiple=True,
    type=click.Choice(_WANTS, case_sensitive=False),
    default=("I2R",),
    metavar="SERVICE",
    help="Service of RFC 2483. Default: I2R; may be repeated.",
)
@_nearest
@_accept
@click.option("--language", multiple=True, metavar="TAG", help="Best first. Default: any language.")
@click.option("--region", metavar="WORD", help="Region of the reader, such as eu.")
def resolve(
    identifier: Identifier,
    want: tuple[str, ...],
    nearest: bool,
    accept: tuple[str, ...],
    language: tuple[str, ...],
    region: str | None,
) -> None:
    """Show what IDENTIFIER leads to.

    \b
    I2L   one location            I2R   what a reader would be given
    I2Ls  all locations           I2Rs  all that a reader could choose
    I2C   the description         I2Ns  all names of the same resource

    Without a registry, the resolver of IDENTIFIER is discovered and asked.

    For a PWID, prints a verdict and the capture that it is about; for a page all its resources, for
    a site all its captures, each with a verdict of its own. For a citation, prints its verdict.
    """
    import msgspec

    from perdure.cli import archived, queries, remote, steps
    from perdure.model.queries import Redirect, Step, Want

    if not here().has_registry():
        remote.print_resolved(identifier, want)
        return
    with here().open_registry() as registry:
        resolved = registry.reading.resolve(
            queries.make_query(
                registry,
                identifier,
                accept,
                languages=language,
                region=region,
                accepts_elsewhere=True,
            ),
        )
        if resolved.pwid is not None:
            here().print_answer(*archived.resolve_pwid(registry, resolved.pwid, nearest=nearest))
            return
        if resolved.is_citation:
            from perdure.cli import quotations

            quotations.print_report(registry, quotations.check_resolved(registry, resolved))
            return
        resolved.require_single()
        for one in map(Want, want):
            if one is Want.NAMES:
                names = [str(name) for name in registry.listings.list_resolved_names(resolved)]
                here().print_answer({"want": one.value, "names": names}, "\n".join(names))
                continue
            step: Step = resolved.choose(one)
            if isinstance(step, Redirect) and resolved.inside is not None:
                step = msgspec.structs.replace(step, identifier=resolved.asked)
            base = registry.settings.base_url
            fields = {"want": one.value} | steps.step_fields(step)
            here().print_answer(fields, steps.step_text(step, one, base=base))


@click.command("list", cls=PerdureCommand)
@click.argument("pattern", type=options.PATTERN, required=False)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    metavar="NUMBER",
    help="Print one page of this size. Default: everything.",
)
@click.option("--cursor", metavar="TEXT", help="Continue after the page that gave this cursor.")
@click.option("--intervals", is_flag=True, help="List the years, months or days that hold some.")
@click.option("--authorities", is_flag=True, help="List the authorities of known identifiers.")
@click.option("--every-name", "every", is_flag=True, help="List every name on a line of its own.")
def list_identifiers(
    pattern: NameSet | None,
    limit: int | None,
    cursor: str | None,
    intervals: bool,
    authorities: bool,
    every: bool,
) -> None:
    """List the identifiers that match PATTERN or are in an interval, in order (PDIs: of time).

    Without PATTERN, list the series of this registry, if it has only one. --authorities lists the
    authorities whose identifiers are known here, each as a PATTERN.

    \b
    pdi://oma.eop.gov.us/                      the whole series
    pdi://oma.eop.gov.us/1997/09/              everything named in September 1997
    pdi://oma.eop.gov.us/1997/09/*/*.text.*    all versions of it in plain text
    hdl:1839/*   ark:99999/fk4*   urn:isbn:*   all that begin so

    If several names name one thing (by alias, or because they have the same bytes), the first one
    is listed. The others follow it, each on a line that begins with "  also".

    Exits with 10 if no known identifier matches. Damaged records are reported on stderr, and the
    others listed; then it exits with 53.
    """
    if authorities and pattern is not None:
        raise click.UsageError("--authorities and PATTERN exclude each other")
    with here().open_registry() as registry:
        if authorities:
            _print_authorities(registry, limit, cursor)
            return
        pattern = registry.reading.follow_set(pattern or _find_only_series(registry))
        if intervals:
            found = registry.listings.list_interval(pattern)
            members = [str(one) for one in found.members]
            here().print_answer({"pattern": str(pattern), "members": members}, "\n".join(members))
        else:
            _print_pages(registry, pattern, limit, cursor, once=not every)


def _print_authorities(registry: Registry, limit: int | None, cursor: str | None) -> None:
    """Print one page of the authorities if a limit is given, otherwise all of them."""
    size = limit or registry.settings.page_size
    while True:
        found, cursor = registry.listings.list_authorities(cursor=cursor, limit=size)
        names = [str(one) for one in found]
        here().print_answer({"authorities": names, "cursor": cursor}, "\n".join(names))
        if cursor is None or limit is not None:
            break
    if cursor is not None:
        here().print_note(f"there is more: --cursor '{cursor}'")


def _find_only_series(registry: Registry) -> NameSet:
    """Return the names of the only series. Raises UsageError if there are several, or none."""
    from perdure.ids.name_set import read_set

    patterns = [f"pdi://{series}/" for series in registry.settings.series]
    if len(patterns) != 1:
        known = ", ".join(patterns) or "this registry has no series; see --authorities"
        raise click.UsageError(f"give a PATTERN: {known}")
    return read_set(patterns[0])


def _print_pages(
    registry: Registry, pattern: NameSet, limit: int | None, cursor: str | None, *, once: bool
) -> None:
    """Print one page if a limit is given, otherwise all pages. With `once`, other names of a thing
    follow its first name, indented."""
    size = limit or registry.settings.page_size
    damage = DamageReport()
    count = 0 if cursor is None else 1
    while True:
        page = registry.listings.list_page(pattern, cursor=cursor, limit=size, once=once)
        cursor = page.cursor
        for error in page.damaged:
            damage.add_error(error)
        names = [str(one) for one in page.identifiers]
        count += len(names)
        if cursor is None and not (count or damage):
            registry.listings.require_known(pattern)
        also = {name: [*map(str, others)] for name, others in page.also.items()}
        lines = [
            line
            for name in names
            for line in (name, *(f"  also {one}" for one in also.get(name, ())))
        ]
        fields = {"identifiers": names} | ({"also": also} if also else {}) | {"cursor": cursor}
        here().print_answer(fields, "\n".join(lines))
        if cursor is not None and limit is None:
            continue
        if cursor is not None:
            here().print_note(f"there is more: --cursor '{cursor}'")
        for held in registry.delegations.list_touching(pattern):
            here().print_note(f"incomplete: {held.delegation.resolvers[0].base} has the rest")
        damage.end_command()
        return


@click.command(cls=PerdureCommand)
@click.argument("names", metavar="IDENTIFIER", type=options.LISTED)
@click.option("--history", is_flag=True, help="All revisions of the record, oldest first.")
def describe(names: NameSet, history: bool) -> None:
    """Describe IDENTIFIER: versions, locations, metadata, tombstone.

    IDENTIFIER may be a pattern (hdl:1839/*) or a list of names (@FILE).
    """
    from perdure.cli import many

    with here().open_registry() as registry:
        for identifier in many.list_each(registry, many.find_pattern(names)):
            _describe_name(registry, identifier, history=history)


def _describe_name(registry: Registry, identifier: Identifier, *, history: bool) -> None:
    """Describe one name."""
    from perdure.cli import queries, steps
    from perdure.policy import naming

    resolved = registry.reading.resolve(queries.make_query(registry, identifier))
    resolved.require_single()
    if resolved.is_described_by_whole and not history:  # an ARK with a suffix
        resolved = registry.reading.resolve(queries.make_query(registry, resolved.whole))
    key, record = resolved.identifier.key, resolved.known
    if resolved.inside is not None:
        registry.documents.select_part(resolved)  # raises if the part is not there
    revisions = registry.reading.show_history(resolved) if history else [record]
    for one in revisions:
        name = naming.identify_record(key, one)
        here().print_answer(steps.record_fields(name, one), steps.record_text(name, one))
