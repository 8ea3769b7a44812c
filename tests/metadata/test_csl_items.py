"""CSL-JSON keeps what it brings, and gives no date that no one has stated (ruling cite-date)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from perdure import metadata
from perdure.errors.describing import UnknownCitationStyle
from perdure.ids import parse
from perdure.metadata.citing import write_citation
from perdure.metadata.csl import make_item
from perdure.metadata.port import DescribedResource
from perdure.model.about import About, Agent, DescriptionDate, DescriptionText, Publisher
from perdure.model.records import Record, Representation, Version
from perdure.reading.described import describe_resource

URL = "https://pid.example/hdl:1839/1"
NAME = parse("hdl:1839/1")
POUSSIN = {"family": "Poussin", "given": "Charles", "dropping-particle": "de la Vallée"}

KEPT: list[dict[str, Any]] = [
    {"type": "report", "number": "TR-7"},
    {"type": "patent", "number": "US 7,347,809", "authority": "USPTO"},
    {"type": "book", "volume": "3", "number-of-volumes": "12"},
    {"type": "book", "original-date": {"date-parts": [[1813]]}},
    {"type": "webpage", "accessed": {"date-parts": [[2024, 5, 1]]}},
    {"type": "paper-conference", "event": "CHI", "event-place": "Paris"},
    {"type": "review-book", "reviewed-title": "T", "reviewed-author": [{"family": "Doe"}]},
    {"type": "book", "issued": {"date-parts": [[1900]], "circa": True}},
    {"type": "book", "issued": {"date-parts": [[2020]], "season": 2}},
    {"type": "book", "issued": {"literal": "the year of the flood"}},
    {"type": "book", "author": [POUSSIN]},
    {"type": "book", "author": [{"family": "Alembert", "dropping-particle": "d'"}]},
    {"type": "article-journal", "ISSN": "1234-5678"},
    {"type": "dataset", "note": "first line\nsecond line"},
    *(
        {"type": kind}
        for kind in (
            "article-newspaper",
            "article-magazine",
            "manuscript",
            "map",
            "patent",
            "speech",
            "entry-encyclopedia",
            "post-weblog",
            "legislation",
            "interview",
            "personal_communication",
            "broadcast",
            "review",
        )
    ),
]


def describe(item: dict[str, Any]) -> DescribedResource:
    about = metadata.read_record(msgspec.json.encode(item), "csl")
    return describe_resource(NAME, Record(about=about), URL)


@pytest.mark.parametrize("item", KEPT, ids=str)
def test_an_item_comes_back_with_its_variables(item: dict[str, Any]) -> None:
    given = item | {"title": "T"}
    written = msgspec.json.decode(metadata.write_record(describe(given), "csl"))
    assert written["note"].removesuffix("PID: hdl:1839/1").strip() == given.get("note", "")
    back = {name: value for name, value in written.items() if name not in ("id", "URL", "note")}
    assert back == {name: value for name, value in given.items() if name != "note"}
    again = metadata.read_record(metadata.write_record(describe(given), "csl"), "csl")
    assert again.variables == describe(given).about.variables


def test_a_description_that_was_changed_outweighs_what_was_kept() -> None:
    what = describe({"type": "map", "title": "T", "author": [POUSSIN]})
    changed = msgspec.structs.replace(
        what.about, resource_type="Dataset", creators=(Agent(name="Doe, Jane"),)
    )
    item = make_item(msgspec.structs.replace(what, about=changed))
    assert (item["type"], item["author"]) == ("dataset", [{"literal": "Doe, Jane"}])


def test_a_dropping_particle_is_cited_as_citeproc_js_does() -> None:
    """Asked of citeproc-js 1.4: "Poussin, C. de la Vallée. (n.d.). T."."""
    cited = write_citation(describe({"type": "book", "title": "T", "author": [POUSSIN]}))
    assert cited.startswith("Poussin, C. de la Vallée. (n.d.). ")


def undated(**more: Any) -> DescribedResource:
    held = Representation(
        format="html", media_type="text/html", length=9, sha512="0" * 128, segment=1, offset=0
    )
    about = About(
        titles=(DescriptionText(value="Undated"),),
        creators=(Agent(name="Anon"),),
        publisher=Publisher(name="P"),
        **more,
    )
    version = Version(number=1, at="2026-11-22T00:00:00Z", representations=(held,))
    record = Record(about=about, at="2026-11-22T00:00:00Z", versions=(version,))
    return describe_resource(NAME, record, URL)


def test_the_day_of_the_deposit_is_no_date_of_publication() -> None:
    assert "(n.d.)" in write_citation(undated())
    for name in ("csl", "bibtex", "ris", "jsonld", "dc", "turtle"):
        assert b"2026" not in metadata.write_record(undated(), name)


@pytest.mark.parametrize(
    ("date", "year", "cited"),
    [
        ("circa 1900", "1900", "(ca. 1900)"),
        ("1900~", "1900", "(ca. 1900)"),
        ("[2001]", "2001", "([2001])"),
        ("in spring", "0000", "(in spring)"),
    ],
)
def test_a_date_in_words_is_cited_in_words(date: str, year: str, cited: str) -> None:
    what = undated(dates=(DescriptionDate(value=date, kind="Issued"),))
    assert cited in write_citation(what)
    record = metadata.write_record(what, "datacite").decode()
    assert f"<publicationYear>{year}</publicationYear>" in record


@pytest.mark.parametrize("kind", ["", "Personal"])
def test_family_and_given_names_are_split(kind: str) -> None:
    about = About(creators=(Agent(name="Müller, Anna", kind=kind),), year="1994")
    what = describe_resource(NAME, Record(about=about), URL)
    assert write_citation(what).startswith("Müller, A. (1994).")
    assert b"author = {M\xc3\xbcller, Anna}," in metadata.write_record(what, "bibtex")


def test_the_name_of_an_organisation_is_not_split() -> None:
    about = About(creators=(Agent(name="Books, Inc.", kind="Organizational"),))
    what = describe_resource(NAME, Record(about=about), URL)
    assert make_item(what)["author"] == [{"literal": "Books, Inc."}]


def test_keys_of_bibtex_are_unique_and_stable() -> None:
    """A bibliography of biber needs different keys; a document that cites one needs the same."""
    about = About(creators=(Agent(name="Doe, Jane"),), year="2024")

    def read_key(name: str) -> bytes:
        what = describe_resource(parse(name), Record(about=about), URL)
        return metadata.write_record(what, "bibtex").partition(b",")[0]

    names = [f"hdl:1839/{number}" for number in range(1000)]
    keys = [read_key(name) for name in names]
    assert len({key.lower() for key in keys}) == len(names)
    assert keys == [read_key(name) for name in names]
    assert all(key.startswith(b"@misc{Doe2024-") for key in keys)


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (
            {"type": "book", "volume": "3", "collection-title": "S"},
            {"volume = {3}", "series = {S}"},
        ),
        ({"type": "book", "collection-title": "S", "collection-number": "9"}, {"number = {9}"}),
        ({"type": "report", "number": "17"}, {"number = {17}"}),
        ({"type": "patent", "number": "US 1"}, {"number = {US 1}"}),
        (
            {"type": "article-journal", "container-title": "J", "volume": 4, "issue": "2"},
            {"journal = {J}", "volume = {4}", "number = {2}"},
        ),
    ],
)
def test_volume_and_number_of_what_has_no_container(
    item: dict[str, Any], expected: set[str]
) -> None:
    """BibTeX has `volume`, `number` and `series` for books and reports, too; RIS has VL and IS."""
    data = msgspec.json.encode({"id": "x", "title": "T"} | item)
    about = metadata.read_record(data, "csl")
    what = DescribedResource(identifier=NAME, about=about, url=URL)
    written = metadata.write_record(what, "bibtex").decode()
    assert expected <= {line.strip().rstrip(",") for line in written.splitlines()}
    number = str(item.get("issue") or item.get("number") or item.get("collection-number") or "")
    lines = metadata.write_record(what, "ris").decode().splitlines()
    assert ("VL  - " + str(item.get("volume", "")) in lines) == ("volume" in item)
    assert (f"IS  - {number}" in lines) == bool(number)


def test_bibtex_keeps_the_case_of_words_and_writes_markup() -> None:
    what = describe({"type": "book", "title": "The <i>E. coli</i> genome: DNA & H<sub>2</sub>O"})
    written = metadata.write_record(what, "bibtex").decode()
    assert r"title = {The \emph{{E.} coli} genome: {DNA} \& H\textsubscript{2}O}," in written


@pytest.mark.parametrize("style", ["chicago-author-date", "nature", "ieee", "elsevier-harvard"])
def test_every_style_of_the_package_can_be_asked_for(style: str) -> None:
    what = describe({"type": "book", "title": "T", "author": [{"family": "Doe"}]})
    assert "Doe" in write_citation(what, style)


@pytest.mark.parametrize("style", ["agora", "../apa", "no-such-style", "apa.csl", ""])
def test_a_style_without_bibliographies_is_unknown(style: str) -> None:
    with pytest.raises(UnknownCitationStyle):
        write_citation(undated(), style)
