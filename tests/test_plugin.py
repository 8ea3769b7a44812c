"""The example plug-in, installed as users install it, at work on the command line and over HTTP."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent
PLUGIN = PROJECT / "examples" / "plugin"
LSID = "urn:lsid:ubio.org:namebank:11815"
THERE = "http://localhost/11815"
TEXT = "The quick brown fox\r\njumps über the lazy dog.\n"
LONG = "one two three\n" * 80_000  # more than the extractor cuts in the server's own process
MODS = """<?xml version="1.0"?>
<mods xmlns="http://www.loc.gov/mods/v3"><titleInfo><title>Aves &amp; co</title></titleInfo>
<name type="personal"><namePart>Doe, Jane</namePart></name>
<originInfo><dateIssued>1999-05</dateIssued></originInfo></mods>"""


class Installed:
    """An environment that has the plug-in, and a registry in it."""

    def __init__(self, place: Path, registry: Path) -> None:
        self.environment = os.environ | {"PYTHONPATH": str(place)}
        self.registry = registry
        self.base = ("", 0)

    def run(self, *words: str, stdin: str = "", code: int = 0) -> str:
        """What `perdure` prints on stdout, or on stderr if it ends with another code than 0."""
        done = self.python("-m", "perdure.cli", "-C", str(self.registry), *words, stdin=stdin)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stderr if code else done.stdout

    def python(self, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """What Python does where the plug-in is installed."""
        return subprocess.run(
            [sys.executable, *words],
            env=self.environment,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )

    def ask(self, path: str, method: str = "GET", **fields: str) -> tuple[HTTPResponse, bytes]:
        """The answer of the server, and its body."""
        connection = HTTPConnection(*self.base, timeout=60)
        names = {name.replace("_", "-"): value for name, value in fields.items()}
        connection.request(method, path, headers=names)
        response = connection.getresponse()
        body = response.read()
        connection.close()
        return response, body


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    place = tmp_path_factory.mktemp("plugin")
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index",
         "--no-build-isolation", "--disable-pip-version-check", "--target", place, PLUGIN],
        check=True,
    )  # fmt: skip
    here = Installed(place, place / "registry")
    subprocess.run(
        [sys.executable, "-m", "perdure.cli", "init", here.registry, "--series", "a.example.us"],
        env=here.environment,
        check=True,
        capture_output=True,
    )
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    here.base = ("127.0.0.1", port)
    words = [sys.executable, "-m", "perdure.cli", "-C", here.registry, "serve", "--port", port]
    server = subprocess.Popen(
        list(map(str, words)), env=here.environment, stderr=subprocess.DEVNULL
    )
    try:
        for _ in range(600):
            try:
                here.ask("/healthz")
                break
            except OSError:
                time.sleep(0.1)  # until it listens, which has no other sign from outside
        yield here
    finally:
        server.terminate()
        server.wait(30)


@pytest.fixture(scope="module")
def text(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The name of a text that the registry holds."""
    return _minted(installed, tmp_path_factory.mktemp("text"), TEXT)


def _minted(installed: Installed, place: Path, content: str) -> str:
    (place / "fox.txt").write_bytes(content.encode())
    words = ("--series", "a.example.us", "--charset", "utf-8", str(place / "fox.txt"))
    name = re.search(r"pdi://\S+", installed.run("mint", *words))
    assert name is not None
    return name[0]


def test_the_scheme_works_from_register_to_resolve(installed: Installed) -> None:
    installed.run("bind", "--register", LSID.replace("ubio", "UBIO"), THERE)
    assert THERE in installed.run("resolve", LSID)
    answer, _ = installed.ask(f"/{LSID}")
    assert (answer.status, answer.headers["location"]) == (302, THERE)
    assert installed.ask("/urn:lsid:UBIO.org:namebank:11815")[0].status in (301, 302, 308)
    assert installed.ask("/urn:lsid:ubio.org:NAMEBANK:11815")[0].status == 404


def test_a_text_that_is_not_an_identifier_of_the_scheme_is_refused(installed: Installed) -> None:
    assert "OMG dtc/04-05-01" in installed.run("resolve", "urn:lsid:ubio.org", code=3)
    answer, body = installed.ask("/urn:lsid:ubio.org")
    assert answer.status == 400
    assert b"an authority, a namespace, an object" in body


def test_the_server_lists_the_scheme(installed: Installed) -> None:
    _, body = installed.ask("/", accept="application/json")
    assert json.loads(body)["schemes"]["lsid"] == ["urn:lsid:"]


def test_the_format_is_read_and_written(installed: Installed) -> None:
    installed.run("bind", "--register", f"{LSID}:2", THERE)
    installed.run("metadata", "set", f"{LSID}:2", "-", stdin=MODS)  # recognised by its namespace
    written = installed.run("metadata", "get", f"{LSID}:2", "--format", "mods")
    assert "<title>Aves &amp; co</title>" in written
    assert "<dateIssued>1999</dateIssued>" in written
    assert f'<identifier type="lsid">{LSID}:2</identifier>' in written
    assert "mods" in installed.run("metadata", "formats")
    for way in (
        installed.ask(f"/{LSID}:2?metadata=mods"),
        installed.ask(f"/{LSID}:2", accept="application/mods+xml"),
    ):
        assert way[0].headers["content-type"] == "application/mods+xml"
        assert b"<namePart>Doe, Jane</namePart>" in way[1]


