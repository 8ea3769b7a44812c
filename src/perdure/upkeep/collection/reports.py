"""Reports for people and programs: a check or a comparison as text, JSON and HTML. Pure.

How it works: JSON is the value itself, and `read_report` reads it again for a later comparison.
HTML is one self-contained page without script, written by Jinja, which escapes all values.

What must stay true: no text of a collection or an archive becomes markup, or a second line of the
text form; all forms say the same.
"""

from __future__ import annotations

import re
from functools import cache

import jinja2
import msgspec

from perdure.errors.records import quote_parser
from perdure.errors.root import count_things
from perdure.upkeep.collection.drift import Drift
from perdure.upkeep.collection.status import FAILED, Report

FORMS = ("text", "json", "html")
_NOT_IN_LINE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_decoder = msgspec.json.Decoder(Report)


def write_report(found: Report | Drift, form: str, *, line: bool = False) -> bytes:
    """Write a report in one of `FORMS`. `line`: write JSON on one line."""
    if form == "json":
        shown = msgspec.json.encode(msgspec.to_builtins(found) | {"counts": found.counts()})
        return (shown if line else msgspec.json.format(shown)) + b"\n"
    if form == "html":
        name = "check.html" if isinstance(found, Report) else "drift.html"
        return (
            _template_environment().get_template(name).render(found=found, failed=FAILED).encode()
        )
    lines = _check_lines(found) if isinstance(found, Report) else _drift_lines(found)
    return "".join(f"{_NOT_IN_LINE.sub(' ', line)}\n" for line in lines).encode()


def read_report(data: bytes) -> Report:
    """Read a check that was written as JSON. Raises InvalidMetadata."""
    try:
        return _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise quote_parser("check report", "msgspec", error) from error


def summarise_report(report: Report | Drift) -> str:
    """Return the counts of a report as text, such as `2 held, 1 gone`."""
    counts = ", ".join(f"{count} {what}" for what, count in report.counts().items())
    return counts or ("no members" if isinstance(report, Report) else "nothing changed")


def _check_lines(report: Report) -> list[str]:
    done = "ended" if report.ended else "stopped before its end, begun"
    counts = (
        f"{len(report.checked)} of {count_things(report.size, 'member')}, "
        f"{summarise_report(report)}"
    )
    lines = [
        f"{report.collection} {report.title}".rstrip(),
        f"check {done} {report.ended or report.begun}: {counts}",
        "",
    ]
    for one in report.checked:
        more = " ".join(filter(None, (one.where, one.detail)))
        lines.append(f"{one.number} {one.state.value}: {one.identifier}{f' ({more})' * bool(more)}")
    return lines


def _drift_lines(drift: Drift) -> list[str]:
    lines = [
        f"from {drift.before}",
        f"to {drift.after}",
        f"{count_things(drift.members, 'member')}, {summarise_report(drift)}",
        "",
    ]
    for one in drift.changes:
        what = f": {one.before} -> {one.after}" if one.before or one.after else ""
        lines.append(f"{one.number} {one.kind.value}: {one.identifier}{what}")
    return lines


@cache
def _template_environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("perdure.upkeep.collection", "pages"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
