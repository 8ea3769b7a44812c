"""NAPTR records: which one decides, and what it makes of a name."""

from __future__ import annotations

from typing import Any

import pytest

from perdure.errors.discovery import PointerMalformed
from perdure.errors.limits import ExpressionsTooCostly
from perdure.errors.locations import MalformedExpression
from perdure.policy.discovery.pointers import (
    MOST_STEPS,
    Pointer,
    apply_pointer,
    find_base,
    read_protocol,
    rewrite_name,
)
from perdure.policy.templates.expressions import StepBudget

NAME = "pdi://oma.eop.gov.us/1997/09/01/1.text.1"


def make(order: int = 10, preference: int = 10, **fields: Any) -> Pointer:
    usual = {"flags": "u", "service": "http+N2R", "regexp": "", "replacement": ""}
    return Pointer(order, preference, **(usual | fields))


@pytest.mark.parametrize(
    ("regexp", "name", "target"),
    [
        # RFC 2168 section 5, example 1
        (
            r"/urn:cid:.+@([^\.]+\.)(.*)$/\2/i",
            "urn:cid:199606121851.1@mordred.gatech.edu",
            "gatech.edu",
        ),
        # RFC 3404 section 5.2 (RFC 2168, example 2)
        (r"!http://([^/:]+)!\1!i", "http://www.foo.com/software/latest-beta.exe", "www.foo.com"),
        (r"!^(urn:)?pdi://([^/]+)/.*$!\2!i", NAME, "oma.eop.gov.us"),
        (r"!^(urn:)?pdi://([^/]+)/.*$!\2!i", f"urn:{NAME}", "oma.eop.gov.us"),
        (r"!^(urn:)?pdi://([^/]+)/.*$!\2!i", NAME.upper(), "OMA.EOP.GOV.US"),
        (r"!^(urn:)?pdi://([^/]+)/.*$!\2!", NAME.upper(), None),
        (r"!^(urn:)?(pdi://.*)$!https://a.example/x\!/\2!", NAME, f"https://a.example/x!/{NAME}"),
        (r"!^pdi://(a|b)\.us/.*$!\1!", NAME, None),
        (r"!^(x)?.*$!<\1>\\!", NAME, "<>\\"),
        (r"!1997!\9here!", NAME, "here"),
    ],
)
def test_an_expression_makes_a_target(regexp: str, name: str, target: str | None) -> None:
    assert apply_pointer(name, make(regexp=regexp)) == target


@pytest.mark.parametrize(
    "regexp",
    [
        "!a!b",
        "!a!b!i!",
        "1a1b1",
        "!a!b!g",
        r"\a\b\ ",
        "!(!x!",
        "!a{2!x!",
        r"!(a)\1!x!",
        "!(?=a)!x!",
        "!",
    ],
)
def test_an_expression_that_cannot_be_read_is_an_error(regexp: str) -> None:
    with pytest.raises((MalformedExpression, PointerMalformed)):
        apply_pointer(NAME, make(regexp=regexp))
    found, problems = rewrite_name(NAME, [make(regexp=regexp)])
    assert (found, len(problems)) == ([], 1)


def test_a_long_name_matches_nothing() -> None:
    assert apply_pointer("pdi://a.us/" + 3000 * "x", make(regexp="!.*!x!")) is None


def test_all_expressions_of_one_discovery_share_a_budget() -> None:
    """32 records with 250 steps for each character took 0.3 s for each owner."""
    costly = [make(order=one, regexp=f"!{'.*' * 80}{one % 10}!x!") for one in range(32)]
    budget = StepBudget(MOST_STEPS)
    name = "a" * 400
    found, problems = rewrite_name(name, costly, budget)
    assert not found
    assert "more than 200000 steps" in problems[-1].reason
    assert budget.left > -300
    with pytest.raises(ExpressionsTooCostly):
        apply_pointer(name, make(regexp="!a!x!"), budget)


def test_an_expression_that_would_backtrack_for_years_ends() -> None:
    assert apply_pointer("a" * 2000, make(regexp="!^(a+)+b$!x!")) is None


def test_the_lowest_order_with_a_match_decides() -> None:
    """ "The client … MUST NOT consider any NAPTRs with a higher value for order" (RFC 3403 4.1)."""
    rows = [
        make(20, 1, flags="s", replacement="_http._tcp.later.example"),
        make(10, 20, flags="s", replacement="_http._tcp.second.example"),
        make(10, 10, flags="s", replacement="_http._tcp.first.example"),
        make(5, 1, regexp="!^urn:other:.*$!https://x.example!"),
    ]
    found, problems = rewrite_name(NAME, rows)
    assert [one.target for one in found] == [
        "_http._tcp.first.example",
        "_http._tcp.second.example",
    ]
    assert problems == []


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"flags": "p", "replacement": "a.example"}, "its flag 'p' is not supported"),
        (
            {"service": "rcds+N2C", "replacement": "a.example"},
            "none of its services is one of ours",
        ),
        ({"regexp": "!.*!gopher://a.example/!"}, "its result is not an address of the web"),
        ({"regexp": "!.*!https://a.example/ b!"}, "its result is not a URI"),
        ({"regexp": "!.*!https://a.example/\r\nX:1!"}, "its result is not a URI"),
        ({"flags": "a", "replacement": "a b"}, "its result is not a host name"),
        ({"flags": "a", "regexp": "!.*!-a.example!"}, "its result is not a host name"),
        ({"flags": "", "regexp": f"!.*!{'a.' * 130}us!"}, "its result is not a host name"),
    ],
)
def test_a_record_that_leads_nowhere_is_left_out(fields: dict[str, Any], reason: str) -> None:
    found, problems = rewrite_name(NAME, [make(**fields)])
    assert found == []
    assert [one.reason for one in problems] == [reason]


def test_a_record_without_flag_leads_to_further_records() -> None:
    (found,), _ = rewrite_name(NAME, [make(flags="", service="", replacement="OMA.eop.gov.us.")])
    assert (found.flag, found.target) == ("", "oma.eop.gov.us")


@pytest.mark.parametrize(("length", "is_host"), [(253, True), (254, False)])
def test_a_host_name_has_253_characters_at_most(length: int, is_host: bool) -> None:
    """RFC 1035 2.3.4: "names 255 octets or less", with the first length and the root's."""
    host = ("a" * 49 + ".") * 5 + "b" * (length - 250)
    found, problems = rewrite_name(NAME, [make(flags="", replacement=host)])
    assert [one.target for one in found] == [host][: int(is_host)]
    assert len(problems) == int(not is_host)


def test_few_records_of_one_owner_are_looked_at() -> None:
    rows = [make(1, at, flags="p") for at in range(100)]
    assert len(rewrite_name(NAME, rows)[1]) == 32


def test_services_are_read_as_both_documents_write_them() -> None:
    services = ("thttp+I2L+I2C", "http+N2R", "N2L+HTTPS", "pdi+N2R", "N2L", "")
    assert [read_protocol(one) for one in services] == ["thttp", "http", "https", "pdi", "", ""]


def test_the_base_of_an_address_is_what_precedes_the_name() -> None:
    assert find_base(f"https://a.example/x/{NAME}", NAME) == "https://a.example/x"
    assert find_base(f"https://a.example/urn:{NAME}", NAME) == "https://a.example"
    assert find_base("https://a.example/", NAME) == "https://a.example"
