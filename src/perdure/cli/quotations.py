"""Citations on the command line: the verdict, the passage, and a reference to the quotation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from perdure.cli import exits
from perdure.cli.addresses import find_actionable_url
from perdure.cli.command import here
from perdure.model.verdicts import CitationReport, Verdict
from perdure.reading.citations import describing

if TYPE_CHECKING:
    from perdure.ids import Identifier
    from perdure.metadata.port import DescribedResource
    from perdure.reading.resolved import Resolved
    from perdure.registry import Registry


def find_passage(registry: Registry, resolved: Resolved) -> Resolved:
    """Return the passage that a citation names, or the cited part that is embedded there.

    Raises CitationNotFound or CitationUnverifiable if there is none.
    """
    from perdure.model.queries import Query

    named = describing.find_passage(check_resolved(registry, resolved))
    query = Query(identifier=named, reader=resolved.query.reader)
    return registry.reading.resolve(query, resolved.records_read)


def check_resolved(registry: Registry, resolved: Resolved) -> CitationReport:
    """Return the report on a citation that was resolved. Raises as `check_citation`."""
    return registry.citations.check_resolved(resolved)


def print_report(registry: Registry, report: CitationReport) -> None:
    """Print a verdict: a sentence, the passage and the differences."""
    fields = describing.write_fields(report, lambda name: find_actionable_url(registry, name, None))
    lines = [f"{report.verdict.value}: {describing.write_sentence(report)}"]
    if report.part is not None:
        lines.append(f"  {report.part}")
    lines += [f"  {one.cited or '-'} => {one.citing or '-'}" for one in report.changes]
    if report.more_changes:
        lines.append(f"  and {report.more_changes} more differences")
    here().print_answer(fields, "\n".join(lines))


def describe_resolved(registry: Registry, resolved: Resolved) -> DescribedResource:
    """Describe a quotation. Raises CitationNotFound or CitationUnverifiable."""
    return registry.quotation_citer.describe_quotation(
        resolved,
        check_resolved(registry, resolved),
        lambda name: find_actionable_url(registry, name, None),
    )


def verify_citation(registry: Registry, citation: Identifier) -> None:
    """Print the verdict on a citation, and exit with 0 only for a quotation."""
    from perdure.cli import queries

    resolved = registry.reading.resolve(queries.make_query(registry, citation))
    report = check_resolved(registry, resolved)
    print_report(registry, report)
    if report.verdict is Verdict.UNVERIFIABLE:
        error = describing.make_refusal(report)
        click.get_current_context().exit(exits.exit_code_of(error))
    if not report.verdict.is_quotation:
        click.get_current_context().exit(exits.FINDINGS)


def cite_resolved(
    registry: Registry, resolved: Resolved, style: str, locale: str, url: str | None
) -> str:
    """Return a reference to a quotation. Raises CitationNotFound or CitationUnverifiable."""
    if url is not None:
        raise click.UsageError("--url is the address of one resource, not of a citation")
    report = check_resolved(registry, resolved)
    describing.require_quotation(report)
    return registry.quotation_citer.cite_quotation(
        resolved,
        report,
        style,
        locale,
        lambda name: find_actionable_url(registry, name, None),
    )
