"""What stores find out about the ground they depend on: real file systems and real servers.

What PostgreSQL promises under which settings: its manual, "Write Ahead Log" (fsync,
synchronous_commit) and "Replication" (synchronous_standby_names, pg_stat_replication).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest
from tests.cli.conftest import Shell
from tests.conftest import SERIES
from tests.storage.postgresql_server import PostgresqlServer, make_address, make_server

from perdure.registry import initialise
from perdure.storage.postgresql.addresses import parse_address
from perdure.storage.postgresql.examining import examine_database, judge_clock, judge_standbys
from perdure.storage.postgresql.schema import create_schema
from perdure.storage.store_findings import StoreFinding, examine_file_system

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)


def find(findings: list[StoreFinding], name: str) -> StoreFinding:
    """The finding with this name."""
    return next(one for one in findings if one.name == name)


# File systems
# ------------

MOUNTS = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:25 / /srv rw - nfs4 server:/srv rw,vers=4.2
31 30 0:26 / /srv/with\\040space rw - xfs /dev/sdb1 rw
32 22 0:27 / /run rw,nosuid - tmpfs tmpfs rw
33 32 8:2 / /run rw - ext4 /dev/sdc1 rw
"""


@pytest.mark.parametrize(
    ("directory", "severity", "kind"),
    [
        ("/var/archive", "ok", "ext4"),
        ("/srv/archive", "warning", "nfs4, over the network"),
        ("/srv/with space/archive", "ok", "xfs"),
        ("/srvother", "ok", "ext4"),
        ("/run/archive", "ok", "ext4"),  # the second file system mounted there covers the first
    ],
)
def test_the_file_system_of_a_directory(
    tmp_path: Path, directory: str, severity: str, kind: str
) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(MOUNTS)
    found = examine_file_system(Path(directory), mounts)
    assert (found.severity, found.seen) == (severity, kind)
    assert bool(found.advice) == (severity != "ok")


def test_a_system_that_does_not_tell_its_file_systems(tmp_path: Path) -> None:
    found = examine_file_system(tmp_path, tmp_path / "nowhere")
    assert (found.severity, found.seen, found.ok) == ("note", "not known", True)


def test_the_file_system_in_memory_is_no_place_for_an_archive(tmp_path: Path) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text("22 1 0:27 / / rw,nosuid - tmpfs tmpfs rw\n")
    found = examine_file_system(Path("/archive"), mounts)
    assert (found.severity, found.ok) == ("warning", False)


# PostgreSQL
# ----------


@pytest.fixture
def address() -> str:
    made = make_address()
    create_schema(parse_address(made))
    return made


@pytest.fixture
def tell(address: str) -> Callable[[str], None]:
    """Sends a statement to the database, in the schema of the registry."""

    def send(statement: str) -> None:
        parsed = parse_address(address)
        with psycopg.connect(**parsed.parameters, autocommit=True) as connection:  # type: ignore[arg-type]
            connection.execute(f"SET search_path TO {parsed.schema}")
            connection.execute(statement)

    return send


def test_a_server_alone(address: str) -> None:
    findings = {one.name: one.severity for one in examine_database(parse_address(address))}
    assert findings == {
        "flushing": "ok",
        "standbys": "warning",  # there is none
        "checksums": "ok",
        "clocks": "ok",
        "collation": "ok",
        "guards": "ok",
        "rights": "ok",
        "role": "warning",  # the tests connect as a superuser
    }


@pytest.mark.parametrize(
    ("statement", "name", "seen"),
    [
        (
            'ALTER TABLE records ALTER key TYPE text COLLATE "default"',
            "collation",
            "other than C: records.key",
        ),
        (
            "ALTER TABLE history DISABLE TRIGGER history_holds",
            "guards",
            "not in force: history_hold",
        ),
        ("DROP TRIGGER rules_stay ON rules", "guards", "not in force: rules_stay"),
    ],
)
def test_tables_that_were_changed(
    address: str, tell: Callable[[str], None], statement: str, name: str, seen: str
) -> None:
    tell(statement)
    found = find(examine_database(parse_address(address)), name)
    assert (found.severity, found.seen) == ("error", seen)
    assert found.advice


@pytest.fixture
def role(address: str, tell: Callable[[str], None]) -> Iterator[str]:
    """A role with the rights that docs/reference/postgresql.md gives to nodes."""
    parsed = parse_address(address)
    name = f"node_of_{parsed.schema}"
    tell(f"CREATE ROLE {name} LOGIN")
    tell(f"GRANT USAGE ON SCHEMA {parsed.schema} TO {name}")
    tell(f"GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA {parsed.schema} TO {name}")
    tell(f"GRANT DELETE ON refers, staged_refers, answered TO {name}")
    yield name
    tell(f"DROP OWNED BY {name}")
    tell(f"DROP ROLE {name}")


def test_the_rights_of_a_role(address: str, role: str, tell: Callable[[str], None]) -> None:
    node = parse_address(address.replace("//perdure@", f"//{role}@"))
    findings = examine_database(node)
    assert (find(findings, "rights").severity, find(findings, "role").severity) == ("ok", "ok")
    tell(f"GRANT DELETE ON history TO {role}")
    tell(f"REVOKE INSERT ON changes FROM {role}")
    tell(f"REVOKE DELETE ON answered FROM {role}")
    findings = examine_database(node)
    assert find(findings, "rights").seen == "missing: INSERT of changes, DELETE of answered"
    assert find(findings, "rights").severity == "error"
    assert find(findings, "role").seen == "may DELETE of history"
    assert find(findings, "role").severity == "warning"


