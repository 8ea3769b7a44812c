"""`check-links` and `relocate`, with a server of pages and a registry that is written to."""

from __future__ import annotations

import asyncio
import hashlib
import json
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from tests.cli.conftest import Shell
from tests.conftest import SERIES
from tests.upkeep.linkcheck.conftest import World, world  # noqa: F401  (a fixture)

from perdure.errors import PreconditionFailed
from perdure.ids import parse
from perdure.model.records import Location, Record, Value
from perdure.policy.handles import loc
from perdure.policy.handles.values import list_values
from perdure.policy.moves import Move, move_locations
from perdure.registry import Registry
from perdure.upkeep.linkcheck import Links, relocating, scheduling
from perdure.upkeep.linkcheck.health import Health


@pytest.fixture(autouse=True)
def _loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERDURE_PRIVATE_NETWORKS", "127.0.0.0/8")


@pytest.fixture
def bound(shell: Shell, world: World) -> Shell:  # noqa: F811
    for name, path in (("good", "/page/1"), ("gone", "/page/none"), ("old", "/moved/2")):
        shell.run("bind", "--register", f"hdl:10.9999/{name}", world.url(path))
    return shell


def test_report_and_exit_code(bound: Shell) -> None:
    lines = bound.lines("check-links", code=1)
    assert [line.split()[0] for line in lines[:2]] == ["dead", "moved"]
    assert "10.9999/gone" in lines[0]
    numbers = [json.loads(line) for line in bound.lines("check-links", "--json", code=1)]
    assert numbers[-1]["checked"] == 3
    assert numbers[-1]["verdicts"] | {"ok": 1, "dead": 1, "moved": 1} == numbers[-1]["verdicts"]


def test_html_escapes_what_servers_say(shell: Shell, world: World) -> None:  # noqa: F811
    shell.run(
        "bind", "--register", "hdl:10.9999/x", world.url("/page/a'b&<script>".replace("<", "%3C"))
    )
    page = "\n".join(shell.lines("check-links", "--report", "html", code=1))
    assert "a&#39;b&amp;" in page
    assert "<td>dead</td>" in page
    assert "<script" not in page


def test_all_well_is_0(shell: Shell, world: World) -> None:  # noqa: F811
    shell.run("bind", "--register", "hdl:10.9999/x", world.url("/page/1"))
    assert shell.lines("check-links")[-1].split() == ["1", "checked"]


def test_every_leaves_out_what_is_fresh(bound: Shell, world: World) -> None:  # noqa: F811
    bound.run("check-links", code=1)
    world.asked.clear()
    bound.run("check-links", "--every", "24", code=1)
    assert not world.asked


def test_a_run_that_was_interrupted_goes_on(bound: Shell, world: World) -> None:  # noqa: F811
    bound.run("check-links", code=1)
    links = Links(bound.root)
    links._connection.execute("UPDATE run SET ended = NULL")
    links._connection.execute("UPDATE location SET found_in = NULL WHERE uri LIKE '%none'")
    links.close()
    world.asked.clear()
    bound.run("check-links", "--resume", code=1)
    assert [path for path in world.asked if path.startswith("/page")] == ["/page/none"]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_what_was_found_before_a_kill_is_kept(
    shell: Shell,
    world: World,  # noqa: F811
    how: signal.Signals,
) -> None:
    for number in range(5):
        shell.run("bind", "--register", f"hdl:10.9999/{number}", world.url(f"/page/{number}"))
    shell.run("bind", "--register", "hdl:10.9999/slow", world.url("/slow"))
    words = (sys.executable, "-m", "perdure.cli", "check-links", "-C", str(shell.root))
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while sum(_findings(shell)) < 5:
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(how)
    world.asked.clear()
    world.slow = False
    shell.run("check-links", "--resume")
    assert [path for path in world.asked if path != "/robots.txt"] == ["/slow"]


def _findings(shell: Shell) -> list[int]:
    """For each location whether it was looked at."""
    links = Links(shell.root)
    rows = list(links._connection.execute("SELECT found_in IS NOT NULL FROM location"))
    links.close()
    return [found for (found,) in rows]


