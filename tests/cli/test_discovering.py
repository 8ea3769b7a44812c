"""`discover`, `dns`, `doctor`, and `get`, `resolve`, `cite` without a registry.

Real name servers (bind, knot, nsd) and a real resolver, all on the loopback.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner
from tests.cli.conftest import Shell
from tests.name_servers import PROGRAMS, find_program, running
from tests.server.deployment import SERIES, Deployment, deployed, text

from perdure.cli import perdure
from perdure.policy.discovery.zones import ZoneEntry, list_records, write_hint

pytest.importorskip("dns")

FOREIGN = "archive.nara.gov.us"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with deployed(tmp_path_factory.mktemp("site") / "registry") as server:
        yield server


@pytest.fixture(scope="module")
def letter_name(site: Deployment) -> str:
    return site.mint(text(b"Dear Sir,\n"), metadata={"title": "A letter"})


@pytest.fixture
def abroad(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A shell on a machine without a registry, which may reach the loopback."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PERDURE_PRIVATE_NETWORKS", "127.0.0.0/8")
    monkeypatch.chdir(tmp_path)
    return Shell(tmp_path / "no-registry")


@pytest.fixture(scope="module", params=[*PROGRAMS])
def name_server(
    request: pytest.FixtureRequest, site: Deployment, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """A name server whose records `perdure dns` wrote."""
    shell = Shell(tmp_path_factory.mktemp("empty"))
    lines = shell.run("dns", SERIES, "--resolver", site.base).stdout
    root = r'@ IN NAPTR 100 10 "" "" "!^(urn:)?pdi://([^/]+)/.*$!\\2!i" .'
    zones = {
        SERIES: lines,
        "pdi.urn.arpa": root,
        "loop.a.us": '@ IN NAPTR 10 10 "" "" "" two.loop.a.us.\n'
        'two IN NAPTR 10 10 "" "" "" loop.a.us.',
        "a.us": "",
        "wild.a.us": "* IN A 127.0.0.1\n@ IN A 127.0.0.1",
    }
    place = tmp_path_factory.mktemp("names")
    with running(place, request.param, zones) as address:
        yield address


@pytest.fixture
def asking(abroad: Shell, name_server: str, monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.setenv("PERDURE_NAME_SERVERS", name_server)
    return abroad


# name servers lead to a resolver
# -------------------------------


def test_discovery_shows_each_step(asking: Shell, site: Deployment, letter_name: str) -> None:
    rows = [json.loads(one) for one in asking.lines("discover", letter_name, "--json")]
    host = urlsplit(site.base).netloc
    assert [(one["where"], one["outcome"]) for one in rows[:-1]] == [
        ("settings", "nothing"),
        (f"NAPTR {SERIES}", "followed"),
        ("NAPTR result" if "s" not in rows[2]["where"] else rows[2]["where"], rows[2]["outcome"]),
        *[(one["where"], one["outcome"]) for one in rows[3:-1]],
    ]
    assert rows[-1]["address"] == f"http://{host}/{letter_name}"
    assert (rows[-1]["source"], rows[-1]["security"]) == ("dns", "not validated")


def test_bytes_records_and_citations_need_no_registry(
    asking: Shell, site: Deployment, letter_name: str
) -> None:
    assert asking.run("get", letter_name).stdout == "Dear Sir,\n"
    assert asking.run("get", letter_name, "--part", "char=0,4").stdout == "Dear"
    assert asking.lines("resolve", letter_name) == [f"{site.base}/{letter_name}"]
    described = asking.json("resolve", letter_name, "--want", "I2C")
    assert described["record"]["identifier"] == letter_name
    assert "A letter" in asking.run("cite", letter_name).stdout
    assert "title = {A letter}" in asking.run("cite", letter_name, "--style", "bibtex").stdout


def test_what_is_not_there_is_reported_in_its_own_words(asking: Shell) -> None:
    asking.run("get", f"pdi://{SERIES}/1997/09/01/999.text.1", code=10)


def test_what_was_learnt_is_kept_for_its_lifetime(
    asking: Shell, letter_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking.run("discover", letter_name)
    monkeypatch.setenv("PERDURE_NAME_SERVERS", "127.0.0.1:9")  # which nobody answers
    again = asking.run("discover", letter_name).stdout
    assert "from the cache" in again
    asking.run("discover", letter_name, "--no-cache", code=20)


def test_records_that_form_a_loop_end(asking: Shell) -> None:
    told = asking.run("discover", "pdi://loop.a.us/1997/09/01/1", code=10).stdout
    assert "it was asked before: the records form a loop" in told


def test_the_records_of_all_series_lead_on(asking: Shell) -> None:
    told = asking.run("discover", "pdi://nobody.a.us/1997/09/01/1", code=10).stdout
    assert "NAPTR pdi.urn.arpa: 1 record" in told
    assert "NAPTR nobody.a.us: it was asked before" in told


def test_a_live_record_is_found_by_the_doctor(
    name_server: str, site: Deployment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = Shell(tmp_path / "registry")
    shell.run("init", str(shell.root), "--series", SERIES)
    monkeypatch.setenv("PERDURE_NAME_SERVERS", name_server)
    monkeypatch.setenv("PERDURE_BASE_URL", site.base)
    found = list_records_found(shell)
    assert found
    assert all(one.startswith("ok ") for one in found)
    monkeypatch.setenv("PERDURE_BASE_URL", "https://elsewhere.example")
    shell.run("doctor", code=1)
    found = list_records_found(shell)
    assert any("missing: " in one for one in found)
    assert any("also there: " in one for one in found)


def list_records_found(shell: Shell) -> list[str]:
    """What the doctor says of records in the DNS, whatever it says of this machine."""
    told = CliRunner(env={"PERDURE_REGISTRY": str(shell.root)}).invoke(perdure, ["doctor"])
    assert told.exit_code in (0, 1)
    return [line for line in told.stdout.splitlines() if re.search("^[a-z]+ +(NAPTR|SRV) ", line)]


# without name servers
# --------------------


def test_the_settings_come_first(
    abroad: Shell, site: Deployment, letter_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERDURE_RESOLVERS", f"*.eop.gov.us = {site.base}")
    assert abroad.run("get", letter_name).stdout == "Dear Sir,\n"
    assert "settings" in abroad.run("discover", letter_name).stdout


def test_names_of_other_schemes_lead_to_their_public_resolvers(abroad: Shell) -> None:
    assert abroad.lines("resolve", "doi:10.1000/182") == ["https://doi.org/10.1000/182"]
    told = abroad.error("get", "doi:10.1000/182", "--output", "x", code=17)
    assert told["uri"] == "https://doi.org/10.1000/182"
    assert (
        "resolver https://urn.fi/urn:nbn:fi-fe1" in abroad.run("discover", "urn:nbn:fi-fe1").stdout
    )
    abroad.run("discover", "urn:example:a", code=10)


def test_a_resolver_on_a_private_address_is_not_asked(
    abroad: Shell, site: Deployment, letter_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERDURE_RESOLVERS", f"{SERIES} = {site.base}")
    monkeypatch.delenv("PERDURE_PRIVATE_NETWORKS")
    assert "127.0.0.1" in abroad.error("get", letter_name, "--output", "x", code=4)["message"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RESOLVERS", "oma.eop.gov.us"),
        ("RESOLVERS", "a.us = gopher://a"),
        ("NAME_SERVERS", "ns.example"),
    ],
)
def test_malformed_settings_are_refused(
    abroad: Shell, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(f"PERDURE_{name}", value)
    abroad.run("discover", f"pdi://{SERIES}/1997/09/01/1", code=5)


# zone files, judged by the checkers of name servers
# --------------------------------------------------


CHECKERS = {
    "named-checkzone": lambda zone, file: ["named-checkzone", zone, file],
    "nsd-checkzone": lambda zone, file: ["nsd-checkzone", zone, file],
}


@pytest.mark.parametrize("checker", CHECKERS)
def test_name_servers_accept_the_lines(tmp_path: Path, checker: str) -> None:
    days = ZoneEntry(base="https://clinton.example/", first="1993/01/20", last="2001/01/19")
    records = list_records(SERIES, [days, ZoneEntry(base="https://a.example")], subseries=True)
    lines = [*map(str, records), write_hint("bind", SERIES)]
    soa = f"$ORIGIN {SERIES}.\n@ 60 IN SOA ns h 1 2 3 4 5\n@ 60 IN NS ns\nns 60 IN A 127.0.0.1\n"
    file = tmp_path / "zone"
    file.write_text(soa + "\n".join(lines) + "\n")
    find_program(checker)
    command = CHECKERS[checker](SERIES, str(file))
    command[0] = find_program(checker)
    subprocess.run(command, check=True, capture_output=True)


def test_dig_reads_the_interval_as_it_was_written(abroad: Shell, tmp_path: Path) -> None:
    dig = find_program("dig")
    lines = abroad.run("dns", SERIES, "--resolver", "https://a.example/x").stdout
    with running(tmp_path / "bind", "bind", {SERIES: lines}) as address:
        host, _, port = address.partition(":")
        words = [dig, f"@{host}", "-p", port, "+short", "NAPTR", f"{SERIES}."]
        shown = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    written = re.search(r"NAPTR (.*)", lines)
    assert written is not None
    assert shown.strip() == written[1]
