"""References to resources: `cite`, and `pwid cite` for archived web material."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from perdure.cli import options
from perdure.cli.addresses import find_actionable_url
from perdure.cli.command import PerdureCommand, here
from perdure.cli.damage import DamageReport
from perdure.cli.metadata import describe_resource, resolve_describable
from perdure.cli.pwid import load_archives, pwid

if TYPE_CHECKING:
    from perdure.archives.pwid.known import Archives
    from perdure.ids.name_set import NameSet
    from perdure.ids.named_parts import Name
    from perdure.ids.pwid import Pwid
    from perdure.model.about import About
    from perdure.registry import Registry

_style = click.option(
    "--style",
    default="apa",
    metavar="NAME",
    help="apa (default), mla, iso690, iso690-numeric, bibtex, ris, csl, or a CSL style.",
)
_locale = click.option(
    "--locale", default="en", metavar="TAG", help="Language of the citation. Default: en."
)


@click.command(cls=PerdureCommand)
@click.argument("named", metavar="IDENTIFIER", type=options.NAMED_SET)
@_style
@_locale
@options.url
@options.part
def cite(named: Name, style: str, locale: str, url: str | None, part: str | None) -> None:
    """Write IDENTIFIER as an entry of a reference list, with its actionable form.

    If IDENTIFIER is a pattern or an interval, write a bibliography: an entry for each identifier
    that 'perdure list' prints, in the same order; those that were withdrawn are left out. So
    '.../1.text.*' cites each version of this format.

    Without a registry, the resolver of IDENTIFIER is discovered and asked.

    A citation (citing@origin=cited) is written as a reference to the cited part, "quoted in" the
    citing document, if it is a quotation.

    \b
    perdure cite pdi://oma.eop.gov.us/2026/11/21/1
    perdure cite 'hdl:1839/*' --style bibtex
    perdure cite 'pdi://oma.eop.gov.us/2026/11/21/1.text.1#char=37,51' --locale fr
    perdure cite doi:10.1000/182 --style iso690-numeric
    """
    from perdure.cli import queries
    from perdure.metadata import citing

    if not here().has_registry() and named.names is None:
        _cite_remotely(named, style, locale, named.part if part is None else part)
        return
    with here().open_registry() as registry:
        query = queries.make_query(
            registry, named.identifier, part=named.part if part is None else part, names=named.names
        )
        resolved = registry.reading.resolve(query)
        if resolved.names is not None:
            if url is not None:
                raise click.UsageError("--url is the address of one resource, not of a pattern")
            _print_bibliography(registry, resolved.names, style, locale)
            return
        if resolved.is_citation:
            from perdure.cli import quotations

            text = quotations.cite_resolved(registry, resolved, style, locale, url)
            address = find_actionable_url(registry, resolved.asked, None)
        else:
            resolved.require_citable()
            what = describe_resource(registry, resolved, url)
            text = citing.write_citation(what, style, locale).rstrip()
            address = what.url
    here().print_answer(
        {
            "identifier": str(named.identifier),
            "url": address,
            "style": style,
            "locale": locale,
            "citation": text,
        },
        text,
    )


def _cite_remotely(named: Name, style: str, locale: str, part: str | None) -> None:
    """Print a citation from the resolver of a name."""
    from perdure.cli import remote

    text = remote.cite_remotely(named.identifier, part, style, locale)
    name = str(named.identifier)
    here().print_answer(
        {"identifier": name, "style": style, "locale": locale, "citation": text}, text
    )


def _print_bibliography(registry: Registry, names: NameSet, style: str, locale: str) -> None:
    """Print a citation of each identifier in a set. Raises NotFound if none is known."""
    from perdure.metadata import citing
    from perdure.reading.listing import walk_citable

    names = registry.listings.require_known(names)
    damage = DamageReport()
    texts = []
    for page in registry.listings.walk_pages(names, limit=registry.settings.page_size, once=True):
        for error in page.damaged:
            damage.add_error(error)
        for name, resolved in walk_citable(names, page, partial(resolve_describable, registry)):
            what = describe_resource(registry, resolved, None)
            text = citing.write_citation(what, style, locale).rstrip()
            if not here().as_json:
                texts.append(text)
            told: dict[str, object] = {"identifier": str(name), "url": what.url, "citation": text}
            if others := page.also.get(str(name)):
                told["also"] = [str(one) for one in others]
            here().print_answer(told, "")
    if texts:
        here().print_answer(None, citing.join_citations(texts, style).rstrip())
    damage.end_command()


@pwid.command("cite", cls=PerdureCommand)
@click.argument("identifier", type=options.PWID, metavar="PWID")
@_style
@_locale
@options.url
@click.option(
    "--title", metavar="TEXT", help="Title. Default: that of the archived page, or its address."
)
@click.option("--author", multiple=True, metavar="NAME", help="Family, Given; may be repeated.")
@click.option("--publisher", metavar="NAME", help="Who published it.")
@click.option("--date", metavar="DATE", help="Date of publication. Default: date of archiving.")
def pwid_cite(
    identifier: Pwid,
    style: str,
    locale: str,
    url: str | None,
    title: str | None,
    author: tuple[str, ...],
    publisher: str | None,
    date: str | None,
) -> None:
    """Write a reference to archived web material: the archive, the time, the PWID and its URL.

    For a page that this registry captured, title and author come from the page itself unless you
    give them. For pages of other archives, the command needs no registry and contacts no archive.

    \b
    perdure pwid cite pwid:archive.org:2016-01-22T11.20.29Z:page:http://www.dr.dk --style mla
    """
    from perdure.metadata import citing
    from perdure.model.records import Record
    from perdure.reading import described

    given = _read_description(title, author, publisher, date)
    name, address = _describe_archive(load_archives(), identifier)
    own, ours = _find_own_capture(identifier)
    link = url or address or ours
    if not link:
        here().print_note(_NO_ADDRESS)
        link = identifier.urn
    about = _complete_description(given, own, archive=name)
    what = described.describe_resource(identifier, Record(about=about), link)
    text = citing.write_citation(what, style, locale).rstrip()
    here().print_answer(
        {"identifier": str(identifier), "url": link, "style": style, "locale": locale,
         "citation": text},
        text,
    )  # fmt: skip


def _read_description(
    title: str | None, authors: tuple[str, ...], publisher: str | None, date: str | None
) -> About:
    """Make a description of the options of `pwid cite`. Raises InvalidRequest."""
    from perdure.model.about import About, DescriptionDate, DescriptionText, Publisher
    from perdure.model.description_checks import check_description
    from perdure.model.plain_words import parse_person

    return check_description(
        About(
            titles=(DescriptionText(value=title),) if title else (),
            creators=tuple(map(parse_person, authors)),
            publisher=Publisher(name=publisher) if publisher else None,
            dates=(DescriptionDate(value=date, kind="Issued"),) if date else (),
        )
    )


def _complete_description(given: About, own: About, *, archive: str) -> About:
    """Take from the description of our own capture the fields that were not given."""
    import msgspec

    return msgspec.structs.replace(
        given,
        titles=given.titles or own.titles,
        creators=given.creators or own.creators,
        publisher=given.publisher or own.publisher,
        dates=given.dates or own.dates,
        archive=archive,
    )


_NO_ADDRESS = "no address is known at which it can be followed: give --url, or set base_url"


def _find_own_capture(identifier: Pwid) -> tuple[About, str]:
    """Return the description of our own capture, and its address if our resolver has one."""
    from perdure import settings
    from perdure.archives.capture import titles
    from perdure.archives.pwid.answering import is_ours
    from perdure.archives.pwid.verdict import (
        CaptureVerdict,
        interpret_pwid,
        judge_evidence,
        look_up_evidence,
    )
    from perdure.model.about import About
    from perdure.reading.targets import spell_path

    if not (here().root / settings.FILE).exists():
        return About(), ""
    with here().open_registry() as registry:
        if not is_ours(registry.settings, identifier):
            return About(), ""
        base = registry.settings.base_url
        archive, wanted = registry.archive, interpret_pwid(identifier)
        judged = judge_evidence(wanted, look_up_evidence(archive.captures, wanted))
        if judged.verdict is not CaptureVerdict.EXACT or judged.capture is None:
            return About(), ""
        said = titles.describe_capture(archive.captures, archive.files, judged.capture)
        return said, f"{base}/{spell_path(identifier)}" if base else ""


def _describe_archive(archives: Archives, identifier: Pwid) -> tuple[str, str]:
    """Return the name of the archive and its playback address; empty if it is not known."""
    known = archives.find_archive(identifier.archive)
    name = known.name if known is not None else ""
    address = archives.make_playback_url(identifier) or archives.make_resolver_url(identifier) or ""
    return (f"{name} ({identifier.archive})" if name else identifier.archive), address
