"""Names in their usual spelling are read without a parser, and mean what the parser says.

"What must stay true: the result is the key and the path of the identifier that `parse` returns, and
that identifier has no part; or it is None."
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import PerdureError
from perdure.ids import load_schemes, parse, scheme_of
from perdure.ids.pdi_plain import read_plain_ending, read_plain_key, read_plain_keys
from perdure.ids.plain_names import read_plain_name
from perdure.ids.scheme import PlainName

VECTORS = Path(__file__).parents[2] / "vectors"
USUAL = (
    "hdl:1839/00-0000-0000-0009-3C7E-F",
    "hdl:20.500.12345/abc",
    "doi:10.1000/182",
    "doi:10.5281/ZENODO.1234",
    "ark:12345/x6np1wh8k/c3/s5.v7.xsl",
    "ark:/12345/x6-np1-wh8k",
    "urn:isbn:9780140328721",
    "urn:nbn:de:101:1-201102033592",
    "URN:IANA:42117::opaque-1:::",
    "URN:ISBN_Publisher_ID:0_201_12::x1:::",
    "pwid:archive.org:2016-01-22T11.20.29Z:page:http://www.dr.dk",
    "urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk/",
)
UNUSUAL = (
    "hdl:10.1000/182",
    "HDL:1839/a",
    "hdl:1839/a%2Fb",
    "hdl:1839/\N{LATIN SMALL LETTER E WITH ACUTE}",
    "ark:12345/a/-/b",
    "ark:12345/a/",
    "ark:12345/x?info",
    "urn:iana:42117::x:::",
    "urn:acme:1::x:::",
    "urn:pdi://oma.eop.gov.us/1997/09/01/1",
    "urn:example:a?=q",
    "URN:IANA:42117::a@b:::",
    "pwid:archive.org:2016-01-22:page:http://www.dr.dk",
    "pwid:archive.org:2016-02-30T11.20.29Z:page:http://www.dr.dk",
    "",
    "hdl",
)


def _list_vectors() -> list[str]:
    found: set[str] = set()

    def collect(value: object) -> None:
        if isinstance(value, str) and ":" in value:
            found.add(value)
        elif isinstance(value, dict):
            for one in value.values():
                collect(one)
        elif isinstance(value, list):
            for one in value:
                collect(one)

    for file in VECTORS.glob("*.json"):
        collect(json.loads(file.read_text()))
    return sorted(found)


def check_law(text: str) -> bool:
    """Return whether the text was read; fail if another name was read than the parser finds."""
    plain = read_plain_name(text)
    if plain is None:
        return False
    name = parse(text)
    assert plain == PlainName(name.key, name.path)
    if scheme_of(name).delimiters:
        assert plain.path == str(name)
    assert name.part is None
    assert not name.is_pattern
    assert name.equal_key is None
    assert name.format is None
    assert name.version is None
    return True


@pytest.mark.parametrize("text", USUAL)
def test_usual_spellings_are_read(text: str) -> None:
    assert check_law(text)


@pytest.mark.parametrize("text", UNUSUAL)
def test_other_spellings_are_left_to_the_parser(text: str) -> None:
    assert read_plain_name(text) is None


def test_the_texts_of_all_vectors_mean_the_same() -> None:
    texts = _list_vectors()
    assert sum(check_law(text) for text in texts) > 50


BEGINNINGS = sorted(
    {prefix for scheme in load_schemes().values() for prefix in scheme.prefixes}
    | {one for scheme in load_schemes().values() for one, _ in scheme.plain_spellings}
    | {text[:at] for text in USUAL for at in range(len(text))}
)
PIECES = st.sampled_from(
    ["a", "B", "7", ".", "/", "-", ":", "::", ":::", "_", "~", "=", "10.", "%2F", "#", "@", "*",
     "?", "\n", " ", "\N{LATIN SMALL LETTER E WITH ACUTE}", "IANA", "T11:20:29Z", "http://"]
)  # fmt: skip


@given(st.sampled_from(BEGINNINGS), st.lists(PIECES, max_size=8).map("".join))
def test_what_is_read_is_what_the_parser_reads(beginning: str, rest: str) -> None:
    """ "the key and the path of the identifier that `parse` returns" """
    text = beginning + rest
    try:
        parse(text)
    except PerdureError:
        assert read_plain_name(text) is None
        return
    check_law(text)


_UIDS = ("", "1", "42", "07", "0", "9" * 25, "9" * 26, "²", "a-1", "memo", "a:b", "x" * 256)
_ENDINGS = ("", ".", ".text", ".text.", ".text.1", ".html.2", ".text.01", ".TEXT", "..")
_DAYS = ("pdi://a.us/1997/09/01", "pdi://a.us/1997/09/02", "pdi://a..us/1997/09/01", "pdi:")


@given(
    st.lists(
        st.builds(
            "{}/{}{}".format,
            st.sampled_from(_DAYS),
            st.sampled_from(_UIDS),
            st.sampled_from(_ENDINGS),
        ),
        max_size=4,
    )
)
def test_many_keys_are_read_as_single_ones_are(texts: list[str]) -> None:
    """`read_plain_keys`: "as `read_plain_key` would read them; None if one of them is not plain";
    and that one "as `parse_pdi` does"."""
    single = [read_plain_key(text) for text in texts]
    for text, one in zip(texts, single, strict=True):
        if one is not None:
            pdi = parse(text)
            version = None if pdi.version is None else str(pdi.version)
            assert one == (pdi.key, pdi.format, version)
            assert str(pdi) == text
    many = read_plain_keys(texts)
    if many is None:
        assert None in single
    else:
        keys, endings = many
        read = [(key, *read_plain_ending(end)) for key, end in zip(keys, endings, strict=True)]
        assert read == single