def test_rights_without_which_nothing_can_be_read(
    place: Path, address: str, role: str, tell: Callable[[str], None]
) -> None:
    """The doctor names the missing rights: for a node, the registry is just "not available"."""
    schema = parse_address(address).schema
    there = address.replace("//perdure@", f"//{role}@")
    shell = make_node(place, there)
    tell(f"REVOKE SELECT ON meta FROM {role}")
    assert find(examine_database(parse_address(there)), "rights").seen == "missing: SELECT of meta"
    told = shell.run("doctor", code=1).stdout
    assert "error    rights: missing: SELECT of meta" in told
    assert "error    clock: the last change cannot be read" in told
    assert "mend first: rights" in told
    tell(f"REVOKE USAGE ON SCHEMA {schema} FROM {role}")
    tell('ALTER TABLE records ALTER key TYPE text COLLATE "default"')
    findings = examine_database(parse_address(there))
    assert f"missing: USAGE of schema {schema}, " in find(findings, "rights").seen
    assert find(findings, "collation").seen == "other than C: records.key"


def test_functions_that_a_role_may_not_call(
    place: Path, address: str, role: str, tell: Callable[[str], None]
) -> None:
    """PostgreSQL checks the right to a trigger's function when the trigger is made, not when it
    runs (CREATE TRIGGER, "Notes"): only the others are needed."""
    schema = parse_address(address).schema
    node = parse_address(address.replace("//perdure@", f"//{role}@"))
    tell(f"REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA {schema} FROM PUBLIC")
    found = find(examine_database(node), "rights")
    assert found.seen == "missing: EXECUTE of is_rewritten, EXECUTE of note_batch"
    assert found.severity == "error"
    tell(f"GRANT EXECUTE ON FUNCTION is_rewritten, note_batch TO {role}")
    assert find(examine_database(node), "rights").ok
    assert make_node(place, address.replace("//perdure@", f"//{role}@")).lines("mint")


def make_node(place: Path, address: str) -> Shell:
    """A directory whose records are in this database."""
    (place / "node").mkdir()
    settings = f'[perdure]\nseries = ["{SERIES}"]\nstore = "{address}"\n'
    (place / "node" / "perdure.toml").write_text(settings)
    return Shell(place / "node")


def test_commits_that_are_not_flushed(address: str, role: str, tell: Callable[[str], None]) -> None:
    tell(f"ALTER ROLE {role} SET synchronous_commit = off")
    found = find(
        examine_database(parse_address(address.replace("perdure@", f"{role}@"))), "flushing"
    )
    assert found.severity == "error"
    assert "synchronous_commit = off" in found.seen


@pytest.fixture
def servers() -> Iterator[list[PostgresqlServer]]:
    """A primary that does not flush, and a standby that follows it."""
    primary = make_server("fsync=off")
    standby = PostgresqlServer(primary.programs, follows=primary)
    yield [primary, standby]
    standby.remove()
    primary.remove()


def test_a_standby(place: Path, servers: list[PostgresqlServer]) -> None:
    primary, standby = servers
    (place / "node").mkdir()
    initialise(place / "node", f"{primary.address}&schema=perdure", series=(SERIES,))
    shell = Shell(place / "node")

    def ask(expected: str) -> dict[str, str]:
        """What the doctor says of the standbys. It may take the server a moment to notice."""
        for _ in range(100):
            lines = shell.run("doctor", "--json", code=1).stdout.splitlines()
            found: dict[str, str] = next(
                one for one in map(json.loads, lines) if one["name"] == "standbys"
            )
            if found["severity"] == expected:
                return found
            time.sleep(0.05)
        raise AssertionError(found)

    told = shell.run("doctor", code=1).stdout
    assert "error    flushing: fsync = off" in told
    assert "asynchronous" in ask("error")["advice"]
    configure(primary, "synchronous_standby_names = '*'")
    assert "standby (sync)" in ask("ok")["found"]
    configure(primary, "synchronous_commit = local")
    assert "no commit waits" in ask("error")["advice"]
    configure(primary, "synchronous_commit = on")
    ask("ok")
    standby.stop()
    assert "start the synchronous standby" in ask("error")["advice"]


def configure(server: PostgresqlServer, setting: str) -> None:
    """Change a setting of a running server."""
    with psycopg.connect(server.address, autocommit=True) as connection:
        connection.execute(f"ALTER SYSTEM SET {setting}")
        connection.execute("SELECT pg_reload_conf()")


@pytest.mark.parametrize(
    ("named", "commit", "rows", "severity"),
    [
        ("a", "on", [("a", "streaming", "sync"), ("b", "streaming", "async")], "ok"),
        ("ANY 1 (a, b)", "on", [("a", "streaming", "quorum")], "ok"),
        ("a", "on", [("b", "streaming", "async")], "error"),
        ("a", "remote_write", [("a", "streaming", "sync")], "warning"),
        ("a", "remote_apply", [("a", "streaming", "sync")], "ok"),
        ("a", "on", [("a", None, None)], "note"),  # the role may not see more
        ("", "on", [("a", None, None)], "error"),
    ],
)
def test_what_a_failover_would_lose(
    named: str, commit: str, rows: list[tuple[str, str | None, str | None]], severity: str
) -> None:
    assert judge_standbys(named, commit, rows).severity == severity


@pytest.mark.parametrize(
    ("seconds", "severity"), [(0, "ok"), (1.5, "ok"), (-1.5, "ok"), (3, "error"), (-3, "error")]
)
def test_clocks_apart(seconds: float, severity: str) -> None:
    """The question takes a tenth of a second. Only what is beyond it counts."""
    there = NOW + timedelta(seconds=seconds)
    assert judge_clock(NOW, there, NOW + timedelta(seconds=0.1)).severity == severity
