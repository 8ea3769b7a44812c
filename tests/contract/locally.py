"""Faces that are asked without a server: the command line, in this process, and Python.

How it works: each reads its answer by the question, as `tests.contract.over_http` does. A command
is told from its first word, for one question can be asked by several.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from click.testing import CliRunner, Result
from tests.contract.fixture import BASE, ENVIRONMENT, LABELS
from tests.contract.table import Cell, Outcome, fill_spelling
from tests.contract.terms import make_list, name_record, read_name_at, read_picture

from perdure import metadata
from perdure.cli import exits, perdure
from perdure.errors import PerdureError
from perdure.extractors.port import iterate_body
from perdure.ids import parse
from perdure.ids.named_parts import split_part
from perdure.ids.pdi import Pdi
from perdure.metadata.citing import write_citation
from perdure.model.queries import (
    PUBLIC_READER,
    Choices,
    Description,
    Fetch,
    Gone,
    Query,
    Redirect,
    Step,
    Want,
)
from perdure.reading.assertions import AssertionQuery
from perdure.reading.plain_texts import choose_text
from perdure.reading.resolved import Resolved
from perdure.reading.targets import spell_part_path, spell_part_uri, spell_path
from perdure.registry import Registry
from perdure.upkeep.asserting import resolve_subject
from perdure.upkeep.citations.asking import CitationsWanted, answer_citations
from perdure.upkeep.indexing import open_citations

# the command line
# ----------------


def run_command(root: Path, place: Path, cell: Cell, kind: dict[str, Any]) -> Outcome:
    """The outcome of a cell on the command line."""
    output, file = place / "output", place / "part"
    output.unlink(missing_ok=True)
    file.write_bytes(kind["answers"].get("part", {}).get("text", "").encode())
    spelled = fill_spelling(cell.spelling, {**kind, "output": str(output), "file": str(file)})
    words = shlex.split(spelled)
    runner = CliRunner(env=ENVIRONMENT | {"PERDURE_REGISTRY": str(root)})
    result = runner.invoke(perdure, [*words, "--json"])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    if result.exit_code not in (0, exits.FINDINGS):
        return _read_failure(result)
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    return COMMANDS[cell.question](rows, output)


def _read_failure(result: Result) -> Outcome:
    told = json.loads(result.stderr.splitlines()[-1])
    if result.exit_code == exits.ELSEWHERE:
        if told["resolver"]:
            return make_list([told["uri"]]) | {"is": "choices"}
        return {"is": "redirect", "to": told["uri"]}
    return {"is": "gone" if result.exit_code == exits.GONE else told["code"]}


def _read_delivery(rows: list[dict[str, Any]], output: Path) -> Outcome:
    """What `get --output` wrote, or the step that `resolve` tells."""
    row = rows[0]
    if "step" in row:
        return _read_step(row)
    data = output.read_bytes()
    if "selector" in row:
        return {"is": "part", "text": data.decode()}
    assert hashlib.sha512(data).hexdigest() == row["sha512"]
    return {"is": "bytes", "of": LABELS.get(row["sha512"], row["sha512"])}


def _read_step(row: dict[str, Any]) -> Outcome:
    match row["step"]:
        case "fetch":
            return {"is": "bytes", "of": LABELS[row["representation"]["sha512"]]}
        case "redirect":
            return {"is": "redirect", "to": read_name_at(row["location"]["uri"])}
        case "choices":
            found = [one["identifier"] for one in row["fetches"]]
            return make_list([*found, *(one["uri"] for one in row["locations"])])
        case "description":
            return {"is": "described", "as": name_record(row["identifier"])}
    return {"is": "gone"}


def _read_part(rows: list[dict[str, Any]], output: Path) -> Outcome:
    data = output.read_bytes()
    if data.startswith(b"\x89PNG"):
        return read_picture(data)
    if "selector" in rows[0]:
        return {"is": "part", "text": data.decode()}
    return _read_delivery(rows, output)


def _read_verdict(rows: list[dict[str, Any]], output: Path) -> Outcome:
    """The digest that `get` has checked, or that of a file that `verify-part` has compared."""
    row = rows[-1]
    if "same" in row:
        data = (output.parent / "part").read_bytes()
        label = LABELS[hashlib.sha512(data).hexdigest()]
        return {"is": "digest", "of": label if row["same"] else "other bytes"}
    return {"is": "digest", "of": LABELS[row["sha512"]]}


def _read_thing(rows: list[dict[str, Any]], output: Path) -> Outcome:
    return _as_choices(rows[0]) or _read_delivery(rows, output)


def _read_location(rows: list[dict[str, Any]], output: Path) -> Outcome:
    return _as_choices(rows[0]) or _as_location(_read_step(rows[0]))


def _as_choices(row: dict[str, Any]) -> Outcome | None:
    """The choice among other resolvers, if nothing is known here."""
    if row.get("step") != "choices" or row["fetches"]:
        return None
    return make_list(one["uri"] for one in row["locations"]) | {"is": "choices"}


def _as_location(step: Outcome) -> Outcome:
    """One place: the first of several. A description says that there is none."""
    if step["is"] == "described":
        return {"is": "no-location"}
    return {"is": "redirect", "to": step["of"][0]} if step["is"] == "list" else step


def _read_described(rows: list[dict[str, Any]], output: Path) -> Outcome:
    row = rows[0]
    return {"is": "described", "as": name_record(row.get("identifier") or row["pwid"])}


def _read_cited(rows: list[dict[str, Any]], output: Path) -> Outcome:
    return {"is": "cited", "as": read_name_at(json.loads(rows[0]["citation"])["URL"])}


def _read_record(rows: list[dict[str, Any]], output: Path) -> Outcome:
    return _read_datacite(rows[0]["record"])


def _read_datacite(text: str | bytes) -> Outcome:
    found = ElementTree.fromstring(text).find("{http://datacite.org/schema/kernel-4}identifier")
    assert found is not None
    return {"is": "metadata", "about": found.text}


COMMANDS: dict[str, Callable[[list[dict[str, Any]], Path], Outcome]] = {
    "bytes": _read_thing,
    "part": _read_part,
    "verify": _read_verdict,
    "verify part": _read_verdict,
    "location": _read_location,
    "locations": _read_delivery,
    "names": lambda rows, _: make_list(rows[0]["names"]),
    "description": _read_described,
    "citation": _read_cited,
    "metadata": _read_record,
    "history": lambda rows, _: {"is": "history", "revisions": len(rows)},
    "assertions": lambda rows, _: {"is": "assertions", "about": len(rows)},
    "listing": lambda rows, _: make_list(one for row in rows for one in row["identifiers"]),
    "members": lambda rows, _: make_list(row["identifier"] for row in rows),
    "cited by": lambda rows, _: make_list(row["citing"] for row in rows),
    "references": lambda rows, _: make_list(row["cited"] for row in rows),
    "text": lambda rows, _: {"is": "text", "text": rows[0]["text"]},
}


# Python
# ------


def call_python(registry: Registry, cell: Cell, kind: dict[str, Any]) -> Outcome:
    """The outcome of a cell in Python. The spelling names the function that is called."""
    try:
        return CALLS[cell.spelling](registry, kind)
    except PerdureError as error:
        return {"is": error.code}


def _resolve(
    registry: Registry,
    kind: dict[str, Any],
    part: str | None = None,
    *,
    accepts_elsewhere: bool = False,
) -> Resolved:
    name = split_part(kind["name"])
    return registry.reading.resolve(
        Query(
            identifier=name.identifier,
            part=part or name.part,
            doubt=name.doubt,
            accepts_elsewhere=accepts_elsewhere,
        )
    )


def _tell_step(step: Step) -> Outcome:
    match step:
        case Fetch(representation=held):
            return {"is": "bytes", "of": LABELS[held.sha512]}
        case Redirect(location=location):
            return {"is": "redirect", "to": location.uri}
        case Gone():
            return {"is": "gone"}
        case Choices(fetches=fetches, locations=locations):
            names = [str(one.identifier) for one in fetches]
            return make_list([*names, *(one.uri for one in locations)])
        case Description(identifier=identifier):
            return {"is": "described", "as": name_record(str(identifier))}


def _tell_choices(resolved: Resolved) -> Outcome | None:
    """The choice among other resolvers, if nothing is known here."""
    if resolved.elsewhere is None:
        return None
    return make_list(one.address for one in resolved.elsewhere.resolvers) | {"is": "choices"}


def _call_step(registry: Registry, kind: dict[str, Any]) -> Outcome:
    resolved = _resolve(registry, kind, accepts_elsewhere=True)
    if resolved.part is not None:
        return _cut_part(registry, resolved)
    return _tell_choices(resolved) or _tell_step(resolved.step)


def _call_part(registry: Registry, kind: dict[str, Any]) -> Outcome:
    resolved = _resolve(registry, kind, kind["part"], accepts_elsewhere=True)
    return _tell_choices(resolved) or _cut_part(registry, resolved)


def _cut_part(registry: Registry, resolved: Resolved) -> Outcome:
    step = resolved.step
    if isinstance(step, Choices):
        named = (spell_part_uri(one.identifier, resolved.part or "") for one in step.fetches)
        return make_list(named) | {"is": "choices"}
    if not isinstance(step, Fetch):
        return _as_location(_tell_step(step))
    source = registry.documents.open_source(step.identifier, step.representation)
    selector = registry.documents.find_selector(resolved.identifier, source, resolved.part_beside)
    found = registry.parts.cut_part(source, selector)
    data = b"".join(iterate_body(found.body, source))
    if found.media_type.startswith("image/"):
        return read_picture(data)
    return {"is": "part", "text": data.decode()}


def _call_digest(registry: Registry, kind: dict[str, Any]) -> Outcome:
    step = _resolve(registry, kind).step
    if not isinstance(step, Fetch):
        return _tell_step(step)
    data = registry.listings.read_bytes(step.representation)
    assert hashlib.sha512(data).hexdigest() == step.representation.sha512
    return {"is": "digest", "of": LABELS[step.representation.sha512]}


def _call_location(registry: Registry, kind: dict[str, Any]) -> Outcome:
    resolved = _resolve(registry, kind, accepts_elsewhere=True)
    return _tell_choices(resolved) or _as_location(_tell_step(resolved.choose(Want.LOCATION)))


def _call_description(registry: Registry, kind: dict[str, Any]) -> Outcome:
    return _tell_step(_resolve(registry, kind).choose(Want.DESCRIPTION))


def _address(resolved: Resolved) -> str:
    part = resolved.part_beside
    name = resolved.identifier
    return f"{BASE}/{spell_path(name) if part is None else spell_part_path(name, part)}"


def _call_citation(registry: Registry, kind: dict[str, Any]) -> Outcome:
    resolved = _resolve(registry, kind)
    described = registry.documents.describe_resolved(resolved, _address(resolved))
    text = write_citation(described, "csl", "en")
    return {"is": "cited", "as": read_name_at(json.loads(text)["URL"])}


def _call_metadata(registry: Registry, kind: dict[str, Any]) -> Outcome:
    resolved = _resolve(registry, kind)
    described = registry.documents.describe_resolved(resolved, _address(resolved))
    return _read_datacite(metadata.write_record(described, "datacite"))


def _call_history(registry: Registry, kind: dict[str, Any]) -> Outcome:
    resolved = _resolve(registry, kind)
    resolved.require_known()
    found = registry.reading.show_history(resolved)
    return {"is": "history", "revisions": len(found)}


def _call_assertions(registry: Registry, kind: dict[str, Any]) -> Outcome:
    query = AssertionQuery(name=resolve_subject(registry, parse(kind["name"])))
    return {"is": "assertions", "about": len(list(registry.assertions.walk_assertions(query)))}


def _call_listing(registry: Registry, kind: dict[str, Any]) -> Outcome:
    pattern = parse(kind["pattern"])
    assert isinstance(pattern, Pdi)
    return make_list(map(str, registry.listings.list_page(pattern).identifiers))


def _call_text(registry: Registry, kind: dict[str, Any]) -> Outcome:
    resolved = _resolve(registry, kind)
    step = choose_text(resolved)
    if isinstance(step, Gone):
        return {"is": "gone"}
    return {"is": "text", "text": registry.documents.read_text(resolved, step)}


def _call_citations(registry: Registry, kind: dict[str, Any], direction: str) -> Outcome:
    with open_citations(registry) as index:
        resolved = _resolve(registry, kind)
        wanted = CitationsWanted(direction)
        found = answer_citations(registry, index, resolved, wanted, PUBLIC_READER)
    if isinstance(found, Gone):
        return {"is": "gone"}
    return make_list(one.citing if direction == "citedby" else one.cited for one in found.citations)


CALLS: dict[str, Callable[[Registry, dict[str, Any]], Outcome]] = {
    "resolve().step": _call_step,
    "resolve(part).step": _call_part,
    "resolve().step.representation": _call_digest,
    "resolve().choose(LOCATION)": _call_location,
    "resolve().choose(LOCATIONS)": lambda registry, kind: _tell_step(
        _resolve(registry, kind, accepts_elsewhere=True).choose(Want.LOCATIONS)
    ),
    "listings.names_of(resolve())": lambda registry, kind: make_list(
        map(str, registry.listings.list_resolved_names(_resolve(registry, kind)))
    ),
    "resolve().choose(DESCRIPTION)": _call_description,
    "described(resolve()), cite": _call_citation,
    "described(resolve()), write": _call_metadata,
    "records.history": _call_history,
    "assertions.walk_assertions": _call_assertions,
    "listings.listing": _call_listing,
    "documents.read_text(resolve())": _call_text,
    "citations.listing(resolve(), citedby)": lambda registry, kind: _call_citations(
        registry, kind, "citedby"
    ),
    "citations.listing(resolve(), cites)": lambda registry, kind: _call_citations(
        registry, kind, "cites"
    ),
}
