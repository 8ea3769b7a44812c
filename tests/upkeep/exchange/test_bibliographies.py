"""Records of metadata: DataCite, Crossref, BibTeX, RIS, CSL-JSON; and dumps of arklet."""

from __future__ import annotations

import json

import pytest
from tests.upkeep.exchange.samples import (
    ARKLET,
    BIBTEX,
    CROSSREF,
    CSL,
    DATACITE,
    DATACITE_JSON,
    OAI,
    RIS,
    lines,
    read,
)

from perdure.errors.exchanging import (
    PrefixNotShoulder,
    RecordMalformed,
    RecordWithoutName,
    RedirectNotOpen,
)
from perdure.metadata import bibtex_reading, read_record
from perdure.metadata.bibtex_reading import decode_tex


def test_records_in_an_answer_of_oai_pmh_stand_alone() -> None:
    (line,) = lines("datacite-xml", OAI)
    assert line["id"] == "doi:10.5072/fk2x"
    assert "locations" not in line
    (attached,) = line["attached"]
    assert read_record(attached["content"], "datacite").title == "Names & numbers"
    assert line["about"]["titles"] == ({"value": "Names & numbers"},)


def test_one_record_without_a_list_is_read_in_utf_16_too() -> None:
    text = f'<?xml version="1.0" encoding="UTF-16"?>{DATACITE}'
    assert lines("datacite-xml", text.encode("utf-16")) == lines("datacite-xml", DATACITE)


def test_the_json_of_datacite_brings_states_owners_and_addresses() -> None:
    first, second = lines("datacite-json", DATACITE_JSON)
    assert first["locations"] == ["https://a.example/"]
    assert first["metadata"] == {
        "_owner": "mit.ai",
        "_created": "2019-01-01T00:00:00.000Z",
        "_status": "findable",
    }
    assert first["about"]["creators"][0]["affiliations"] == ({"name": "MIT"},)
    assert first["about"]["year"] == "1994"
    (attached,) = first["attached"]
    assert json.loads(attached["content"])["attributes"]["viewCount"] == 7
    assert second["metadata"] == {"_status": "draft", "_target": "https://b.example/"}
    assert "locations" not in second


def test_every_work_of_a_deposit_is_a_record_and_references_are_not() -> None:
    first, second = lines("crossref-xml", CROSSREF)
    assert (first["id"], first["locations"]) == ("doi:10.5072/art1", ["https://j.example/1"])
    assert first["about"]["dates"] == ({"value": "2010-05", "kind": "Issued"},)
    (journal,) = first["about"]["related"]
    assert journal["titles"] == ({"value": "Journal of Tests"},)
    assert (journal["volume"], journal["issue"]) == ("3", "2")
    assert (journal["first_page"], journal["last_page"]) == ("1", "9")
    assert second["id"] == "doi:10.5072/art2"
    (attached,) = second["attached"]
    assert b"Second" in attached["content"]
    assert b"First" not in attached["content"]
    assert b"Journal of Tests" in attached["content"]


def test_bibtex_is_read_with_macros_accents_and_braces() -> None:
    first, broken, second, nameless = read("bibtex", BIBTEX)
    assert [one.number for one in (first, broken, second, nameless)] == [3, 7, 8, 9]
    assert first.line is not None
    assert second.line is not None
    about = first.line["about"]
    assert (first.line["id"], first.line["locations"]) == (
        "doi:10.5072/bib1",
        ["https://x.example/a_b"],
    )
    assert [one["name"] for one in about["creators"]] == [
        "Müller, Anna",
        "The Group",
        "van der Berg, Jan",
    ]
    assert about["titles"] == ({"value": "A DNA & more"},)
    assert about["dates"] == ({"value": "2001-09", "kind": "Issued"},)
    (journal,) = about["related"]
    assert journal["titles"] == ({"value": "Journal of Tests, Series B"},)
    assert (journal["first_page"], journal["last_page"]) == ("1", "9")
    assert isinstance(broken.fault, RecordMalformed)
    assert second.line["id"] == "hdl:21.T14999/K2"
    assert isinstance(nameless.fault, RecordWithoutName)
    (attached,) = first.line["attached"]
    assert bibtex_reading.read_record(attached["content"]).container is not None


@pytest.mark.parametrize(
    ("tex", "text"),
    [
        (r"G{\"o}del \'Etude na\"{\i}ve", "Gödel Étude naïve"),
        (r"{\AA}ngstr{\"{o}}m \o{} \ss", "Ångström ø ß"),
        (r"Erd{\H o}s, {\v{C}}apek, \c{c}a, \L{}odz", "Erdős, Čapek, ça, Łodz"),
        (r"100\% of \{x\} \& y\_z", "100% of {x} & y_z"),
        (r"\emph{E. coli} and \textbf{{DNA}}", "<i>E. coli</i> and <b>DNA</b>"),
        ("pages 1--9 --- or~more", "pages 1–9 — or more"),
        (r"\unknown{x}", r"\unknown x"),
    ],
)
def test_tex_becomes_text(tex: str, text: str) -> None:
    assert decode_tex(tex) == text


