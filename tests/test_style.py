"""The checks of names and English that `make lint` runs, on examples of what they are for."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

PROJECT = Path(__file__).parent.parent
CHECK = PROJECT / "tools/check_style.py"


def check(path: Path) -> str:
    """What the tool prints about a file."""
    done = subprocess.run([sys.executable, CHECK, path], capture_output=True, text=True)
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize(
    "sentence",
    [
        "What was described by nobody.",
        "Whether there is a part.",
        "A record that somebody wrote.",
        "The values of a handle; none where there is no such handle.",
        "Raises InvalidRequest for what is no key.",
        "A part is made again for who does not only ask.",
        "The other parts are told by the server.",
        "A copy can be had at the location.",
        "The file lies in the archive.",
        "Reads so many bytes.",
        "The registry is made anew.",
        "A page of what is held here.",
        "None if there is none.",
        "Shown to everyone who asks for it.",
        "The reason, which the server gives to everybody.",
        "Return None if the name is no alias.",
        "Raises ValueError if the checksum is another one.",
        "The records that are to be erased.",
    ],
)
def test_a_sentence_that_is_hard_to_read_is_found(tmp_path: Path, sentence: str) -> None:
    module = tmp_path / "module.py"
    module.write_text(f'"""{sentence}"""\n')
    assert f"{module}:1: " in check(module)
    comment = tmp_path / "comment.py"
    comment.write_text(f"# A comment. {sentence.lower()}\n")
    page = tmp_path / "page.md"
    page.write_text(f"# A title\n\nA sentence. {sentence.lower()}\n")
    if not sentence.startswith("Whether"):  # a clause at the beginning counts in docstrings only
        assert f"{comment}:1: " in check(comment)
        assert f"{page}:3: " in check(page)


@pytest.mark.parametrize(
    "sentence",
    ["There is no alias.", "It is no longer served.", "A part is no larger than the document."],
)
def test_plain_negations_are_left_alone(tmp_path: Path, sentence: str) -> None:
    module = tmp_path / "module.py"
    module.write_text(f'"""{sentence}"""\n')
    assert check(module) == ""


def test_the_advice_names_the_pattern(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text('"""If nobody described the resource, derive a description."""\n')
    assert check(module).splitlines() == [
        f"{module}:1: write 'no one', 'anyone', or the program that does it: nobody"
    ]


def test_code_and_quotations_are_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("> nobody said so\n\n```\nwhat is no key\n```\n\n    stands in code\n")
    module = tmp_path / "module.py"
    module.write_text('nobody = "somebody"\n')
    assert check(page) == check(module) == ""


@pytest.mark.parametrize(
    "call",
    [
        'NotFound(identifier="a", reason="it is not here")',
        'errors.NotFound(reason=f"it is {here} not there")',
        'NotFound(reason=say or "it is not here")',
    ],
)
def test_an_error_gets_no_sentence(tmp_path: Path, call: str) -> None:
    module = tmp_path / "module.py"
    module.write_text(f"def find() -> None:\n    raise {call}\n")
    (complaint,) = complain(tmp_path)
    assert complaint.startswith(f"{module}:2: ")
    assert complaint.endswith("NotFound(reason=…) gets a sentence")


def test_a_sentence_in_a_variable_is_found(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text(
        'def find() -> None:\n    why = "it is not here"\n    raise NotFound(reason=why)\n'
    )
    assert len(complain(tmp_path)) == 1


@pytest.mark.parametrize(
    "call",
    [
        'NotFound(identifier="a", at=3)',
        'MalformedPart(expected="an end after the start")',
        'print(end="it is not here")',
    ],
)
def test_fields_and_phrases_are_no_sentences(tmp_path: Path, call: str) -> None:
    (tmp_path / "module.py").write_text(f"def find() -> None:\n    {call}\n")
    assert not complain(tmp_path)


@pytest.mark.parametrize(
    ("text", "noun"),
    [
        ('print(f"{count} problems")', "problems"),
        ('print(f"{len(found):,} files in it")', "files"),
        ('raise PartOutOfRange(extent=f"{size} characters")', "characters"),
        ("print(f\"{count_things(count, 'problem')}\")", ""),
        ('problem = f"it wrote {wanted} lines"', "lines"),
        ('return f"{self.missing} more bytes"', "bytes"),
        ('return f"{self.seconds:g} seconds"', "seconds"),
        ('return f"{self.seconds:.3f} seconds"', ""),
        ('return f"at most {grammar.LONGEST} characters"', ""),
        ('print(f"at most {LONGEST} characters")', ""),
        ('print(f"{name} is here")', ""),
    ],
)
def test_messages_count_in_one_way(tmp_path: Path, text: str, noun: str) -> None:
    """ "there is 3 frames": a number and its noun come from one function."""
    (tmp_path / "upkeep").mkdir()
    (tmp_path / "upkeep" / "module.py").write_text(f"{text}\n")
    found = list(load_check().check_counts(tmp_path))
    assert [one.rpartition(" ")[2] for one in found] == ([noun] if noun else [])


def complain(root: Path) -> list[str]:
    """What the check of errors says about the modules below a directory."""
    (root / "errors").mkdir()
    (root / "errors" / "tree.py").write_text("class NotFound: ...\nclass MalformedPart: ...\n")
    return list(load_check().check_errors(root))


def load_check() -> ModuleType:
    """The tool, as a module."""
    spec = importlib.util.spec_from_file_location("check_style", CHECK)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_function_of_more_than_sixty_lines_is_found(tmp_path: Path) -> None:
    for lines in (60, 61):
        body = "    pass\n" * (lines - 1)
        (tmp_path / f"of_{lines}.py").write_text(f"def hold_ideas():\n{body}\n\nsome = 1\n")
    (complaint,) = load_check().check_lengths(tmp_path)
    assert "of_61.py:1: hold_ideas has 61 lines" in complaint


def test_a_long_module_needs_a_reason(tmp_path: Path) -> None:
    """style.md: "A module past 400 lines ... is a question to answer: is it still one idea?" """
    source, argued = tmp_path / "source", tmp_path / "long.toml"
    source.mkdir()
    for lines in (400, 401, 402, 801):
        (source / f"of_{lines}.py").write_text("pass\n" * lines)
    argued.write_text(
        '[[kind]]\nreason = "One list."\nmodules = ["of_400.py", "of_402.py", "of_801.py"]\n'
        '[[kind]]\nreason = ""\nmodules = ["of_401.py"]\n'
    )
    few, without, long = load_check().check_modules(source, argued)
    assert "of_400.py has only 400 lines" in few
    assert "of_401.py has 401 lines" in without
    assert "of_801.py has 801 lines" in long


def test_the_list_of_long_modules_names_each_once(tmp_path: Path) -> None:
    argued = tmp_path / "long.toml"
    (tmp_path / "of_402.py").write_text("pass\n" * 402)
    argued.write_text('[[kind]]\nreason = "One."\nmodules = ["of_402.py", "of_402.py", "no.py"]\n')
    twice, absent = load_check().check_modules(tmp_path, argued)
    assert "of_402.py" in twice
    assert "no.py" in absent


@pytest.mark.parametrize(
    ("names", "complaints"),
    [
        (("read_name", "write_name", "_keep_name", "parse"), 0),
        (("read_name", "parse", "_write", "keep_name"), 2),
    ],
)
def test_too_many_names_of_one_word_are_found(
    tmp_path: Path, names: tuple[str, ...], complaints: int
) -> None:
    """Issue of the plan: "at most 40 % in all and 25 % among module-level functions"."""
    (tmp_path / "some.py").write_text("".join(f"def {name}(): ...\n" for name in names))
    assert len(load_check().check_names(tmp_path)) == complaints


def test_a_class_name_that_stands_twice_is_found(tmp_path: Path) -> None:
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text("def read_name(): ...\nclass Shelf: ...\nclass _Own: ...\n")
    (complaint,) = load_check().check_names(tmp_path)
    assert "Shelf" in complaint


def test_a_question_for_the_class_of_a_name_too_many_is_found(tmp_path: Path) -> None:
    check = load_check()
    for package in ("ids", "reading"):
        (tmp_path / package).mkdir()
        line = "isinstance(name, (Handle, str))\n"
        (tmp_path / package / "some.py").write_text(line * check.MOST_KINDS_ASKED)
    assert list(check.check_kinds(tmp_path)) == []
    (tmp_path / "reading/more.py").write_text("isinstance(name, ids.pdi.Pdi) or isinstance(a, Urn)")
    (complaint,) = check.check_kinds(tmp_path)
    assert "reading/more.py:1" in complaint


@pytest.mark.parametrize(
    "line",
    [
        'DIRECTORIES = ("segments", "incoming")',
        'files = (*root.glob("*"), *root.glob("segments/*"))',
        'path = root / "segments" / "000001.warc"',
        'path = root / f"segments/{number:06d}.warc"',
        'path = root / "archive" / "0=ocfl_1.1"',
        'path = Path(root, "registry.sqlite")',
        "code = error.connection.system_errno",
    ],
)
def test_only_a_store_knows_where_it_keeps_things(tmp_path: Path, line: str) -> None:
    """Issue 14: "apsw, SQL, paths of segments and system_errno stay inside their adapters"."""
    check_places = load_check().check_places
    for place in ("upkeep", "storage"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "backup.py").write_text(line)
    (tmp_path / "storage/segments").mkdir()
    (tmp_path / "storage/segments/files.py").write_text(line)
    places = {complaint.partition(":")[0] for complaint in check_places(tmp_path)}
    assert places == {str(tmp_path / place / "backup.py") for place in ("upkeep", "storage")}


def test_other_uses_of_these_words_are_free(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(
        'phase = make(phase="segments")\nfor name in ("parts", "archive"):\n    close(name)\n'
        'share = {"segments": 0}\n'
    )
    assert list(load_check().check_places(tmp_path)) == []


# reading around the read door
# ----------------------------

READS = PROJECT / "tools/check_reads.py"


def load_check_of_reads() -> ModuleType:
    """The other tool, as a module."""
    spec = importlib.util.spec_from_file_location("check_reads", READS)
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool


def check_places(root: Path, allowed: set[str]) -> list[str]:
    """The complaints of `check_reads` about a package."""
    tool = load_check_of_reads()
    return list(tool.compare_places(set(tool.find_places(root)), allowed))


def test_no_interface_reads_a_record_around_the_read_door() -> None:
    """architecture.md: "No face decides anything itself, and none reads the record again." """
    done = subprocess.run([sys.executable, READS], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("read", ["service.find_record(name)", "scan_readable(records, low, high)"])
def test_a_read_around_the_door_is_found(tmp_path: Path, read: str) -> None:
    (tmp_path / "server/apis").mkdir(parents=True)
    (tmp_path / "cli").mkdir()
    (tmp_path / "api.py").write_text("")
    module = tmp_path / "server/apis/shouting.py"
    module.write_text(f"class Shout:\n    def shout(self):\n        return {read}\n")
    place = "server/apis/shouting.py:Shout.shout"
    (complaint,) = check_places(tmp_path, set())
    assert place in complaint
    assert not check_places(tmp_path, {place})
    module.write_text("")
    (complaint,) = check_places(tmp_path, {place})
    assert place in complaint


def test_only_the_registry_makes_a_read_door(tmp_path: Path) -> None:
    """Issue of the plan: "Only `registry.py` builds adapters"; so one place decides how names are
    resolved.
    """
    for module in ("registry.py", "cli.py"):
        (tmp_path / module).write_text("door = ReadDoor(records)\n")
    (complaint,) = load_check_of_reads().find_doors(tmp_path)
    assert "cli.py:1" in complaint
