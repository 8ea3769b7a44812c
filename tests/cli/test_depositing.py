"""`deposit`."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Shell
from tests.conftest import SERIES

from perdure.cli import exits

SERIES_OPTION = ("--series", SERIES)


@pytest.fixture
def source(place: Path) -> Path:
    source = place / "source"
    source.mkdir()
    (source / "a.txt").write_text("Dear Sir,\nyours\n")
    (source / "page.html").write_text("<!DOCTYPE html><title>A page</title><p>text")
    (source / "page.txt").write_text("text")
    (source / "empty.txt").write_text("")
    return source


def read_rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_deposit_prints_where_its_results_are(shell: Shell, source: Path) -> None:
    told = shell.json("deposit", "source", "--receipt", "receipts.csv", "--report", "r.html")
    assert (told["documents"], told["files"], told["skipped"]) == (2, 3, 1)
    job = Path(told["path"])
    assert {"plan.csv", "receipts.csv", "report.html"} <= {one.name for one in job.iterdir()}
    rows = read_rows(Path("receipts.csv"))
    name = next(row["identifier"] for row in rows if row["file"] == "a.txt")
    assert shell.run("get", name).stdout == "Dear Sir,\nyours\n"
    page = next(row["identifier"] for row in rows if row["file"] == "page.html")
    assert "A page" in shell.run("cite", page).stdout
    assert "http" not in Path("r.html").read_text()
    result = shell.run("deposit", "source")
    assert "0 documents minted of 0 files; 3 files same" in result.stderr


def test_a_second_deposit_of_each_file_says_that_there_was_a_first(
    shell: Shell, source: Path
) -> None:
    """A process that was killed after its job was done looks as if it had been interrupted."""
    words = ("deposit", "source", "--duplicates", "each")
    told = "of this directory is done; its files get further names now"
    assert told not in shell.run(*words).stderr
    assert told in shell.run(*words).stderr
    assert told not in shell.run("deposit", "source").stderr


def test_a_plan_is_printed_corrected_and_given_back(shell: Shell, source: Path) -> None:
    printed = shell.lines("deposit", "source", "--dry-run", "--plan", "plan.csv")
    assert printed[0].startswith("DOC   V  ACTION TYPE")
    assert len(printed) == 5
    assert "A page (inside: HTML)" in next(line for line in printed if "page.html" in line)
    values = [json.loads(line) for line in shell.lines("deposit", "source", "--dry-run", "--json")]
    assert [value["action"] for value in values] == ["mint", "skip", "mint", "mint"]
    shell.run("list", f"pdi://{SERIES}/2026/01/01/")  # nothing was minted
    plan = Path("plan.csv")
    plan.write_text(plan.read_text().replace("mint,1,1,a.txt", "mint,1,0,a.txt"))
    result = shell.run("deposit", "--plan", "plan.csv", "--dry-run", code=1)
    assert "plan.csv, line 3: the row refused: version is '0'" in result.stderr
    words = ("deposit", "--plan", "plan.csv", "--refused", "bad.csv")
    result = shell.run(*words, "--json", code=1)
    told = json.loads(result.stdout)
    assert (told["documents"], told["refused"]) == (1, 1)
    assert json.loads(result.stderr)["file"] == "plan.csv"
    assert "plan.csv, line 3: version is '0'" in shell.run(*words, code=1).stderr
    bad = Path("bad.csv")
    bad.write_text(bad.read_text().replace("mint,1,0,a.txt", "mint,1,1,a.txt"))
    assert shell.json("deposit", "--plan", "bad.csv")["documents"] == 1
    assert shell.json("deposit", "--plan", "bad.csv")["documents"] == 1  # the same answer
    assert shell.json("deposit", "source")["same"] == 3


def test_an_inventory_with_bad_rows(shell: Shell, source: Path) -> None:
    Path("i.csv").write_text("file,title\na.txt,A letter\nb.txt,Missing\n")
    result = shell.run("deposit", "source", "--metadata", "i.csv", code=1)
    assert "i.csv, line 3: the directory has no file 'b.txt'" in result.stderr
    receipts = next(Path(result.stdout.strip()).glob("receipts.csv"))
    name = next(row["identifier"] for row in read_rows(receipts) if row["file"] == "a.txt")
    assert "A letter" in shell.run("cite", name).stdout


def test_a_file_waits_until_its_row_in_the_inventory_is_mended(shell: Shell, source: Path) -> None:
    Path("i.csv").write_text("file,title,date\na.txt,A letter,1997-02-30\n")
    words = ("--refused", "bad.csv", "--receipt", "r.csv", "--json")
    result = shell.run("deposit", "source", "--metadata", "i.csv", *words, code=1)
    told = json.loads(result.stdout)
    assert (told["documents"], told["skipped"]) == (1, 2)
    why = next(row["why"] for row in read_rows(Path("r.csv")) if row["file"] == "a.txt")
    assert why.startswith("its row in the inventory cannot be used: '1997-02-30' is not a date")
    bad = Path("bad.csv")
    bad.write_text(bad.read_text().replace("1997-02-30,", "1997-02-28,"))
    shell.run("deposit", "source", "--metadata", "bad.csv", "--listed-only", "--receipt", "r.csv")
    name = next(row["identifier"] for row in read_rows(Path("r.csv")) if row["file"] == "a.txt")
    assert "A letter. (1997, February 28)." in shell.run("cite", name).stdout


def test_a_directory_is_watched_until_someone_interrupts(shell: Shell, place: Path) -> None:
    (place / "inbox").mkdir()
    (place / "inbox" / "early.txt").write_text("early")
    words = ["-C", str(shell.root), "deposit", "inbox", "--watch", "--settle", "0", "--json"]
    command = [sys.executable, "-m", "perdure.cli", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        early = json.loads(process.stdout.readline())
        (place / "inbox" / "late.txt").write_text("late")
        late = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGINT)
    for told, text in ((early, "early"), (late, "late")):
        assert (told["file"], told["status"]) == (f"{text}.txt", "minted")
        assert shell.run("get", told["identifier"]).stdout == text
    assert process.returncode == exits.INTERRUPTED


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("source", "--map", "a=file"),
        ("source", "--listed-only"),
        ("source", "--watch", "--dry-run"),
        ("--watch",),
        ("source", "--metadata", "source/a.txt", "--map", "x=_y"),
    ],
)
def test_options_that_contradict_each_other(
    shell: Shell, source: Path, words: tuple[str, ...]
) -> None:
    shell.run("deposit", *words, code=2)


def test_a_plan_is_not_overwritten(shell: Shell, source: Path) -> None:
    Path("plan.csv").write_text("mine")
    shell.run("deposit", "source", "--dry-run", "--plan", "plan.csv", code=2)
    assert Path("plan.csv").read_text() == "mine"


def test_errors_before_anything_is_minted(shell: Shell, source: Path) -> None:
    for words, code in (
        (("source", "--date-pattern", "%m"), 4),
        (("source", "--metadata", "source/page.html"), 4),
        (("source", "--series", "x.example.de"), 0),
    ):
        result = shell.run("deposit", *words, code=code or 1)
        assert result.stderr
    assert shell.json("deposit", "source")["documents"] == 2
