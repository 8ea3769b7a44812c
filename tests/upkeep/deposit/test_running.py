"""Carrying out a plan."""

from __future__ import annotations

import csv
import errno
import os
import shutil
from html.parser import HTMLParser
from typing import Any

import pytest
from tests.conftest import SERIES, TODAY, sha512
from tests.upkeep.deposit.conftest import Depositor, pick, read_rows

from perdure.errors import StorageFailed
from perdure.errors.depositing import (
    DepositRunning,
    FileChanged,
    PlanWithoutDirectory,
    TableWithoutColumn,
)
from perdure.upkeep.deposit import jobs, running
from perdure.upkeep.deposit.contents import ContentTaker
from perdure.upkeep.deposit.plan import read_terms
from perdure.upkeep.deposit.tables import Table
from perdure.upkeep.deposit.taking import FileRoot

RECEIPT = ("file", "status", "identifier", "why")


def test_every_file_has_a_receipt(depositor: Depositor) -> None:
    depositor.write(a_txt="one", b_html="<!DOCTYPE html>b", b_txt="b", c_txt="", d_txt="one")
    receipts = depositor.deposit()
    assert pick(receipts, *RECEIPT) == [
        ("a.txt", "minted", f"{TODAY}/1.text.1", ""),
        ("b.html", "minted", f"{TODAY}/2.html.1", "a format, by its name"),
        ("b.txt", "minted", f"{TODAY}/2.text.1", "a format, by its name"),
        ("c.txt", "skipped", "", "empty; to take it, write 'mint'"),
        ("d.txt", "same", f"{TODAY}/1.text.1", ""),
    ]
    assert receipts[0]["sha512"] == sha512(b"one")
    assert depositor.desk.served(f"{TODAY}/2", format="html") == b"<!DOCTYPE html>b"
    assert depositor.desk.problems() == []
    report = next((depositor.desk.root / "deposits").glob("*/report.html")).read_text()
    assert "a.txt" in report
    assert "<td>empty; to take it, write &#39;mint&#39;</td>" in report


def test_a_second_deposit_mints_nothing(depositor: Depositor) -> None:
    depositor.write(a_txt="one", b_txt="two")
    first = depositor.deposit()
    again = depositor.deposit()
    assert pick(again, "file", "identifier") == pick(first, "file", "identifier")
    assert {row["status"] for row in again} == {"same"}


def test_a_corrected_plan_is_carried_out(depositor: Depositor) -> None:
    depositor.write(a_txt="one", b_txt="\xe6\xf8\xe5", c_txt="", d_txt="two")
    rows = depositor.plan()
    rows[0] |= {"title": "A letter", "date": "1997-09-01", "date_source": "", "day": "1997-09-01"}
    rows[1] |= {"charset": "cp850", "format": "", "language": "da"}
    rows[2]["action"] = "mint"
    rows[3] |= {"document": rows[0]["document"], "version": "2"}
    receipts = depositor.give_back([rows[0], rows[3], rows[1], rows[2]])
    past = f"pdi://{SERIES}/1997/09/01"
    assert pick(receipts, "file", "identifier") == [
        ("a.txt", f"{past}/1.text.1"),
        ("d.txt", f"{past}/1.text.2"),
        ("b.txt", f"{TODAY}/1.text.1"),
        ("c.txt", f"{TODAY}/2.text.1"),
    ]
    record = depositor.desk.record(f"{past}/1")
    assert record.about is not None
    assert (record.about.title, record.about.year, record.about.derived) == ("A letter", "1997", "")
    held = depositor.desk.record(f"{TODAY}/1").versions[0].representations[0]
    assert (held.charset, held.language) == ("ibm850", "da")


def test_what_the_file_system_and_paths_say_is_no_date_of_publication(
    depositor: Depositor,
) -> None:
    """Ruling cite-date: "A date of publication is what somebody said"."""
    depositor.write_file("1997/09/01/1.txt", "a")
    depositor.deposit(date_pattern="%Y/%m/%d")
    about = depositor.desk.record(f"{TODAY}/1").about
    assert about is not None
    assert (about.year, about.first_date("Issued"), about.first_date("Created")) == (
        "", "", "1997-09-01",
    )  # fmt: skip
    assert about.dates[0].note == "from the path of the file"


def test_names_go_under_the_days_of_the_documents(depositor: Depositor) -> None:
    """Ruling pdi-retrospective."""
    for name, data in (("1997/09/01/a.txt", "a"), ("1997/09/01/b.txt", "b"), ("x.txt", "x")):
        depositor.write_file(name, data)
    receipts = depositor.deposit(date_pattern="%Y/%m/%d", retrospective=True)
    assert pick(receipts, "file", "status", "identifier") == [
        ("x.txt", "skipped", ""),
        ("1997/09/01/a.txt", "minted", f"pdi://{SERIES}/1997/09/01/1.text.1"),
        ("1997/09/01/b.txt", "minted", f"pdi://{SERIES}/1997/09/01/2.text.1"),
    ]


