"""Running commands in this process, as a shell would: words in, exit code and two streams out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from perdure.cli import perdure


class Shell:
    """Runs commands on one registry directory."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def run(self, *words: str, stdin: bytes | str | None = None, code: int = 0) -> Result:
        """Runs a command that must end with this exit code, and without a traceback."""
        runner = CliRunner(env={"PERDURE_REGISTRY": str(self.root)})
        result = runner.invoke(perdure, words, input=stdin)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.stderr
        assert "Traceback" not in result.stderr
        return result

    def lines(self, *words: str, **settings: Any) -> list[str]:
        """What a command prints."""
        return self.run(*words, **settings).stdout.splitlines()

    def json(self, *words: str, **settings: Any) -> Any:
        """What a command answers to a script."""
        return json.loads(self.run(*words, "--json", **settings).stdout)

    def error(self, *words: str, code: int, **settings: Any) -> dict[str, Any]:
        """What a command that fails tells a script; nothing must be on stdout."""
        result = self.run(*words, "--json", code=code, **settings)
        assert not result.stdout
        told = json.loads(result.stderr)
        assert isinstance(told, dict)
        return told


@pytest.fixture
def shell(root: Path, monkeypatch: pytest.MonkeyPatch, place: Path) -> Shell:
    monkeypatch.chdir(place)
    return Shell(root)


@pytest.fixture
def letter(place: Path) -> Path:
    path = place / "letter.txt"
    path.write_bytes(b"Dear Sir,\nyours\n")
    return path


@pytest.fixture
def page(place: Path) -> Path:
    path = place / "page.html"
    path.write_bytes("<!DOCTYPE html><title>Grüße</title>".encode())
    return path
