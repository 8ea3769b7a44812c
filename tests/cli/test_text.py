"""`perdure text`: the text of what is held, of files, and the reason if there is none."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Shell
from tests.conftest import SERIES
from tests.extractors.packages import write_odf

from perdure.ids import parse
from perdure.ids.pdi import Pdi

PAGE = b"<title>T</title><p>a &amp; \xc3\xbc"


@pytest.fixture
def page(tmp_path: Path) -> str:
    path = tmp_path / "page.html"
    path.write_bytes(PAGE)
    return str(path)


def mint(shell: Shell, file: str) -> str:
    return str(shell.json("mint", "--series", SERIES, file)["identifier"])


def test_the_text_of_a_document_and_of_its_parts(shell: Shell, page: str, tmp_path: Path) -> None:
    name = mint(shell, page)
    assert shell.run("text", name).stdout_bytes == "Ta & ü".encode()
    assert shell.run("text", f"{name}#quote=a%20%26").stdout_bytes == b"a &"
    assert shell.json("text", name) == {"identifier": name, "text": "Ta & ü"}
    out = tmp_path / "out.txt"
    assert shell.json("text", name, "-o", str(out)) == {"identifier": name, "length": 7}
    assert out.read_text("utf-8") == "Ta & ü"


def test_the_text_of_a_file(shell: Shell, page: str, tmp_path: Path) -> None:
    assert shell.run("text", "--of", page).stdout_bytes == "Ta & ü".encode()
    minutes = tmp_path / "minutes.odt"
    minutes.write_bytes(write_odf("text", "<text:p>One fox</text:p>"))
    assert shell.run("text", "--of", str(minutes)).stdout == "One fox\n"
    shell.error("text", code=2)
    shell.error("text", "--of", page, "hdl:1839/a", code=2)


def test_why_there_is_no_text(shell: Shell, page: str, tmp_path: Path) -> None:
    empty = tmp_path / "scan.odt"
    empty.write_bytes(write_odf("text", ""))
    assert "no characters" in shell.error("text", mint(shell, str(empty)), code=54)["message"]
    octets = tmp_path / "a.bin"
    octets.write_bytes(b"\0\1\2")
    failure = shell.error("text", mint(shell, str(octets)), code=15)
    assert "no plain text" in failure["message"]
    name = mint(shell, page)
    resource = parse(name).whole
    assert isinstance(resource, Pdi)
    shell.run("withdraw", str(resource.resource), "--reason", "a court said so")
    shell.run("text", name, code=16)
