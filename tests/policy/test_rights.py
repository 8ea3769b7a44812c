"""Who may do what, and what can be handed on."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import Forbidden, InvalidRequest, Unauthenticated, UnknownAuthority
from perdure.ids import Authority, parse
from perdure.model.records import Token
from perdure.policy import rights
from perdure.policy.operations import OPERATIONS
from perdure.policy.rights import Object, make_object

NOW = "2026-11-21T12:00:00Z"
TOKEN = Token(
    name="press",
    digest="0" * 64,
    operations=("mint", "commit"),
    authorities=("oma.eop.gov.us", "99999/fk4*"),
    first_day="2026-01-01",
    last_day="2026-12-31",
    expires="2027-01-01T00:00:00Z",
)


@pytest.mark.parametrize(
    ("operation", "authority", "day"),
    [
        ("mint", "oma.eop.gov.us", "2026-01-01"),
        ("commit", "oma.eop.gov.us", "2026-12-31"),
        ("mint", "99999/fk4x", None),
        ("mint", "99999/fk4", None),
    ],
)
def test_what_is_in_scope(operation: str, authority: str, day: str | None) -> None:
    rights.check_right([TOKEN], operation, Object(authority, "", day), NOW)


def test_case_counts_unless_the_scheme_ignores_it() -> None:
    """Handles ignore the case of ASCII letters (RFC 3651 section 3.1), ARKs do not."""
    assert make_object(parse("hdl:1839/A")) == make_object(parse("hdl:1839/a"))
    assert make_object(parse("ark:99999/A1")) != make_object(parse("ark:99999/a1"))


def test_no_name_is_minted_in_a_scheme_without_minting() -> None:
    with pytest.raises(UnknownAuthority):
        rights.make_new_object(Authority("pwid", "archive.example"), "2026-11-21")


def test_an_assertion_about_a_set_needs_the_right_to_all_of_it() -> None:
    """ "About an interval or a pattern, the right must cover all of it." """
    dated = msgspec.structs.replace(TOKEN, operations=("assert",))
    always = msgspec.structs.replace(dated, first_day="", last_day="")
    day, other = (parse(f"pdi://{one}.gov.us/2026/06/01/*") for one in ("oma.eop", "gpo"))
    rights.check_asserting([always], [day, parse("ark:99999/fk4x")], NOW)
    for token, about in ((always, [day, other]), (dated, [day]), (TOKEN, [day])):
        with pytest.raises(Forbidden):
            rights.check_asserting([token], about, NOW)


@pytest.mark.parametrize(
    ("operation", "authority", "day"),
    [
        ("withdraw", "oma.eop.gov.us", "2026-06-01"),
        ("mint", "gpo.gov.us", "2026-06-01"),
        ("mint", "x.oma.eop.gov.us", "2026-06-01"),
        ("mint", "oma.eop.gov.us.evil.us", "2026-06-01"),
        ("mint", "99999/fk", None),
        ("mint", "oma.eop.gov.us", "2025-12-31"),
        ("commit", "oma.eop.gov.us", "2027-01-01"),
    ],
)
def test_what_is_out_of_scope(operation: str, authority: str, day: str | None) -> None:
    with pytest.raises(Forbidden) as refused:
        rights.check_right([TOKEN], operation, Object(authority, "", day), NOW)
    assert refused.value.who == "press"


@pytest.mark.parametrize(
    "fields",
    [{"revoked": "2026-11-20T00:00:00Z"}, {"expires": NOW}, {"expires": "2026-11-21T11:59:59Z"}],
)
def test_tokens_that_no_longer_hold(fields: dict[str, str]) -> None:
    token = msgspec.structs.replace(TOKEN, **fields)
    with pytest.raises(Unauthenticated):
        rights.check_right([token], "mint", Object("oma.eop.gov.us", "", "2026-06-01"), NOW)


# scopes
# ------


@pytest.mark.parametrize(
    ("scope", "inside", "outside"),
    [
        ("*", ["pdi://a.us/2026/01/01/1", "hdl:1/2"], []),
        ("eop.gov.us", ["pdi://eop.gov.us/2026/01/01/1"], ["pdi://oma.eop.gov.us/2026/01/01/1"]),
        (
            "*.eop.gov.us",
            ["pdi://eop.gov.us/2026/01/01/1", "pdi://a.oma.eop.gov.us/2026/01/01/1"],
            ["pdi://xeop.gov.us/2026/01/01/1", "pdi://gov.us/2026/01/01/1"],
        ),
        (
            "pdi://eop.gov.us/1997/*",
            ["pdi://eop.gov.us/1997/09/01/1"],
            ["pdi://eop.gov.us/1998/09/01/1"],
        ),
        (  # "patterns with the missing components wild" (ruling pdi-interval)
            "pdi://EOP.gov.us/1997/9/",
            ["pdi://eop.gov.us/1997/09/01/1", "pdi://eop.gov.us/1997/9/30/x.text.1"],
            ["pdi://eop.gov.us/1997/10/01/1", "pdi://xeop.gov.us/1997/09/01/1"],
        ),
        (
            "pdi://eop.gov.us/",
            ["pdi://eop.gov.us/1997/09/01/1"],
            ["pdi://oma.eop.gov.us/1997/09/01/1"],
        ),
        (  # "it can be … delegated" (ruling pdi-wildcard)
            "pdi://eop.gov.us/1997/*/01/*",
            ["pdi://eop.gov.us/1997/09/01/1", "pdi://eop.gov.us/1997/10/01/1.text.1"],
            ["pdi://eop.gov.us/1997/09/02/1", "pdi://eop.gov.us/1998/09/01/1"],
        ),
        (
            "pdi://eop.gov.us/1997/09/01/1",
            ["pdi://eop.gov.us/1997/09/01/1", "pdi://eop.gov.us/1997/09/01/1.text.2"],
            ["pdi://eop.gov.us/1997/09/01/10"],
        ),
        ("hdl:1839/*", ["hdl:1839/a"], ["hdl:18390/a", "hdl:1/1839/"]),
        (  # letters of ASCII in any case, as Handles are compared, and no others
            "hdl:21.T14999/A\u00c4*",
            ["hdl:21.t14999/a\u00c4b", "hdl:21.T14999/A\u00c4"],
            ["hdl:21.T14999/A\u00e4b"],
        ),
        ("doi:10.1000/AB*", ["doi:10.1000/abc", "https://doi.org/10.1000/ABC"], ["doi:10.1000/a"]),
        (
            "99999/fk4",
            ["ark:99999/fk4", "ark:/99999/fk4xyz", "ark:99999/fk4xyz/c3.v7", "ark:99999/fk-4x"],
            ["ark:99999/fk", "ark:99999/fk5", "ark:99999/FK4x", "ark:199999/fk4", "hdl:99999/fk4x"],
        ),
        ("ark:99999/fk4x/*", ["ark:99999/fk4x/c3"], ["ark:99999/fk4y", "ark:99999/fk4xy"]),
        (
            "IANA:42117",
            ["URN:IANA:42117::Report-1:::", "urn:iana:42117::x:::"],
            ["URN:IANA:4211::x:::", "URN:IANA:421170::x:::", "urn:example:IANA:42117"],
        ),
        ("iana:42117", ["URN:IANA:42117::x:::"], ["URN:IANA:42118::x:::"]),
        (  # "compared case-insensitively" (ruling urn93-equal)
            "URN:IANA:42117::Report-1:::",
            ["urn:iana:42117::REPORT-1:::"],
            ["URN:IANA:42117::Report-10:::"],
        ),
        ("*.gov.us", ["pdi://gov.us/2026/01/01/1"], ["ark:99999/x.gov.us", "hdl:1/x.gov.us"]),
    ],
)
def test_scopes(scope: str, inside: list[str], outside: list[str]) -> None:
    for text, expected in [(one, True) for one in inside] + [(one, False) for one in outside]:
        assert rights.covers_object(scope, rights.make_object(parse(text))) is expected


series = st.sampled_from(["us", "gov.us", "eop.gov.us", "oma.eop.gov.us", "xeop.gov.us"])
plain = st.one_of(
    series,
    series.map("pdi://{}/1997/09/01/1".format),
    st.sampled_from(["hdl:1/2", "hdl:1/22", "hdl:11/2", "99999/fk4", "99999/fk44"]),
    st.sampled_from(["ark:99999/fk4", "ark:99999/fk4/x"]),
)
scopes = st.one_of(
    plain,
    series.map("*.{}".format),
    st.tuples(plain, st.integers(0, 30)).map(lambda pair: pair[0][: pair[1]] + "*"),
)
SERIES = ["us", "gov.us", "eop.gov.us", "oma.eop.gov.us", "xeop.gov.us"]
OBJECTS = [
    *(Object(name) for name in SERIES),
    *(Object(name, f"pdi://{name}/1997/09/01/1", "1997-09-01") for name in SERIES),
    *(Object(name, name) for name in ("hdl:1/2", "hdl:1/22", "hdl:11/2")),
    *(Object(name) for name in ("99999/fk4", "99999/fk44")),
    *(rights.make_object(parse(f"ark:99999/{name}")) for name in ("fk", "fk4", "fk4/x", "fk44.x")),
]


@given(scopes, scopes)
def test_what_lies_within_covers_nothing_more(inner: str, outer: str) -> None:
    """ "A token never covers more than the one that it was granted from." """
    if rights.is_within(inner, outer):
        for what in OBJECTS:
            assert rights.covers_object(outer, what) or not rights.covers_object(inner, what)


def test_a_part_lies_within_the_whole() -> None:
    chain = ["hdl:1/23", "hdl:1/2*", "hdl:1/*", "hdl:*", "*"]
    series = ["pdi://oma.eop.gov.us/1997/09/01/1", "pdi://oma.eop.gov.us/1997/*", "oma.eop.gov.us"]
    arks = ["ark:99999/fk4x", "99999/fk4x", "99999/fk4", "99999/fk", "*"]
    for links in (chain, arks, [*series, "*.oma.eop.gov.us", "*.eop.gov.us", "*"]):
        for at, outer in enumerate(links):
            assert all(rights.is_within(inner, outer) for inner in links[: at + 1])
            assert not any(rights.is_within(inner, outer) for inner in links[at + 1 :])


def test_a_scope_of_names_covers_no_shorter_beginning() -> None:
    assert not rights.is_within("hdl:1/ax", "hdl:1/ab*")
    assert not rights.is_within("hdl:1/a*", "hdl:1/ab*")


@given(scopes)
def test_every_scope_lies_within_itself_and_all(scope: str) -> None:
    assert rights.is_within(scope, scope)
    assert rights.is_within(scope, "*")


# handing on
# ----------

GIVER = msgspec.structs.replace(TOKEN, operations=("mint", "delegate"))
GRANTED = msgspec.structs.replace(TOKEN, name="clerk", operations=("mint",), granted_by="press")


@pytest.mark.parametrize(
    "more",
    [
        {"operations": ("mint", "withdraw")},
        {"authorities": ("*",)},
        {"authorities": ("oma.eop.gov.us", "*.eop.gov.us")},
        {"first_day": None},
        {"first_day": "2025-12-31"},
        {"last_day": "2027-01-01"},
        {"expires": None},
        {"expires": "2027-01-01T00:00:01Z"},
    ],
)
def test_nobody_hands_on_more_than_he_has(more: dict[str, object]) -> None:
    rights.check_grant(GIVER, GRANTED, 1, NOW)
    with pytest.raises(Forbidden):
        rights.check_grant(GIVER, msgspec.structs.replace(GRANTED, **more), 1, NOW)


def test_nobody_hands_on_without_the_right_or_for_ever() -> None:
    with pytest.raises(Forbidden):
        rights.check_grant(TOKEN, GRANTED, 1, NOW)
    with pytest.raises(Forbidden):
        rights.check_grant(GIVER, GRANTED, rights.LONGEST_CHAIN, NOW)
    late = msgspec.structs.replace(GIVER, expires="2026-01-01T00:00:00Z")
    with pytest.raises(Unauthenticated):
        rights.check_grant(late, GRANTED, 1, NOW)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"revoked": "2026-11-20T00:00:00Z"}, Unauthenticated),
        ({"expires": "2026-11-20T00:00:00Z"}, Unauthenticated),
        ({"operations": ("mint",)}, Forbidden),
        ({"operations": ("commit", "delegate")}, Forbidden),
        ({"authorities": ("gpo.gov.us",)}, Forbidden),
        ({"last_day": "2026-05-31"}, Forbidden),
    ],
)
def test_what_ends_or_narrows_a_grant_does_so_to_all_that_came_of_it(
    fields: dict[str, object], error: type[Exception]
) -> None:
    what = Object("oma.eop.gov.us", "", "2026-06-01")
    rights.check_right([GRANTED, GIVER], "mint", what, NOW)
    narrowed = msgspec.structs.replace(GIVER, **fields)
    with pytest.raises(error):
        rights.check_right([GRANTED, narrowed], "mint", what, NOW)


@pytest.mark.parametrize(
    "fields",
    [
        {"operations": ()},
        {"operations": ("mint", "rebind")},
        {"authorities": ()},
        {"authorities": ("",)},
        {"authorities": ("a*b",)},
        {"name": ""},
        {"name": "a\nb"},
        {"name": "x" * 101},
        {"name": "local"},
        {"name": "Local "},
        {"first_day": "2027-01-01"},
        {"last_day": "2025-12-31"},
    ],
)
def test_tokens_that_mean_nothing(fields: dict[str, object]) -> None:
    rights.check_shape(TOKEN)
    with pytest.raises(InvalidRequest):
        rights.check_shape(msgspec.structs.replace(TOKEN, **fields))


def test_the_page_on_rights_names_every_operation() -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "give-rights.md").read_text("utf-8")
    assert set(OPERATIONS) <= set(re.findall(r"`([a-z]+)`", page))


# looking after tokens
# --------------------


@pytest.mark.parametrize(
    ("operations", "authorities", "granted_by", "expected"),
    [
        (("administer",), ("oma.eop.gov.us", "99999/fk4*"), "", True),
        (("administer",), ("*",), "", True),
        (("administer",), ("oma.eop.gov.us",), "", False),  # not all of its scopes
        (("administer",), ("gpo.gov.us",), "", False),
        (("mint", "delegate"), ("*",), "", False),
        (("mint",), ("gpo.gov.us",), "keeper", True),  # who granted it, may take it back
        (("administer",), ("gpo.gov.us",), "somebody", False),
    ],
)
def test_who_manages_a_token(
    operations: tuple[str, ...], authorities: tuple[str, ...], granted_by: str, expected: bool
) -> None:
    keeper = Token(name="keeper", digest="1" * 64, operations=operations, authorities=authorities)
    assert (
        rights.manages_token(keeper, msgspec.structs.replace(TOKEN, granted_by=granted_by))
        is expected
    )


def test_a_token_of_all_that_there_can_be_has_a_meaning() -> None:
    rights.check_shape(
        Token(
            name="n" * 100,
            digest="0" * 64,
            operations=OPERATIONS,
            authorities=("*", "*.gov.us", "pdi://a.us/1997/*", "99999/fk4"),
            first_day="2026-01-01",
            last_day="2026-01-01",
        )
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"operations": ("mint", "fly")},
        {"operations": ()},
        {"authorities": ()},
        {"authorities": ("*", "")},
        {"authorities": ("a\nb",)},
        {"authorities": ("a*b",)},
        {"authorities": ("a**",)},
        {"name": ""},
        {"name": "a\tb"},
        {"name": "n" * 101},
        {"name": " LOCAL "},
        {"first_day": "2026-01-02", "last_day": "2026-01-01"},
    ],
    ids=str,
)
def test_a_token_that_means_nothing(fields: dict[str, object]) -> None:
    with pytest.raises(InvalidRequest):
        rights.check_shape(msgspec.structs.replace(TOKEN, **fields))


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("pdi://oma.eop.gov.us/1997/09/01/1.text.1", ("oma.eop.gov.us", "1997-09-01")),
        ("ark:/99999/fk4x", ("99999/fk4x", None)),
        ("URN:IANA:42117::Report:::", ("iana:42117", None)),
    ],
)
def test_what_an_operation_on_a_name_is_about(name: str, what: tuple[str, str | None]) -> None:
    about = rights.make_object(parse(name))
    assert (about.authority, about.day) == what


def test_a_grant_goes_through_eight_hands_and_no_more() -> None:
    giver = msgspec.structs.replace(TOKEN, operations=("mint", "delegate"))
    granted = msgspec.structs.replace(TOKEN, operations=("mint",))
    rights.check_grant(giver, granted, 7, NOW)
    with pytest.raises(Forbidden):
        rights.check_grant(giver, granted, 8, NOW)
    with pytest.raises(Forbidden):
        rights.check_grant(TOKEN, granted, 0, NOW)


@pytest.mark.parametrize(
    ("scope", "is_covered"),
    [
        ("pdi://oma.eop.gov.us/2026/", True),
        ("pdi://oma.eop.gov.us/2026/11/22/", True),
        ("pdi://oma.eop.gov.us/2026/11/*/*", True),
        ("pdi://oma.eop.gov.us/", True),
        ("pdi://oma.eop.gov.us/1999/", False),
        ("pdi://oma.eop.gov.us/2026/11/22/15", False),
    ],
)
def test_a_scope_of_an_interval_covers_what_is_minted_in_it(scope: str, is_covered: bool) -> None:
    new = rights.make_new_object(Authority("pdi", "oma.eop.gov.us"), "2026-11-22")
    assert rights.covers_object(scope, new) is is_covered


@pytest.mark.parametrize(
    ("inner", "outer", "is_inside"),
    [
        ("pdi://oma.eop.gov.us/1999/09/", "pdi://oma.eop.gov.us/1999/", True),
        ("pdi://oma.eop.gov.us/1999/", "pdi://oma.eop.gov.us/1999/09/", False),
        ("pdi://oma.eop.gov.us/1999/*/01/*", "pdi://oma.eop.gov.us/1999/", True),
        ("pdi://oma.eop.gov.us/1999/1*", "pdi://oma.eop.gov.us/1999/", True),
        ("pdi://oma.eop.gov.us/199*", "pdi://oma.eop.gov.us/1999/", False),
        ("oma.eop.gov.us", "pdi://oma.eop.gov.us/", True),
        ("*.eop.gov.us", "pdi://eop.gov.us/", False),
        ("hdl:1839/*", "pdi://eop.gov.us/", False),
        ("*", "pdi://eop.gov.us/", False),
        ("pdi://oma.eop.gov.us/1999/", "oma.eop.gov.us", True),
        ("pdi://oma.eop.gov.us/1999/", "*.eop.gov.us", True),
    ],
)
def test_an_interval_lies_within_another(inner: str, outer: str, is_inside: bool) -> None:
    assert rights.is_within(inner, outer) is is_inside


def test_a_scope_has_no_format() -> None:
    """Rights are those of resources: a scope that could cover nothing is refused."""
    for scope in ("pdi://a.us/1999/*/*/*.text.*", "hdl:18*39/x"):
        with pytest.raises(InvalidRequest):
            rights.check_shape(
                Token(name="t", digest="d", operations=("mint",), authorities=(scope,))
            )
    fine = ("pdi://a.us/1999/*/*/*", "pdi://a.us/*", "hdl:1839/*")
    rights.check_shape(Token(name="t", digest="d", operations=("mint",), authorities=fine))


SCOPED = msgspec.structs.replace(TOKEN, first_day=None, last_day=None)


def test_a_token_allows_an_operation_on_all_of_a_scope() -> None:
    rights.check_scope([SCOPED], "mint", "pdi://oma.eop.gov.us/1997/", NOW)
    rights.check_scope([SCOPED], "commit", "99999/fk4x*", NOW)


@pytest.mark.parametrize(
    ("token", "operation", "scope"),
    [
        (SCOPED, "withdraw", "oma.eop.gov.us"),
        (SCOPED, "mint", "*.eop.gov.us"),
        (SCOPED, "mint", "99999/fk*"),
        (TOKEN, "mint", "oma.eop.gov.us"),  # only some days of it
    ],
)
def test_less_than_all_of_a_scope_is_not_enough(token: Token, operation: str, scope: str) -> None:
    with pytest.raises(Forbidden):
        rights.check_scope([token], operation, scope, NOW)


def test_a_granted_token_needs_that_its_granter_may_still_delegate() -> None:
    lost = msgspec.structs.replace(SCOPED, name="house")
    with pytest.raises(Forbidden):
        rights.check_scope([SCOPED, lost], "mint", "oma.eop.gov.us", NOW)
    may = msgspec.structs.replace(lost, operations=("mint", "delegate"))
    rights.check_scope([SCOPED, may], "mint", "oma.eop.gov.us", NOW)
    ended = msgspec.structs.replace(SCOPED, expires="2026-11-21T11:59:59Z")
    with pytest.raises(Unauthenticated):
        rights.check_scope([ended], "mint", "oma.eop.gov.us", NOW)