def test_what_begins_alike_is_checked_alone(bound: Shell, world: World) -> None:  # noqa: F811
    bound.run("bind", "--register", "hdl:10.8888/Other", world.url("/page/8"))
    bound.run("bind", "--register", "ark:12345/x8rd", world.url("/page/9"))
    assert bound.lines("check-links", "doi:10.9999/*", code=1)[-1].split() == ["3", "checked"]
    assert bound.lines("check-links", "hdl:10.8888/OT*")[-1].split() == ["1", "checked"]
    assert bound.lines("check-links", "ark:12345/x8*")[-1].split() == ["1", "checked"]
    assert bound.error("check-links", "hdl:10.7777/*", code=10)["code"] == "not-found"


def test_a_name_that_is_not_known_is_an_error(bound: Shell) -> None:
    assert bound.error("check-links", "hdl:10.9999/misspelt", code=10)["code"] == "not-found"


def test_what_begins_alike_moves_alone(bound: Shell, world: World) -> None:  # noqa: F811
    bound.run("bind", "--register", "hdl:10.8888/x", world.url("/page/1"))
    moving = ("--from", world.url("/page/"), "--to", "https://new.example/", "--apply")
    done = bound.lines("relocate", "--pattern", "hdl:10.8888/*", *moving, "--json")[-1]
    assert json.loads(done) == {"locations": 1, "identifiers": 1, "applied": 1}


def test_only_one_at_a_time(bound: Shell) -> None:
    links = Links(bound.root)
    with links.hold_lock():
        assert bound.error("check-links", code=20)["code"] == "unavailable"
    links.close()


def test_what_is_lost_is_known_to_those_who_redirect(bound: Shell, world: World) -> None:  # noqa: F811
    health = Health(bound.root)
    assert not health.refresh()
    bound.run("check-links", code=1)
    assert health.refresh()
    assert health.dead == {world.url("/page/none")}
    assert not health.refresh()
    for name in ("links.sqlite", "links.sqlite-wal", "links.sqlite-shm"):
        (bound.root / name).unlink(missing_ok=True)
    assert health.refresh()
    assert not health.dead


def test_the_command_line_resolves_as_the_server_does(shell: Shell, world: World) -> None:  # noqa: F811
    name = "hdl:10.9999/many"
    for path, *words in (
        ("/page/1", "--valid-until", "2001-01-01", "--weight", "9"),
        ("/status/404", "--weight", "5"),
        ("/page/2", "--weight", "2", "--language", "de"),
        ("/page/3", "--region", "eu"),
        ("/page/4", "--language", "fr", "--weight", "0"),
    ):
        shell.run("bind", "--register", name, world.url(path), *words)
    shell.run("check-links", code=1)

    def place(*words: str) -> str:
        (line,) = shell.lines("resolve", name, "--want", "I2L", *words)
        return line.removeprefix(world.url("/"))

    assert place() == "page/2"
    assert place("--region", "eu") == "page/3"
    assert place("--language", "fr", "--language", "de") == "page/4"
    all_of_them = shell.lines("resolve", name, "--want", "I2Ls")
    assert [one.rpartition("/")[2] for one in all_of_them] == ["2", "3", "4", "404"]


def test_a_damaged_file_makes_nothing_lost(shell: Shell) -> None:
    (shell.root / "links.sqlite").write_bytes(b"no database" * 1000)
    health = Health(shell.root)
    assert not health.refresh()
    assert not health.dead


# relocate
# --------


@pytest.fixture
def series(shell: Shell) -> Shell:
    for serial in range(3):
        name = f"pdi://oma.eop.gov.us/1997/09/0{serial + 1}/1"
        shell.run("bind", "--register", name, f"https://old.example/a/{serial}", "--weight", "3")
    shell.run("bind", "--register", "hdl:10.9999/x", "https://old.example/a/9")
    return shell


def _places(shell: Shell, name: str) -> list[str]:
    with Registry(shell.root) as registry:
        record = registry.listings.find_record(parse(name))
    assert record is not None
    return [one.uri for one in record.locations]


MOVE = ("--from", "https://old.example/a/", "--to", "https://new.example/b/")


def test_it_is_shown_first(series: Shell) -> None:
    answer = series.run("relocate", *MOVE)
    assert "+ https://new.example/b/0" in answer.stdout
    assert "4 locations of 4 identifiers would move" in answer.stderr
    assert _places(series, "hdl:10.9999/x") == ["https://old.example/a/9"]


