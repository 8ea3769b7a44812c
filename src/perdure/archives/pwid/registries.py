"""Import registries of archives from other projects, and export perdure's registry to them.

How it works: perdure reads MemGator's `archives.json` (a list of objects with `id`, `name`,
`timegate`, `timemap`), the Turtle of the PWID resolver of the German National Library (vocabulary
`https://w3id.org/pwid#`) and its own TOML. It writes Turtle and TOML.

What must stay true: nothing is invented. MemGator has no playback addresses, so entries from it
have none. The vocabulary has no words for raw records, aliases and access, so Turtle lacks them.
Entries that are read are `unverified`. An invalid entry raises an error that names it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

import msgspec

from perdure.archives.pwid.known import (
    Archive,
    Archives,
    Example,
    find_entry_fault,
    read_toml,
    utc_day,
)
from perdure.archives.pwid.making import write_pwid
from perdure.archives.pwid.playback import Pattern
from perdure.errors.records import ImportedArchiveInvalid, quote_parser
from perdure.errors.unavailable import import_library
from perdure.ids import pwid as pwids

VOCABULARY = "https://w3id.org/pwid#"
_SIX = "{{utc-year}}{{utc-month}}{{utc-day}}{{utc-hour}}{{utc-minute}}{{utc-sec}}"
_WORDS = ((_SIX, "{time}"), ("{{archived-uri}}", "{uri}"), ("{{pwid}}", "{pwid}"))
_TRIPLE = re.compile(r"\{\{\{([a-z-]+)\}\}\}")  # mustache's syntax for "do not escape"


def read_registry(text: str) -> tuple[Archive, ...]:
    """Read a registry in any of the three forms. Raises InvalidMetadata, BadSettings."""
    if text.lstrip("\ufeff \t\r\n").startswith(("[\n", "[ ", "[{", "[\r", "[]")):
        return read_memgator(text)
    if re.search(r"^\s*\[\[archive\]\]", text, re.MULTILINE):
        return read_toml(text, "the imported file")
    return read_turtle(text)


class _Memgator(msgspec.Struct):
    """An entry of archives.json; its other fields (`probability`) do not matter here."""

    id: str
    name: str = ""
    timegate: str = ""
    timemap: str = ""
    ignore: bool = False


def read_memgator(text: str) -> tuple[Archive, ...]:
    """Read MemGator's `archives.json`. Raises InvalidMetadata."""
    try:
        entries = msgspec.convert(json.loads(text), list[_Memgator])
    except (ValueError, msgspec.ValidationError) as error:
        parser = "msgspec" if isinstance(error, msgspec.ValidationError) else "json"
        raise quote_parser("MemGator", parser, error) from error
    return _check_archives(
        "MemGator",
        (
            Archive(
                id=one.id.lower(),
                name=one.name,
                timegate=f"{one.timegate}{{uri}}" if one.timegate else "",
                timemap=f"{one.timemap}{{uri}}" if one.timemap else "",
                note="MemGator asks clients not to use it" if one.ignore else "",
                sources=("memgator",),
            )
            for one in entries
        ),
    )


def read_turtle(text: str) -> tuple[Archive, ...]:
    """Read a registry in the `pwid#` vocabulary. Raises InvalidMetadata, Unavailable."""
    rdflib = _import_rdflib()
    graph = rdflib.Graph()
    try:
        graph.parse(data=text, format="turtle")
    except (SyntaxError, ValueError) as error:  # rdflib's BadSyntax is a SyntaxError
        line = getattr(error, "lines", None)
        raise quote_parser("Turtle", "rdflib", error, line and line + 1) from error
    kinds = graph.subjects(rdflib.RDF.type, rdflib.URIRef(f"{VOCABULARY}WebArchive"))
    return _check_archives("Turtle", (_read_node(rdflib, graph, one) for one in sorted(set(kinds))))


def write_turtle(archives: Iterable[Archive]) -> str:
    """Write a registry in the `pwid#` vocabulary, as the DNB's resolver reads it."""
    rdflib = _import_rdflib()
    graph = rdflib.Graph()
    graph.bind("pwid", rdflib.Namespace(VOCABULARY))
    for one in archives:
        _write_nodes(rdflib, graph, one)
    written: str = graph.serialize(format="turtle")
    return written


def write_toml(archives: Iterable[Archive]) -> str:
    """Write a registry in perdure's own form, for the setting `archives_file`."""
    return "\n".join(map(_write_toml_entry, archives))


def _check_archives(format: str, archives: Iterable[Archive]) -> tuple[Archive, ...]:
    found = tuple(archives)
    for one in found:
        if fault := find_entry_fault(one):
            raise ImportedArchiveInvalid(format=format, line=None, **fault)
    return found


def _import_rdflib() -> Any:
    return import_library("rdflib", task="RDF", extra="metadata")


# from Turtle
# -----------


