"""`get`, `resolve`, `list`, `describe`; `get` also over HTTP, from a real resolver."""

from __future__ import annotations

import base64
import hashlib
import http.server
import json
import re
import socket
import subprocess
import sys
import threading
import time
import wave
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from tests.cli.commands import load_commands
from tests.cli.conftest import Shell
from tests.conftest import SERIES, sha512
from tests.server.deployment import Deployment, start, wait_for

from perdure.cli import options, perdure
from perdure.cli.command import PerdureGroup
from perdure.registry import initialise

TEXT = b"Dear Sir,\nyours\n"


@pytest.fixture
def name(shell: Shell, letter: Path) -> str:
    return shell.lines("mint", "--series", SERIES, str(letter))[0]


# get
# ---


def test_get_writes_a_file_once_it_was_checked(shell: Shell, name: str) -> None:
    told = shell.json("get", name, "-o", "copy.txt")
    assert told == {"identifier": name, "length": len(TEXT), "sha512": sha512(TEXT)}
    assert Path("copy.txt").read_bytes() == TEXT


def test_damaged_bytes_are_an_error_and_leave_no_file(shell: Shell, name: str) -> None:
    (segment,) = (shell.root / "segments").glob("*.warc")
    data = segment.read_bytes()
    segment.write_bytes(data.replace(b"Dear", b"Bear"))
    assert shell.error("get", name, "-o", "copy.txt", code=53)["code"] == "corrupt"
    assert list(Path().glob("*copy*")) == []
    shell.run("get", name, code=53)


def test_a_part_is_never_answered_with_the_whole(shell: Shell, name: str) -> None:
    assert shell.run("get", f"{name}#char=0,4").stdout_bytes == TEXT[:4]
    for part, code in (("char=0,99999", 18), ("rect=(0,0),(1,1)", 15)):
        assert shell.run("get", f"{name}#{part}", code=code).stdout == ""


@pytest.mark.parametrize("command", [("get", "-o", "copy.txt"), ("resolve",)])
def test_a_pattern_is_told_to_be_listed(shell: Shell, name: str, command: tuple[str, ...]) -> None:
    """Ruling pdi-wildcard: "it can be listed"."""
    for pattern in (f"{name.rpartition('/')[0]}/", f"pdi://{SERIES}/*/*/*/*.text.*"):
        told = shell.error(*command, pattern, code=4)
        assert (told["code"], told["rule"]) == ("invalid-request", "ruling pdi-wildcard")
        assert f"'perdure list {pattern}'" in told["reason"]


def test_json_and_bytes_do_not_share_stdout(shell: Shell, name: str) -> None:
    shell.error("get", name, code=2)


def test_a_format_that_nobody_holds(shell: Shell, name: str, page: Path) -> None:
    shell.run("commit", name, str(page), "--version", "1")
    resource = name.removesuffix(".text.1")
    assert shell.run("get", resource, "--accept", "text/html").stdout_bytes == page.read_bytes()
    best = ("--accept", "image/png", "--accept", "text/plain", "--accept", "text/html")
    assert shell.run("get", resource, *best).stdout_bytes == TEXT
    assert shell.error("get", resource, "-o", "x", "--accept", "image/png", code=13)["offered"]


def test_a_name_without_bytes_or_place(shell: Shell) -> None:
    reserved = shell.lines("mint", "--series", SERIES)[0]
    told = shell.run("get", reserved, code=20).stderr
    assert "only its name is registered" in told
    assert all(f"'perdure {way}'" in told for way in ("commit", "bind"))
    assert "later" not in told
    told = shell.run("text", reserved, code=15).stderr
    assert "not held here" in told
    assert "elsewhere" not in told


# Locations
# ---------


class Elsewhere(http.server.BaseHTTPRequestHandler):
    """Another server: `/letter` has the letter, `/short` breaks off."""

    def do_GET(self) -> None:
        if self.path not in ("/letter", "/short"):
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(TEXT) + (self.path == "/short")))
        digest = base64.b64encode(hashlib.sha512(TEXT).digest()).decode()
        self.send_header("Repr-Digest", f"sha-512=:{digest}:")
        self.end_headers()
        self.wfile.write(TEXT)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


@pytest.fixture
def elsewhere() -> Iterator[str]:
    server = http.server.HTTPServer(("127.0.0.1", 0), Elsewhere)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_redirect_is_followed_only_when_asked(shell: Shell, elsewhere: str) -> None:
    shell.run("bind", "--register", "hdl:10.9999/x", f"{elsewhere}/letter")
    result = shell.run("get", "hdl:10.9999/x", code=17)
    assert (result.stdout, elsewhere in result.stderr) == ("", True)
    assert shell.run("get", "hdl:10.9999/x", "--follow").stdout_bytes == TEXT


