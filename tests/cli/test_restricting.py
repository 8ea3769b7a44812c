"""`restrict` and `restrictions`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.archives.warcs import Warc
from tests.cli.conftest import Shell
from tests.conftest import SERIES


def test_a_rule_is_set_listed_and_lifted(shell: Shell, letter: Path) -> None:
    name = shell.lines("mint", "--series", SERIES, str(letter))[0].removesuffix(".text.1")
    assert shell.lines("restrict", name, "--until", "2999-01-01", "--token", "--reason", "why") == [
        name
    ]
    (line,) = shell.lines("restrictions")
    assert line.startswith(f"{name} closed, except to token, everyone from 2999-01-01 by local at ")
    assert line.endswith(": why")
    assert (
        "unchanged"
        in shell.run("restrict", name, "--until", "2999-01-01", "--token", "--reason", "why").stderr
    )
    assert shell.run("get", name).stdout == letter.read_text()  # this machine reads everything
    shell.run("restrict", name, "--lift", "--by", "ann")
    assert shell.lines("restrictions") == []
    assert [line.split()[1] for line in shell.lines("restrictions", "--all")] == [
        "closed,",
        "lifted",
    ]


def test_rules_about_one_name(shell: Shell) -> None:
    shell.run("restrict", "ark:/99999/x", "--part", "page=2", "--never")
    shell.run("restrict", "ark:/99999/x", "--network", "10.0.0.0/8", "--network", "::1/128")
    shell.run("restrict", "ark:/99999/y", "--unavailable")
    shell.run("restrict", "oma.eop.gov.us", "--open")
    found = [json.loads(line) for line in shell.lines("restrictions", "ark:99999/x", "--json")]
    assert [(one["about"], one.get("part"), one["access"]) for one in found] == [
        ("ark:99999/x", "page=2", "closed"),
        ("ark:99999/x", None, "closed"),
    ]
    assert found[1]["networks"] == ["10.0.0.0/8", "::1/128"]
    (line,) = shell.lines("restrictions", "oma.eop.gov.us")
    assert line.startswith("oma.eop.gov.us open by local")
    assert shell.lines("restrictions", "ark:99999/z") == []


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ((), 2),
        (("--open", "--never"), 2),
        (("--lift", "--token"), 2),
        (("--until", "soon"), 4),
        (("--network", "here"), 4),
        (("--lift",), 4),
    ],
)
def test_rules_that_are_refused(shell: Shell, options: tuple[str, ...], code: int) -> None:
    shell.error("restrict", "ark:/99999/x", *options, code=code)
    assert shell.lines("restrictions") == []


def test_rules_about_captures(shell: Shell) -> None:
    folder = ("http://a.example/x/", "--captures", "prefix", "--from", "2014", "--to", "2015-02")
    assert shell.lines("restrict", *folder, "--never") == ["http://a.example/x/"]
    shell.run("restrict", "http://a.example/", "--captures", "host", "--token")
    first, second = shell.lines("restrictions")
    assert first.startswith(
        "http://a.example/x/ captures (prefix from 20140101000000 to 20150228235959) closed by"
    )
    assert second.startswith("http://a.example/ captures (host) closed, except to token by")
    assert len(shell.lines("restrictions", "https://www.a.example/x/y")) == 2
    assert len(shell.lines("restrictions", "https://www.a.example/y")) == 1
    assert shell.run("restrict", *folder, "--lift").exit_code == 0
    assert len(shell.lines("restrictions")) == 1
    refused = shell.run("restrict", "http://a.example/", "--from", "2014", "--never", code=4)
    assert "span from '2014'" in refused.stderr


def test_public_captures(shell: Shell, tmp_path: Path) -> None:
    warc = Warc(tmp_path / "a.warc.gz")
    for page in ("open", "closed"):
        warc.response(f"http://a.example/{page}", "2014-01-26T20:06:24Z", page.encode())
    shell.run("archive", "add", str(warc.finish()))
    shell.run("restrict", "http://a.example/closed", "--captures", "exact", "--never")
    assert len(shell.lines("archive", "find", "http://a.example/closed")) == 1
    shell.run("archive", "find", "http://a.example/closed", "--public", code=10)
    assert len(shell.lines("archive", "find", "http://a.example/open", "--public")) == 1
    assert len(shell.lines("archive", "export-cdxj")) == 2
    (line,) = shell.lines("archive", "export-cdxj", "--public")
    assert line.startswith("example,a)/open ")


def test_rules_go_from_one_registry_to_another(shell: Shell, tmp_path: Path) -> None:
    """What is printed as JSON lines can be imported; the second time changes nothing."""
    shell.run("restrict", "ark:/99999/x", "--part", "page=2", "--never", "--by", "ann")
    shell.run("restrict", "oma.eop.gov.us", "--network", "10.0.0.0/8", "--until", "2999-01-01")
    shell.run("restrict", "http://a.example/", "--captures", "host", "--from", "2014", "--token")
    shell.run("restrict", "hdl:1/1", "--unavailable", "--reason", "a court")
    shell.run("restrict", "hdl:1/1", "--lift")
    file = tmp_path / "rules.jsonl"
    file.write_text(shell.run("restrictions", "--all", "--json").stdout)
    before = shell.lines("restrictions", "--json")
    assert shell.lines("import-restrictions", str(file)) == [
        "5 rules: 1 created, 1 changed, 3 unchanged"
    ]
    for line in before:
        rule = json.loads(line)
        wide = [rule["about"], *(["--part", rule["part"]] if "part" in rule else [])]
        wide += ["--captures", rule["match"], "--from", "2014"] if "match" in rule else []
        shell.run("restrict", *wide, "--lift")
    assert shell.lines("restrictions") == []
    assert shell.lines("import-restrictions", str(file)) == [
        "5 rules: 4 created, 1 changed, 0 unchanged"
    ]
    stamps = {"at", "number"}
    after = [json.loads(line) for line in shell.lines("restrictions", "--json")]
    assert [{k: v for k, v in one.items() if k not in stamps} for one in after] == [
        {k: v for k, v in json.loads(one).items() if k not in stamps} for one in before
    ]


@pytest.mark.parametrize(
    "line", ["{", "[]", '{"access":"closed"}', '{"about":"hdl:1/1","x":1}', '{"about":""}', "\xff"]
)
def test_a_malformed_line_imports_nothing(shell: Shell, tmp_path: Path, line: str) -> None:
    file = tmp_path / "rules.jsonl"
    file.write_bytes(b'{"about":"hdl:1/1"}\n' + line.encode("latin-1") + b"\n")
    assert "line 2" in shell.run("import-restrictions", str(file), code=4).stderr
    assert shell.lines("restrictions") == []
