"""`import` and `export` of the files of other systems."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.cli.conftest import Shell
from tests.conftest import SERIES
from tests.upkeep.exchange.samples import DATACITE, HANDLE_BATCH

from perdure.registry import Registry
from perdure.upkeep.exchange import opening
from perdure.upkeep.transfer import blocks
from perdure.upkeep.transfer.importing import import_lines


def test_bad_records_are_mended_and_given_back(shell: Shell, place: Path) -> None:
    (place / "b.txt").write_text(HANDLE_BATCH + "\nCREATE 21.T14999/C\n1 URL 86400 1110 x\n")
    result = shell.run("import", "b.txt", "--refused", "bad.txt", code=1)
    assert "b.txt: read as Handle.Net batch file" in result.stderr
    assert "line 17: the record refused: in '1 URL 86400 1110 x'" in result.stderr
    mended = Path("bad.txt").read_text().replace("1110 x", "1110 UTF8 https://c.example/")
    assert mended.startswith("# line 17: ")
    (place / "mended.txt").write_text(mended)
    assert shell.json("import", "mended.txt") == {"accepted": 1, "refused": 0}
    assert shell.lines("resolve", "hdl:21.T14999/C") == ["redirect https://c.example/"]
    assert shell.lines("resolve", "doi:10.5072/x") == ["redirect https://b.example/"]


def test_rows_are_mended_and_given_back_with_their_columns(shell: Shell, place: Path) -> None:
    table = (
        'DOI;Adresse\n10.5072/a;"open\n10.5072/b;https://b.example/\nnonsense;https://c.example/\n'
    )
    (place / "t.csv").write_text(table)
    words = ("--map", "Adresse=location")
    shell.run("import", "t.csv", *words, "--refused", "bad.csv", code=1)
    head, first, second = Path("bad.csv").read_text().splitlines()
    assert head == "DOI,Adresse,_line,_reason"
    assert first.startswith('"10.5072/a;""open"')
    assert second.startswith("nonsense,https://c.example/,4,")
    (place / "bad2.csv").write_text(f"{head}\n{second.replace('nonsense', '10.5072/c')}\n")
    assert shell.json("import", "bad2.csv", *words)["accepted"] == 1
    (line,) = map(json.loads, shell.lines("export", "doi:10.5072/c"))
    assert line == {"id": "doi:10.5072/c", "locations": ["https://c.example/"]}


def test_a_mapping_is_saved_and_used_again(shell: Shell, place: Path) -> None:
    (place / "t.csv").write_bytes(
        "Nr;Titel;Adresse\n1839/a;Blåbær;https://a.example/\n".encode("cp1252")
    )
    entries = "Nr=handle,Adresse=location,Titel=title"
    result = shell.run("import", "t.csv", "--map", entries, "--save-map", "t.map")
    assert "t.csv: read as " in result.stderr
    assert "Titel=title\n" in Path("t.map").read_text()
    assert shell.json("import", "t.csv", "--map", "@t.map")["refused"] == 0
    (line,) = map(json.loads, shell.lines("export"))
    assert line["metadata"] == {"title": "Blåbær"}
    error = shell.error("import", "t.csv", "--map", "URL=location", code=4)
    assert "'Nr', 'Titel', 'Adresse'" in error["reason"]


@pytest.mark.parametrize("name", ["d.csv.gz", "d.zip", "d.csv"])
def test_downloads_are_read_compressed(shell: Shell, place: Path, name: str) -> None:
    text = b"_id,_target\r\nark:/99999/fk4a,https://a.example/\r\n"
    if name.endswith(".gz"):
        (place / name).write_bytes(gzip.compress(text))
    elif name.endswith(".zip"):
        with zipfile.ZipFile(place / name, "w") as archive:
            archive.writestr("d.csv", text)
    else:
        (place / name).write_bytes(text)
    result = shell.run("import", name)
    assert "read as CSV of EZID" in result.stderr
    assert shell.lines("resolve", "ark:99999/fk4a") == ["redirect https://a.example/"]


def test_a_reserved_name_does_not_resolve_and_an_unavailable_one_says_why(
    shell: Shell, place: Path
) -> None:
    (place / "d.txt").write_text(
        ":: ark:/99999/fk4r\n_status: reserved\n_target: https://r.example/\n\n"
        ":: ark:/99999/fk4u\n_status: unavailable | lost in a fire\n_target: https://u.example/\n"
    )
    shell.run("import", "d.txt", "--from", "ezid-anvl")
    assert "  reserved" in shell.lines("resolve", "ark:99999/fk4r")
    assert "lost in a fire" in shell.run("resolve", "ark:99999/fk4u").stdout
    resolved = (shell.run("resolve", f"ark:99999/fk4{one}").stdout for one in "ru")
    assert not any("redirect" in one for one in resolved)


def test_an_interrupted_import_of_a_foreign_file_resumes(
    shell: Shell, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 12_000
    monkeypatch.setattr(blocks, "BLOCK", 64 << 10)
    (place / "b.txt").write_text(
        "".join(
            f"CREATE 1839/{n:06}\n1 URL 1 1110 UTF8 https://a.example/{n}\n\n" for n in range(count)
        )
    )
    choice = opening.choose_source(place / "b.txt")
    read: list[int] = []
    with Registry(shell.root) as registry:
        for most in (8, count):
            with opening.open_source(choice, None) as source:
                steps = import_lines(registry, source)
                for number, step in enumerate(steps):
                    if number == 0:
                        read.append(step.read)
                    if number == most:
                        break
                del steps  # which ends the import, as an interruption does
    assert read[1] > read[0]
    assert len(shell.lines("list", "hdl:1839/*")) == count


def test_stdin_is_read_in_a_form(shell: Shell) -> None:
    given = "CREATE 1839/a\n1 URL 1 1110 UTF8 https://a.example/\n"
    shell.run("import", "-", "--from", "handle-batch", stdin=given)
    assert shell.lines("resolve", "hdl:1839/a") == ["redirect https://a.example/"]


def test_merge_shows_what_a_foreign_file_would_change(shell: Shell, place: Path) -> None:
    batch = "CREATE 1839/a\n1 URL 86400 1110 UTF8 https://{}.example/\n"
    shell.run("import", "-", "--from", "handle-batch", stdin=batch.format("a"))
    (place / "m.txt").write_text(
        batch.format("b").replace("CREATE", "MODIFY") + "\nDELETE 1839/a\n"
    )
    shell.run("import", "m.txt", code=1)
    result = shell.run("import", "m.txt", "--merge", code=1)
    assert '+ locations: "https://b.example/"' in result.stdout
    assert "line 4: the record refused: DELETE is not an import" in result.stderr


def test_an_export_lists_losses_and_writes_bytes(shell: Shell, place: Path, letter: Path) -> None:
    name = shell.lines("mint", "--series", SERIES, str(letter), "--title", "A letter")[0]
    words = ("--losses", "lost.csv", "--files", "bytes", "-o", "out.xml")
    result = shell.run("export", "--as", "marc21", *words)
    assert "marc21 cannot hold contents (once)" in result.stderr
    assert Path("lost.csv").read_text().splitlines()[0] == "id,field"
    (row,) = Path("bytes/files.csv").read_text().splitlines()[1:]
    assert row.startswith(f"{name.rsplit('.', 2)[0]},1,")
    assert (Path("bytes") / row.rsplit(",", 1)[1]).read_bytes() == letter.read_bytes()
    root = ElementTree.parse("out.xml").getroot()
    marc = "{http://www.loc.gov/MARC21/slim}"
    titles = [one.text for one in root.iterfind(f".//{marc}datafield[@tag='245']/{marc}subfield")]
    assert titles == ["A letter"]
    (leader,) = (one.text or "" for one in root.iter(f"{marc}leader"))
    (facts,) = (one.text or "" for one in root.iterfind(f".//{marc}controlfield[@tag='008']"))
    assert (len(leader), len(facts)) == (24, 40)


def test_forms_that_are_not_known_or_not_written(shell: Shell, place: Path) -> None:
    (place / "x").write_text("nonsense")
    assert "handle-batch" in str(shell.error("import", "x", "--from", "marc21", code=4))
    assert "ezid-csv" in str(shell.error("export", "--as", "arklet", code=4))
    assert "ezid-csv" in str(shell.error("export", "--as", "nothing", code=4))
    assert "windows-1252" in str(shell.error("import", "x", "--charset", "nonsense", code=4))


def test_a_datacite_record_describes_what_it_names(shell: Shell, place: Path) -> None:
    (place / "d.xml").write_text(DATACITE)
    shell.run("import", "d.xml")
    assert (
        '"year": "1994"'
        in shell.run("metadata", "get", "doi:10.5072/FK2X", "--format", "json").stdout
    )
