"""No record makes a reader or a citation slow.

Each text is made to be looked at again and again by careless code. Time that grows with the square
of its length would be hours: the test would not end.
"""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure import metadata
from perdure.errors import PerdureError
from perdure.ids import parse
from perdure.metadata import cmdi
from perdure.metadata.citing import write_citation
from perdure.metadata.port import DescribedResource
from perdure.model.about import About, Agent, DescriptionText, RelatedItem

_LENGTH = 99_000

PIECES = [
    "1", "1-", "a-", "a ", ". ", "? ", '"', "'", " '", "’", "\ue000", "\ue001", "A.", "a.b ",
    "a.", "://", "1, ", "\xa0", "van ", "J.-", "(", "é", "漢",
]  # fmt: skip


@pytest.mark.parametrize("piece", PIECES, ids=ascii)
def test_no_text_makes_a_citation_slow(piece: str) -> None:
    text = (piece * _LENGTH)[:_LENGTH]
    about = About(
        titles=(DescriptionText(value=text),),
        creators=(Agent(name=text, family=text, given=text, kind="Personal"),),
        resource_type="JournalArticle",
        language="en",
        version=text,
        edition=text,
        related=(
            RelatedItem(
                relation="IsPublishedIn",
                resource_type="Journal",
                titles=(DescriptionText(value=text),),
                volume=text,
                issue=text,
                first_page=text,
                last_page=text,
            ),
        ),
    )
    what = DescribedResource(
        identifier=parse("hdl:1/2"), about=about, url="https://a.example/hdl:1/2"
    )
    for style in ("apa", "mla", "iso690", "iso690-numeric"):
        assert "hdl:1/2" in write_citation(what, style, "fr" if style == "iso690" else "en")
    for name in metadata.load_formats():
        assert metadata.write_record(what, name)


def test_many_authors_are_cited() -> None:
    many = tuple(
        Agent(name=f"Doe{n}, Jane", family=f"Doe{n}", given="Jane", kind="Personal")
        for n in range(19_000)
    )
    about = About(titles=(DescriptionText(value="T"),), creators=many)
    what = DescribedResource(
        identifier=parse("hdl:1/2"), about=about, url="https://a.example/hdl:1/2"
    )
    assert write_citation(what, "apa").count("Doe") == 20  # the first nineteen and the last
    assert write_citation(what, "iso690").count("DOE") == 19_000


@settings(deadline=None)
@given(
    st.one_of(
        st.binary(max_size=200),
        st.recursive(
            st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
            lambda some: st.lists(some, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["@type", "@graph", "type", "name", "author", "creator", "issued", "title",
                     "date-parts", "titles", "value", "isPartOf", "identifier", "keywords",
                     "license", "page", "container-title", "URL", "sameAs", "family"]
                ),
                some,
                max_size=5,
            ),
            max_leaves=20,
        ).map(lambda value: _json(value)),
    )
)  # fmt: skip
def test_any_bytes_are_a_description_or_an_error_of_ours(data: bytes) -> None:
    for form in metadata.load_formats().values():
        if form.read is not None:
            with suppress(PerdureError):
                form.read(data)
    with suppress(PerdureError):
        cmdi.read_attachment(data)
    with suppress(PerdureError):
        metadata.guess_format(data)


def _json(value: object) -> bytes:
    return json.dumps(value).encode("utf-8", "surrogatepass")
