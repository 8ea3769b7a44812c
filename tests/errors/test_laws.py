"""Laws that every error obeys: a frozen value whose message never fails."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure import errors
from perdure.errors import (
    Conflict,
    MalformedIdentifier,
    MissingLibrary,
    NotFound,
    PerdureError,
    RefusedThere,
    UnavailableThere,
)
from perdure.errors.configuring import SettingUnknown
from perdure.errors.conflicts import NameTaken, RevisionNotCurrent
from perdure.errors.credentials import NoCredential
from perdure.errors.damage import DecoderFailed, FilmDamaged, SamplesMissing
from perdure.errors.limits import PixelsTooMany, TreeTooLong, UploadTooLarge
from perdure.errors.naming import DayNotCome, SerialNotCome
from perdure.errors.parts import OverBudgetThere, UndecodableThere
from perdure.errors.records import ItemTypeMissing
from perdure.errors.rights import (
    ConflictThere,
    PreconditionFailedThere,
    UnauthenticatedThere,
)
from perdure.errors.stored import TooLargeThere
from perdure.errors.texts import BadSettingsThere, InvalidMetadataThere
from perdure.errors.tree import (
    AREAS,
    QUOTING,
    list_classes,
    pack_error,
    read_document,
    unpack_error,
)
from perdure.extractors.messages import build_failure, rebuild_error
from perdure.writing.peers import decode_answer, encode_answer

ROOT = Path(__file__).parents[2]
OURS = sorted(
    {kind for kind in list_classes() if kind.__module__.startswith("perdure.")},
    key=lambda kind: kind.__name__,
)
ABSTRACT = {
    kind
    for kind in OURS
    if not all(hasattr(kind, name) or name in kind.fields for name in kind.computed)
}
WHOLE = [kind for kind in OURS if kind not in ABSTRACT]

texts = (
    st.text(max_size=30)
    | st.sampled_from(("\r\nX: 1", "\x1b[31m", "\u202e", "\ud800", "%s {0}", "\0"))
    | st.integers(500, 20_000).map(lambda length: "x" * length)
)
numbers = st.integers(-(2**63), 2**63 - 1)
VALUES: Mapping[Any, st.SearchStrategy[Any]] = MappingProxyType(
    {
        str: texts,
        int: numbers,
        bool: st.booleans(),
        type(None): st.none(),
        object: texts | numbers | st.none(),
        tuple[str, ...]: st.lists(texts, max_size=3).map(tuple),
        tuple[int, ...]: st.lists(numbers, max_size=3).map(tuple),
        tuple[dict[str, object], ...]: st.lists(
            st.dictionaries(st.sampled_from(("uri", "date", "digest")), texts), max_size=2
        ).map(tuple),
    }
)


def values_of(hint: Any) -> st.SearchStrategy[Any]:
    if hint in VALUES:
        return VALUES[hint]
    if get_origin(hint) is Literal:
        return st.sampled_from(get_args(hint))
    return st.one_of([VALUES[one] for one in get_args(hint)])


def made(kind: type[PerdureError]) -> st.SearchStrategy[PerdureError]:
    hints = get_type_hints(kind)
    return st.builds(kind, **{name: values_of(hints[name]) for name in kind.fields})


def filled(kind: type[PerdureError], text: str, number: int) -> PerdureError:
    """An error of which every field has the same text or number."""
    values: dict[Any, object] = {
        str: text,
        int: number,
        bool: number > 0,
        object: text,
        tuple[str, ...]: (text, text),
        tuple[int, ...]: (number,),
        tuple[dict[str, object], ...]: ({"uri": text},),
    }
    known = get_type_hints(kind)
    hints = {name: known[name] for name in kind.fields}
    return kind(
        **{
            name: values[hint] if hint in values else first_value(hint, values)
            for name, hint in hints.items()
        }
    )


def first_value(hint: Any, values: Mapping[Any, object]) -> object:
    """The first value of an enumeration, or that of the first type of a union."""
    first = get_args(hint)[0]
    return first if get_origin(hint) is Literal else values[first]


def check_message(error: PerdureError) -> None:
    """No control character, no surrogate, and not too long for a line."""
    assert str(error).isprintable()
    assert 0 < len(str(error)) <= 4001


def check_copies(error: PerdureError) -> None:
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(other) is type(error)
        assert other == error
        assert hash(other) == hash(error)
        assert str(other) == str(error)


def check_travels(error: PerdureError) -> None:
    assert unpack_error(*pack_error(error)) == error
    assert decode_answer(encode_answer(error)) == error


@pytest.mark.parametrize("kind", WHOLE, ids=lambda kind: kind.__name__)
def test_every_class_is_a_value_that_says_its_message(kind: type[PerdureError]) -> None:
    for text in ("", "a", "\r\nX: 1\x1b[31m\u202e", "%s {0}", "x" * 20_000):
        for number in (-1, 0, 2**62):
            error = filled(kind, text, number)
            check_message(error)
            check_copies(error)
            check_travels(error)
    check_message(filled(kind, "\ud800", 1))
    for name in (*kind.fields, *kind.computed, "anything"):
        with pytest.raises(AttributeError, match="frozen"):
            setattr(error, name, "x")
        with pytest.raises(AttributeError, match="frozen"):
            delattr(error, name)


@given(st.sampled_from(WHOLE).flatmap(made))
def test_a_message_is_printable_and_bounded(error: PerdureError) -> None:
    check_message(error)


@given(st.sampled_from(WHOLE).flatmap(made))
def test_a_copy_is_equal_and_of_one_hash(error: PerdureError) -> None:
    check_copies(error)


@given(st.sampled_from(WHOLE).flatmap(made))
def test_an_error_travels_between_processes(error: PerdureError) -> None:
    assert unpack_error(*pack_error(error)) == error


@pytest.mark.parametrize("kind", OURS, ids=lambda kind: kind.__name__)
def test_the_fields_of_parents_are_kept(kind: type[PerdureError]) -> None:
    for parent in kind.__mro__:
        if issubclass(parent, PerdureError):
            assert set(parent.fields) <= set(kind.fields)
            assert set(parent.computed) <= {*kind.computed, *kind.fields}
    assert "identifier" in kind.fields or not issubclass(kind, NotFound)


@pytest.mark.parametrize("kind", OURS, ids=lambda kind: kind.__name__)
def test_no_field_hides_a_member(kind: type[PerdureError]) -> None:
    """Names of fields are members of a problem document beside its own (RFC 9457 section 3.1)."""
    names = {*kind.fields, *kind.computed}
    assert names.isdisjoint({"type", "code", "title", "status", "detail", "instance", "message"})
    assert names.isdisjoint(set(dir(PerdureError)) - {"fields", "computed"})
    assert (kind.__doc__ or "").strip()


def test_a_class_that_is_abstract_has_classes_below() -> None:
    assert set(QUOTING) <= ABSTRACT
    for kind in ABSTRACT:
        assert kind.__subclasses__()


def test_names_are_given_once() -> None:
    assert len({kind.__name__ for kind in OURS}) == len(OURS)


def test_every_area_is_known_to_the_tree() -> None:
    folder = Path(errors.__file__).parent
    rest = {file.stem for file in folder.glob("*.py")} - {"__init__", "tree"}
    eager = {
        kind.__module__.rpartition(".")[2]
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, PerdureError)
    }
    assert eager | set(AREAS) == rest
    assert eager.isdisjoint(AREAS)


def test_a_program_that_starts_loads_no_area() -> None:
    code = "import sys, perdure.errors; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {f"perdure.errors.{area}" for area in AREAS} & set(loaded)


# examples
# --------


def test_a_missing_field_is_refused() -> None:
    with pytest.raises(TypeError, match="NotFound needs the field 'identifier'"):
        NotFound()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="NotFound has no field"):
        NotFound(identifier="a", other="b")  # type: ignore[call-arg]


def test_mypy_finds_what_is_wrong(tmp_path: Path) -> None:
    """A missing field, one of another type, a field that is set, and an abstract class."""
    wrong = (
        "NotFound()",
        "NotFound(identifier=1)",
        "SerialNotCome(identifier='a')",
        "NotFound(identifier='a').identifier = 'b'",
        "InvalidRequest()",
        "Conflict(identifier='a')",
        "TokenExpired(token='a')",
        "InvalidMetadata(format='csl', line=None)",
        "VariableNotText()",
        "TreeTooLong(source='a')",
        "OverBudget()",
        "TooLarge(limit=1)",
        "Undecodable(identifier='a', media_type='b')",
        "SamplesMissing(**SubjectFields(identifier='a', media_type='b'))",
        "FilmDamaged(identifier='a', media_type='b', fault='it is damaged')",
    )
    file = tmp_path / "wrong.py"
    file.write_text(
        "from perdure.errors import Conflict, InvalidMetadata, InvalidRequest, NotFound\n"
        "from perdure.errors import OverBudget, TooLarge, Undecodable\n"
        "from perdure.errors.damage import FilmDamaged, SamplesMissing\n"
        "from perdure.extractors.port import SubjectFields\n"
        "from perdure.errors.limits import TreeTooLong\n"
        "from perdure.errors.credentials import TokenExpired\n"
        "from perdure.errors.naming import SerialNotCome\n"
        "from perdure.errors.records import VariableNotText\n"
        "NotFound(identifier='a')\n" + "\n".join(wrong) + "\n"
    )
    cache = tmp_path / "cache"
    found = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", cache, file],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={"MYPYPATH": str(ROOT / "src"), "PATH": ""},
    ).stdout
    lines = {int(line.split(":")[1]) for line in found.splitlines() if line.startswith("wrong.py")}
    assert lines == set(range(10, 10 + len(wrong))), found


def test_errors_are_equal_by_class_and_fields() -> None:
    assert NotFound(identifier="a") == NotFound(identifier="a")
    assert NotFound(identifier="a") != NotFound(identifier="b")
    assert NotFound(identifier="a") != DayNotCome(identifier="a")
    assert len({NotFound(identifier="a"), NotFound(identifier="a")}) == 1


def test_python_can_still_say_where_it_was_raised() -> None:
    error = NameTaken(identifier="a")
    error.add_note("seen while testing")
    cause = ValueError("the cause")
    with pytest.raises(Conflict) as caught:
        raise error from cause
    assert caught.value is error
    assert isinstance(error.__cause__, ValueError)
    assert error.__traceback__ is not None
    error.__traceback__ = None
    assert pickle.loads(pickle.dumps(error)).__notes__ == ["seen while testing"]


def test_an_error_of_a_plug_in_arrives_as_its_parent_where_the_plug_in_is_not_loaded() -> None:
    names, members = pack_error(DayNotCome(identifier="pdi://a.example.us/2999/01/01/1"))
    arrived = unpack_error(("OfPlugIn", *names), members)
    assert type(arrived) is DayNotCome
    arrived = unpack_error(("OfPlugIn", "InvalidRequest"), members)
    assert type(arrived) is RefusedThere
    assert str(arrived) == str(DayNotCome(identifier="pdi://a.example.us/2999/01/01/1"))
    with pytest.raises(ValueError, match="no error"):
        unpack_error(("OfPlugIn", "PerdureError"), members)


_LOADED_LATER = """
from perdure.errors.naming import DayNotCome
from perdure.errors.tree import pack_error, unpack_error