def _read_node(rdflib: Any, graph: Any, node: Any) -> Archive:
    def find_value(subject: Any, word: str) -> Any:
        return graph.value(subject, rdflib.URIRef(VOCABULARY + word), any=True)

    def make_address(subject: Any) -> str:
        base, path = find_value(subject, "baseUrl"), find_value(subject, "pathPattern")
        return (
            f"{base}{_translate_slots(str(path))}" if base is not None and path is not None else ""
        )

    replay, resolver, cdx = (
        find_value(node, word) for word in ("replay", "resolver", "cdxEndpoint")
    )
    labels = sorted(
        graph.objects(node, rdflib.RDFS.label), key=lambda label: (label.language != "en", label)
    )
    form = make_address(replay) if replay is not None else ""
    shown = find_value(replay, "exampleIri") if replay is not None else None
    archive = Archive(
        id=str(find_value(node, "archiveId") or "").lower(),
        name=str(labels[0]) if labels else "",
        patterns=(Pattern(url=form),) if form else (),
        resolver=make_address(resolver) if resolver is not None else "",
        cdx=str(find_value(cdx, "baseUrl") or cdx) if cdx is not None else "",
        timegate=_read_memento(find_value(node, "mementoEndpoint"), find_value),
        sources=("turtle",),
    )
    return msgspec.structs.replace(archive, example=_make_example(archive, shown))


def _read_memento(endpoint: Any, one: Any) -> str:
    """Return the pattern of a TimeGate, which Turtle stores like a CDX endpoint."""
    return "" if endpoint is None else f"{one(endpoint, 'baseUrl') or endpoint}{{uri}}"


def _make_example(archive: Archive, shown: Any) -> Example | None:
    found = Archives((archive,)).read_playback_url(str(shown)) if shown is not None else ()
    return Example(pwid=str(found[0].pwid), url=str(shown)) if found else None


def _translate_slots(path: str) -> str:
    """Replace the slots of mustache with perdure's."""
    path = _TRIPLE.sub(r"{{\1}}", path)
    for theirs, ours in _WORDS:
        path = path.replace(theirs, ours)
    return path


# to Turtle
# ---------


def _write_nodes(rdflib: Any, graph: Any, archive: Archive) -> None:
    def make_term(name: str) -> Any:
        return rdflib.URIRef(VOCABULARY + name)

    node = rdflib.URIRef(f"https://{archive.id}/#wa")
    graph.add((node, rdflib.RDF.type, make_term("WebArchive")))
    graph.add((node, make_term("archiveId"), rdflib.Literal(archive.id)))
    if archive.name:
        graph.add((node, rdflib.RDFS.label, rdflib.Literal(archive.name)))
    example = archive.example
    for name, kind, form, shown in (
        ("replay", "ReplayGateway", _find_replay(archive), example and example.url),
        (
            "resolver",
            "Resolver",
            archive.resolver,
            example and write_pwid(pwids.parse_pwid(example.pwid), "urn"),
        ),
    ):
        if form:
            base, path = _split_form(form)
            # archives may share a replay, but not an entry: each archive has its own node
            gate = rdflib.URIRef(f"https://{archive.id}/#{name}")
            graph.add((node, make_term(name), gate))
            graph.add((gate, rdflib.RDF.type, make_term(kind)))
            graph.add((gate, make_term("baseUrl"), rdflib.Literal(base)))
            graph.add((gate, make_term("pathPattern"), rdflib.Literal(path)))
            if shown:
                graph.add((gate, make_term("exampleIri"), rdflib.URIRef(shown)))
    for name, form in (("cdxEndpoint", archive.cdx), ("mementoEndpoint", archive.timegate)):
        if form:
            base = form.removesuffix("{uri}")
            endpoint = rdflib.URIRef(base)
            graph.add((node, make_term(name), endpoint))
            graph.add((endpoint, make_term("baseUrl"), rdflib.Literal(base)))
            if name == "cdxEndpoint":
                graph.add((endpoint, rdflib.RDF.type, make_term("CdxEndpoint")))


def _find_replay(archive: Archive) -> str:
    """Return the playback pattern without the slot for collections, which Turtle cannot express."""
    pattern = archive.find_pattern_on(utc_day())
    if pattern is None or ("{collection}" in pattern.url and not pattern.collection):
        return ""
    return pattern.url.replace("{collection}", pattern.collection)


def _split_form(form: str) -> tuple[str, str]:
    at = form.rfind("/", 0, form.index("{")) + 1
    path = form[at:]
    for theirs, ours in _WORDS:
        path = path.replace(ours, theirs)
    return form[:at], path


# TOML
# ----


def _write_toml_entry(archive: Archive) -> str:
    fields = msgspec.to_builtins(archive)
    inner = {"example": fields.pop("example", None)}
    patterns = fields.pop("patterns", [])
    lines = ["[[archive]]", *(f"{name} = {_write_value(value)}" for name, value in fields.items())]
    for one in patterns:
        lines += [
            "[[archive.patterns]]",
            *(f"{name} = {_write_value(it)}" for name, it in one.items()),
        ]
    if inner["example"]:
        lines += ["[archive.example]"]
        lines += [f"{name} = {_write_value(value)}" for name, value in inner["example"].items()]
    return "\n".join(lines) + "\n"


def _write_value(value: object) -> str:
    # strings and lists of JSON are valid TOML, except for one character that JSON does not escape
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
