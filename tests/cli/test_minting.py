"""`mint` and `commit`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.cli.conftest import Shell
from tests.conftest import AUTHORITY, SERIES, SHOULDER

from perdure.registry import initialise

NAME = re.compile(rf"pdi://{SERIES}/\d{{4}}/\d\d/\d\d/(\d+)\.(\w+)\.(\d+)")


def mint(shell: Shell, *words: str, **settings: bytes) -> str:
    return shell.lines("mint", "--series", SERIES, *words, **settings)[0]


def test_a_file_becomes_version_1_in_the_format_of_its_type(shell: Shell, letter: Path) -> None:
    name = mint(shell, str(letter))
    assert NAME.fullmatch(name)
    assert name.endswith("/1.text.1")
    assert shell.run("get", name).stdout_bytes == letter.read_bytes()


def test_several_files_are_formats_of_one_version(shell: Shell, letter: Path, page: Path) -> None:
    name = mint(shell, str(letter), str(page))
    record = shell.json("describe", name)["record"]
    (version,) = record["versions"]
    assert [one["format"] for one in version["representations"]] == ["text", "html"]
    assert [one["charset"] for one in version["representations"]] == ["us-ascii", "utf-8"]


def test_the_depositor_overrules_what_was_detected(shell: Shell, letter: Path) -> None:
    name = mint(
        shell, str(letter), "--type", "text/x-letter", "--charset", "latin1", "--language", "en"
    )
    held = shell.json("describe", name)["record"]["versions"][0]["representations"][0]
    assert (held["format"], held["media_type"]) == ("text+x-letter", "text/x-letter")
    assert (held["charset"], held["language"]) == ("iso-8859-1", "en")


@pytest.mark.parametrize(
    ("option", "value", "reason"),
    [
        ("--charset", "nosuchcharset", "no charset has this name"),
        ("--charset", "binary", "no charset has this name"),
        ("--type", "text/plain; charset=nosuchcharset", "no charset has this name"),
        ("--format", "%23", "use a format of letters, digits and hyphens"),
        ("--format", "a%23b", "use a format of letters, digits and hyphens"),
    ],
)
def test_what_would_stay_unreachable_for_ever_is_refused(
    shell: Shell, letter: Path, option: str, value: str, reason: str
) -> None:
    name = mint(shell, str(letter)).rsplit(".", 2)[0]
    for words in (("mint", "--series", SERIES, str(letter)), ("commit", name, str(letter))):
        said = shell.error(*words, option, value, code=4)
        assert reason in said["message"]


def test_types_go_with_the_files_in_their_order(shell: Shell, letter: Path, page: Path) -> None:
    name = mint(shell, str(letter), str(page), "--type", "text/markdown")
    held = shell.json("describe", name)["record"]["versions"][0]["representations"]
    assert [one["media_type"] for one in held] == ["text/markdown", "text/html"]


def test_one_language_is_that_of_all_files(shell: Shell, letter: Path, page: Path) -> None:
    name = mint(shell, str(letter), str(page), "--language", "de")
    held = shell.json("describe", name)["record"]["versions"][0]["representations"]
    assert [one["language"] for one in held] == ["de", "de"]


def test_more_types_than_files_are_a_mistake(shell: Shell, letter: Path) -> None:
    shell.run("mint", str(letter), "--type", "text/plain", "--type", "text/html", code=2)


def test_bytes_are_kept_as_they_are_unless_asked(shell: Shell, letter: Path) -> None:
    """Ruling bytes-verbatim: "`mint --crlf` converts before committing"."""
    assert shell.run("get", mint(shell, str(letter))).stdout_bytes == b"Dear Sir,\nyours\n"
    converted = mint(shell, "--crlf", str(letter))
    assert shell.run("get", converted).stdout_bytes == b"Dear Sir,\r\nyours\r\n"


def test_line_ends_of_what_is_no_text_are_left_alone(shell: Shell, place: Path) -> None:
    (place / "picture.gif").write_bytes(b"GIF89a\x01\x00\x01\x00\x00\x00\x00;\n")
    shell.error("mint", "--series", SERIES, "--crlf", "picture.gif", code=4)
    (place / "wide.txt").write_bytes("two\nlines\n".encode("utf-16"))
    shell.error("mint", "--series", SERIES, "--crlf", "wide.txt", code=4)


def test_stdin_is_a_file(shell: Shell) -> None:
    name = mint(shell, "-", stdin=b"from a pipe\n")
    assert shell.run("get", name).stdout == "from a pipe\n"


def test_an_empty_stdin_is_a_program_that_failed(shell: Shell) -> None:
    name = mint(shell, "-", stdin=b"from a pipe\n").rsplit(".", 2)[0]
    for words in (("mint", "--series", SERIES, "-"), ("commit", name, "-")):
        said = shell.error(*words, code=2, stdin=b"")
        assert "an empty file" in said["message"]
    assert len(shell.lines("list", f"pdi://{SERIES}/")) == 1
    shell.error("mint", "--series", SERIES, "/dev/null", code=2)


def test_an_empty_file_is_a_file(shell: Shell, place: Path) -> None:
    (place / "empty.txt").touch()
    name = mint(shell, "empty.txt")
    assert (
        shell.json("describe", name)["record"]["versions"][0]["representations"][0]["length"] == 0
    )


def test_a_name_alone_is_reserved(shell: Shell) -> None:
    assert mint(shell).endswith("/1")
    assert mint(shell, "--type", "text/html").endswith("/2.html.1")
    assert mint(shell, "--format", "gif").endswith("/3.gif.1")


def test_no_format_is_invented(shell: Shell, letter: Path) -> None:
    """ruling: pdi-reserved-name"""
    place = ("--location", "https://a.example/movie.mp4")
    bound = mint(shell, *place)
    assert bound.endswith("/1")
    assert shell.lines("resolve", bound) == ["redirect https://a.example/movie.mp4"]
    reserved = mint(shell)
    assert "  reserved" in shell.lines("resolve", reserved)
    assert shell.lines("commit", reserved, str(letter)) == [f"{reserved}.text.1"]
    assert mint(shell, "--type", "video/mpeg", *place).endswith("/3.mpeg.1")
    shell.error("mint", "--series", SERIES, "--ask", code=2)


def test_a_unique_id_a_foreign_identifier_and_locations(shell: Shell) -> None:
    assert mint(shell, "--uid", "memo").endswith("/memo")
    foreign = mint(shell, "--foreign", "https://www.whitehouse.gov/")
    assert foreign.endswith("/https:%2f%2fwww%2ewhitehouse%2egov%2f")
    bound = mint(shell, "--location", "https://a.example/1", "--location", "https://b.example/1")
    assert shell.lines("resolve", bound, "--want", "I2Ls") == [
        "https://a.example/1",
        "https://b.example/1",
    ]
    shell.error("mint", "--series", SERIES, "--uid", "a", "--foreign", "b:c", code=2)
    shell.error("mint", "--series", SERIES, "--foreign", "no uri", code=2)


def test_other_authorities(shell: Shell) -> None:
    assert shell.lines("mint", "--authority", AUTHORITY)[0].startswith(f"URN:{AUTHORITY}::")
    assert shell.lines("mint", "--shoulder", f"ark:/{SHOULDER}")[0].startswith(f"ark:{SHOULDER}")
    shell.error("mint", "--series", "nobody.us", code=12)
    shell.error("mint", "--series", SERIES, "--shoulder", SHOULDER, code=2)
    shell.error("mint", code=2)


def test_the_only_authority_need_not_be_named(shell: Shell, place: Path) -> None:
    initialise(place / "small", series=(SERIES,))
    assert NAME.fullmatch(shell.lines("-C", str(place / "small"), "mint", "--format", "text")[0])


def test_metadata(shell: Shell) -> None:
    name = mint(shell, "--title", "A memo", "--meta", "creator=Jim", "--meta", "note=a=b")
    metadata = shell.json("describe", name)["record"]["metadata"]
    assert metadata == {"title": "A memo", "creator": "Jim", "note": "a=b"}


def test_an_idempotency_key_mints_once(shell: Shell, letter: Path) -> None:
    first = shell.json("mint", "--series", SERIES, str(letter), "--idempotency-key", "k")
    second = shell.json("mint", "--series", SERIES, str(letter), "--idempotency-key", "k")
    assert first["identifier"] == second["identifier"]
    assert (first["replayed"], second["replayed"]) == (False, True)


# commit
# ------


def test_a_commit_is_the_next_version(shell: Shell, letter: Path, page: Path) -> None:
    name = mint(shell, str(letter))
    letter.write_text("Dear Madam,")
    assert shell.lines("commit", name, str(letter), str(page)) == [name[:-1] + "2"]
    assert shell.run("get", name).stdout == "Dear Sir,\nyours\n"
    assert shell.run("get", name.removesuffix(".1")).stdout == "Dear Madam,"


def test_the_same_bytes_again_are_no_new_version_and_it_says_so(shell: Shell, letter: Path) -> None:
    name = mint(shell, str(letter))
    result = shell.run("commit", name, str(letter))
    assert result.stdout.strip() == name
    assert "unchanged" in result.stderr
    assert shell.json("commit", name, str(letter))["outcome"] == "unchanged"


def test_another_format_of_a_version(shell: Shell, letter: Path, page: Path) -> None:
    name = mint(shell, str(letter))
    added = shell.lines("commit", name, str(page), "--version", "1")
    assert added == [name.replace(".text.", ".html.")]


def test_other_bytes_for_a_version_are_a_conflict(shell: Shell, letter: Path) -> None:
    name = mint(shell, str(letter))
    told = shell.error(
        "commit", name, "-", "--version", "1", "--type", "text/plain", code=40, stdin=b"x"
    )
    assert told["code"] == "conflict"


def test_an_unknown_name_and_an_outdated_revision(shell: Shell, letter: Path) -> None:
    shell.error("commit", f"pdi://{SERIES}/1997/09/01/1", str(letter), code=10)
    name = mint(shell)
    shell.error("commit", name, str(letter), "--expect", "7", code=41)


@pytest.mark.parametrize("series", [SERIES, "nobody.us"])
def test_long_content_leaves_nothing_behind(shell: Shell, place: Path, series: str) -> None:
    """More than 8 MiB wait in a file: taken over when committed, removed when refused."""
    data = b"perdure " * (9 << 17)
    (place / "long.bin").write_bytes(data)
    result = shell.run("mint", "--series", series, "long.bin", code=0 if series == SERIES else 12)
    assert list((shell.root / "incoming").iterdir()) == []
    if series == SERIES:
        assert shell.run("get", result.stdout.strip()).stdout_bytes == data


def test_a_version_in_the_name_is_heeded(shell: Shell, letter: Path, page: Path) -> None:
    """As by PUT  # ruling: http-put"""
    (name,) = shell.lines("mint", "--series", SERIES, str(letter))
    stem = name[:-1]
    shell.error("commit", f"{stem}9", "-", "--type", "text/plain", stdin="new", code=11)
    assert shell.lines("commit", f"{stem}2", "-", "--type", "text/plain", stdin="new") == [
        f"{stem}2"
    ]
    assert shell.lines("commit", f"{stem}1", "-", "--type", "text/plain", stdin="newer") == [
        f"{stem}3"
    ]
    bare = name.removesuffix(".text.1")
    assert shell.lines("commit", f"{bare}.html.1", str(page))[0].endswith(".html.1")


def test_a_format_in_the_name_is_heeded(shell: Shell, letter: Path, page: Path) -> None:
    (name,) = shell.lines("mint", "--series", SERIES, str(letter))
    told = shell.error("commit", name.replace(".text.", ".pdf."), str(page), code=4)
    assert "pdf" in told["message"]
    assert len(shell.lines("list", f"{name.removesuffix('.text.1')}.*.*")) == 1