def test_ris_is_read_with_continued_lines() -> None:
    first, second = read("ris", RIS)
    assert first.line is not None
    about = first.line["about"]
    assert (first.line["id"], first.line["locations"]) == (
        "doi:10.5072/ris1",
        ["https://x.example/1"],
    )
    assert about["titles"] == ({"value": "A title that goes on"},)
    assert about["creators"][0]["given"] == "Ann, Jr."
    assert about["dates"] == ({"value": "2001-05-01", "kind": "Issued"},)
    assert about["related"][0]["titles"] == ({"value": "Journal"},)
    assert (second.number, isinstance(second.fault, RecordWithoutName)) == (14, True)


def test_items_of_csl_are_read_with_all_their_variables() -> None:
    first, second = read("csl-json", CSL)
    assert first.line is not None
    assert first.line["id"] == "doi:10.5072/csl1"
    assert {"name": "event-place", "value": "Bonn"} in first.line["about"]["variables"]
    assert isinstance(second.fault, RecordWithoutName)


def test_a_dump_of_arklet_is_read_without_its_naans() -> None:
    (line,) = lines("arklet", ARKLET)
    assert line == {
        "id": "ark:99999/fk4abc",
        "locations": ["https://a.example/"],
        "metadata": {
            "naan": "99999",
            "shoulder": "/fk4",
            "assigned_name": "abc",
            "commitment": "for ever",
            "_created": "2020-01-01T00:00:00Z",
        },
    }


def test_shoulders_of_n2t_lead_where_they_led() -> None:
    """N2T: "redirect: n2t.net/ark:$id"; the target of a NAAN has "$arkpid for full ARK or $pid"."""
    text = (
        '# comment\n\nark:/12345/x5:\n  type: "shoulder"\n  redirect: "a.example/ark:$id"\n'
        "ark:/12345/x6:\n  redirect: https://b.example/?pid=$pid\n"
        "ark:/12345/x7:\n  redirect: 'https://c.example/$arkpid'\n  manager: n2t\n"
        'pmid:\n  redirect: "d.example/$id"\n'
        'ark:/12345:\n  redirect: "e.example/ark:$id"\n'
        'ark:/12345/x8:\n  redirect: "f.example/$id/page"\n'
    )
    first, second, third, *bad = read("n2t-prefixes", text)
    assert first.line == {
        "id": "ark:12345/x5",
        "locations": ["http://a.example/ark:/12345/x5"],
        "metadata": {"type": "shoulder"},
    }
    assert second.line == {
        "id": "ark:12345/x6",
        "locations": ["https://b.example/?pid=12345/x6"],
    }
    assert third.line is not None
    assert third.line["locations"] == ["https://c.example/ark:/12345/x7"]
    assert [one.number for one in bad] == [11, 13, 15]
    *others, last = (one.fault for one in bad)
    assert all(isinstance(one, PrefixNotShoulder) for one in others)
    assert isinstance(last, RedirectNotOpen)


@pytest.mark.parametrize(
    ("opening", "last"), [("@article{", "()"), ("@article(", "{}"), ("@string{a = {", "()")]
)
def test_entries_that_do_not_end_cost_no_more_than_themselves(opening: str, last: str) -> None:
    """Each of them read to the end of the file would take hours."""
    text = opening * 100_000 + f"\n\n@book{last[0]}b, title = {{last}}{last[1]}"
    *faulty, book = bibtex_reading.cut_entries(text)
    assert [one.fault for one in faulty] == ["its braces are not closed"] * 100_000
    assert book.fields == {"title": "last"}


def test_an_entry_ends_at_its_own_mark() -> None:
    text = r"@a(one, t = {(x\)) \}}) @b{two, t = {(} } @c(three, t = {) "
    one, two, three = bibtex_reading.cut_entries(text)
    assert [each.raw for each in (one, two)] == [
        r"@a(one, t = {(x\)) \}})", "@b{two, t = {(} }"
    ]  # fmt: skip
    assert one.fields == {"t": r"(x\)) \}"}
    assert three.fault == "its braces are not closed"


def test_macros_that_double_stop_at_a_mebibyte() -> None:
    doubling = (f"@string{{s{n + 1} = s{n} # s{n}}}\n" for n in range(64))
    text = "@string{s0 = {0123456789abcdef}}\n" + "".join(doubling) + "@book{b, t = s8, u = s64}"
    *faulty, book = bibtex_reading.cut_entries(text)
    assert book.fields["t"] == "0123456789abcdef" * 2**8
    assert faulty[0].fault == "its values have more than 1 MiB"
    assert len(book.fields["u"]) <= 1 << 20
