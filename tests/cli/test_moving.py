"""`import`, `export`, `dedupe`."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Shell
from tests.conftest import SERIES

from perdure.registry import initialise

GOOD = {"id": f"pdi://{SERIES}/1997/09/01/1", "content": {"text": "bytes"}}
BAD = {"id": f"pdi://{SERIES}/1997/02/30/1"}


def lines(*objects: object) -> str:
    return "".join(json.dumps(one) + "\n" for one in objects)


def test_a_bad_line_is_told_with_its_number_and_the_rest_goes_on(shell: Shell, place: Path) -> None:
    (place / "in.jsonl").write_text(lines(GOOD, BAD, {"id": "hdl:10.9999/x"}))
    result = shell.run("import", "in.jsonl", "--errors", "bad.jsonl", code=1)
    assert "line 2: malformed identifier" in result.stderr
    assert "2 identifiers imported, 1 line refused" in result.stderr
    (bad,) = map(json.loads, Path("bad.jsonl").read_text().splitlines())
    assert (bad["line"], bad["code"], bad["at"]) == (2, "malformed-identifier", 29)
    assert "day" in bad["repair"]
    assert shell.run("get", f"{GOOD['id']}.text.1").stdout == "bytes"


def test_nothing_is_imported_where_all_or_nothing_was_asked_for(shell: Shell, place: Path) -> None:
    (place / "in.jsonl").write_text(lines(GOOD, BAD))
    shell.run("import", "in.jsonl", "--atomic", code=1)
    shell.error("describe", str(GOOD["id"]), code=10)


def test_import_from_stdin_with_files(shell: Shell, place: Path) -> None:
    (place / "bytes").mkdir()
    (place / "bytes" / "1.html").write_text("<!DOCTYPE html><p>one")
    given = lines({"id": str(GOOD["id"]), "content": {"path": "1.html"}})
    assert shell.json("import", "-", "--files", "bytes", stdin=given) == {
        "accepted": 1,
        "refused": 0,
    }
    assert shell.run("get", f"{GOOD['id']}.html.1").stdout == "<!DOCTYPE html><p>one"


def test_export_and_import_are_inverse(shell: Shell, place: Path, letter: Path) -> None:
    name = shell.lines("mint", "--series", SERIES, str(letter), "--title", "A letter")[0]
    shell.run("alias", name, "hdl:10.9999/x")
    shell.run("export", "-o", "out.jsonl")
    shell.run("export", "-o", "out2.jsonl", "--files", "bytes")
    for file, words in (("out.jsonl", ()), ("out2.jsonl", ("--files", "bytes"))):
        other = place / f"copy-of-{file}"
        initialise(other, series=(SERIES,))
        shell.run("-C", str(other), "import", file, *words)
        assert shell.lines("-C", str(other), "export") == Path("out.jsonl").read_text().splitlines()


def test_export_of_a_pattern(shell: Shell) -> None:
    ids = [f"pdi://{SERIES}/1997/0{month}/01/1" for month in (8, 9)]
    shell.run("import", "-", stdin=lines(*({"id": one} for one in (*ids, "hdl:10.9999/x"))))
    (line,) = shell.lines("export", f"pdi://{SERIES}/1997/09/")
    assert json.loads(line)["id"] == ids[1]


def test_dedupe_prints_each_resource_once(shell: Shell) -> None:
    given = "hdl:10.9999/a\n\nHDL:10.9999/A\nhttps://a.example/%7ex\nhttps://A.example/~x\n"
    result = shell.run("dedupe", stdin=given)
    assert result.stdout.splitlines() == ["hdl:10.9999/a", "https://a.example/%7ex"]
    assert result.stderr.splitlines() == [
        "HDL:10.9999/A equals line 1 hdl:10.9999/a",
        "https://A.example/~x is equivalent to line 4 https://a.example/%7ex",
    ]
    reverse = shell.run("dedupe", "--duplicates", stdin=given)
    assert (reverse.stdout, reverse.stderr) == (result.stderr, result.stdout)


def test_dedupe_passes_over_a_byte_order_mark(shell: Shell) -> None:
    assert shell.lines("dedupe", stdin="\ufeffhdl:1/a\nHDL:1/A\n") == ["hdl:1/a"]


def test_dedupe_asks_the_registry(shell: Shell, place: Path) -> None:
    names = [shell.lines("mint", "--series", SERIES, "-", stdin="same")[0] for _ in range(2)]
    given = "\n".join(names)
    answers = map(json.loads, shell.run("dedupe", "--json", stdin=given).stdout.splitlines())
    assert [one["why"] for one in answers] == [None, "has the same bytes as"]
    nowhere = shell.run("-C", str(place), "dedupe", stdin=given)
    assert nowhere.stdout.splitlines() == names


def test_a_merge_is_shown_first_and_can_be_undone(shell: Shell, place: Path) -> None:
    def titled(title: str) -> str:
        return lines({"id": "ark:99999/fk4zz1", "about": {"titles": [{"value": title}]}})

    (place / "a.jsonl").write_text(titled("First"))
    (place / "b.jsonl").write_text(titled("Second"))
    shell.run("import", "a.jsonl")
    before = shell.lines("export")
    assert "another description" in shell.run("import", "b.jsonl", code=1).stderr
    shown = shell.run("import", "--merge", "b.jsonl")
    assert '- about: {"titles": [{"value": "First"}]}' in shown.stdout
    assert '+ about: {"titles": [{"value": "Second"}]}' in shown.stdout
    assert "1 identifier would change" in shown.stderr
    assert shell.lines("export") == before
    shell.run("import", "--merge", "--apply", "b.jsonl")
    assert "Second" in shell.lines("export")[0]
    shell.run("import", "--replace", "--apply", "b.jsonl.undo.jsonl")
    assert shell.lines("export") == before
    shell.error("import", "--merge", "--apply", "b.jsonl", code=2)  # the undo file is not lost
    shell.error("import", "--merge", "-", code=2)


def test_locations_are_replaced_from_a_table(shell: Shell, place: Path) -> None:
    """The request that staff of name services get: a table of identifiers and new addresses."""
    table = place / "moved.csv"
    table.write_text("id;url\nark:99999/fk4t1;https://a.example/1\nark:99999/fk4t2;bad url\n")
    told = shell.run("import", str(table), code=1).stderr
    assert "1 identifier imported, 1 line refused" in told
    assert "line 3:" in told
    table.write_text("id,url\nark:99999/fk4t1,https://b.example/1\n")
    shown = shell.run("import", "--replace", str(table))
    assert "https://b.example/1" in shown.stdout
    shell.run("import", "--replace", "--apply", str(table))
    assert shell.lines("resolve", "ark:99999/fk4t1") == ["redirect https://b.example/1"]
    shell.run("import", "--replace", "--apply", f"{table}.undo.jsonl")
    assert shell.lines("resolve", "ark:99999/fk4t1") == ["redirect https://a.example/1"]
    piped = "10.5072/t3,https://a.example/3\n"
    shell.run("import", "-", "--columns", "doi,url", stdin=piped)
    assert shell.lines("resolve", "doi:10.5072/t3") == ["redirect https://a.example/3"]


def test_a_link_in_a_loop_is_reported(shell: Shell, place: Path) -> None:
    loop = place / "loop"
    loop.symlink_to(loop)
    told = shell.run("export", "-o", str(loop), code=6).stderr
    assert "Too many levels of symbolic links" in told
    assert loop.is_symlink()
    for name in ("backup", "init"):
        refused = shell.error(name, str(loop), code=4)
        assert "cannot be followed" in refused["message"]
    assert shell.error("export", "--files", str(loop), code=4)["code"] == "invalid-request"
    line = '{"id":"hdl:10.9999/x","content":{"path":"loop","type":"text/plain"}}'
    told = shell.run("import", "-", "--files", str(place), stdin=line, code=1).stderr
    assert "cannot read path 'loop'" in told


def test_a_backup_to_a_dangling_link_names_the_link(shell: Shell, place: Path) -> None:
    link = place / "link"
    link.symlink_to(place / "absent")
    refused = shell.error("backup", str(link), code=4)
    assert f"'{link}' is a symbolic link to '{place / 'absent'}'" in refused["message"]
    (place / "file").touch()
    refused = shell.error("backup", str(place / "file" / "copy"), code=4)
    assert f"'{place / 'file'}' is not a directory" in refused["message"]


def test_update_shows_a_diff_then_applies_it_and_can_be_undone(shell: Shell, place: Path) -> None:
    shell.run("bind", "--register", "hdl:1839/a", "https://old.example/a")
    shell.run("bind", "hdl:1839/a", "https://mirror.example/a")
    shell.run("bind", "--register", "hdl:1839/b", "https://old.example/b")
    before = shell.lines("export")
    table = "handle;url;Straße\n1839/a;https://new.example/a;Größe\n1839/c;https://x.example/\n"
    (place / "locations.csv").write_bytes(table.encode("cp1252"))
    result = shell.run("update", "locations.csv", "--refused", "bad.csv", code=1)
    assert "locations.csv: read as iso-8859-1" in result.stderr
    assert "line 3: not found: 'hdl:1839/c'" in result.stderr
    assert result.stdout.splitlines() == [
        "hdl:1839/a",
        '  - locations: "https://old.example/a"',
        '  - locations: "https://mirror.example/a"',
        '  + locations: "https://new.example/a"',
        '  + metadata: {"Stra\\u00dfe": "Gr\\u00f6\\u00dfe"}',
    ]
    assert shell.lines("export") == before
    shell.run("update", "locations.csv", "--apply", code=1)
    assert shell.lines("resolve", "hdl:1839/a") == ["redirect https://new.example/a"]
    shell.run("describe", "hdl:1839/c", code=10)
    bad = Path("bad.csv")
    assert bad.read_text().splitlines()[1].startswith("1839/c,https://x.example/,,3,not found")
    bad.write_text(bad.read_text().replace("1839/c", "1839/b"))
    shell.run("update", "bad.csv", "--apply")
    assert shell.lines("resolve", "hdl:1839/b") == ["redirect https://x.example/"]
    shell.run("import", "--replace", "--apply", "bad.csv.undo.jsonl")
    shell.run("import", "--replace", "--apply", "locations.csv.undo.jsonl")
    assert shell.lines("export") == before
    shell.run("update", "locations.csv", "--apply", code=2)  # its undo file exists


def test_update_keeps_what_a_row_does_not_give(shell: Shell, place: Path) -> None:
    given = lines({"id": "hdl:1839/a", "locations": [{"uri": "https://a.example/", "weight": 3}],
                   "metadata": {"title": "Old", "shelf": "7"}})  # fmt: skip
    shell.run("import", "-", stdin=given)
    (place / "u.csv").write_text("handle,url,title\n1839/a,https://a.example/,New\n")
    shell.run("update", "u.csv", "--apply")
    (line,) = map(json.loads, shell.lines("export"))
    assert line["metadata"] == {"title": "New", "shelf": "7"}
    assert line["locations"] == [{"uri": "https://a.example/", "weight": 3}]
    shell.run("update", "u.csv", "--refused", "x.csv")
    assert not Path("x.csv").exists()
    (place / "u.jsonl").write_text(lines({"id": "hdl:1839/a", "about": {"year": "1997"}}))
    (place / "v.jsonl").write_text("{}\n")
    shell.run("update", "v.jsonl", "--refused", "x.jsonl", code=1)
    assert Path("x.jsonl").read_text() == "{}\n"
    assert "+ about" in shell.run("update", "u.jsonl").stdout