def test_a_location_must_keep_its_promise(shell: Shell, elsewhere: str, page: Path) -> None:
    url = f"{elsewhere}/letter"
    shell.run("bind", "--register", "hdl:10.9999/x", url, "--digest-of", str(page))
    assert shell.error("get", "hdl:10.9999/x", "--follow", "-o", "x", code=50)["promised"]
    assert not Path("x").exists()


@pytest.mark.parametrize("path", ["short", "absent"])
def test_a_location_that_fails(shell: Shell, elsewhere: str, path: str) -> None:
    shell.run("bind", "--register", "hdl:10.9999/x", f"{elsewhere}/{path}")
    shell.error("get", "hdl:10.9999/x", "--follow", "-o", "x", code=20)
    assert not Path("x").exists()


def test_only_the_web_is_fetched(shell: Shell) -> None:
    shell.run("bind", "--register", "hdl:10.9999/x", "ftp://a.example/x")
    shell.error("get", "hdl:10.9999/x", "--follow", "-o", "x", code=4)


# A resolver
# ----------


@pytest.fixture
def resolver(shell: Shell, name: str) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "perdure.cli", "-C", str(shell.root), "serve"]
    process = subprocess.Popen([*command, "--port", str(port), "--log-level", "error"])
    try:
        for _ in range(500):
            assert process.poll() is None
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.02)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture
def forked_resolver(shell: Shell) -> Iterator[str]:
    """One that is there sooner, since it was not started by the command."""
    process, port = start(shell.root)
    site = Deployment(shell.root, port, process)
    try:
        wait_for(site)
        yield site.base
    finally:
        site.registry.close()
        site.stop()


def test_get_from_a_resolver_says_the_same_as_from_the_registry(
    shell: Shell, resolver: str, name: str, elsewhere: str
) -> None:
    """One server for all of it, because starting one takes longest."""
    there = ("--resolver", resolver)
    assert shell.run("get", name, *there).stdout_bytes == TEXT
    resource = name.removesuffix(".text.1")
    assert shell.json("get", resource, *there, "-o", "copy.txt") == {
        "identifier": name,
        "length": len(TEXT),
        "sha512": sha512(TEXT),
    }
    shell.run("bind", "--register", "hdl:10.9999/x", f"{elsewhere}/letter")
    shell.run("get", "hdl:10.9999/x", *there, code=17)
    assert shell.run("get", "hdl:10.9999/x", *there, "--follow").stdout_bytes == TEXT
    unknown = f"pdi://{SERIES}/1997/09/01/1"
    local, remote = (
        shell.error("get", unknown, "-o", "x", *words, code=10) for words in ((), there)
    )
    assert local["message"] == remote["message"]
    shell.error("get", name[:-1] + "7", "-o", "x", *there, code=11)
    shell.error("get", resource, "-o", "x", "--accept", "image/png", *there, code=13)
    part = f"{name}#char=0,4"
    assert shell.run("get", part, *there).stdout_bytes == TEXT[:4]
    shell.error("get", f"{name}#char=0,99999", "-o", "x", *there, code=18)
    Path("part.txt").write_bytes(TEXT[:4])
    assert shell.json("verify-part", part, "part.txt", *there)["same"] is True
    shell.run("withdraw", name, "--reason", "an error")
    assert "an error" in shell.run("get", name, *there, code=16).stderr


def test_a_resolver_that_is_not_there(shell: Shell) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        shell.error("get", "hdl:1/2", "-o", "x", "--resolver", url, code=20)
    shell.error("get", "hdl:1/2", "-o", "x", "--resolver", "ftp://a.example", code=4)


# resolve, list, describe
# -----------------------


def test_resolve_tells_each_service(shell: Shell, name: str) -> None:
    resource = name.removesuffix(".text.1")
    shell.run("bind", name, "https://a.example/1", "--weight", "2")
    shell.run("bind", name, "https://b.example/1")
    assert shell.lines("resolve", name, "--want", "I2L") == ["https://a.example/1"]
    assert shell.lines("resolve", name, "--want", "i2ls") == [
        name,
        "https://a.example/1",
        "https://b.example/1",
    ]
    assert shell.lines("resolve", name)[0].startswith(f"held {name} text/plain")
    assert shell.json("resolve", resource)["identifier"] == name
    assert shell.json("resolve", name, "--want", "I2Rs")["fetches"][0]["identifier"] == name
    assert shell.json("resolve", name, "--want", "I2C")["record"]["locations"]
    shell.error("resolve", f"pdi://{SERIES}/1997/09/01/1", code=10)


