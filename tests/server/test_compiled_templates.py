"""Templates are compiled once, and what they were compiled to is loaded only if it is theirs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jinja2
import pytest

from perdure.server.pages import templates
from perdure.server.pages.compiled import CompiledTemplates

GREETING = "Good {{ time }}!"


@pytest.fixture
def count_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], int]]:
    """Loads all templates as a new process does, and returns how many of them it compiled."""
    compiled: list[object] = []
    compile_source = jinja2.Environment._compile

    def count(*given: Any) -> Any:
        compiled.append(given)
        return compile_source(*given)

    def load() -> int:
        compiled.clear()
        templates._load_environment.cache_clear()
        templates.load_templates()
        return len(compiled)

    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path))
    monkeypatch.setattr(jinja2.Environment, "_compile", count)
    yield load
    templates._load_environment.cache_clear()


class Counting(jinja2.Environment):
    """A template whose bytecode is kept, and how often it was compiled."""

    def __init__(self, place: Path, source: str = GREETING, settings: bytes = b"") -> None:
        super().__init__(
            loader=jinja2.DictLoader({"greeting": source}),
            bytecode_cache=CompiledTemplates(place, settings),
        )
        self.count = 0

    def compile(self, *given: Any, **named: Any) -> Any:
        self.count += 1
        return super().compile(*given, **named)

    def greet(self) -> str:
        return self.get_template("greeting").render(time="morning")


def test_a_second_start_compiles_nothing(count_compiled: Callable[[], int]) -> None:
    assert count_compiled() > 50
    assert count_compiled() == 0


def test_nothing_is_written_if_python_shall_not(
    count_compiled: Callable[[], int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert count_compiled() > 50
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(autouse=True)
def may_write(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)


def test_it_is_compiled_once(tmp_path: Path) -> None:
    for count in (1, 0, 0):
        environment = Counting(tmp_path / "kept")
        assert environment.greet() == "Good morning!"
        assert environment.count == count
    assert len(list((tmp_path / "kept").iterdir())) == 1


def test_what_changed_is_compiled_again(tmp_path: Path) -> None:
    assert Counting(tmp_path).greet() == "Good morning!"
    other = Counting(tmp_path, "Bad {{ time }}!")
    assert (other.greet(), other.count) == ("Bad morning!", 1)
    other = Counting(tmp_path, "Bad {{ time }}!", settings=b"others")
    assert (other.greet(), other.count) == ("Bad morning!", 1)


@pytest.mark.parametrize("version", ["0.1", "99.0"])
def test_what_another_jinja_compiled_is_compiled_again(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as other:
        other.setattr(jinja2, "__version__", version, raising=False)
        assert Counting(tmp_path).greet() == "Good morning!"
    environment = Counting(tmp_path)
    assert (environment.greet(), environment.count) == ("Good morning!", 1)


def damage_everywhere(kept: bytes) -> Iterator[bytes]:
    """What is left of a file after it was cut, overwritten or filled with zeros."""
    for place in range(0, len(kept), 5):
        yield kept[:place]
        yield kept[:place] + bytes([kept[place] ^ 0xFF]) + kept[place + 1 :]
        yield kept[:place] + bytes(len(kept) - place)


def test_what_is_damaged_is_compiled_again(tmp_path: Path) -> None:
    Counting(tmp_path).greet()
    [file] = tmp_path.iterdir()
    for damaged in damage_everywhere(file.read_bytes()):
        file.write_bytes(damaged)
        for count in (1, 0):
            environment = Counting(tmp_path)
            assert (environment.greet(), environment.count) == ("Good morning!", count)


def test_templates_load_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    environment = Counting(tmp_path / "file" / "within")
    assert (environment.greet(), environment.count) == ("Good morning!", 1)


def test_no_other_user_is_kept_from_reading(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        Counting(tmp_path).greet()
    finally:
        os.umask(before)
    [file] = tmp_path.iterdir()
    assert file.stat().st_mode & 0o777 == 0o644
