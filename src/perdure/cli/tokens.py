"""Tokens: permission for a program to write over HTTP, and its limits."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import click

from perdure.cli import options
from perdure.cli.command import PerdureGroup, here
from perdure.policy.operations import OPERATIONS

if TYPE_CHECKING:
    from perdure.model.records import Token

_ORDINARY = OPERATIONS[:7]
"""Default rights of a token: none of them grants rights or does what cannot be undone."""
_DAY = click.DateTime(("%Y-%m-%d",))
_TIME = click.DateTime(("%Y-%m-%d", "%Y-%m-%dT%H:%M:%SZ"))


@click.group(cls=PerdureGroup)
def token() -> None:
    """Tokens that let programs write over HTTP."""


@token.command()
@click.argument("name")
@click.option(
    "--operation",
    "operations",
    multiple=True,
    type=click.Choice(OPERATIONS),
    metavar="NAME",
    help=f"What it may do: {', '.join(OPERATIONS)}. Default: the first seven.",
)
@click.option("--series", multiple=True, type=options.SERIES, help="Series that it may write in.")
@click.option(
    "--authority",
    "authorities",
    multiple=True,
    metavar="NAME",
    help="Other authority; * for all, or a prefix with * for all that begin with it.",
)
@click.option("--first-day", type=_DAY, metavar="DAY", help="Only identifiers from this date on.")
@click.option("--last-day", type=_DAY, metavar="DAY", help="Only identifiers up to this date.")
@click.option(
    "--key",
    metavar="BASE64",
    help="Ed25519 public key, 32 bytes: its owner signs requests (RFC 9421) and has no secret.",
)
@click.option(
    "--expires",
    type=_TIME,
    metavar="TIME",
    help="Not valid from this time on: 2027-01-31 or 2027-01-31T12:00:00Z.",
)
def create(
    name: str,
    operations: tuple[str, ...],
    series: tuple[str, ...],
    authorities: tuple[str, ...],
    first_day: datetime | None,
    last_day: datetime | None,
    key: str | None,
    expires: datetime | None,
) -> None:
    """Make a token called NAME and print it, once; only its hash is kept."""
    from perdure.model.commands import SaveToken
    from perdure.model.records import Token
    from perdure.model.timestamps import format_timestamp
    from perdure.policy.tokens import digest_key, make_token, read_key
    from perdure.registry import utc_now

    scopes = (*series, *authorities)
    if not scopes:
        raise click.UsageError("give --series or --authority; --authority '*' for all")
    if expires and format_timestamp(expires) <= format_timestamp(utc_now()):
        raise click.UsageError("--expires is in the past: the token would never be valid")
    text, digest = make_token() if key is None else ("", digest_key(name, read_key(key)))
    made = Token(
        name=name,
        digest=digest,
        operations=operations or _ORDINARY,
        authorities=scopes,
        key=key or "",
        first_day=first_day.strftime("%Y-%m-%d") if first_day else None,
        last_day=last_day.strftime("%Y-%m-%d") if last_day else None,
        created=format_timestamp(utc_now()),
        expires=format_timestamp(expires) if expires else None,
    )
    with here().open_registry() as registry:
        registry.door.execute_command(SaveToken(token=made, new=True))
    if key is not None:
        here().print_answer({"name": name, "key": key}, f"{name} signs with {key}")
        return
    here().print_answer({"name": name, "token": text}, text)
    here().print_note("keep it safe: it is not shown again")


@token.command("list")
def list_tokens() -> None:
    """List all tokens, including revoked ones, without their secrets."""
    import msgspec

    with here().open_registry() as registry:
        for one in registry.records.list_tokens():
            fields = msgspec.to_builtins(one)
            del fields["digest"]
            here().print_answer(fields, _describe_token(one))
    here().end_list("no tokens; 'perdure token create' makes one")


def _describe_token(one: Token) -> str:
    parts = [one.name, ",".join(one.operations), "on", ",".join(one.authorities)]
    if one.first_day or one.last_day:
        parts += ["dated", f"{one.first_day or ''}/{one.last_day or ''}"]
    if one.expires:
        parts += ["expires", one.expires]
    if one.revoked:
        parts += ["revoked", one.revoked]
    return " ".join(parts)


@token.command()
@click.argument("name")
def revoke(name: str) -> None:
    """Revoke the token called NAME, at once and forever."""
    import msgspec

    from perdure.errors import NoSuchToken
    from perdure.model.commands import SaveToken
    from perdure.model.timestamps import format_timestamp
    from perdure.registry import utc_now

    with here().open_registry() as registry:
        found = registry.records.find_token_named(name)
        if found is None:
            raise NoSuchToken(identifier=name)
        if not found.revoked:
            found = msgspec.structs.replace(found, revoked=format_timestamp(utc_now()))
            registry.door.execute_command(SaveToken(token=found))
    here().print_answer({"name": name, "revoked": found.revoked}, f"{name} revoked {found.revoked}")


@token.command()
@click.argument("name")
def history(name: str) -> None:
    """Show the history of the token called NAME: when, by whom, before and after."""
    import json

    from perdure.errors import NoSuchToken
    from perdure.policy.revisions import compare_revisions

    with here().open_registry() as registry:
        past = registry.records.list_token_changes(name)
    if not past:
        raise NoSuchToken(identifier=name)
    for at, by, before, after in past:
        changed = compare_revisions(json.loads(before) if before else {}, json.loads(after))
        lines = [f"{at} by {by}"]
        lines += [f"  {field}: {one['before']} -> {one['after']}" for field, one in changed.items()]
        here().print_answer({"at": at, "by": by, "changes": changed}, "\n".join(lines))
