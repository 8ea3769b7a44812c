"""An index of format 1 opens, says that it is outdated, and is complete after `reindex`."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import apsw
import pytest
from tests.archives.exchanges import Exchange, write_exchanges
from tests.archives.test_library import package
from tests.archives.test_scanning import record
from tests.cli.conftest import Shell

from perdure.archives.choosing import choose_capture
from perdure.archives.index import zipnum
from perdure.archives.index.sqlite_index import FILE
from perdure.archives.library import DIRECTORY
from perdure.archives.pwid.verdict import interpret_uri_at
from perdure.errors import Unavailable
from perdure.registry import Registry

API = "http://api.example/activate"
DATE = "2020-01-02T03:04:05Z"


def make_older(root: Path) -> None:
    """Turn an index into one of format 1, as earlier releases wrote it."""
    connection = apsw.Connection(str(root / DIRECTORY / FILE))
    connection.execute(
        """
        DROP INDEX captures_listed;
        ALTER TABLE captures DROP COLUMN listed;
        ALTER TABLE captures DROP COLUMN request;
        ALTER TABLE files DROP COLUMN methods;
        ALTER TABLE files DROP COLUMN content;
        UPDATE captures SET digest='' WHERE key LIKE 'example,plain%';
        PRAGMA user_version=1;
        """
    )
    connection.close()


@pytest.fixture
def older(shell: Shell, tmp_path: Path) -> Shell:
    (tmp_path / "w").mkdir()
    write_exchanges(
        tmp_path / "w" / "a.warc.gz",
        Exchange("OPTIONS", API, DATE, b"", status="204 No Content"),
        Exchange("GET", API, DATE, b"got"),
    )
    (tmp_path / "w" / "b.warc").write_bytes(record("http://plain.example/"))
    shell.run("archive", "add", str(tmp_path / "w"))
    make_older(shell.root)
    return shell


def make_second(root: Path) -> None:
    """Turn an index into one of format 2."""
    connection = apsw.Connection(str(root / DIRECTORY / FILE))
    connection.execute(
        """
        DROP INDEX captures_listed;
        ALTER TABLE captures DROP COLUMN listed;
        PRAGMA user_version=2;
        """
    )
    connection.close()


def methods(shell: Shell) -> list[str]:
    with Registry(shell.root) as registry:
        found = registry.archive.captures.scan_range("", "~", limit=100)
    return sorted(one.method for one in found if one.kind == "response")


def digest(shell: Shell) -> str:
    with Registry(shell.root) as registry:
        [found] = registry.archive.captures.scan_range("example,plain", "example,plain~", limit=10)
    return found.digest


def test_an_older_index_opens_and_says_what_it_lacks(older: Shell) -> None:
    assert methods(older) == ["", "OPTIONS"], "read from the file"
    assert "2 archive files; run 'perdure archive reindex'" in older.run("status").stdout
    assert json.loads(older.run("status", "--json").stdout)["outdated_files"] == 2
    listed = older.run("archive", "list")
    assert len(listed.stdout.splitlines()) == 2
    assert "2 files indexed by an earlier release" in listed.stderr
    assert "perdure archive reindex" in listed.stderr
    assert older.run("archive", "check").exit_code == 0, "missing digests are no damage"


@pytest.mark.parametrize("request_first", [True, False])
@pytest.mark.parametrize("concurrent", [True, False])
def test_an_older_index_never_takes_an_answer_to_post_for_a_page(
    shell: Shell, tmp_path: Path, *, request_first: bool, concurrent: bool
) -> None:
    posted = Exchange("POST", API, DATE, b"posted", "application/json", b'{"id": 1}')
    preflight = Exchange("OPTIONS", API, DATE, b"", status="204 No Content")
    warc = write_exchanges(
        tmp_path / "a.warc.gz", preflight, posted, Exchange("GET", f"{API}?a", DATE, b"got"),
        request_first=request_first, concurrent=concurrent,
    )  # fmt: skip
    shell.run("archive", "add", str(warc))
    make_older(shell.root)
    assert methods(shell) == ["", "OPTIONS", "POST"]
    with Registry(shell.root) as registry:
        wanted = interpret_uri_at(API, "20200102030405")
        found = choose_capture(registry.archive.captures, registry.archive.files, wanted)
        assert found.capture is None
    warc.unlink()
    assert methods(shell) == [], "what cannot be told is left out"


@pytest.mark.parametrize("words", [("reindex",), ("add",)])
def test_files_are_read_again(older: Shell, tmp_path: Path, words: tuple[str, ...]) -> None:
    paths = (str(tmp_path / "w"),) if words == ("add",) else ()
    done = older.run("archive", *words, *paths, "--json")
    outcomes = [json.loads(line).get("outcome") for line in done.stdout.splitlines()]
    assert outcomes[:2] == ["replaced", "replaced"]
    assert methods(older) == ["", "OPTIONS"]
    assert digest(older).startswith("sha1:")
    assert older.run("archive", "list").stderr == ""
    assert len(older.lines("archive", "list")) == 2
    again = older.run("archive", "reindex")
    assert "0 files read again" in again.stderr
    kinds = [line.split("\t")[1] for line in older.lines("archive", "find", API)]
    assert "response to OPTIONS" in kinds


def test_records_about_captures_are_not_counted(shell: Shell, tmp_path: Path) -> None:
    """Heritrix writes three records for each page: response, request and metadata."""
    warc = write_exchanges(tmp_path / "a.warc.gz", Exchange("GET", API, DATE, b"got"))
    [line] = shell.lines("archive", "add", str(warc))
    assert line == "a.warc.gz: added, 2 records, 1 capture"
    [file] = [json.loads(shell.run("archive", "list", "--json").stdout)]
    assert (file["records"], file["lines"], file["captures"]) == (2, 2, 1)


def test_packages_are_read_again_in_place(shell: Shell, tmp_path: Path) -> None:
    warc = write_exchanges(tmp_path / "a.warc.gz", Exchange("POST", API, DATE, b"posted"))
    files = {"archive/a.warc.gz": warc.read_bytes()}
    shell.run("archive", "add", str(package(tmp_path / "stored.wacz", files)))
    packed = package(tmp_path / "packed.wacz", files, compression=zipfile.ZIP_DEFLATED)
    shell.run("archive", "add", str(packed), code=1)
    before = shell.lines("archive", "list")
    make_older(shell.root)
    shell.run("archive", "reindex")
    assert methods(shell) == ["POST", "POST"]
    assert sorted(shell.lines("archive", "list")) == sorted(before)


def test_an_index_of_a_later_release_is_refused(older: Shell) -> None:
    connection = apsw.Connection(str(older.root / DIRECTORY / FILE))
    connection.execute("PRAGMA user_version=4")
    connection.close()
    with pytest.raises(Unavailable, match="its format is 4, but this release reads only 1 to 3"):
        methods(older)


def test_an_index_of_format_2_gets_the_order_of_lists(shell: Shell, tmp_path: Path) -> None:
    posted = Exchange("POST", f"{API}?z=1", DATE, b"posted", "application/json", b'{"id": 1}')
    got = [Exchange("GET", f"{API}{rest}", DATE, b"got") for rest in ("?z=1", "-1", "?a=1")]
    shell.run("archive", "add", str(write_exchanges(tmp_path / "a.warc.gz", posted, *got)))
    before = shell.run("archive", "export-cdxj").stdout
    assert "__wb_method=post&id=1&z=1" in before.splitlines()[1]
    make_second(shell.root)
    assert shell.run("archive", "export-cdxj").stdout == before
    assert shell.run("archive", "list").stderr == ""


def test_answers_to_post_in_runs_of_format_2_are_read_again(shell: Shell, tmp_path: Path) -> None:
    """Runs of earlier releases have them in the order of the index."""
    posted = Exchange("POST", API, DATE, b"posted", "application/json", b'{"id": 1}')
    warc = write_exchanges(tmp_path / "a.warc.gz", posted, Exchange("GET", API, DATE, b"got"))
    shell.run("archive", "add", str(warc))
    make_second(shell.root)
    connection = apsw.Connection(str(shell.root / DIRECTORY / FILE))
    connection.execute("INSERT INTO runs VALUES('0-ab', 0, 0, 0)")
    connection.close()
    zipnum.write_run(shell.root / DIRECTORY / "runs", "0-ab", iter(()))
    assert "1 file indexed by an earlier release" in shell.run("archive", "list").stderr
    shell.run("archive", "reindex")
    assert shell.run("archive", "list").stderr == ""
    lines = shell.lines("archive", "export-cdxj")
    assert [line.split()[0] for line in lines] == [
        "example,api)/activate", "example,api)/activate?__wb_method=post&id=1",
    ]  # fmt: skip
