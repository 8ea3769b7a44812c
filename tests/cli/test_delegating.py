"""`delegate`, `undelegate` and `delegations`."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from tests.cli.conftest import Shell
from tests.conftest import SERIES

from perdure.cli import exits
from perdure.errors import PerdureError
from perdure.errors.delegations import DelegationMalformed

OLD = "pdi://press.oma.eop.gov.us/1993/"
ARCHIVES = "https://resolver.archives.example"


def test_names_are_delegated_listed_and_taken_back(shell: Shell) -> None:
    (first,) = shell.lines("delegate", OLD, "--to", ARCHIVES, "--by", "ann")
    (second,) = shell.lines(
        "delegate", "hdl:4263537/", "--to", "https://hdl.handle.net", "--how", "refer"
    )
    lines = shell.lines("delegations")
    assert lines[0].startswith(f"{first} {OLD} resolver redirect {ARCHIVES}/ from ")
    assert lines[1].startswith(f"{second} hdl:4263537/* resolver refer https://hdl.handle.net/")
    assert shell.lines("delegations", f"{OLD}01/20/1") == lines[:1]
    shell.run("undelegate", first, "--reason", "back again")
    assert shell.lines("delegations") == lines[1:]
    (ended, _) = [json.loads(line) for line in shell.lines("delegations", "--all", "--json")]
    assert (ended["identifier"], ended["in_force"], ended["by"]) == (first, False, "ann")
    assert shell.run("undelegate", "hdl:1/2", code=10).stderr


def test_a_newer_one_replaces_an_older_one(shell: Shell) -> None:
    (old,) = shell.lines("delegate", OLD, "--to", "https://old.example")
    (new,) = shell.lines("delegate", OLD, "--to", ARCHIVES)
    assert [line.split()[0] for line in shell.lines("delegations")] == [new]
    lines = shell.lines("delegations", "--all")
    assert lines[0].startswith(old)
    assert lines[0].endswith(f"replaced by {new}")
    shell.run("undelegate", new)
    assert [line.split()[0] for line in shell.lines("delegations")] == [old]


def test_every_term_is_kept(shell: Shell) -> None:
    shell.run(
        *("delegate", "pdi://eop.gov.us/", "--subseries", "--role", "authority", "--how", "proxy"),
        *("--to", "https://one.example/pid", "--to", "https://two.example", "--protocol", "thttp"),
        *("--first-day", "1993-01-20", "--last-day", "2001-01-19", "--effective", "2001-01-20"),
        *("--reason", "a new term", "--series", SERIES),
    )
    (found,) = [json.loads(line) for line in shell.lines("delegations", "--json")]
    assert [one["url"] for one in found["resolvers"]] == [
        "https://one.example/pid/",
        "https://two.example/",
    ]
    assert {one["kind"] for one in found["resolvers"]} == {"thttp"}
    terms = ("subseries", "role", "how", "first_day", "last_day", "effective", "reason")
    assert [found[one] for one in terms] == [
        *(True, "authority", "proxy", "1993-01-20", "2001-01-19", "2001-01-20", "a new term")
    ]
    (line,) = shell.lines("delegations")
    assert "with its subseries of 1993-01-20 to 2001-01-19" in line


def test_a_delegated_name_is_answered_elsewhere(shell: Shell) -> None:
    shell.run("delegate", OLD, "--to", ARCHIVES)
    for command in (("get", f"{OLD}01/20/1"), ("resolve", f"{OLD}01/20/1"), ("list", OLD)):
        error = shell.run(*command, code=10).stderr
        assert ARCHIVES in error


@pytest.mark.parametrize(
    "terms",
    [("--to", "ftp://a.example"), ("--to", ARCHIVES, "--first-day", "soon"),
     ("--to", ARCHIVES, "--effective", "1993-02-30")],
)  # fmt: skip
def test_terms_that_nobody_can_meet_are_refused(shell: Shell, terms: tuple[str, ...]) -> None:
    assert (
        "docs/reference/delegations.md"
        in shell.run("delegate", OLD, *terms, code=exits.exit_code_of(_refusal())).stderr
    )


def _refusal() -> PerdureError:
    return DelegationMalformed(place="", expected="")


def test_a_delegation_is_signed_by_a_key(shell: Shell, place: Path) -> None:
    """ "signed by who delegates" """
    key = place / "key"
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)],
        check=True,
    )
    (name,) = shell.lines("delegate", OLD, "--to", ARCHIVES, "--key", str(key))
    (signature,) = shell.lines("list", f"{name.rpartition('/')[0]}/2.*.*")
    signed = shell.run("get", signature).stdout
    assert f"identifier: {name}" in signed
    assert "role: issuer" in signed