def test_parts_are_cut_over_http_in_every_way(installed: Installed, text: str) -> None:
    for path in (f"/{text}%23word=1,3", f"/{text}?part=word=1,3"):
        answer, body = installed.ask(path)
        while answer.status in (301, 302, 303, 307, 308):
            answer, body = installed.ask("/" + answer.headers["location"].split("/", 3)[3])
        assert (answer.status, body) == (200, b"quick brown"), path
        tag = answer.headers["etag"]
        assert tag
        again, _ = installed.ask(f"/{text}%23word=1,3", if_none_match=tag)
        assert again.status == 304
    assert installed.ask(f"/{text}%23word=1,4")[0].headers["etag"] != tag
    assert installed.ask(f"/{text}%23word=4,6")[1] == "jumps über".encode()


def test_parts_are_cut_on_the_command_line(installed: Installed, text: str, tmp_path: Path) -> None:
    (tmp_path / "fox.txt").write_bytes(TEXT.encode())
    assert installed.run("part", str(tmp_path / "fox.txt"), "word=1,3") == "quick brown"
    assert "word=0,9" in installed.run("parts", "--of", str(tmp_path / "fox.txt"))
    assert installed.run("get", f"{text}#word=1,3") == "quick brown"
    assert "9 words" in installed.run("get", f"{text}#word=8,10", code=18)


@pytest.mark.parametrize(
    ("part", "status", "reason"),
    [("word=8,10", 416, "9 words"), ("word=x", 400, "two numbers"), ("word=3,1", 400, "an end")],
)
def test_parts_that_cannot_be_are_errors(
    installed: Installed, text: str, part: str, status: int, reason: str
) -> None:
    answer, body = installed.ask(f"/{text}%23{part}")
    assert answer.status == status
    assert reason in body.decode()


def test_a_long_text_is_cut_in_a_worker(installed: Installed, tmp_path: Path) -> None:
    """The selector of a plug-in goes to another process and comes back."""
    name = _minted(installed, tmp_path, LONG)
    answer, body = installed.ask(f"/{name}%23word=239999,240000")
    assert (answer.status, body) == (200, b"three")
    assert installed.ask(f"/{name}%23word=239999,240001")[0].status == 416


def test_selectors_go_into_web_annotations_and_back(installed: Installed) -> None:
    code = """
from perdure.parts import annotation, parse_part
from perdure_example.words import Words
words = parse_part("word=3,7", "text/plain")
assert words == Words(3, 7) and parse_part(str(words), "text/plain; charset=utf-8") == words
written = annotation.write_annotation(words)
assert written["conformsTo"] == "https://perdure.example/parts/words"
assert annotation.read_annotation(written) == words
narrowed = written | {"refinedBy": {"type": "CssSelector", "value": "a"}}
assert annotation.read_annotation(narrowed).outer == words
print("done")
"""
    done = installed.python("-c", code)
    assert done.stdout == "done\n", done.stderr


@pytest.mark.parametrize("module", ["lsid", "words"])
def test_its_examples_are_true(installed: Installed, module: str) -> None:
    code = f"import doctest, perdure_example.{module} as m; print(doctest.testmod(m))"
    done = installed.python("-c", code)
    assert re.fullmatch(r"TestResults\(failed=0, attempted=[2-9]\)\n", done.stdout), done.stdout


BROKEN = {
    "perdure.schemes": "LSID",
    "perdure.metadata": "FORMAT",
    "perdure.parts": "SYNTAX",
    "perdure.extractors": "EXTRACTOR",
}


def test_a_broken_plug_in_is_named_and_the_rest_goes_on(
    installed: Installed, tmp_path: Path, text: str
) -> None:
    info = tmp_path / "broken-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "".join(f"[{group}]\nbad = broken_plugin:{name}\n" for group, name in BROKEN.items())
    )
    (tmp_path / "broken_plugin.py").write_text("raise RuntimeError('no licence')\n")
    other = Installed(tmp_path, installed.registry)
    other.environment["PYTHONPATH"] += f":{installed.environment['PYTHONPATH']}"
    words = ("-m", "perdure.cli", "-C", str(other.registry), "get", f"{text}#word=1,3")
    done = other.python(*words)
    assert done.stdout == "quick brown"
    for group in ("perdure.schemes", "perdure.parts", "perdure.extractors"):
        (line,) = (line for line in done.stderr.splitlines() if f"{group} " in line)
        assert "bad = broken_plugin" in line
        assert "of broken" in line
        assert "RuntimeError: no licence" in line
    assert "mods" in other.run("metadata", "formats")
