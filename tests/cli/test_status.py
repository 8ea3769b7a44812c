"""`status`, and the same figures at `/metrics`."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.cli.conftest import Shell
from tests.conftest import SERIES
from tests.server.deployment import deployed, text

from perdure.upkeep.milestones import FILE, Milestones, load_milestones
from perdure.upkeep.status import measure_holdings


def mint(shell: Shell, data: str) -> str:
    return shell.lines("mint", "--series", SERIES, "-", "--type", "text/plain", stdin=data)[0]


def test_a_new_registry_was_never_backed_up(shell: Shell) -> None:
    shown = dict(line.split(maxsplit=1) for line in shell.lines("status"))
    assert shown["backup"] == shown["verified"] == "never"
    assert shown["names"] == "0, 0 of them withdrawn"
    assert shown["state"] == "the registry itself, no copy"
    assert "damaged" not in shown


def test_status_counts_what_the_registry_holds(shell: Shell, place: Path) -> None:
    first = mint(shell, "one")
    mint(shell, "two")
    shell.run("mint", "--series", SERIES)
    shell.run("withdraw", first.removesuffix(".text.1"), "--reason", "a test")
    shell.run("backup", str(place / "copy"))
    shell.run("verify")
    found = shell.json("status")
    assert (found["names"], found["documents"], found["withdrawn"]) == (3, 2, 1)
    held = found["holdings"]
    assert (held["head"], held["epoch"], held["segments"], held["signs"]) == ("1.5", 1, 1, [])
    assert held["bytes"] == (shell.root / "segments" / "000001.warc").stat().st_size
    assert 0 < held["disk_free"] <= held["disk_size"]
    assert held["backup"]["target"] == str(place / "copy")
    assert held["verification"]["problems"] == 0
    shown = shell.run("status").stdout
    assert "minutes ago" in shown
    assert f"to {place / 'copy'}" in shown
    assert ", 0 problems" in shown


def test_status_tells_which_series_are_resolved_and_minted_here(shell: Shell) -> None:
    """Ruling series-resolved: "tell what is *resolved* here …, and separately what is minted
    here"."""
    shell.run("bind", "--register", "pdi://mirrored.gov.us/1999/01/02/1", "https://a.example/")
    found = shell.json("status")
    assert (found["series"], found["minted"]) == (sorted(["mirrored.gov.us", SERIES]), [SERIES])
    lines = shell.lines("status")
    assert "series    mirrored.gov.us, resolved here" in lines
    assert f"series    {SERIES}, minted here" in lines


def test_status_of_a_copy_says_so_and_notes_nothing(shell: Shell, place: Path) -> None:
    mint(shell, "one")
    shell.run("backup", str(place / "copy"))
    copy = Shell(place / "copy")
    copy.run("verify")
    copy.run("backup", str(place / "second"))
    assert not (place / "copy" / FILE).exists()
    assert "a copy, which writes nothing" in copy.run("status").stdout
    assert copy.json("status")["holdings"]["signs"]
    copy.run("promote")
    found = copy.json("status")
    assert (found["closed"], found["holdings"]["epoch"]) == ([SERIES], 2)
    assert f"none of {SERIES} today" in copy.run("status").stdout


def test_a_partial_verification_is_none(shell: Shell) -> None:
    shell.run("verify", mint(shell, "one"))
    assert load_milestones(shell.root) == Milestones()
    (shell.root / FILE).write_text("{damaged")
    assert load_milestones(shell.root) == Milestones()


def test_metrics_have_the_figures(tmp_path: Path) -> None:
    with deployed(tmp_path / "registry") as site:
        site.mint(text(b"one"))
        before = site.get("/metrics").body.decode()
        shell = Shell(site.root)
        shell.run("backup", str(tmp_path / "copy"))
        shell.run("verify")
        held = measure_holdings(site.registry)
        lines = site.get("/metrics").body.decode().splitlines()
        shown = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
        assert float(shown["perdure_held_bytes"]) == held.bytes
        assert float(shown["perdure_segments"]) == float(shown["perdure_epoch"]) == 1
        assert float(shown["perdure_names"]) == 1
        assert float(shown["perdure_names_uncounted_changes"]) == 0
        assert float(shown["perdure_is_copy"]) == 0
        assert float(shown["perdure_disk_size_bytes"]) == shutil.disk_usage(tmp_path).total
        assert float(shown["perdure_last_backup_seconds"]) > 1.7e9
        assert float(shown["perdure_last_verification_problems"]) == 0
        assert "perdure_last_backup_seconds" not in before
        assert "perdure_write_door_broken" in shown
