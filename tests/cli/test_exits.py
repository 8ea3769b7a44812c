"""Exit codes and how errors are told."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from tests.cli.commands import load_commands
from tests.cli.conftest import Shell
from tests.conftest import SERIES

from perdure.cli import Perdure, exits, perdure
from perdure.cli.command import PerdureCommand
from perdure.cli.summaries import SUMMARIES
from perdure.errors import MalformedIdentifier, StorageFailed
from perdure.errors.tree import list_classes
from perdure.upkeep.helpers import count_cores

PROGRAM = [sys.executable, "-m", "perdure.cli"]


def test_every_class_of_error_has_a_code() -> None:
    """A class without a code of its own shares that of its parent."""
    ours = {
        kind
        for kind in list_classes()
        if "code" in vars(kind) and kind.__module__.startswith("perdure.errors.")
    }
    assert set(exits.CODES) == ours


def test_no_code_means_two_things() -> None:
    """Only texts that must be mended share one, and a class that keeps that of its parent.

    Ruling exit-codes: "New errors keep the exit code of their parent in the tree" """
    kept = {
        kind: next((exits.CODES[one] for one in kind.__mro__[1:] if one in exits.CODES), None)
        for kind in exits.CODES
    }
    codes = [code for kind, code in exits.CODES.items() if code not in (3, kept[kind])]
    assert len(set(codes)) == len(codes)
    assert set(exits.CODES.values()).isdisjoint(exits.OTHERS)
    assert all(0 < code < 126 for code in exits.CODES.values())


def test_a_class_of_a_plug_in_has_the_code_of_the_class_above() -> None:
    class Burnt(StorageFailed):
        pass

    try:
        assert exits.exit_code_of(Burnt(what="a disk", reason="fire")) == 21
    finally:
        del Burnt


def test_the_codes_are_documented() -> None:
    page = Path(__file__).parents[2] / "docs/reference/cli.md"
    rows = re.findall(r"^\| (\d+) \| ([^|]*)\|", page.read_text("utf-8"), re.MULTILINE)
    documented = {int(code): what for code, what in rows}
    assert set(documented) == {*exits.CODES.values(), *exits.OTHERS}
    for kind, code in exits.CODES.items():
        assert f"`{kind.code}`" in documented[code]


# How errors are told
# -------------------


def test_an_error_is_one_line_on_stderr(shell: Shell) -> None:
    result = shell.run("get", "pdi://oma.eop.gov/1997/09/01.html.1", code=3)
    assert result.stdout == ""
    assert re.fullmatch(r"perdure: malformed identifier .*\n", result.stderr)


def test_an_error_in_json_has_code_and_fields(shell: Shell) -> None:
    told = shell.error("get", "pdi://oma.eop.gov/1997/09/01.html.1", code=3)
    assert told["code"] == MalformedIdentifier.code
    assert told["at"] == 28
    assert told["message"].startswith("malformed identifier")


@pytest.mark.parametrize("name", ["pdi://a\r\nX: y/", "pdi://a.us/\x1b[2J", "\x00", "ä" * 9000])
def test_control_characters_of_the_command_line_do_not_reach_the_terminal(
    shell: Shell, name: str
) -> None:
    result = shell.run("get", name, code=3)
    assert result.stderr.count("\n") == 1
    assert result.stderr.isascii() or "…" in result.stderr
    assert result.stderr.rstrip("\n").replace("…", "").isprintable()


@pytest.mark.parametrize(
    "words", [["mint", "--frobnicate"], ["frobnicate"], ["get"], ["list", "x", "--limit", "0"]]
)
def test_a_command_line_that_cannot_be_understood_ends_with_2(
    shell: Shell, words: list[str]
) -> None:
    assert re.fullmatch(r"perdure: .*--help'\n", shell.run(*words, code=2).stderr)
    assert shell.error(*words, code=2)["code"] == "usage"


@pytest.mark.parametrize("words", [[], ["pwid"], ["archive"]])
def test_a_group_without_a_command_says_which_it_has(shell: Shell, words: list[str]) -> None:
    told = shell.run(*words, code=2).stderr
    assert told == shell.run(*words, "--help").stdout
    assert shell.error("--json", *words, code=2)["message"].startswith("Missing command")


def test_the_list_of_commands_breaks_off_no_sentence(shell: Shell) -> None:
    told = " ".join(shell.run("--help").stdout.split())
    for name, command in load_commands(perdure).items():
        first = " ".join((command.help or "").partition("\n\n")[0].split())
        assert f" {name} {first}" in told


def test_the_list_of_commands_has_the_first_sentence_of_each() -> None:
    """cli/summaries: "each is the first sentence of the command's own help"."""
    commands = load_commands(perdure)
    sentences = {name: one.get_short_help_str() for name, one in commands.items() if not one.hidden}
    assert list(SUMMARIES.items()) == list(sentences.items())


def test_the_list_of_commands_loads_none_of_them() -> None:
    """Issue of the plan: "`perdure --help` at most 1.2 x today's"; today it loaded 28 modules."""
    code = (
        "import sys\nfrom perdure.cli import perdure\n"
        "try:\n    perdure.main(['--help'])\nexcept SystemExit:\n    print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.rpartition("\n  ")[2].split()
    assert "perdure.cli.summaries" in loaded
    assert sum(one.startswith("perdure") for one in loaded) < 28
    assert "asyncio" not in loaded


def test_a_choice_that_is_missing_is_told_in_one_line(shell: Shell) -> None:
    told = shell.run("completion", code=2).stderr
    assert "Choose from: bash, zsh, fish; see" in told
    assert told.rstrip("\n").isprintable()


def test_no_registry_is_a_clear_error(shell: Shell, place: Path) -> None:
    told = shell.error("-C", str(place / "nothing"), "list", f"pdi://{SERIES}/", code=5)
    assert told["code"] == "bad-settings"
    assert "perdure init" in told["message"]
    assert "-C" in told["message"]


def test_what_the_system_refuses_is_told_in_one_line(shell: Shell, letter: Path) -> None:
    name = shell.lines("mint", str(letter), "--series", SERIES)[0]
    told = shell.error("get", name, "-o", "absent/file", code=6)
    assert told["errno"] == "ENOENT"
    assert "absent" in told["message"]


def test_an_interrupt_ends_with_130() -> None:
    @click.group(cls=Perdure)
    def group() -> None: ...

    @group.command(cls=PerdureCommand)
    def wait() -> None:
        raise KeyboardInterrupt

    result = CliRunner().invoke(group, ["wait"])
    assert result.exit_code == exits.INTERRUPTED
    assert "Traceback" not in result.output


def test_a_real_interrupt_ends_a_real_process_quietly(root: Path) -> None:
    """`import` of a stream that never ends: the process waits for input."""
    process = subprocess.Popen(
        [*PROGRAM, "-C", str(root), "import", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write(b"\n")
    process.stdin.flush()
    while not (root / "writer.lock").exists() and process.poll() is None:
        # It reads settings first; a moment later it waits for lines.
        time.sleep(0.01)
        if Path(f"/proc/{process.pid}/wchan").read_text() in ("pipe_read", "anon_pipe_read"):
            break
    process.send_signal(signal.SIGINT)
    output, told = process.communicate()
    assert process.returncode == exits.INTERRUPTED
    assert output == b""
    assert b"Traceback" not in told


@pytest.mark.parametrize("from_stdin", [False, True], ids=["file", "stdin"])
def test_a_long_import_takes_every_line_once(
    root: Path, tmp_path: Path, *, from_stdin: bool
) -> None:
    """Several processes read it, and the bad line is told with its number in the file."""
    given = [
        f'{{"id": "hdl:1839/{number:06}", "locations": ["https://a.example/"]}}\n'
        for number in range(70_000)
    ]  # 5 MB
    given[61_234] = '{"id": "hdl:"}\n'
    lines = tmp_path / "many.jsonl"
    lines.write_text("".join(given))
    with lines.open("rb") as file:
        ran = subprocess.run(
            [*PROGRAM, "-C", str(root), "import", "-" if from_stdin else str(lines)],
            stdin=file,
            capture_output=True,
            check=False,
        )
    assert ran.returncode == exits.FINDINGS
    assert b"line 61235" in ran.stderr
    assert b"69999 identifiers imported, 1 line refused" in ran.stdout + ran.stderr
    listed = subprocess.run(
        [*PROGRAM, "-C", str(root), "list", "hdl:1839/0612*"], capture_output=True, check=True
    )
    assert len(listed.stdout.splitlines()) == 99  # of a hundred, one of which is bad


@pytest.mark.skipif(count_cores() < 2, reason="one process reads all lines")
@pytest.mark.parametrize("of_all", [True, False], ids=["terminal", "kill"])
def test_an_interrupt_while_processes_start_is_quiet(
    root: Path, tmp_path: Path, *, of_all: bool
) -> None:
    """A terminal sends SIGINT to all processes, `kill` to one."""
    lines = tmp_path / "many.jsonl"
    lines.write_text("".join(f'{{"id": "hdl:1839/{number:06}"}}\n' for number in range(400_000)))
    process = subprocess.Popen(
        [*PROGRAM, "-C", str(root), "import", str(lines)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if not children.exists():
        process.kill()
        pytest.skip("no list of child processes here")
    while process.poll() is None and not children.read_text():
        time.sleep(0.001)
    if of_all:
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.send_signal(signal.SIGINT)
    output, told = process.communicate()
    assert process.returncode == exits.INTERRUPTED, told
    assert output == b""
    assert b"Traceback" not in told


def test_a_reader_that_goes_away_ends_the_command_quietly(root: Path) -> None:
    """`perdure list … | head -1`."""
    lines = "".join(
        json.dumps({"id": f"pdi://{SERIES}/1997/09/01/{number}"}) + "\n" for number in range(9000)
    )
    command = [*PROGRAM, "-C", str(root)]
    subprocess.run([*command, "import", "-"], input=lines, text=True, check=True)
    listing = subprocess.Popen(
        [*command, "list", f"pdi://{SERIES}/"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert listing.stdout is not None
    assert listing.stderr is not None
    assert listing.stdout.readline() == f"pdi://{SERIES}/1997/09/01/1\n".encode()
    listing.stdout.close()
    told = listing.stderr.read()
    listing.stderr.close()
    assert (listing.wait(), told) == (exits.BROKEN_PIPE, b"")


# Starting
# --------

HEAVY = ("apsw", "pycountry", "rich", "uvicorn", "blake3", "msgspec", "jinja2", "urllib.request")


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\nfrom perdure.cli import perdure\n"
        "try: perdure.main(['--help'])\nexcept SystemExit: pass\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"


RARE = ("html.parser", "pure_magic_rs", "gzip", "zipfile", "perdure.model.composites")


def test_an_import_of_locations_loads_nothing_that_few_documents_need(
    root: Path, tmp_path: Path
) -> None:
    """Issue of the plan: "import of redirects >= 0.95 x"; half of a short import is the start."""
    lines = tmp_path / "lines.jsonl"
    lines.write_text(
        '{"id":"pdi://oma.eop.gov.us/1997/09/01/1","locations":["http://a.example"]}\n'
    )
    code = (
        "import sys\nfrom perdure.cli import perdure\n"
        f"try: perdure.main(['-C', {str(root)!r}, 'import', {str(lines)!r}])\n"
        "except SystemExit as ended: print(ended.code, file=sys.stdout)\n"
        f"print([name for name in {RARE!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n[]\n"
    assert "1 identifier imported" in done.stderr