def test_resolve_uses_the_public_url_where_there_is_one(shell: Shell, name: str) -> None:
    settings = shell.root / "perdure.toml"
    settings.write_text(settings.read_text() + 'base_url = "https://pid.example"\n')
    assert shell.lines("resolve", name, "--want", "I2L") == [f"https://pid.example/{name}"]


def test_list_is_in_order_and_paged(shell: Shell) -> None:
    names = [shell.lines("mint", "--series", SERIES, "--format", "text")[0] for _ in range(11)]
    resources = [one.removesuffix(".text.1") for one in names]
    pattern = f"pdi://{SERIES}/"
    assert shell.lines("list", pattern) == resources
    assert shell.lines("list", f"{pattern}*/*/*/*.text.*") == names
    page = shell.json("list", pattern, "--limit", "4")
    assert page["identifiers"] == resources[:4]
    rest = shell.json("list", pattern, "--cursor", page["cursor"])
    assert (rest["identifiers"], rest["cursor"]) == (resources[4:], None)
    shell.error("list", pattern, "--cursor", "garbage", code=4)


def test_list_shows_the_intervals_that_hold_something(shell: Shell) -> None:
    for day in ("1997/08/31", "1997/09/01"):
        shell.run("bind", "--register", f"pdi://{SERIES}/{day}/1", "https://a.example")
    assert shell.lines("list", f"pdi://{SERIES}/1997/", "--intervals") == [
        f"pdi://{SERIES}/1997/08/",
        f"pdi://{SERIES}/1997/09/",
    ]


def test_list_without_a_pattern_lists_the_only_series(root: Path, shell: Shell) -> None:
    assert shell.lines("list") == shell.lines("list", f"pdi://{SERIES}/")
    initialise(root, series=("other.example.us",))
    said = shell.error("list", code=2)
    assert "pdi://other.example.us/" in said["message"]


def test_a_file_whose_name_promises_another_type_is_told(shell: Shell, place: Path) -> None:
    with wave.open(str(place / "tone.wav"), "wb") as tone:
        tone.setnchannels(1)
        tone.setsampwidth(2)
        tone.setframerate(8000)
        tone.writeframes(bytes(16000))
    name = shell.lines("mint", "--series", SERIES, "tone.wav")[0]
    assert "'x.wav'" not in shell.run("get", f"{name}#msec=0,100", "-o", "x.wav").stderr
    told = shell.run("get", f"{name}#msec=0,100", "-o", "x.gif").stderr
    assert re.search(r"'x.gif' contains audio/[a-z.-]*wave?, not image/gif", told)


def test_texts_are_described_as_texts(shell: Shell, place: Path) -> None:
    (place / "a.txt").write_text("a")
    name = shell.lines("mint", "--series", SERIES, "a.txt", "--title", "Bl\xe5b\xe6r\x1b")[0]
    assert "title: Bl\xe5b\xe6r\\x1b\n" in shell.run("describe", name).stdout


def test_only_series_years_and_months_have_intervals(shell: Shell) -> None:
    shell.error("list", "hdl:10.9999/*", "--intervals", code=4)
    shell.error("list", f"pdi://{SERIES}/1997/09/01/", "--intervals", code=4)


def test_describe_tells_what_was_so_before(shell: Shell, name: str) -> None:
    shell.run("bind", name, "https://a.example/1")
    now = shell.lines("describe", name)
    assert now[0] == name.removesuffix(".text.1")
    assert any("https://a.example/1" in line for line in now)
    revisions = shell.run("describe", name, "--history", "--json").stdout.splitlines()
    assert len(revisions) == 2
    assert "https://a.example/1" not in revisions[0]
    shell.error("describe", f"pdi://{SERIES}/1997/09/01/1", code=10)


def test_what_was_said_in_metadata_cannot_move_the_cursor_of_a_terminal(shell: Shell) -> None:
    name = shell.lines("mint", "--series", SERIES, "--title", "a\x1b[2Jb\nc")[0]
    assert "\\x1b[2Jb\\nc" in shell.run("describe", name).stdout


# history
# -------