names, members = pack_error(DayNotCome(identifier="pdi://a.example.us/2999/01/01/1"))
sent = ("OfPlugIn", *names), members
assert type(unpack_error(*sent)) is DayNotCome
kind = type("OfPlugIn", (DayNotCome,), {"__doc__": "Of a plug-in.", "code": "of-plug-in"})
assert type(unpack_error(*sent)) is kind
"""


def test_an_error_of_a_plug_in_that_is_loaded_later_arrives_as_itself() -> None:
    """In a process of its own, since a class stays."""
    assert subprocess.run([sys.executable, "-c", _LOADED_LATER], check=False).returncode == 0


def test_fields_of_other_types_make_no_error() -> None:
    """A worker may have fallen to what it decodes: what it sends must not fail later."""
    fields: dict[str, object] = {"text": 5, "at": "x", "expected": "", "rule": ""}
    with pytest.raises(ValueError, match="no error"):
        unpack_error(("MalformedIdentifier",), fields)


def test_a_worker_tells_of_an_error_with_its_own_class() -> None:
    error = SerialNotCome(identifier="a", last=3)
    assert rebuild_error(build_failure(error)) == error


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (MalformedIdentifier(text="a", at=0, expected="b", rule="c"), MalformedIdentifier),
        (DayNotCome(identifier="a"), RefusedThere),
        (NameTaken(identifier="a"), ConflictThere),
        (RevisionNotCurrent(identifier="a", expected=1, revision=2), PreconditionFailedThere),
        (NoCredential(), UnauthenticatedThere),
        (SettingUnknown(setting="a", value="b"), BadSettingsThere),
        (ItemTypeMissing(), InvalidMetadataThere),
        (TreeTooLong(source="a", most=1), OverBudgetThere),
        (UploadTooLarge(limit=1), TooLargeThere),
        (SamplesMissing(identifier="a", media_type="b", at=1), UndecodableThere),
        (errors.StorageFailed(what="a", reason="b"), errors.StorageFailed),
        (UnavailableThere(what="a", reason="b", mend="c"), UnavailableThere),
    ],
)
def test_a_problem_document_is_read_by_its_code(
    error: PerdureError, kind: type[PerdureError]
) -> None:
    read = read_document(error.as_dict() | {"status": 400, "title": "x"})
    assert type(read) is kind
    assert str(read) == str(error)
    assert read_document({"code": "unheard-of"}) is None
    assert read_document({"code": error.code}) is None


def test_a_missing_library_is_named_and_waiting_is_not_advised() -> None:
    error = MissingLibrary(task="citing", extra="metadata", library="citeproc")
    assert str(error) == (
        "citing needs citeproc, which is not installed here; pip install 'perdure[metadata]'"
    )


def test_a_limit_is_a_number_in_a_unit() -> None:
    error = PixelsTooMany(source="pdi://a", pixels=7, most=5)
    assert (error.what, error.limit) == ("decoding 7 pixels of pdi://a", "5 pixels")
    assert str(error).startswith("decoding 7 pixels of pdi://a needs more than 5 pixels; ")
    assert str(UploadTooLarge(limit=5)) == "the upload exceeds the limit of 5 bytes"
    assert str(TreeTooLong(source="{most}", most=5)).startswith("the tree of {most} needs more")


def test_damage_is_a_class_or_an_enumeration_with_fields() -> None:
    film = FilmDamaged(
        identifier="a", media_type="video/mp4", fault="box-too-large", box="moov",
        expected=9, found=4,
    )  # fmt: skip
    assert film.reason == "a box moov claims 9 bytes, but 4 are left"
    silent = DecoderFailed(identifier="a", media_type="image/png", decoder="libvips", fault="")
    assert silent.reason == "libvips gave no reason"
