"""What is said about resources: what may be said, who says it, and that nothing said is lost."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import TODAY, Desk, text

from perdure.cli import perdure
from perdure.errors import InvalidRequest, NotFound, PreconditionFailed
from perdure.ids import parse
from perdure.model.about import (
    About,
    Agent,
    Attachment,
    Code,
    DescriptionDate,
    DescriptionText,
    GeoPlace,
    Point,
    Polygon,
    Publisher,
    Relation,
    Rights,
    Subject,
)
from perdure.model.commands import Describe, Outcome
from perdure.model.description_checks import (
    LARGEST_ATTACHED,
    LONGEST_TEXT,
    check_attached,
    check_description,
    is_safe_link,
)
from perdure.model.plain_words import is_plain_word, parse_person, read_pairs, write_pairs
from perdure.registry import Registry, initialise
from perdure.upkeep.transfer.exporting import export_lines
from perdure.writing import peers

NAMED = About(
    titles=(DescriptionText(value="Remarks on Genetics"),),
    creators=(parse_person("Lederberg, Joshua"),),
)
CMDI = Attachment(format="cmdi", media_type="application/x-cmdi+xml", content=b"<CMD\r\n/>")


def test_a_description_stays_and_says_who_gave_it_and_when(desk: Desk) -> None:
    name = desk.mint(text("a")).identifier
    desk.clock.set("2026-11-22T08:00:00")
    receipt = desk.registry.door.execute_command(
        Describe(by="curator", identifier=parse(name).resource, about=NAMED, attached=(CMDI,))
    )
    assert (receipt.outcome, receipt.revision) == (Outcome.CHANGED, 2)
    desk.reopen()
    first, second = desk.history(name)
    assert first.about is None
    assert (second.about, second.attached) == (NAMED, (CMDI,))
    assert (second.by, second.at) == ("curator", "2026-11-22T08:00:00Z")


def test_what_is_not_given_stays_and_the_empty_value_takes_back(desk: Desk) -> None:
    name = parse(desk.mint(text("a")).identifier).resource
    door = desk.registry.door
    door.execute_command(Describe(identifier=name, about=NAMED, attached=(CMDI,)))
    door.execute_command(Describe(identifier=name, attached=()))
    assert (desk.record(str(name)).about, desk.record(str(name)).attached) == (NAMED, ())
    door.execute_command(Describe(identifier=name, about=About()))
    assert desk.record(str(name)).about is None
    assert (
        door.execute_command(Describe(identifier=name, about=About())).outcome is Outcome.UNCHANGED
    )


def test_a_description_cannot_be_overwritten_by_accident(desk: Desk) -> None:
    name = parse(desk.mint(text("a")).identifier).resource
    desk.registry.door.execute_command(Describe(identifier=name, about=NAMED, expect=1))
    other = About(titles=(DescriptionText(value="Something else"),))
    with pytest.raises(PreconditionFailed):
        desk.registry.door.execute_command(Describe(identifier=name, about=other, expect=1))
    assert desk.record(str(name)).about == NAMED


def test_only_what_is_known_whole_and_single_can_be_described(desk: Desk) -> None:
    desk.mint(text("a"))
    with pytest.raises(NotFound):
        desk.registry.door.execute_command(Describe(identifier=parse(f"{TODAY}/77"), about=NAMED))
    for name in (f"{TODAY}/*", f"{TODAY}/", f"{TODAY}/*.text.1"):
        with pytest.raises(InvalidRequest):
            desk.registry.door.execute_command(Describe(identifier=parse(name), about=NAMED))


def test_what_was_withdrawn_can_still_be_described(desk: Desk) -> None:
    name = desk.mint(text("a")).identifier
    desk.withdraw(name.rpartition(".text")[0])
    desk.registry.door.execute_command(Describe(identifier=parse(name).resource, about=NAMED))
    record = desk.record(name)
    assert record.tombstone is not None
    assert record.about == NAMED


def test_a_description_travels_to_the_process_that_writes() -> None:
    command = Describe(
        identifier=parse("hdl:1839/1"), about=NAMED, attached=(CMDI,), expect=3, by="a"
    )
    assert peers.decode_command(peers.encode_command(command)) == command
    nothing = Describe(identifier=parse("hdl:1839/1"))
    assert peers.decode_command(peers.encode_command(nothing)) == nothing


_BAD = {
    "a control character": About(titles=(DescriptionText(value="a\x00b"),)),
    "half a surrogate pair": About(titles=(DescriptionText(value="\ud800"),)),
    "a licence that browsers run": About(rights=(Rights(uri="javascript:alert(1)"),)),
    "the same, disguised": About(rights=(Rights(uri="\x20Java\tScript:alert(1)"),)),
    "a relation to data": About(
        relations=(Relation(value="data:text/html,x", scheme="URL", relation="Cites"),)
    ),
    "an identifier of a person that is a script": About(
        creators=(Agent(name="x", codes=(Code(value="vbscript:x"),)),)
    ),
    "a year that is none": About(year="21"),
    "a language that is none": About(language="en<b>"),
    "a text without end": About(titles=(DescriptionText(value="x" * (LONGEST_TEXT + 1)),)),
    "values without end": About(sizes=("x",) * 20_001),
}


@pytest.mark.parametrize("about", _BAD.values(), ids=_BAD)
def test_what_cannot_be_kept_or_shown_is_refused(about: About) -> None:
    with pytest.raises(InvalidRequest):
        check_description(about)


def test_titles_may_say_data_and_javascript() -> None:
    about = About(
        titles=(
            DescriptionText(value="data: a history"),
            DescriptionText(value="javascript: the good parts"),
        )
    )
    assert check_description(about) is about


@pytest.mark.parametrize(
    "attached",
    [
        (CMDI, CMDI),
        (msgspec.structs.replace(CMDI, content=b"x" * (LARGEST_ATTACHED + 1)),),
        (msgspec.structs.replace(CMDI, format="../x"),),
        (msgspec.structs.replace(CMDI, media_type="text/x\r\nSet-Cookie: a"),),
        (msgspec.structs.replace(CMDI, schema="javascript:x"),),
    ],
)
def test_what_cannot_be_attached(attached: tuple[Attachment, ...]) -> None:
    with pytest.raises(InvalidRequest):
        check_attached(attached)


@given(st.text(alphabet="javscript:\t\n datA+"))
def test_no_link_runs_in_a_browser(text: str) -> None:
    """ "If url's scheme is "javascript" …": the scheme is what stands before the first colon once
    leading C0 controls and spaces and all tabs and newlines are removed (URL Standard, 4.4)."""
    stripped = text.lstrip("".join(map(chr, range(0x21)))).translate({9: None, 10: None, 13: None})
    if stripped.lower().startswith(("javascript:", "data:")):
        assert not is_safe_link(text)


def test_plain_names_and_values_become_a_description() -> None:
    about = read_pairs(
        {"Title": "A", "creator": "Doe, Jane; The Archive", "date": "1997-09-01", "x": "y"}
    )
    assert about.title == "A"
    assert [one.is_person for one in about.creators] == [True, False]
    assert (about.year, about.first_date("Issued")) == ("1997", "1997-09-01")


def test_a_description_is_exported_and_imported(desk: Desk, tmp_path: Path) -> None:
    desk.clock.set("1999-12-31T00:00:00")
    name = parse(desk.mint(text("a")).identifier).resource
    desk.registry.door.execute_command(Describe(identifier=name, about=NAMED, attached=(CMDI,)))
    lines = list(export_lines(desk.registry))
    other = tmp_path / "other"
    initialise(other, series=("oma.eop.gov.us",))
    (tmp_path / "lines.jsonl").write_bytes(b"".join(lines))
    shell = CliRunner().invoke(perdure, ["-C", str(other), "import", str(tmp_path / "lines.jsonl")])
    assert shell.exit_code == 0, shell.output
    with Registry(other) as registry:
        record = registry.listings.find_record(name)
    assert record is not None
    assert (record.about, record.attached) == (NAMED, (CMDI,))


@pytest.mark.parametrize(
    "about",
    [
        About(titles=(DescriptionText(value=" "),)),
        About(places=(GeoPlace(point=Point(longitude="181", latitude="0")),)),
        About(places=(GeoPlace(point=Point(longitude="0", latitude="91")),)),
        About(places=(GeoPlace(polygons=(Polygon(points=()),)),)),
        About(relations=(Relation(value="hdl:1/a", scheme="Handle", relation="Likes"),)),
        About(rights=(Rights(uri="https://a.example/a b"),)),
        About(titles=(DescriptionText(value="a", language="en<b>"),)),
    ],
    ids=[
        "no title",
        "too far east",
        "too far north",
        "no polygon",
        "a relation that nobody knows",
        "no URI",
        "no language",
    ],
)
def test_words_and_links_are_judged(about: About) -> None:
    with pytest.raises(InvalidRequest):
        check_description(about)


def test_every_plain_name_has_its_place() -> None:
    about = read_pairs(
        {
            "what": "A title",
            "title": "A second title",
            "abstract": "What it is about",
            "contributor": "Doe, Jane",
            "publisher": "A press",
            "keywords": "names",
            "rights": "All rights reserved",
            "dc.date": "1997",
            "dc.language": "en",
            "version": "2",
            "type": "",
        }
    )
    assert about.title == "A title"
    assert [(one.value, one.kind) for one in about.descriptions] == [
        ("What it is about", "Abstract")
    ]
    assert [(one.family, one.role) for one in about.contributors] == [("Doe", "Other")]
    assert about.publisher is not None
    assert about.publisher.name == "A press"
    assert [one.value for one in about.subjects] == ["names"]
    assert [one.value for one in about.rights] == ["All rights reserved"]
    assert (about.year, about.language, about.version) == ("1997", "en", "2")
    assert about.resource_kind == ""


def test_a_language_in_plain_words_is_no_tag() -> None:
    assert read_pairs({"language": "the English language"}).language == ""


def test_the_main_title_is_the_one_without_a_kind() -> None:
    sub, main = DescriptionText(value="sub", kind="Subtitle"), DescriptionText(value="main")
    assert About(titles=(sub, main)).title == "main"
    assert About(titles=(sub,)).title == "sub"
    assert About().title == ""
    assert About().container is None
    assert About().first_date("Issued") == ""


def test_placeholders_are_dropped_and_the_others_stay_in_order() -> None:
    unknown = Agent(name="(:unkn)")
    ada, bob = Agent(name="Lovelace, Ada"), Agent(family="Bob")
    titles = tuple(DescriptionText(value=one) for one in ("What (:unav) means", "(:unav)", "T"))
    about = check_description(
        About(
            titles=titles,
            creators=(ada, unknown, bob),
            contributors=(unknown, ada),
            publisher=Publisher(name="P"),
            subjects=(Subject(value="(:unal)"), Subject(value="s")),
        )
    )
    assert [one.value for one in about.titles] == ["What (:unav) means", "T"]
    assert about.creators == (ada, bob)
    assert about.contributors == (ada,)
    assert about.publisher == Publisher(name="P")
    assert about.subjects == (Subject(value="s"),)


def test_elements_of_ezids_profiles_describe_a_resource() -> None:
    """EZID API, "Metadata profiles": `erc.who`, `dc.title`, `datacite.publicationyear`."""
    about = read_pairs(
        {
            "erc.who": "Proust, Marcel",
            "dc.title": "Remembrance",
            "datacite.publicationyear": "1922",
            "datacite.resourcetype": "Text",
            "my.title": "unknown",
        }
    )
    assert (about.title, about.creators[0].family, about.year) == ("Remembrance", "Proust", "1922")
    assert about.resource_kind == "Text"
    assert is_plain_word("ERC.What")
    assert not is_plain_word("my.title")


def test_a_description_is_written_in_plain_words_as_far_as_they_go() -> None:
    """`read_pairs(write_pairs(x))` says what x says, as far as plain words can."""
    about = About(
        titles=(DescriptionText(value="Names"), DescriptionText(value="Second", kind="Other")),
        creators=(Agent(name="Müller, Anna"), Agent(family="Lee", given="Ann")),
        contributors=(Agent(name="Group", role="Editor"),),
        publisher=Publisher(name="MIT"),
        year="1994",
        language="de",
        resource_kind="table",
        subjects=(Subject(value="a"), Subject(value="b")),
        version="2",
        rights=(Rights(uri="https://l.example/"),),
        descriptions=(
            DescriptionText(value="Other", kind="Other"),
            DescriptionText(value="About names", kind="Abstract"),
        ),
    )
    pairs = write_pairs(about)
    assert pairs == {
        "title": "Names",
        "creator": "Müller, Anna; Lee, Ann",
        "contributor": "Group",
        "publisher": "MIT",
        "date": "1994",
        "language": "de",
        "subject": "a; b",
        "description": "About names",
        "type": "table",
        "rights": "https://l.example/",
        "version": "2",
    }
    again = read_pairs(pairs)
    assert write_pairs(again) == pairs
    assert [one.value for one in again.subjects] == ["a", "b"]
    assert write_pairs(About()) == {}
    dated = About(dates=(DescriptionDate(value="1994-09-01", kind="Issued"),), year="1994")
    assert write_pairs(dated) == {"date": "1994-09-01"}