def test_history_tells_who_did_what(shell: Shell, name: str) -> None:
    shell.run("bind", name, "https://a.example/1")
    shell.run("bind", name, "https://a.example/2")
    shell.run("withdraw", name, "--reason", "a mistake", "--by", "anna")
    told = [json.loads(line) for line in shell.lines("history", name, "--json")]
    assert [(one["revision"], one["by"]) for one in told] == [
        (1, "local"),
        (2, "local"),
        (3, "local"),
        (4, "anna"),
    ]
    assert told[0]["changes"]["versions"]["before"] is None
    change = told[2]["changes"]["locations"]
    assert [one["uri"] for one in change["before"]] == ["https://a.example/1"]
    assert [one["uri"] for one in change["after"]] == ["https://a.example/1", "https://a.example/2"]
    lines = shell.lines("history", name)
    assert any(one.startswith("  locations + ") and "https://a.example/2" in one for one in lines)
    assert shell.error("history", "hdl:1/unknown", code=10)["code"] == "not-found"


@pytest.mark.parametrize("written", ["hdl:1839/p%41q", "hdl:1839/q?info", "hdl:1839/a?d#e"])
def test_a_resolver_is_asked_for_the_very_name(
    shell: Shell, letter: Path, page: Path, forked_resolver: str, written: str
) -> None:
    """Whatever of it would mean something else in a URL (`%41` is an `A`, `?info` a question)."""
    for name, file in ((written, letter), ("hdl:1839/pAq", page), ("hdl:1839/q", page)):
        shell.run("bind", "--register", name, "https://a.example/")
        shell.run("commit", name, str(file))
    got = shell.run("get", written, "--resolver", forked_resolver)
    assert got.stdout_bytes == letter.read_bytes()


# sets  # ruling: pdi-patterns-everywhere
# ----


@pytest.fixture
def handles(shell: Shell) -> list[str]:
    names = ["hdl:1839/A", "hdl:1839/b"]
    for one in names:
        shell.run("bind", one, f"https://a.example/{one[-1]}", "--register")
    return names


def test_names_of_every_scheme_are_listed_exported_and_cited(
    shell: Shell, handles: list[str]
) -> None:
    assert shell.lines("list", "hdl:1839/*") == handles
    assert shell.lines("list", "hdl:1839/", "--limit", "1") == handles[:1]
    assert [json.loads(one)["id"] for one in shell.lines("export", "hdl:1839/*")] == handles
    cited = shell.run("cite", "hdl:1839/*").stdout.strip().split("\n\n")
    assert [one.rpartition("(")[2] for one in cited] == [f"{one})" for one in handles]
    items = json.loads(shell.run("cite", "hdl:1839/", "--style", "csl").stdout)
    assert [one["id"] for one in items] == handles
    assert "hdl:1839/" in shell.lines("list", "--authorities")


def test_what_is_not_held_is_not_verified(shell: Shell, handles: list[str]) -> None:
    """ "Never '0 problems'." """
    told = shell.run("verify", "hdl:1839/*")
    assert "nothing was checked" in told.stderr
    assert "problems" not in told.stderr


OF_SETS = [
    ("list",), ("verify",), ("verify", "--all"), ("export",), ("prepare",), ("check-links",),
    ("relocate", "--from", "https://a.example/", "--to", "https://b.example/", "--pattern"),
]  # fmt: skip
"""Commands that take a pattern or a name."""


@pytest.mark.parametrize("command", [*OF_SETS, ("cite",)])
@pytest.mark.parametrize(
    "pattern", ["hdl:1841/*", f"pdi://{SERIES}/2026/*/*/*.nosuch.*", "pdi://nowhere.us/2026/"]
)
def test_a_set_of_unknown_names_is_not_found(
    shell: Shell, name: str, command: tuple[str, ...], pattern: str
) -> None:
    """ "A pattern that matches nothing known is not-found (404, exit 10)" """
    assert shell.error(*command, pattern, code=10)["code"] == "not-found"


@pytest.mark.parametrize("command", OF_SETS)
@pytest.mark.parametrize("ending", ["9", ".text.9", ".html.1", ".html"])
def test_a_name_that_does_not_exist_is_a_set_without_members(
    shell: Shell, name: str, command: tuple[str, ...], ending: str
) -> None:
    shell.run("bind", name, "https://a.example/one")
    unknown = name.removesuffix(".text.1") + ending
    assert shell.error(*command, unknown, code=10)["code"] == "not-found"
    one = shell.error("resolve", unknown, code={"9": 10, ".text.9": 11}.get(ending, 13))
    assert one["code"] in ("not-found", "no-such-version", "not-acceptable")


