"""The library's face: `perdure.open`, and what the tutorial for Python programs says of it."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import SERIES, html

import perdure
from perdure import errors
from perdure.errors.servers import BytesElsewhere
from perdure.model.commands import Receipt
from perdure.model.queries import Gone, Redirect

TUTORIAL = Path(__file__).parents[1] / "docs/tutorial/from-python.md"


def test_the_tutorial_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    program = "\n".join(re.findall("```python\n(.*?)```", TUTORIAL.read_text("utf-8"), re.DOTALL))
    assert program.count("assert") >= 5
    exec(compile(program, str(TUTORIAL), "exec"), {})


def test_all_that_is_offered_is_there() -> None:
    for name in perdure.__all__:
        assert getattr(perdure, name) is not None
    with pytest.raises(AttributeError, match="nothing"):
        _ = perdure.nothing


def test_help_shows_no_variable_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = (
        "import os, perdure, pydoc\n"
        "for name in perdure.__all__:\n"
        "    print(pydoc.render_doc(getattr(perdure, name)))"
    )
    monkeypatch.setenv("PASSWORD_OF_SOMETHING", "not for the reader of a help text")
    done = subprocess.run([sys.executable, "-c", shown], capture_output=True, check=True)
    assert b"OpenRegistry" in done.stdout
    assert b"not for the reader" not in done.stdout


def test_importing_the_package_loads_nothing_else() -> None:
    code = "import sys, perdure; print([one for one in sys.modules if one.startswith('perdure.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.fixture
def registry(root: Path) -> perdure.OpenRegistry:
    return perdure.open(root)


def test_contents_are_bytes_paths_or_open_files(
    registry: perdure.OpenRegistry, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    page.write_bytes(b"<!doctype html><p>Dear")
    with registry:
        sources = (b"Dear", str(page), io.BytesIO(b"%PDF-1.4\n"))
        name = registry.mint(*sources, authority=SERIES).identifier
        generic = name.rsplit(".", 2)[0]
        record = registry.resolve(generic).known
        held = record.versions[0].representations
        assert {one.format for one in held} == {"text", "html", "pdf"}
        assert registry.read(f"{generic}.html.1") == page.read_bytes()


def test_a_registry_with_several_authorities_asks_which(root: Path) -> None:
    with perdure.open(root, create=True, series=["nara.gov.us"]) as registry:
        with pytest.raises(errors.InvalidRequest, match=r"nara\.gov\.us"):
            registry.mint(b"x")
        assert registry.mint(b"x", authority="nara.gov.us").identifier.startswith("pdi://nara.")


def test_a_refused_upload_leaves_no_file(registry: perdure.OpenRegistry) -> None:
    with registry:
        large = bytes(1 << 20) * 9
        with pytest.raises(errors.NotFound):
            registry.commit(f"pdi://{SERIES}/1997/09/01/1", large, media_type="image/png")
        assert not list((registry.root / "incoming").iterdir())


def test_what_is_withdrawn_or_elsewhere_is_not_read(registry: perdure.OpenRegistry) -> None:
    with registry:
        name = registry.mint(b"Dear", authority=SERIES).identifier
        registry.withdraw(name.rsplit(".", 2)[0], "a court said so")
        assert isinstance(registry.resolve(name).step, Gone)
        registry.bind("hdl:1839/x", "https://a.example/", register=True)
        assert isinstance(registry.resolve("hdl:1839/x").step, Redirect)
        for one in (name, "hdl:1839/x"):
            with pytest.raises(errors.Unavailable):
                registry.read(one)


def test_the_text_of_a_document_and_of_its_part(registry: perdure.OpenRegistry) -> None:
    with registry:
        name = registry.mint(b"<p>One <b>fox</b>", authority=SERIES, media_type="text/html")
        assert registry.read_text(name.identifier) == "One fox"
        assert registry.read_text(f"{name.identifier}#elt=1,2") == "fox"
        picture = registry.mint(b"\x89PNG", authority=SERIES, media_type="image/png")
        with pytest.raises(errors.PartNotSupported, match="no plain text"):
            registry.read_text(picture.identifier)
        registry.withdraw(name.identifier.rsplit(".", 2)[0], "a court said so")
        with pytest.raises(errors.Unavailable):
            registry.read_text(name.identifier)


def test_a_part_of_several_versions_needs_a_version(registry: perdure.OpenRegistry) -> None:
    with registry:
        name = registry.mint(b"Dear", authority=SERIES, media_type="text/plain").identifier
        generic = name.rsplit(".", 2)[0]
        registry.commit(generic, b"Dearest", media_type="text/plain")
        with pytest.raises(errors.InvalidRequest, match="its versions differ"):
            registry.read(generic, part="char=0,4")
        assert registry.read(name, part="char=0,4") == b"Dear"


def test_commands_without_a_method_are_executed(registry: perdure.OpenRegistry) -> None:
    from perdure.model.commands import Mint

    with registry:
        receipt = registry.execute(Mint(authority=SERIES, contents=(html(b"<p>x"),)))
        assert registry.read(receipt.identifier) == b"<p>x"


def test_citations_and_quotations_are_listed(tmp_path: Path) -> None:
    words = "We will open the archives of the past ten years if each office agrees and not before"
    with perdure.open(tmp_path / "archive", create=True, series=[SERIES]) as registry:
        speech = registry.mint(words.encode(), media_type="text/plain").identifier
        memo = registry.mint(f"{words}: {speech}#char=0,9".encode(), media_type="text/plain")
        (found,) = registry.cited_by(speech, kinds=["declared"])
        assert (found.citing, found.cited) == (memo.identifier, f"{speech}#char=0,9")
        assert registry.cites(memo.identifier) == [found]
        assert registry.cited_by(speech, part="char=10,20") == []
        assert registry.cited_by(f"pdi://{SERIES}/") == [found]
        with pytest.raises(errors.InvalidRequest):
            registry.cites(speech, since="yesterday")
        with pytest.raises(errors.NotFound):
            registry.cited_by("doi:10.1000/182")
        registry.withdraw(speech.rsplit(".", 2)[0], "a court said so")
        assert registry.cites(memo.identifier) == []
        with pytest.raises(BytesElsewhere):
            registry.cited_by(speech)


def test_quotations_of_a_document_and_of_a_text(tmp_path: Path) -> None:
    pytest.importorskip("numpy")
    words = "We will open the archives of the past ten years if each office agrees and not before"
    with perdure.open(tmp_path / "archive", create=True, series=[SERIES]) as registry:
        speech = registry.mint(words.encode(), media_type="text/plain").identifier
        memo = registry.mint(f"He said: {words}".encode(), media_type="text/plain").identifier
        (found,) = registry.find_quotations(memo).quotations
        assert found.found_in == f"{speech}#char=0,{len(words)}"
        assert registry.check(str(found.citation)).verdict.value == "verbatim"
        assert len(registry.find_quotations(text=words.upper()).quotations) == 2
        registry.withdraw(speech.rsplit(".", 2)[0], "a court said so")
        assert registry.find_quotations(memo).quotations == ()
        with pytest.raises(BytesElsewhere):
            registry.find_quotations(speech)


def test_sets_of_names_are_those_of_the_command_line(
    registry: perdure.OpenRegistry, tmp_path: Path
) -> None:
    with registry:
        name = registry.mint(b"a wombat", authority=SERIES, media_type="text/plain").identifier
        for letter in "abc":
            registry.bind(f"hdl:1839/{letter}", "https://a.example/", register=True)
        handles = [f"hdl:1839/{letter}" for letter in "abc"]
        assert [str(one) for one in registry.list_names("hdl:1839/*")] == handles
        assert [str(one) for one in registry.list_names(handles[:2])] == handles[:2]
        assert [str(one) for one in registry.list_names(handles[0])] == handles[:1]
        assert [str(one) for one in registry.list_names("@search:wombat")] == [name]
        listed = tmp_path / "names.txt"
        listed.write_text(f"# some\n{handles[2]}\n")
        assert [str(one) for one in registry.list_names(f"@{listed}")] == handles[2:]
        for wrong in ("hdl:1839/z*", [handles[0], "hdl:1839/z"], (), "@search:bandicoot"):
            with pytest.raises(errors.NotFound):
                list(registry.list_names(wrong))


def test_metadata_of_many_are_merged_after_they_were_shown(registry: perdure.OpenRegistry) -> None:
    with registry:
        for letter in "ab":
            registry.bind(f"hdl:1839/{letter}", "https://a.example/", register=True)
        patch = {"titles": [{"value": "Wombats"}]}
        shown = registry.merge_metadata("hdl:1839/*", patch)
        assert [one.identifier for one in shown] == ["hdl:1839/a", "hdl:1839/b"]
        assert registry.merge_metadata("hdl:1839/*", patch, apply=True) == shown
        assert registry.merge_metadata("hdl:1839/*", patch) == []
        assert [str(one) for one in registry.list_names("@search:wombats")] == [
            "hdl:1839/a",
            "hdl:1839/b",
        ]


def test_who_withdraws_is_told_of_found_quotations(registry: perdure.OpenRegistry) -> None:
    pytest.importorskip("numpy")
    words = " ".join(f"word{number}" for number in range(15))
    with registry:
        first, second, memo = (
            registry.mint(one.encode(), authority=SERIES).identifier
            for one in (words, f"Once: {words}", f"It says: {words.upper()}.")
        )
        assert registry.withdraw(first, "a court said so").quoted_in == (second, memo)
        ((_, answer),) = registry.withdraw_names([second], "a court said so")
        assert isinstance(answer, Receipt)
        assert answer.quoted_in == (memo,)


def test_many_are_withdrawn_and_each_is_answered(registry: perdure.OpenRegistry) -> None:
    with registry:
        names = [registry.mint(f"{n}".encode(), authority=SERIES).identifier for n in range(3)]
        resources = [name.rsplit(".", 2)[0] for name in names]
        done = list(registry.withdraw_names(f"pdi://{SERIES}/", "a court said so"))
        assert [str(name) for name, _ in done] == resources
        assert all(isinstance(registry.resolve(name).step, Gone) for name in names)
        assert list(registry.withdraw_names(resources, "again")) == []