def test_it_is_done_for_a_series_and_for_no_other(series: Shell) -> None:
    series.run("relocate", "--series", "oma.eop.gov.us", *MOVE, "--apply", "--by", "anna")
    for serial in range(3):
        name = f"pdi://oma.eop.gov.us/1997/09/0{serial + 1}/1"
        assert _places(series, name) == [f"https://new.example/b/{serial}"]
    assert _places(series, "hdl:10.9999/x") == ["https://old.example/a/9"]
    history = series.run("history", "pdi://oma.eop.gov.us/1997/09/01/1").stdout
    assert "anna" in history


def test_hosts_move_whatever_the_scheme(shell: Shell) -> None:
    shell.run(
        "bind", "--register", "hdl:10.9999/x", "http://OLD.example/q?r", "https://old.example.org/"
    )
    shell.run("relocate", "--from", "//old.example", "--to", "//new.example:8080", "--apply")
    assert _places(shell, "hdl:10.9999/x") == [
        "http://new.example:8080/q?r",
        "https://old.example.org/",
    ]


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("https://old.example", "https://new.example/"),
        ("https://old.example/", "//new.example"),
        ("https://old.example/", "javascript:alert(1)//"),
        ("//old.example", "//new.example/path"),
        ("old", "new"),
    ],
)
def test_rules_that_say_too_much_are_refused(series: Shell, source: str, target: str) -> None:
    series.error("relocate", "--from", source, "--to", target, "--apply", code=4)
    assert _places(series, "hdl:10.9999/x") == ["https://old.example/a/9"]


def test_nothing_moves_where_a_record_was_changed_meanwhile(series: Shell) -> None:
    moves = (Move(source="https://old.example/a/", target="https://new.example/"),)
    with Registry(series.root) as registry:
        plan = relocating.preview_moves(
            registry, None, moves, tell=lambda _: None, report=lambda _: None, most_shown=0
        )
    series.run("bind", "hdl:10.9999/x", "https://other.example/")
    with Registry(series.root) as registry, pytest.raises(PreconditionFailed):
        relocating.apply_plan(registry, plan, by="anna")
    assert _places(series, "pdi://oma.eop.gov.us/1997/09/01/1") == ["https://old.example/a/0"]


@pytest.mark.parametrize("promise_first", [False, True])
def test_a_promise_stays_where_two_locations_become_one(*, promise_first: bool) -> None:
    """ "a location that has promised its bytes" stays bound to them (PDI section 3.6.2)."""
    old = Location(uri="https://old.example/a/1", sha512="0" * 128)
    new = Location(uri="https://new.example/b/1")
    record = Record(locations=(old, new) if promise_first else (new, old))
    changed, _ = move_locations(record, (Move(source=MOVE[1], target=MOVE[3]),))
    assert changed.locations == (Location(uri=new.uri, sha512="0" * 128),)


def test_a_handle_keeps_the_index_of_its_url(root: Path) -> None:
    record = Record(
        locations=(Location(uri="https://old.example/1"),),
        values=(Value(index=7, type="URL", data="https://old.example/1"),),
    )
    changed, _ = move_locations(record, (Move(source="//old.example", target="//new.example"),))
    assert [(one.index, one.data) for one in list_values(changed)] == [(7, "https://new.example/1")]


def test_a_list_of_locations_in_a_handle_moves_along() -> None:
    """10320/loc: what a client reads there is where readers are sent (technical manual 3.2)."""
    old, new = "https://old.example/1", "https://new.example/1"
    xml = '<locations chooseby="weighted"><location id="0" href="{}" weight="2"/></locations>'
    record = Record(
        locations=(Location(uri=old, weight=2),),
        values=(Value(index=3, type="10320/loc", data=xml.format(old)),),
    )
    changed, _ = move_locations(record, (Move(source="//old.example", target="//new.example"),))
    assert [one.uri for one in changed.locations] == [new]
    assert loc.read_locations(changed.values[0].data) == changed.locations
    assert 'chooseby="weighted"' in changed.values[0].data


# drift
# -----


