"""Lists of names (@FILE, collections), and changes of many names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Shell
from tests.conftest import SERIES


@pytest.fixture
def names(shell: Shell, place: Path) -> list[str]:
    found = []
    for number in range(3):
        path = place / f"{number}.txt"
        path.write_text(f"text {number}")
        title = f"Title {number}"
        found += shell.lines("mint", "--series", SERIES, str(path), "--title", title)
    shell.run("bind", "--register", "hdl:1839/a", "https://a.example/")
    return found


def test_a_list_of_names_is_taken_like_a_pattern(shell: Shell, names: list[str]) -> None:
    resources = [name.rsplit(".", 2)[0] for name in names]
    Path("names.txt").write_text(f"# mine\n{resources[2]}\n\n{names[0]}\nhdl:1839/a\n")
    assert sorted(shell.lines("list", "@names.txt")) == sorted(
        [names[0], resources[2], "hdl:1839/a"]
    )
    assert len(shell.lines("export", "@names.txt")) == 3
    cited = shell.run("cite", "@names.txt").stdout
    assert "Title 0" in cited
    assert "Title 2" in cited
    assert "Title 1" not in cited
    assert "2 representations" in shell.run("verify", "@names.txt").stderr
    described = [
        json.loads(line)["identifier"] for line in shell.lines("describe", "@names.txt", "--json")
    ]
    assert len(described) == 3
    records = shell.lines("metadata", "get", "@names.txt", "--format", "json", "--json")
    assert len(records) == 3
    assert shell.lines("list", "@-", stdin=f"{resources[1]}\n") == [resources[1]]


@pytest.mark.parametrize("pattern", ["hdl:1839/*", "pdi://{}/2026/", "pdi://{}/2026/*/*/*"])
def test_patterns_are_taken_like_lists(shell: Shell, names: list[str], pattern: str) -> None:
    """The help of `describe`, `metadata get` and `withdraw`: "IDENTIFIER may be a pattern"."""
    shell.run("bind", "--register", "hdl:1839/b", "https://b.example/")
    pattern = pattern.format(SERIES)
    expected = ["hdl:1839/a", "hdl:1839/b"]
    if pattern.startswith("pdi:"):
        expected = [name.rsplit(".", 2)[0] for name in names]

    def list_told(*words: str) -> list[str]:
        return [json.loads(line)["identifier"] for line in shell.lines(*words, pattern, "--json")]

    assert list_told("describe") == expected
    assert list_told("metadata", "get", "--format", "json") == expected
    assert list_told("withdraw", "--reason", "test") == expected
    assert [json.loads(line)["id"] for line in shell.lines("export", pattern)] == expected
    result = shell.run("withdraw", "--reason", "test", "--apply", pattern)
    assert f"{len(expected)} names withdrawn, 0 names refused" in result.stderr
    shell.run("describe", "hdl:1840/*", code=10)


def test_a_bad_line_is_told_and_the_rest_is_used(shell: Shell, names: list[str]) -> None:
    Path("names.txt").write_text(f"{names[0]}\nhdl:1839/none\nnot a name\n")
    result = shell.run("list", "@names.txt", code=1)
    assert result.stdout.splitlines() == [names[0]]
    assert "names.txt, line 2: not found: 'hdl:1839/none'" in result.stderr
    assert "names.txt, line 3: " in result.stderr
    Path("none.txt").write_text("hdl:1839/none\n")
    shell.run("list", "@none.txt", code=2)


def test_receipts_are_a_list_of_names(shell: Shell, place: Path) -> None:
    (place / "source").mkdir()
    (place / "source" / "a.txt").write_text("a")
    (place / "source" / "b.txt").write_text("")
    shell.run("deposit", "source", "--series", SERIES, "--receipt", "receipts.csv")
    (name,) = shell.lines("list", "@receipts.csv")
    assert name.endswith("/1.text.1")


def test_a_collection_stands_for_its_members(shell: Shell, names: list[str]) -> None:
    Path("members.txt").write_text("# title: Some\n" + "\n".join(names[:2]) + "\n")
    made = shell.lines("collection", "make", "members.txt", "--series", SERIES)[-1]
    assert shell.lines("list", f"@{made}") == names[:2]
    assert "Title 1" in shell.run("cite", f"@{made}").stdout


def test_the_registry_may_be_named_behind_the_list(shell: Shell, names: list[str]) -> None:
    Path("names.txt").write_text(names[0])
    root = str(shell.root)
    other = Shell(Path("/nonexistent"))
    assert other.lines("list", "@names.txt", "-C", root) == [names[0]]


def test_metadata_are_merged_into_many_shown_first_and_undone(
    shell: Shell, names: list[str]
) -> None:
    patch = Path("patch.json")
    patch.write_text('{"publisher": {"name": "The Archive"}, "language": "en"}')
    pattern = names[0].rpartition("/")[0] + "/"
    before = shell.lines("export")
    shown = shell.run("metadata", "set", pattern, "patch.json", "--merge")
    assert shown.stdout.count("+ about") >= 3
    assert "3 names would change; --apply does it" in shown.stderr
    assert shell.lines("export") == before
    shell.run("metadata", "set", pattern, "patch.json", "--merge", "--apply")
    cited = shell.run("cite", pattern).stdout
    assert cited.count("The Archive") == 3
    again = shell.run("metadata", "set", pattern, "patch.json", "--merge")
    assert "0 names would change" in again.stderr
    shell.run("metadata", "set", pattern, "patch.json", "--merge", "--apply", code=2)
    shell.run("import", "--replace", "--apply", "patch.json.undo.jsonl")
    assert shell.lines("export") == before


def test_metadata_of_one_format_are_merged(shell: Shell, names: list[str]) -> None:
    Path("names.txt").write_text("\n".join(names[:2]))
    Path("patch.json").write_text('{"language": "fr"}')
    shell.run("metadata", "set", "@names.txt", "patch.json", "--merge", "--apply")
    own = json.loads(shell.run("metadata", "get", names[0], "--own").stdout)
    assert own == {"language": "fr"}
    shell.run("import", "--replace", "--apply", "patch.json.undo.jsonl")
    assert json.loads(shell.run("metadata", "get", names[0], "--own").stdout) == {}


@pytest.mark.parametrize(
    "words",
    [
        ("metadata", "set", "@list", "p.json"),
        ("metadata", "set", "{name}", "p.json", "--merge", "--apply"),
        ("metadata", "set", "{pattern}", "p.json", "--merge", "--expect", "1"),
        ("metadata", "get", "@list", "--url", "https://x.example/"),
        ("withdraw", "@list", "--reason", "x", "--version", "1"),
        ("withdraw", "{name}", "--reason", "x", "--apply"),
    ],
)
def test_options_that_are_for_one_or_for_many(
    shell: Shell, names: list[str], words: tuple[str, ...]
) -> None:
    Path("p.json").write_text("{}")
    Path("list").write_text("\n".join(names))
    pattern = names[0].rpartition("/")[0] + "/"
    shell.run(*(word.format(pattern=pattern, name=names[0]) for word in words), code=2)


def test_many_are_withdrawn_only_with_apply(shell: Shell, names: list[str]) -> None:
    Path("names.txt").write_text("\n".join(names[:2]))
    shown = shell.run("withdraw", "@names.txt", "--reason", "a court")
    assert shown.stdout.splitlines() == names[:2]
    assert shell.run("get", names[0]).stdout == "text 0"
    done = shell.run("withdraw", "@names.txt", "--reason", "a court", "--apply")
    assert "2 names withdrawn, 0 names refused" in done.stderr
    shell.run("get", names[0], code=16)
    assert shell.run("get", names[2]).stdout == "text 2"


def test_who_withdraws_many_names_is_told_what_contains_them(
    shell: Shell, names: list[str], place: Path
) -> None:
    """Ruling tombstone-silence: "documents held here that contain a copy … are listed to the
    withdrawer and keep their bytes"."""
    (place / "same.txt").write_text("text 1")
    (same,) = shell.lines("mint", "--series", SERIES, str(place / "same.txt"))
    (place / "page.html").write_text(f'<!doctype html><q cite="{names[0]}#char=0,4"></q>')
    (page,) = shell.lines("compose", "page.html", "--series", SERIES)
    composite = page.rsplit(".", 2)[0]
    resources = [name.rsplit(".", 2)[0] for name in names]
    Path("names.txt").write_text("\n".join(resources[:2]))
    told = shell.run("withdraw", "@names.txt", "--reason", "x", "--apply").stderr
    assert f"{composite} is about it, or contains it" in told
    assert f"the same bytes are still held as {same}" in told
    (place / "page.html").write_text(f'<!doctype html><q cite="{names[2]}#char=0,4"></q>')
    (page,) = shell.lines("compose", "page.html", "--series", SERIES)
    Path("names.txt").write_text(resources[2])
    lines = shell.lines("withdraw", "@names.txt", "--reason", "x", "--apply", "--json")
    assert json.loads(lines[0]) == {
        "identifier": resources[2],
        "written_about": [page.rsplit(".", 2)[0]],
    }


def test_who_withdraws_is_told_of_found_quotations(shell: Shell, place: Path) -> None:
    pytest.importorskip("numpy")
    words = " ".join(f"word{number}" for number in range(15))
    found = []
    for number, one in enumerate((words, f"Once: {words}", f"It says: {words.upper()}.")):
        path = place / f"{number}.txt"
        path.write_text(one)
        found += shell.lines("mint", "--series", SERIES, str(path))
    told = shell.run("withdraw", found[0].rsplit(".", 2)[0], "--reason", "x").stderr
    for name in found[1:]:
        assert f"passages of it are also in {name}, which is still served" in told
    Path("names.txt").write_text(found[1])
    lines = shell.lines("withdraw", "@names.txt", "--reason", "x", "--apply", "--json")
    assert json.loads(lines[0]) == {
        "identifier": found[1].rsplit(".", 2)[0],
        "quoted_in": [found[2]],
    }
