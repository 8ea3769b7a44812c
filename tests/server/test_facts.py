"""The statements of a description on a landing page, each under its name."""

from __future__ import annotations

from typing import Any

import msgspec

from perdure.ids import parse
from perdure.model.about import (
    About,
    Agent,
    Code,
    DescriptionDate,
    DescriptionText,
    Funding,
    Publisher,
    Relation,
    Rights,
    Subject,
)
from perdure.model.records import (
    Level,
    Location,
    NarrowDescription,
    Record,
    Tombstone,
    Version,
)
from perdure.server.resource.facts import (
    Facts,
    list_abstracts,
    list_changed_content,
    list_facts,
    list_levels,
    name_agent,
)
from perdure.upkeep.linkcheck.verdict import LinkFinding, LinkVerdict

ABOUT = About(
    creators=(Agent(name="Doe, Jane"), Agent(name="", given="Ada", family="Lovelace")),
    contributors=(Agent(name="A helper"),),
    publisher=Publisher(name="P"),
    year="1997",
    dates=(DescriptionDate(value="1997-09-01", kind="Issued"),),
    language="en",
    resource_type="Text",
    resource_kind="Letter",
    subjects=(Subject(value="Letters"),),
    version="2",
    edition="second",
    rights=(Rights(value="Free"), Rights(uri="https://a.example/rights")),
    codes=(Code(value="17", scheme="local"),),
    relations=(Relation(relation="Cites", value="https://b.example/", scheme="URL"),),
    fundings=(Funding(funder="F", award="3"), Funding(funder="G")),
    descriptions=(
        DescriptionText(value="short", kind="Abstract"),
        DescriptionText(value="plain"),
        DescriptionText(value="how", kind="Methods"),
    ),
)


def list_texts(facts: Facts) -> list[tuple[str, list[str]]]:
    return [(name, [one.text for one in values]) for name, values in facts]


def test_every_statement_is_under_its_name() -> None:
    assert list_texts(list_facts(ABOUT)) == [
        ("Creator", ["Doe, Jane", "Ada Lovelace"]),
        ("Contributor", ["A helper"]),
        ("Publisher", ["P"]),
        ("Year", ["1997"]),
        ("Date", ["1997-09-01 (issued)"]),
        ("Kind", ["Text", "Letter"]),
        ("Language", ["en"]),
        ("Subject", ["Letters"]),
        ("Edition", ["2", "second"]),
        ("Rights", ["Free", "https://a.example/rights"]),
        ("Also known as", ["17 (local)"]),
        ("Related", ["Cites: https://b.example/"]),
        ("Funding", ["F 3", "G"]),
    ]
    assert list_facts(About()) == []
    assert list_abstracts(ABOUT) == ["short", "plain"]
    assert name_agent("", "Ada", "") == "Ada"


def test_codes_and_licences_lead_to_their_addresses() -> None:
    """The addresses are those that orcid.org, ror.org, doi.org and creativecommons.org publish."""
    orcid = "https://orcid.org/0000-0002-1825-0097"
    ada = Agent(
        name="Carberry, Josiah",
        codes=(
            Code(value="0000-0002-1825-0097", scheme="ORCID"),
            Code(value=orcid, scheme="ORCID"),
            Code(value="x", scheme="local"),
        ),
    )
    about = About(
        creators=(ada,),
        publisher=Publisher(name="CERN", code=Code(value="https://ror.org/01ggx4157")),
        rights=(
            Rights(value="https://creativecommons.org/licenses/by/4.0/"),
            Rights(value="Free", uri="https://creativecommons.org/publicdomain/zero/1.0/"),
            Rights(value="javascript:alert(1)", uri="javascript:alert(1)"),
            Rights(code="MIT"),
        ),
        codes=(Code(value="10.1000/182", scheme="DOI"),),
        relations=(Relation(relation="Cites", value='https://b.example/ "x', scheme="URL"),),
        fundings=(Funding(funder="F", award="3", award_uri="https://f.example/3"),),
    )
    found = dict(list_facts(about))
    (creator,) = found["Creator"]
    assert creator.codes == (("ORCID 0000-0002-1825-0097", orcid),) * 2
    assert found["Publisher"][0].codes == (("ROR 01ggx4157", "https://ror.org/01ggx4157"),)
    assert [(one.href, one.badge) for one in found["Rights"]] == [
        ("https://creativecommons.org/licenses/by/4.0/", "CC BY 4.0"),
        ("https://creativecommons.org/publicdomain/zero/1.0/", "CC0 1.0"),
        ("", ""),
        ("", "MIT"),
    ]
    hrefs = [found[name][0].href for name in ("Also known as", "Related", "Funding")]
    assert hrefs == [
        "https://doi.org/10.1000/182",
        "https://b.example/%20%22x",
        "https://f.example/3",
    ]


