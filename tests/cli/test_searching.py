"""`perdure search`, and searches as lists of names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Shell
from tests.conftest import SERIES


@pytest.fixture
def names(shell: Shell, place: Path) -> list[str]:
    """Three documents; two of them have the word pelican."""
    found = []
    for number, said in enumerate(("a pelican", "a heron", "another pelican"), 1):
        path = place / f"{number}.txt"
        path.write_text(said)
        title = ("--title", f"Letter {number}", "--meta", "creator=Ada Example")
        found.append(shell.json("mint", "--series", SERIES, *title, str(path))["identifier"])
    return found


def resource(name: str) -> str:
    return name.rsplit(".", 2)[0]


def test_what_was_minted_is_found_at_once(shell: Shell, names: list[str]) -> None:
    done = shell.run("search", "PELICAN")
    lines = done.stdout.splitlines()
    assert [one for one in lines if one.startswith("pdi:")] == [names[2], names[0]]
    assert "Letter 3" in lines[1]
    assert lines[2] == "    another *pelican*"
    assert lines[3] == f"    {names[2]}#char=8,15"
    assert shell.run("get", lines[3].strip()).stdout == "pelican"
    assert "found in 2 documents" in done.stderr


def test_the_answer_for_scripts(shell: Shell, names: list[str]) -> None:
    found = shell.json("search", "pelican", "--limit", "1")
    assert found["index"]["behind"] == 0
    page = found["found"]
    assert (page["count"], page["is_more"]) == (2, False)
    (document,) = page["documents"]
    assert document["identifier"] == names[2]
    following = shell.json("search", "pelican", "--limit", "1", "--cursor", str(page["cursor"]))
    assert following["found"]["documents"][0]["identifier"] == names[0]
    assert following["found"]["cursor"] is None


def test_limits_of_a_search(shell: Shell, names: list[str]) -> None:
    for words, code in (
        (("letter", "--in", "title"), 0), (("letter", "--in", "text"), 10),
        (("pelican", "--by", "example"), 0), (("pelican", "--by", "nobody"), 10),
        (("pelican", "--series", SERIES), 0), (("pelican", "--series", "hdl:1/*"), 10),
        (("pelican", "--from", "2020"), 0), (("pelican", "--to", "2020-01"), 10),
        (("pelican", "--format", "text"), 0), (("pelican", "--format", "pdf"), 10),
        (("--", "pelican", "-another"), 0), (("--", "heron", "-a"), 10),
        (('"another pelican"',), 0), (("peli*",), 0), (("peli",), 10),
    ):  # fmt: skip
        shell.run("search", *words, code=code)


def test_mistakes_are_told(shell: Shell, names: list[str]) -> None:
    for words, code in (
        (("...",), 4), (("a" * 2000,), 4), (("a", "--from", "yesterday"), 4),
        (("a", "--series", "x y"), 3), (("a", "--in", "body"), 2), ((), 2),
        (("a", "--no-update", "--rebuild"), 2), (("a", "--limit", "0"), 2),
    ):  # fmt: skip
        assert shell.error("search", *words, code=code)["message"]


def test_the_state_of_the_index(shell: Shell, names: list[str], place: Path) -> None:
    assert shell.error("search", "pelican", "--no-update", code=20)["code"] == "unavailable"
    assert shell.json("search", "--update")["index"]["behind"] == 0
    broken = place / "broken.txt"
    broken.write_bytes(b"ab\xff\xfecd")
    mint = ("mint", "--series", SERIES, "--charset", "utf-8", "--type", "text/plain", str(broken))
    name = shell.json(*mint)["identifier"]
    done = shell.run("search", "pelican", "--no-update")
    assert "1 change behind" in done.stderr
    assert "1 document could not be read" in shell.run("search", "--update").stdout
    (line,) = shell.lines("search", "--unread")
    assert line.startswith(f"{name}: ")
    assert json.loads(shell.run("search", "--unread", "--json").stdout)["name"] == name
    assert shell.json("search", "--rebuild") == shell.json("search", "--update")
    shell.run("search", "pelican")


def test_a_registry_without_searches(
    shell: Shell, names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERDURE_SEARCH", "off")
    assert 'search = "on"' in shell.error("search", "pelican", code=20)["message"]


# lists of names
# --------------


def test_a_search_is_a_list_of_names(shell: Shell, names: list[str]) -> None:
    assert sorted(shell.lines("list", "@search:pelican")) == [names[0], names[2]]
    cited = shell.run("cite", "@search:pelican", "--style", "bibtex").stdout
    assert (cited.count("@"), "Letter 1" in cited, "Letter 3" in cited) == (2, True, True)
    exported = [json.loads(one)["id"] for one in shell.lines("export", "@search:pelican")]
    assert sorted(exported) == [resource(names[0]), resource(names[2])]
    described = shell.run("describe", "@search:heron").stdout
    assert resource(names[1]) in described
    assert "2 representations" in shell.run("verify", "@search:pelican").stderr
    record = shell.run("metadata", "get", "@search:heron", "--format", "bibtex").stdout
    assert "Letter 2" in record
    shell.run("list", "@search:nonesuch", code=10)
    shell.run("list", "@search:...", code=4)


def test_what_a_search_finds_is_withdrawn(shell: Shell, names: list[str]) -> None:
    asked = ("withdraw", "@search:pelican", "--reason", "a court said so")
    assert sorted(shell.lines(*asked)) == [names[0], names[2]]
    shell.run(*asked, "--apply")
    shell.run("search", "pelican", code=10)
    shell.run("get", names[0], code=16)
    assert shell.run("get", names[1]).stdout == "a heron"
    shell.run(*asked, code=10)
