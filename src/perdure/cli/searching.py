"""Finding documents by their words: `search`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from perdure.cli import exits, options
from perdure.cli.command import PerdureCommand, here
from perdure.cli.indexing import update_word_index
from perdure.errors.root import count_things

if TYPE_CHECKING:
    from perdure.registry import Registry
    from perdure.upkeep.searching.found import FoundDocument, FoundPage, MatchedPassage
    from perdure.upkeep.searching.updating import IndexState

_PLACES = ("title", "text", "metadata")


@click.command(cls=PerdureCommand)
@click.argument("words", nargs=-1)
@options.add_search_limits
@click.option("--limit", type=click.IntRange(min=1), default=10, help="Documents. Default: 10.")
@click.option("--cursor", metavar="NUMBER", type=click.IntRange(min=1), help="Continue there.")
@click.option("--update", is_flag=True, help="Bring the index up to date; search only if WORDS.")
@click.option("--rebuild", is_flag=True, help="Make the index again from nothing.")
@click.option("--no-update", "is_old", is_flag=True, help="Search the index as it is.")
@click.option("--follow", is_flag=True, help="Bring the index up to date after each change.")
@click.option("--unread", is_flag=True, help="List the documents whose text could not be read.")
def search(
    words: tuple[str, ...],
    limit: int,
    cursor: int | None,
    update: bool,
    rebuild: bool,
    is_old: bool,
    follow: bool,
    unread: bool,
    **limits: Any,
) -> None:
    """Find documents that contain all WORDS, the newest first, and the parts that contain them.

    Titles, descriptions and plain texts are searched, in every language. Accents and case make no
    difference. Put a phrase into quotation marks, and end the beginning of a word with an asterisk.
    Words after a minus sign must not occur; then put -- before WORDS.

    \b
    perdure search archive '"further notice"' 'presid*'
    perdure search --in title --from 1997 --to 1999-06 --format pdf budget
    perdure search -- budget -draft

    Withdrawn and closed documents are not found. The index follows the registry by itself: each
    search brings it up to date first. It can be deleted and is then made again. Exits with 10 if
    nothing is found.
    """
    from perdure.upkeep.searching.updating import Searching

    if not (words or update or rebuild or follow or unread):
        raise click.UsageError("give WORDS, or --update, --rebuild, --follow or --unread")
    if is_old and (update or rebuild or follow):
        raise click.UsageError("--no-update excludes --update, --rebuild and --follow")
    selection = options.make_selection(" ".join(words), **limits) if words else None
    with here().open_registry() as registry:
        if follow:
            _follow(registry)
            return
        if not is_old:
            update_word_index(registry, again=rebuild)
        searching = Searching(registry)
        if unread:
            _print_unread(searching)
        elif selection is None:
            _print_state(searching.find_state(), len(searching.list_unread()))
        else:
            from perdure.model.queries import LOCAL_READER

            found = searching.search(selection, LOCAL_READER, before=cursor, limit=limit)
            _print_page(found.page, found.state)


def _follow(registry: Registry) -> None:
    from perdure.upkeep.children import watch_parent
    from perdure.upkeep.searching.updating import follow_changes

    follow_changes(registry, watch_parent())


def _print_state(state: IndexState, unread: int) -> None:
    text = _describe_state(state)
    if unread:
        text += f"; {count_things(unread, 'document')} could not be read (--unread lists them)"
    here().print_answer({"index": state, "unread": unread}, text)


def _describe_state(state: IndexState) -> str:
    if state.behind == 0:
        return "the index is up to date"
    if state.behind is None:
        return "the index is behind the registry"
    return f"the index is {count_things(state.behind, 'change')} behind the registry"


def _print_unread(searching: Any) -> None:
    for one in searching.list_unread():
        here().print_answer(
            {"name": one.name, "problem": one.problem}, f"{one.name}: {one.problem}"
        )


def _print_page(page: FoundPage, state: IndexState) -> None:
    if here().as_json:
        here().print_answer({"found": page, "index": state}, "")
    else:
        for document in page.documents:
            here().print_answer(None, "\n".join(_write_document(document)))
        more = "more than " if page.is_more else ""
        here().print_note(f"found in {more}{count_things(page.count, 'document')}")
        if page.cursor is not None:
            here().print_note(f"there is more: --cursor {page.cursor}")
        if state.behind != 0:
            here().print_note(_describe_state(state))
    if not page.documents:
        click.get_current_context().exit(exits.NOTHING_FOUND)


def _write_document(document: FoundDocument) -> list[str]:
    about = [one for one in (document.day, document.media_type, document.title) if one]
    lines = [document.identifier, f"  {' · '.join(about)}"] if about else [document.identifier]
    for passage in document.passages:
        lines.append(f"    {_mark_hits(passage)}")
        lines += [f"    {one}" for one in dict.fromkeys(_list_parts(passage))]
    lines += [f"  also {one}" for one in document.also]
    return lines


def _list_parts(passage: MatchedPassage) -> list[str]:
    return [one.identifier for one in passage.hits if one.identifier is not None]


def _mark_hits(passage: MatchedPassage) -> str:
    """Write a passage in one line, with its hits between asterisks, or bold on a terminal."""
    pieces, at = [], 0
    for hit in passage.hits:
        pieces += [passage.text[at : hit.start], f"*{passage.text[hit.start : hit.stop]}*"]
        at = hit.stop
    shown = "".join((*pieces, passage.text[at:]))
    return " ".join("".join(one if one.isprintable() else " " for one in shown).split())
