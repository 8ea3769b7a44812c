"""`history`: the changes of an identifier, when, and by whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from perdure.cli import options
from perdure.cli.command import PerdureCommand, here, to_json

if TYPE_CHECKING:
    from perdure.ids import Identifier
    from perdure.model.records import Record


@click.command(cls=PerdureCommand)
@click.argument("identifier", type=options.IDENTIFIER)
def history(identifier: Identifier) -> None:
    """Show the history of IDENTIFIER: each revision, when, by whom, before and after.

    No entry can be removed: the registry itself refuses to change its history.
    """
    from perdure.cli import queries
    from perdure.policy.revisions import compare_revisions

    with here().open_registry() as registry:
        resolved = registry.reading.resolve(queries.make_query(registry, identifier))
        resolved.require_single()
        resolved.require_known()
        before: Mapping[str, Any] = {}
        for record in registry.reading.show_history(resolved):
            after = _show_record(record)
            changed = compare_revisions(before, after)
            about = {"revision": record.revision, "at": record.at, "by": record.by}
            lines = [f"{record.revision} {record.at} by {record.by or 'an unknown actor'}"]
            lines += [f"  {line}" for line in _change_lines(changed)]
            here().print_answer({**about, "changes": changed}, "\n".join(lines))
            before = after


def _show_record(record: Record) -> dict[str, Any]:
    """Return a record as its owner may see it: everything but its secrets."""
    import msgspec

    from perdure.cli.steps import drop_hidden
    from perdure.policy.handles.values import is_secret

    values = tuple(
        msgspec.structs.replace(one, data="") if is_secret(one) else one for one in record.values
    )
    shown = msgspec.to_builtins(msgspec.structs.replace(record, values=values))
    return dict(drop_hidden(shown))


def _change_lines(changed: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for name, change in changed.items():
        before, after = change["before"], change["after"]
        if isinstance(before, tuple) or isinstance(after, tuple):
            old, new = before or (), after or ()
            yield from (f"{name} - {to_json(one)}" for one in old if one not in new)
            yield from (f"{name} + {to_json(one)}" for one in new if one not in old)
            continue
        if before is not None:
            yield f"{name} - {to_json(before)}"
        if after is not None:
            yield f"{name} + {to_json(after)}"