def test_bad_rows_are_told_and_can_be_given_back(depositor: Depositor) -> None:
    depositor.write(a_txt="a", b_txt="b", c_txt="c", d_txt="d", e_txt="e")
    rows = depositor.plan()
    rows[0]["format"] = "not a format"
    rows[1]["file"] = "../../etc/passwd"
    rows[2]["action"] = "destroy"
    rows[3]["series"] = "x.example.de"
    receipts = depositor.give_back(rows)
    assert pick(receipts, "file", "status") == [
        ("a.txt", "refused"),
        ("d.txt", "refused"),
        ("e.txt", "minted"),
    ]
    (job,) = (depositor.desk.root / "deposits").iterdir()
    bad = read_rows(job / "refused.csv")
    assert sorted(row["_line"] for row in bad if row["_line"]) == ["3", "4", "5", "6"]
    mended = {"a.txt": {"format": ""}, "d.txt": {"series": SERIES}, "c.txt": {"action": "mint"}}
    for row in bad[1:]:
        row |= mended.get(row["file"], {})
    plan = depositor.place / "mended.csv"
    with plan.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(bad[0]))
        writer.writeheader()
        writer.writerows(row for row in bad if row["file"] != "../../etc/passwd")
    again = jobs.adopt_plan(depositor.desk.root, plan, "", "2026-11-21T12:00:00Z")
    depositor.run(again)
    receipts = read_rows(again.path / jobs.RECEIPTS)
    assert sorted(pick(receipts, "file", "status")) == [
        ("a.txt", "minted"),
        ("c.txt", "minted"),
        ("d.txt", "minted"),
    ]


def test_files_that_changed_since_they_were_planned_are_refused(depositor: Depositor) -> None:
    depositor.write(a_txt="a", b_txt="b", c_txt="c", d_txt="d")
    rows = depositor.plan()
    (depositor.source / "a.txt").write_bytes(b"A")
    (depositor.source / "b.txt").unlink()
    (depositor.source / "c.txt").unlink()
    (depositor.source / "c.txt").symlink_to("/etc/passwd")
    receipts = depositor.give_back(rows)
    assert pick(receipts, "file", "status", "why") == [
        ("a.txt", "refused", "it changed since the deposit was planned; plan it again"),
        ("b.txt", "refused", "No such file or directory"),
        ("c.txt", "refused", "it is not a regular file"),
        ("d.txt", "minted", ""),
    ]


def test_no_path_leads_out_through_a_linked_directory(depositor: Depositor) -> None:
    depositor.write(a__b_txt="b")
    rows = depositor.plan()
    outside = depositor.place / "outside"
    outside.mkdir()
    (outside / "b.txt").write_bytes(b"b")
    shutil.rmtree(depositor.source / "a")
    (depositor.source / "a").symlink_to(outside)
    (receipt,) = depositor.give_back(rows)
    assert (receipt["status"], receipt["why"]) == (
        "refused",
        "path 'a/b.txt' leads out of the directory",
    )