@pytest.fixture
def promised(shell: Shell, world: World, place: Path) -> str:  # noqa: F811
    """A handle that is bound to a PDF, whose bytes are promised, and which changes afterwards."""
    world.pages["/speech.pdf"] = b"%PDF the speech as it was given"
    (place / "speech.pdf").write_bytes(world.pages["/speech.pdf"])
    name, url = "doi:10.9999/speech", world.url("/speech.pdf")
    shell.run("bind", "--register", name, url, "--format", "pdf", "--digest-of", "speech.pdf")
    assert shell.lines("check-links")[-1].split() == ["1", "checked"]
    world.pages["/speech.pdf"] = b"%PDF the speech as it should have been given"
    return name


def test_drift_is_noticed_by_default(shell: Shell, promised: str) -> None:
    """Ruling drift: "Setting `on_drift = "notice"` (default)"."""
    found = json.loads(shell.lines("check-links", "--json", code=1)[0])
    changed = hashlib.sha512(b"%PDF the speech as it should have been given").hexdigest()
    assert (found["verdict"], found["sha512"], found["size"]) == ("drift", changed, 44)
    record = shell.json("describe", promised)["record"]
    assert len(record["locations"]) == 1
    assert "drifted" not in record


@pytest.mark.parametrize("is_held", [True, False])
def test_a_binding_whose_content_changed_is_broken(
    shell: Shell,
    world: World,  # noqa: F811
    place: Path,
    promised: str,
    monkeypatch: pytest.MonkeyPatch,
    is_held: bool,
) -> None:
    """ "If the URI changes, the indirect binding MUST be broken, and the original machine
    representation associated directly with the PDI" (section 3.6.2)."""
    if is_held:
        shell.run("commit", promised, "speech.pdf", "--format", "pdf")
    monkeypatch.setenv("PERDURE_ON_DRIFT", "break")
    told = shell.run("check-links", code=1)
    assert f"{promised} is no longer bound to {world.url('/speech.pdf')}" in told.stderr
    assert ("are held here" if is_held else "are not held here") in told.stderr
    past = [json.loads(one) for one in shell.lines("describe", promised, "--history", "--json")]
    last = past[-1]["record"]
    assert (last["by"], last.get("locations", [])) == ("check-links", [])
    assert past[-2]["record"]["locations"][0]["uri"] == world.url("/speech.pdf")
    (drift,) = last["drifted"]
    before, after = (
        hashlib.sha512(one).hexdigest()
        for one in ((place / "speech.pdf").read_bytes(), world.pages["/speech.pdf"])
    )
    assert (drift["sha512"], drift["found_sha512"], drift["status"]) == (before, after, 200)
    assert drift["at"].startswith("20")
    assert "was bound" in shell.run("describe", promised).stdout
    (place / "other.pdf").write_bytes(b"%PDF something else")
    if is_held:
        assert shell.run("get", promised).stdout.startswith("%PDF the speech as it was")
    else:  # the promise stays
        again = ("--format", "pdf", "--digest-of")
        refused = shell.error("bind", promised, "https://b.example/", *again, "other.pdf", code=40)
        assert refused["code"] == "conflict"
        shell.run("bind", promised, "https://b.example/", *again, "speech.pdf")
    shell.run("export", "-o", "out.jsonl")
    shell.run("init", "other")
    shell.run("-C", "other", "import", "out.jsonl")
    shell.run("-C", "other", "export", "-o", "again.jsonl")
    assert (place / "again.jsonl").read_bytes() == (place / "out.jsonl").read_bytes()


def test_who_breaks_a_binding_keeps_the_evidence(
    shell: Shell,
    world: World,  # noqa: F811
    promised: str,
) -> None:
    url = world.url("/speech.pdf")
    assert shell.error("break", promised, url, code=40)["code"] == "conflict"  # no evidence yet
    shell.run("check-links", code=1)
    shell.run("break", promised, url)
    record = shell.json("describe", promised)["record"]
    assert (record.get("locations", []), record["drifted"][0]["status"]) == ([], 200)