def test_a_level_shows_what_was_said_of_it_alone() -> None:
    name = parse("pdi://oma.eop.gov.us/1997/09/01/1")
    titled = About(titles=(DescriptionText(value="The whole"),))
    narrow = About(edition="second", descriptions=(DescriptionText(value="of it"),))
    record = Record(
        about=titled, narrower=(NarrowDescription(version=2, format="text", about=narrow),)
    )
    shown = list_levels(name, record, Level(version=2, format="text"))
    assert [(one.level, list_texts(one.facts), one.is_this) for one in shown.seen] == [
        (Level(), [("Title", ["The whole"])], False),
        (
            Level(version=2, format="text"),
            [("Edition", ["second"]), ("Description", ["of it"])],
            True,
        ),
    ]
    assert [one.href for one in shown.seen] == [
        f"/{name}?landing",
        f"/{name}.text.2?landing",
    ]
    assert (shown.others, shown.more) == ((), 0)
    assert list_levels(name, Record(about=titled), Level(version=2)).more == 0


# changed content  # ruling: drift
# ---------------

_URI = "https://a.example/1"
_BOUND, _FOUND = "b" * 128, "f" * 128
_NAME = parse("pdi://oma.eop.gov.us/1997/09/01/1")


def _find(verdict: LinkVerdict) -> dict[str, LinkFinding]:
    checked = "2026-11-20T01:02:03Z"
    return {_URI: LinkFinding(uri=_URI, verdict=verdict, checked=checked, sha512=_FOUND, size=9)}


def _bind(**more: Any) -> Record:
    return Record(locations=(Location(uri=_URI, sha512=_BOUND, size=5, version=1),), **more)


def test_only_drift_is_evidence_of_changed_content() -> None:
    """Section 3.6.2: "If the URI changes, the indirect binding MUST be broken" """
    (shown,) = list_changed_content(_NAME, _bind(), _find(LinkVerdict.DRIFT))
    assert (shown.evidence.found_sha512, shown.is_bound) == (_FOUND, True)
    for verdict in LinkVerdict:
        if verdict is not LinkVerdict.DRIFT:
            assert list_changed_content(_NAME, _bind(), _find(verdict)) == ()


def test_nothing_is_said_of_the_content_of_what_was_withdrawn() -> None:
    """# ruling: tombstone-silence"""
    grave = Tombstone(reason="r", at="2026-11-21T00:00:00Z", by="local")
    gone = _bind(tombstone=grave)
    assert list_changed_content(_NAME, gone, _find(LinkVerdict.DRIFT)) == ()
    first = Version(number=1, at=grave.at, representations=(), tombstone=grave)
    later = Version(number=2, at=grave.at, representations=())
    record = _bind(versions=(first, later))
    assert list_changed_content(_NAME, record, _find(LinkVerdict.DRIFT)) == ()
    kept = _bind(versions=(msgspec.structs.replace(first, tombstone=None), later))
    assert len(list_changed_content(_NAME, kept, _find(LinkVerdict.DRIFT))) == 1
