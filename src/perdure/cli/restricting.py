"""Reading rules: `restrict`, `restrictions`, `import-restrictions`."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

import click

from perdure.cli import options
from perdure.cli.command import PerdureCommand, here
from perdure.cli.receipts import print_receipt
from perdure.errors.root import count_things
from perdure.model.matches import MATCHES

if TYPE_CHECKING:
    from perdure.model.reading_rules import ReadingRule


@click.command(cls=PerdureCommand)
@click.argument("subject")
@click.option("--open", "is_open", is_flag=True, help="Everyone may read it.")
@click.option("--token", is_flag=True, help="Bearers of a token with the right read may read it.")
@click.option(
    "--network",
    multiple=True,
    metavar="NETWORK",
    help="Readers in this network may read it: 10.1.0.0/16. Repeat it for several.",
)
@click.option("--until", metavar="DAY", help="From this day on everyone may read it: 2030-01-01.")
@click.option("--never", is_flag=True, help="No one may read it, except on this machine.")
@click.option(
    "--unavailable", is_flag=True, help="Not available for legal reasons, until you lift the rule."
)
@click.option("--lift", is_flag=True, help="Remove the rule about SUBJECT.")
@click.option("--part", metavar="PART", help="Only this part of SUBJECT.")
@click.option(
    "--captures",
    "match",
    type=click.Choice(MATCHES),
    help="SUBJECT is an address, and the rule is about the captures of it in all its spellings, of "
    "all addresses that begin with it, of its host, or of its domain.",
)
@click.option(
    "--from", "first", default="", metavar="TIME", help="Only captures since: 2014, 20140126."
)
@click.option("--to", "last", default="", metavar="TIME", help="Only captures until then.")
@click.option("--reason", default="", metavar="TEXT", help="Shown to readers who are refused.")
@options.add_actor("Who sets the rule")
def restrict(
    subject: str,
    is_open: bool,
    token: bool,
    network: tuple[str, ...],
    until: str | None,
    never: bool,
    unavailable: bool,
    lift: bool,
    part: str | None,
    match: str | None,
    first: str,
    last: str,
    reason: str,
    by: str | None,
) -> None:
    """Set a rule that says who may read SUBJECT.

    SUBJECT is a name, with or without version, format and part, or a scope as in tokens: a series,
    an interval or a pattern of PDIs, the beginning of names and an asterisk, or an asterisk alone.
    With --captures it is an address: the rule is about captures in the registry's own web archive.
    The most specific rule governs, then the newest. --token, --network and --until admit readers,
    and can be combined. Every face obeys the rule at once. People on this machine read everything.
    """
    from perdure.model.commands import Restrict
    from perdure.model.reading_rules import Access, ReadingRule
    from perdure.model.records import LOCAL

    chosen = [is_open, bool(token or network or until), never, unavailable, lift]
    if sum(chosen) != 1:
        raise click.UsageError(
            "give one of --open, --never, --unavailable and --lift, or some of --token, --network "
            "and --until"
        )
    access = Access.OPEN if is_open or lift else Access.CLOSED
    rule = ReadingRule(
        about=subject,
        part=part or "",
        match=match or "",
        first=first,
        last=last,
        access=Access.UNAVAILABLE if unavailable else access,
        until=until or "",
        by_token=token,
        networks=network,
        reason=reason,
        lifted=lift,
    )
    with here().open_registry() as registry:
        receipt = registry.door.execute_command(Restrict(rule=rule, by=by or LOCAL))
    print_receipt(receipt)


@click.command("import-restrictions", cls=PerdureCommand)
@click.argument("file", type=click.File("rb"))
@options.add_actor("Who sets rules that do not say who set them")
def import_restrictions(file: BinaryIO, by: str | None) -> None:
    """Set the rules in FILE, one JSON object a line, as `perdure restrictions --json` prints them.

    All lines are checked first. If one is malformed, no rule is set. A rule that is in force
    already stays as it is; a line with "lifted": true ends a rule.
    """
    from collections import Counter

    from perdure.model.records import LOCAL
    from perdure.upkeep.transfer.restrictions import import_rules, read_rules

    rules = read_rules(file)
    with here().open_registry() as registry:
        found = import_rules(registry.door, rules, by or LOCAL)
        outcomes = Counter(str(outcome) for _, outcome in found)
    counts = {name: outcomes[name] for name in ("created", "changed", "unchanged")}
    text = ", ".join(f"{count} {name}" for name, count in counts.items())
    total = count_things(len(rules), "rule")
    here().print_answer({"rules": len(rules)} | counts, f"{total}: {text}")


@click.command(cls=PerdureCommand)
@click.argument("subject", required=False)
@click.option("--all", "with_past", is_flag=True, help="Also rules that were replaced or lifted.")
def restrictions(subject: str | None, with_past: bool) -> None:
    """List the rules that say who may read what: all, or those about SUBJECT and its parts.

    If SUBJECT is an address, lists the rules about captures of it or of wider addresses.

    The oldest comes first.
    """
    import msgspec

    from perdure.policy.reading_rules import select_about, select_in_force

    with here().open_registry() as registry:
        last = registry.records.find_last_rule()
        found = registry.records.list_rules(limit=last)
    rules = found if with_past else select_in_force(found)
    if subject is not None:
        rules = select_about(rules, subject)
    for one in rules:
        fields = msgspec.to_builtins(one) | {"number": one.number}
        here().print_answer(fields, _describe_rule(one))
    here().end_list("no rules" if subject is None else f"no rules about {subject}")


def _describe_rule(rule: ReadingRule) -> str:
    words = [rule.about + (f"#{rule.part}" if rule.part else "")]
    if rule.match:
        span = f" from {rule.first or 'the first'} to {rule.last or 'the last'}"
        words.append(f"captures ({rule.match}{span if rule.first or rule.last else ''})")
    if rule.lifted:
        words.append("lifted")
    else:
        words.append(rule.access if rule.access != "closed" else _describe_readers(rule))
    words += ["by", rule.by, "at", rule.at]
    return " ".join(words) + (f": {rule.reason}" if rule.reason else "")


def _describe_readers(rule: ReadingRule) -> str:
    readers = [f"network {one}" for one in rule.networks]
    if rule.by_token:
        readers.append("token")
    if rule.until:
        readers.append(f"everyone from {rule.until}")
    return f"closed, except to {', '.join(readers)}" if readers else "closed"