def test_a_file_that_changes_while_it_is_read_is_refused(
    depositor: Depositor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """taking.py: "A file whose size or time of change is another after it was read has changed"."""
    path = depositor.write_file("a.txt", "a text")
    root = FileRoot(depositor.source)

    def read_slowly() -> None:
        with root.open_file(b"a.txt") as file:
            assert file.read(1) == b"a"
            with path.open("ab") as writer:
                writer.write(b" that grows")

    with pytest.raises(FileChanged):
        read_slowly()


def test_a_full_disk_stops_the_deposit_and_another_run_goes_on(
    depositor: Depositor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The issue: "a disk that fills: resumed, nothing twice"."""
    monkeypatch.setattr(running, "_DOCUMENTS", 3)
    for number in range(10):
        depositor.write_file(f"{number}.txt", f"text {number}")
    depositor.write_file("big.bin", b"\0" * (9 << 20))
    job = depositor.prepare()
    taken = ContentTaker.take_file

    def fill(self: ContentTaker, row: Any) -> Any:
        if row.file == b"7.txt":
            raise StorageFailed(what="the upload", reason=os.strerror(errno.ENOSPC))
        return taken(self, row)

    with monkeypatch.context() as patch:
        patch.setattr(ContentTaker, "take_file", fill)
        with pytest.raises(StorageFailed):
            depositor.run(job)
    assert not list((depositor.desk.root / "incoming").iterdir())
    assert depositor.prepare().name == job.name
    tally = depositor.run(job)
    assert (tally.documents, tally.files) == (11, 11)
    receipts = read_rows(job.path / jobs.RECEIPTS)
    names = [row["identifier"] for row in receipts]
    assert names == [*(f"{TODAY}/{at}.text.1" for at in range(1, 11)), f"{TODAY}/11.octet-stream.1"]
    assert depositor.desk.mint().identifier == f"{TODAY}/12"


@pytest.mark.parametrize("cut", [1, 40, 300, 900, 10_000])
def test_receipts_that_were_cut_off_are_completed(depositor: Depositor, cut: int) -> None:
    for number in range(5):
        depositor.write_file(f"{number}.v1.txt", f"text {number}")
        depositor.write_file(f"{number}.v2.txt", f"text {number}, again")
    job = depositor.prepare()
    depositor.run(job)
    path = job.path / jobs.RECEIPTS
    complete = path.read_bytes()
    path.write_bytes(complete[: max(len(complete) - cut, 0)])
    tally = depositor.run(job)
    assert path.read_bytes() == complete
    assert (tally.documents, tally.files) == (5, 10)
    assert depositor.desk.mint().identifier == f"{TODAY}/6"


def test_two_processes_do_not_carry_out_one_job(depositor: Depositor) -> None:
    depositor.write(a_txt="a")
    job = depositor.prepare()
    with job.locked(), pytest.raises(DepositRunning):
        depositor.run(job)


def test_a_deposit_that_was_interrupted_while_it_was_planned_begins_again(
    depositor: Depositor,
) -> None:
    depositor.write(a_txt="a")
    half = jobs.begin_job(
        depositor.desk.root, depositor.source, depositor.options(), "2026-11-20T12:00:00Z"
    )
    assert pick(depositor.deposit(), "status") == [("minted",)]
    assert not half.path.exists()


def test_restart_forgets_an_interrupted_deposit(depositor: Depositor) -> None:
    depositor.write(a_txt="a")
    job = depositor.prepare()
    depositor.write(b_txt="b")
    assert depositor.prepare().name == job.name
    other = depositor.prepare(restart=True)
    assert other.name != job.name
    assert depositor.run(other).documents == 2


def test_other_options_begin_another_deposit(depositor: Depositor) -> None:
    depositor.write(a_txt="a")
    job = depositor.prepare()
    assert depositor.prepare(separate=True).name != job.name


def test_large_files_are_taken_through_a_file(depositor: Depositor) -> None:
    data = os.urandom(1 << 20) * 9
    depositor.write_file("big.bin", data)
    (receipt,) = depositor.deposit()
    assert receipt["sha512"] == sha512(data)
    held = depositor.desk.registry.listings.find_same_bytes(sha512(data))
    assert [str(one) for one in held] == [receipt["identifier"]]
    assert not list((depositor.desk.root / "incoming").iterdir())


def test_a_plan_must_be_one(depositor: Depositor) -> None:
    path = depositor.place / "plan.csv"
    for data, error in (
        ("file,title\na,b\n", TableWithoutColumn),
        ("action,file,document\nmint,a,1\n", PlanWithoutDirectory),
    ):
        path.write_text(data)
        with Table(path) as table, pytest.raises(error):
            read_terms(table)


HOSTILE = (
    "=HYPERLINK('http://x').txt",
    "@SUM(1).txt",
    "-1.txt",
    "'=1.txt",
    "<script>alert(1)</script>.txt",
    "{{ 7 * 7 }}.txt",
    'a"onload="b.txt',
    "&lt;b&gt;.txt",
)


def test_names_of_files_are_neither_formulas_nor_markup(depositor: Depositor) -> None:
    """reporting.py: "no text of a file or table gets into the page unescaped"."""
    for name in HOSTILE:
        depositor.write_file(name.replace("/", "_"), f"text of {name}")
    names = {name.replace("/", "_") for name in HOSTILE}
    rows = depositor.plan()
    assert not [row["file"] for row in rows if row["file"][0] in "=+-@"]
    job = depositor.prepare()
    depositor.run(job)
    receipts = read_rows(job.path / jobs.RECEIPTS)
    assert not [row["file"] for row in receipts if row["file"][0] in "=+-@"]
    assert {row["status"] for row in receipts} == {"minted"}
    depositor.run(job)  # reads the receipts beside the plan
    assert read_rows(job.path / jobs.RECEIPTS) == receipts
    assert {row["status"] for row in depositor.give_back(rows)} == {"minted"}
    page = (job.path / jobs.REPORT).read_text()
    assert "<script" not in page
    parser = _Texts()
    parser.feed(page)
    assert names <= parser.texts


class _Texts(HTMLParser):
    """Collects the texts of table cells."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.texts: set[str] = set()
        self._last = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in ("script", "img", "link", "iframe", "b")
        assert not {name for name, _ in attrs} & {"src", "href", "onload"}
        self._last = ""

    def handle_data(self, data: str) -> None:
        self._last += data

    def handle_endtag(self, tag: str) -> None:
        self.texts.add(self._last)
        self._last = ""
