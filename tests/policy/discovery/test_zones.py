"""The lines of a zone file. tests/fetching/test_name_servers.py lets name servers judge them."""

from __future__ import annotations

from typing import Any

import pytest

from perdure.errors.discovery import AddressNotForZone
from perdure.ids.name_set import read_set
from perdure.model.delegations import Delegation, Resolver
from perdure.policy.discovery.pointers import Pointer, apply_pointer
from perdure.policy.discovery.zones import (
    NAME_SERVERS,
    ZoneEntry,
    list_delegated,
    list_records,
    write_expressions,
    write_hint,
)

SERIES = "oma.eop.gov.us"


def list_lines(*entries: ZoneEntry, subseries: bool = False) -> list[str]:
    return [str(one) for one in list_records(SERIES, entries, subseries=subseries)]


def test_a_host_gets_a_service_record() -> None:
    service = "_https._tcp.oma.eop.gov.us."
    naptr = f'3600 IN NAPTR 100 10 "s" "https+N2L+N2R+N2C" "" {service}'
    assert list_lines(ZoneEntry(base="https://pid.example.org/"), subseries=True) == [
        "_https._tcp.oma.eop.gov.us. 3600 IN SRV 10 1 443 pid.example.org.",
        f"oma.eop.gov.us. {naptr}",
        f"*.oma.eop.gov.us. {naptr}",
    ]


@pytest.mark.parametrize(
    ("base", "kind", "start"),
    [
        ("http://pid.example.org:8080", "http", "10 1 8080 pid.example.org."),
        ("http://pid.example.org", "thttp", "10 1 80 pid.example.org."),
    ],
)
def test_ports_and_protocols_are_those_of_the_resolver(base: str, kind: str, start: str) -> None:
    service, pointer = list_lines(ZoneEntry(base=base, kind=kind))  # type: ignore[arg-type]
    assert service.endswith(start)
    assert f'"{kind}+N2L+N2R+N2C"' in pointer


@pytest.mark.parametrize(
    "base", ["https://a.example/path", "https://192.0.2.1", "https://[2001:db8::1]"]
)
def test_other_addresses_get_an_expression(base: str) -> None:
    (line,) = list_lines(ZoneEntry(base=base))
    assert f'"!^(urn:)?(pdi://[^/]+/.*)$!{base}/\\\\2!i" .' in line


def test_some_days_come_before_all_days() -> None:
    whole = ZoneEntry(base="https://old.example")
    days = ZoneEntry(base="https://new.example", first="1993/01/20", last="2001/01/19")
    lines = list_lines(whole, days)
    assert [line.split()[4] for line in lines if "NAPTR" in line] == ["50", "100"]


def test_a_long_interval_is_divided() -> None:
    """Character strings have at most 255 octets (RFC 1035 section 3.3)."""
    entry = ZoneEntry(
        base=f"https://{'a' * 60}.{'b' * 60}.example", first="1993/04/17", last="2031/11/13"
    )
    found = write_expressions(entry)
    assert len(found) > 1
    assert all(len(one) <= 255 for one in found)
    for day, inside in (("1993/04/16", 0), ("1993/04/17", 1), ("2020/02/02", 1), ("2031/11/14", 0)):
        name = f"pdi://{SERIES}/{day}/1"
        hits = [
            each
            for one in list_records(SERIES, [entry])
            if (each := apply_pointer(name, _read(one.data))) is not None
        ]
        assert len(hits) == inside


@pytest.mark.parametrize(
    ("day", "inside"), [("0001/01/01", True), ("1993/01/19", True), ("1993/01/20", False)]
)
def test_an_interval_without_a_first_day_begins_with_the_calendar(
    day: str, *, inside: bool
) -> None:
    (found,) = list_records(SERIES, [ZoneEntry(base="https://a.example", last="1993/01/19")])
    assert (apply_pointer(f"pdi://{SERIES}/{day}/1", _read(found.data)) is not None) is inside


def _read(data: str) -> Pointer:
    order, preference, flags, service, regexp, _ = data.split(" ")
    text = regexp.strip('"').replace("\\\\", "\\")
    return Pointer(int(order), int(preference), flags.strip('"'), service.strip('"'), text, "")


@pytest.mark.parametrize(
    "base",
    [
        "ftp://a.example",
        "https://a.example/\n",
        "https://[a",
        "https://a.example/!#%;~",
        "https://a.example/\\",
        f"https://{'a' * 250}.example/x",
    ],
)
def test_an_address_that_cannot_be_written_is_refused(base: str) -> None:
    with pytest.raises(AddressNotForZone):
        list_records(SERIES, [ZoneEntry(base=base)])


def test_another_mark_encloses_an_address_with_the_usual_one() -> None:
    (found,) = write_expressions(ZoneEntry(base="https://a.example/x!"))
    assert found == "#^(urn:)?(pdi://[^/]+/.*)$#https://a.example/x!/\\2#i"


@pytest.mark.parametrize(
    ("names", "days", "entry"),
    [
        ("pdi://oma.eop.gov.us/", {}, ("", "")),
        ("pdi://oma.eop.gov.us/1993/", {}, ("1993/01/01", "1993/12/31")),
        ("pdi://oma.eop.gov.us/1993/02/", {}, ("1993/02/01", "1993/02/31")),
        ("pdi://oma.eop.gov.us/", {"first_day": "1993-01-20"}, ("1993/01/20", "")),
        ("pdi://oma.eop.gov.us/", {"last_day": "2001-01-19"}, ("", "2001/01/19")),
    ],
)
def test_delegations_have_days(names: str, days: dict[str, Any], entry: tuple[str, str]) -> None:
    there = Resolver(base="https://archives.example/", priority=5)
    (found,) = list_delegated(SERIES, Delegation(names=read_set(names), resolvers=(there,), **days))
    assert (found.first, found.last) == entry
    assert (found.base, found.priority) == ("https://archives.example/", 5)


def test_a_delegation_of_a_series_to_the_right_covers_it_if_it_says_so() -> None:
    there = Resolver(base="https://archives.example/")
    above = read_set("pdi://eop.gov.us/")
    for covers in (True, False):
        said = Delegation(names=above, resolvers=(there,), has_subseries=covers)
        assert bool(list_delegated(SERIES, said)) == covers


def test_a_hint_names_the_checker_of_each_name_server() -> None:
    checkers = [write_hint(one, SERIES).splitlines()[-1] for one in NAME_SERVERS]
    assert [one.split()[4] for one in checkers] == [
        "named-checkzone",
        "kzonecheck",
        "nsd-checkzone",
    ]
    assert all(
        line.startswith(";")
        for one in NAME_SERVERS
        for line in write_hint(one, SERIES).splitlines()
    )