def test_intervals_of_an_unknown_series_are_not_found(shell: Shell, name: str) -> None:
    assert shell.lines("list", "--intervals", f"pdi://{SERIES}/") == [f"pdi://{SERIES}/2026/"]
    assert shell.lines("list", "--intervals", f"pdi://{SERIES}/1997/") == []
    shell.error("list", "--intervals", "pdi://nowhere.us/", code=10)


def test_a_pattern_has_no_history(shell: Shell, name: str) -> None:
    shell.error("history", f"pdi://{SERIES}/2026/", code=4)


def test_verify_checks_what_the_pattern_names(shell: Shell, name: str) -> None:
    whole = name.removesuffix(".text.1")
    assert shell.json("verify", f"{whole}.text.*")["checked"] == 1
    assert shell.error("verify", f"{whole}.html.*", code=10)["code"] == "not-found"
    assert shell.error("verify", f"{whole}.html.1", code=10)["code"] == "not-found"
    assert shell.error("verify", f"{whole}9", code=10)["code"] == "not-found"


def test_several_names_of_one_thing_are_listed_once(shell: Shell, place: Path) -> None:
    """Ruling urn93-duplicates."""
    for name, content in (("a.txt", "same"), ("b.txt", "other"), ("c.txt", "same")):
        (place / name).write_text(content)
    first, second, third = (
        shell.lines("mint", "--series", SERIES, f"{one}.txt")[0].removesuffix(".text.1")
        for one in "abc"
    )
    shell.run("alias", second, "hdl:1839/7")
    day = f"{first.rpartition('/')[0]}/"
    assert shell.lines("list", day) == [first, f"  also {third}", second, "  also hdl:1839/7"]
    told = shell.json("list", day)
    assert told["identifiers"] == [first, second]
    assert told["also"] == {first: [third], second: ["hdl:1839/7"]}
    assert shell.lines("list", day, "--every-name") == [first, second, third]
    assert len([one for one in shell.lines("cite", day) if one]) == 2
    assert len(shell.lines("export")) == 3


# sets of one name
# ----------------


def list_commands_of_sets(group: PerdureGroup, *path: str) -> list[tuple[str, ...]]:
    """The commands that take a pattern as their argument."""
    found = []
    for word, command in load_commands(group).items():
        if isinstance(command, PerdureGroup):
            found += list_commands_of_sets(command, *path, word)
        elif any(
            isinstance(one, click.Argument) and one.type is options.PATTERN
            for one in command.params
        ):
            found.append((*path, word))
    return found


MORE: dict[tuple[str, ...], tuple[str, ...]] = {
    ("export-signatures",): ("-o", "signatures.zip"),
    ("citations", "export"): ("--form", "cito"),
}
"""Options that a command needs, beside the name."""
WRITING = {("delegate",), ("hand-over",)}
"""These write: each time, another document says so."""
READING = [one for one in list_commands_of_sets(perdure) if one not in WRITING]


@pytest.mark.parametrize("command", READING, ids=" ".join)
@pytest.mark.parametrize("spelling", ["hdl:1839/letter", "{}", "{}#char=0,4"])
def test_a_set_of_one_name_is_followed_as_everywhere(
    shell: Shell, name: str, command: tuple[str, ...], spelling: str
) -> None:
    """architecture.md: "Every interface gives the same answer"."""
    shell.run("alias", name.removesuffix(".text.1"), "hdl:1839/letter")
    asked = spelling.format(name)
    plain = shell.run(*command, name.removesuffix(".text.1"), *MORE.get(command, ()))
    found = shell.run(*command, asked, *MORE.get(command, ()))
    if command != ("list",) or spelling == "hdl:1839/letter":
        assert (found.stdout, found.stderr) == (plain.stdout, plain.stderr)


def test_an_alias_is_listed_with_the_name_that_it_stands_for(shell: Shell, name: str) -> None:
    resource = name.removesuffix(".text.1")
    shell.run("alias", resource, "hdl:1839/letter")
    assert shell.lines("list", "hdl:1839/letter") == [resource, "  also hdl:1839/letter"]
    shell.run("verify", "hdl:1839/other", code=10)


def test_a_document_is_verified_by_any_spelling_of_its_name(shell: Shell, letter: Path) -> None:
    """Ruling pdi-foreign-equal: "look-ups of one spelling find the other"."""
    url = "http://www.example.org/"
    (name,) = shell.lines("mint", "--series", SERIES, "--foreign", url, str(letter))
    assert "%2eorg%2f.text.1" in name
    told = shell.run("verify", name.replace("%2eorg%2f", "%2eorg")).stderr
    assert "1 representation with" in told