def test_a_binding_without_a_promise_is_never_broken(
    shell: Shell,
    world: World,  # noqa: F811
    promised: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url = world.url("/speech.pdf")
    shell.run("bind", "--register", "hdl:10.9999/free", url)
    monkeypatch.setenv("PERDURE_ON_DRIFT", "break")
    told = shell.run("check-links", code=1)
    assert promised in told.stderr
    assert "10.9999/free is" not in told.stderr
    assert len(shell.json("describe", "hdl:10.9999/free")["record"]["locations"]) == 1


def test_findings_of_an_earlier_release_are_read(shell: Shell, promised: str, place: Path) -> None:
    root = next(place.rglob("links.sqlite"))
    connection = apsw.Connection(str(root))
    for column in ("found_sha512", "found_size"):
        connection.execute(f"ALTER TABLE location DROP COLUMN {column}")
    connection.close()
    assert shell.lines("check-links", code=1)[0].startswith("drift")


# Damaged records
# ---------------


@pytest.fixture
def damaged(bound: Shell) -> Shell:
    """Three names, the record of one of which was altered on the disk."""
    damage_record(bound)
    return bound


def test_a_damaged_record_is_told_and_the_others_are_checked(damaged: Shell) -> None:
    result = damaged.run("check-links", "--json", code=53)
    told = json.loads(result.stderr.splitlines()[0])
    assert (told["code"], told["identifier"]) == ("corrupt", "doi:10.9999/gone")
    assert json.loads(result.stdout.splitlines()[-1])["checked"] == 2


def damage_record(shell: Shell) -> None:
    connection = apsw.Connection(str(shell.root / "registry.sqlite"))
    connection.execute("DROP TRIGGER records_hold")
    connection.execute(
        "UPDATE records SET record = replace(record, 'page/none', 'page/nine') "
        "WHERE key = 'hdl:10.9999/gone'"
    )
    connection.close()


def test_the_findings_for_a_damaged_record_are_kept(bound: Shell, world: World) -> None:  # noqa: F811
    """Redirects go on skipping a lost location after its record is restored."""
    bound.run("check-links", code=1)
    bound.run("break", "hdl:10.9999/old", world.url("/moved/2"))
    damage_record(bound)
    bound.run("check-links", code=53)
    with closing(Links(bound.root)) as links:
        assert links.list_lost() == {world.url("/page/none")}


def test_a_run_that_read_all_forgets_what_is_not_bound(bound: Shell, world: World) -> None:  # noqa: F811
    bound.run("check-links", code=1)
    bound.run("break", "hdl:10.9999/gone", world.url("/page/none"))
    bound.run("check-links", code=1)
    with closing(Links(bound.root)) as links:
        assert links.read_finding(world.url("/page/none")) is None


def test_a_resumed_run_tells_of_damage_again(damaged: Shell) -> None:
    first = damaged.run("check-links", code=53).stderr
    with closing(Links(damaged.root)) as links:
        links._connection.execute("UPDATE run SET ended = NULL")
    again = damaged.run("check-links", "--resume", code=53).stderr
    assert "doi:10.9999/gone" in again
    assert again.splitlines()[0] == first.splitlines()[0]


def test_only_damage_in_the_scope_counts(damaged: Shell) -> None:
    assert damaged.lines("check-links", "hdl:10.9999/good")[-1].split() == ["1", "checked"]


def test_a_scheduled_check_tells_of_damage(damaged: Shell) -> None:
    assert "doi:10.9999/gone" in asyncio.run(scheduling.check_due(damaged.root, 1))


@pytest.mark.parametrize("more", [(), ("--apply",)])
def test_relocate_tells_of_damage_and_moves_the_others(
    damaged: Shell,
    world: World,  # noqa: F811
    more: tuple[str, ...],
) -> None:
    words = ("relocate", "--from", world.url("/"), "--to", "https://new.example/", *more)
    result = damaged.run(*words, code=53)
    assert "doi:10.9999/gone" in result.stderr
    assert "2 locations of 2 identifiers" in result.stderr
    assert len(damaged.lines("list", "hdl:10.9999/*", code=53)) == 2
    history = damaged.run("history", "hdl:10.9999/good").stdout
    assert ("new.example" in history) is bool(more)


def test_a_correction_names_the_records_in_which_it_found_no_parts(
    damaged: Shell, letter: Path
) -> None:
    identifier = damaged.lines("mint", "--series", SERIES, str(letter))[0]
    words = ("correct", identifier, "--charset", "cp850", "--reason", "r", "--dry-run")
    told = damaged.run(*words).stderr
    assert "parts in it are not known: " in told
    assert "doi:10.9999/gone" in told
