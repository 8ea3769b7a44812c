"""Hosts that are private addresses, in all the forms in which browsers read them."""

from __future__ import annotations

import pytest

from perdure.policy.network_addresses import parse_networks
from perdure.policy.spelled_hosts import is_private


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "2130706433",
        "0177.0.0.1",
        "0x7f000001",
        "127.1",
        "10.1",
        "192.168.0.1:8080",
        "user@10.0.0.1",
        "169.254.169.254",
        "[::1]",
        "[::ffff:10.0.0.1]",
        "[fd00::1]",
        "localhost",
        "LOCALHOST.",
        "printer.local",
        "metadata.google.internal",
    ],
)
def test_private(host: str) -> None:
    assert is_private(f"http://{host}/x")


@pytest.mark.parametrize(
    "host",
    ["a.example", "9.9.9.9", "[2606:4700::1111]", "local.example", "1.2.3.4.5", "256.256.256.256",
     "0xzz", "08.1.1.1", "", "[bad"],
)  # fmt: skip
def test_public_or_nothing(host: str) -> None:
    assert not is_private(f"http://{host}/x")


def test_what_the_operator_allows() -> None:
    assert not is_private("http://10.1.2.3/", parse_networks(("10.1.0.0/16",)))
    assert is_private("http://10.2.2.3/", parse_networks(("10.1.0.0/16",)))
