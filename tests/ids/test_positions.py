"""Where an error points: at the first character that cannot stand where it stands."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import MalformedIdentifier
from perdure.ids import ark, handle, pwid, urn, urn1993
from perdure.testing import ark as arks
from perdure.testing import handle as handles
from perdure.testing import pwid as pwids
from perdure.testing import urn as urns
from perdure.testing import urn1993 as urns1993

VECTORS = Path(__file__).parents[2] / "vectors"
SCHEMES: dict[str, tuple[ModuleType, ModuleType]] = {
    "urn": (urn, urns),
    "urn1993": (urn1993, urns1993),
    "ark": (ark, arks),
    "handle": (handle, handles),
    "pwid": (pwid, pwids),
}

# What may complete a text that has gone well so far, for each scheme after its prefix.
COMPLETIONS = {
    "urn": ("", "a", "b:c", "ab:c", ":c", "+a", "=a", "12"),
    "urn1993": (
        "",
        *(":::"[:missing] for missing in (1, 2, 3)),
        *("a:::", "1:::", "::a:::", ":a:::", "1::a:::", "1_1::a:::", "_1::a:::", "iana::a:::"),
    ),
    "ark": ("", "a", "1", "/a", "1/a"),
    "handle": ("", "a", "1/a", ".1/a", "/a", "0.1/a", "10.1/a", "%C3%A9", "%A9", "%80%80"),
    "pwid": (
        *("", "a", "page:a", "e:page:a", ":page:a", "page:a:b", "a:2016:page:a", ":2016:page:a"),
        *("2016:page:a", "-01:page:a", "01:page:a", "1:page:a", "01:01Z:page:a", ".01Z:page:a"),
        *("01.01Z:page:a", "1.01Z:page:a", "1Z:page:a", "01Z:page:a", "page:http://a", "http://a"),
        *("0Z:page:a", "0:page:a", "1:01Z:page:a", "00:page:a", "0-01:page:a"),
        *("016:page:a", "16:page:a", "6:page:a", "Z:page:a", ":a", "://a"),
    ),
}


def mistake(scheme: str, text: str) -> MalformedIdentifier | None:
    try:
        SCHEMES[scheme][0].SCHEME.parse(text)
    except MalformedIdentifier as error:
        return error
    return None


def completions(scheme: str, beginning: str) -> list[str]:
    """Texts that go on from `beginning`, some of which are well-formed if any text is."""
    rests = [
        prefix[len(beginning) :] + rest
        for prefix in SCHEMES[scheme][0].SCHEME.prefixes
        if prefix.startswith(beginning.lower())
        for rest in COMPLETIONS[scheme]
    ]
    return [beginning + rest for rest in (*rests, *COMPLETIONS[scheme])]


@st.composite
def mutations(draw: st.DrawFn, scheme: str) -> str:
    """A well-formed text with one or two characters changed, put in or taken out."""
    text: str = draw(SCHEMES[scheme][1].texts())
    for _ in range(draw(st.integers(1, 2))):
        at = draw(st.integers(0, len(text)))
        new = draw(st.sampled_from([*"aZ019:/.?#%-_~+=@<é \n\u0660", ""]))
        text = text[:at] + new + text[at + draw(st.integers(0, 1)) :]
    return text


@pytest.mark.parametrize("scheme", SCHEMES)
@given(data=st.data())
def test_an_error_points_to_what_cannot_stand_there(scheme: str, data: st.DataObject) -> None:
    text = data.draw(mutations(scheme))
    error = mistake(scheme, text)
    if error is None:
        return
    assert 0 <= error.at <= len(text)
    assert error.text == text
    assert error.expected
    assert error.rule
    # what comes before could have gone on well …
    well_formed = [t for t in completions(scheme, text[: error.at]) if not mistake(scheme, t)]
    assert well_formed, text[: error.at]


@pytest.mark.parametrize(
    ("name", "text", "at"),
    [
        (path.stem, case["text"], case["at"])
        for path in sorted(VECTORS.glob("*.json"))
        if path.stem.partition("-")[0] in {"urn", "urn1993", "ark", "handle", "pwid"}
        for case in json.loads(path.read_text())["cases"]
        if "at" in case
    ],
)
def test_an_error_points_to_the_place_in_the_vectors(name: str, text: str, at: int) -> None:
    error = mistake(name.partition("-")[0], text)
    assert error is not None
    assert error.at == at


@pytest.mark.parametrize(
    ("scheme", "text", "at"),
    [
        ("urn", "", 0),
        ("urn", "urnexample:a", 3),
        ("urn", "u\u0280n:example:a", 1),
        ("urn1993", "urm:iana::a:::", 2),
        ("urn1993", "urn:other::a:::", 4),
        ("ark", "https://n2t.net/arc:12345/x", 18),
        ("ark", "ar\u212a:12345/x", 2),  # the Kelvin sign, whose lower case is k
        ("handle", "https://doi.net/10.1000/1", 12),
        ("handle", "hd\u0130:1/a", 2),
        ("pwid", "urn:pwit:a.org:2016:page:http://a/", 7),
    ],
)
def test_an_error_points_to_where_the_prefix_goes_astray(scheme: str, text: str, at: int) -> None:
    error = mistake(scheme, text)
    assert error is not None
    assert error.at == at
