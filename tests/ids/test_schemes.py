"""How a text finds its scheme, and a package its place among the schemes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import MalformedIdentifier, UnknownScheme
from perdure.ids import LONGEST, Scheme, find_scheme, load_schemes, parse
from perdure.testing.spelling import any_case


@pytest.mark.parametrize("scheme", load_schemes().values(), ids=lambda scheme: scheme.name)
def test_examples_parse(scheme: Scheme) -> None:
    assert scheme.examples
    assert {parse(example).kind for example in scheme.examples} == {scheme.name}


@pytest.mark.parametrize("scheme", load_schemes().values(), ids=lambda scheme: scheme.name)
def test_prefixes_are_lower_case_and_have_a_colon(scheme: Scheme) -> None:
    for prefix in scheme.prefixes:
        assert prefix == prefix.lower()
        assert prefix.isascii()
        assert ":" in prefix


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("urn:pdi://a.us/2026/11/20/1", "pdi"),
        ("Urn:Pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk", "pwid"),
        ("URN:IANA:42117::x:::", "urn1993"),
        ("URN:isbn_publisher_id:0_201_12::x1:::", "urn1993"),
        ("urn:isbn:0451450523", "urn"),
        ("urn:pdia:x", "urn"),
        ("DOI:10.1000/182", "handle"),
        ("ark:/12345/x", "ark"),
    ],
)
def test_the_longest_prefix_wins(text: str, kind: str) -> None:
    assert parse(text).kind == kind


@pytest.mark.parametrize(
    "text", ["x", "pdi", "http://example.org/", "ar\u212a:12345/x", ":", "pd\u0131://a.us/"]
)
def test_no_prefix_no_scheme(text: str) -> None:
    with pytest.raises(UnknownScheme) as caught:
        parse(text)
    assert {"pdi:", "urn:", "ark:"} <= set(caught.value.known)
    *_, names = str(caught.value).rpartition("begins with one of ")
    assert names.startswith("ark:, doi:, hdl:, pdi:, urn:, pwid:, ")


@pytest.mark.parametrize("prefix", [p for s in load_schemes().values() for p in s.prefixes] + [""])
@pytest.mark.parametrize(
    ("rest", "at"),
    [("a b", 1), ("\r\nX: 1", 0), ("\x00", 0), ("a\x7f", 1), ("\u2028", 0), ("\ud800", 0)],
)
def test_no_scheme_sees_controls_or_spaces(prefix: str, rest: str, at: int) -> None:
    with pytest.raises(MalformedIdentifier) as caught:
        parse(prefix + rest)
    assert caught.value.at == len(prefix) + at


@pytest.mark.parametrize("prefix", [p for s in load_schemes().values() for p in s.prefixes] + [""])
def test_no_scheme_sees_too_long_a_text(prefix: str) -> None:
    with pytest.raises(MalformedIdentifier) as caught:
        parse(prefix.ljust(LONGEST + 1, "a"))
    assert caught.value.at == LONGEST
    assert caught.value.rule == "ruling pdi-limits"


OTHER_PACKAGE = """
from perdure.errors import MalformedIdentifier
from perdure.ids import Scheme
from perdure.ids.urn import parse_urn

SCHEME = Scheme(
    name={name!r}, prefixes=({prefix!r},), spec="none", parse=parse_urn,
    equivalent=lambda a, b: False, examples=(),
)
"""


def run_with_another_package(directory: Path, module: str, code: str) -> tuple[str, str]:
    """What `code` prints on stdout and stderr if another package brings a scheme along."""
    (directory / "other_package.py").write_text(module)
    metadata = directory / "other_package-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: other-package\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text("[perdure.schemes]\nother = other_package:SCHEME\n")
    code = f"import sys; sys.path.insert(0, {str(directory)!r}); {code}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout, done.stderr


def test_another_package_brings_a_scheme_along(tmp_path: Path) -> None:
    code = "from perdure.ids import parse; print(parse('urn:other:x'), parse('pdi://a.us/'))"
    module = OTHER_PACKAGE.format(name="other", prefix="urn:other:")
    printed = run_with_another_package(tmp_path, module, code)
    assert printed == ("urn:other:x pdi://a.us/\n", "")


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        (OTHER_PACKAGE.format(name="other", prefix="pdi:"), "'pdi:' is claimed by perdure.ids.pdi"),
        (OTHER_PACKAGE.format(name="pdi", prefix="other:"), "'pdi' is claimed by perdure.ids.pdi"),
        (OTHER_PACKAGE.format(name="other", prefix=""), "'' is not a prefix"),
        (OTHER_PACKAGE.format(name="other", prefix="p"), "'p' is not a prefix"),
        ("raise RuntimeError('no licence')", "RuntimeError: no licence"),
        ("import sys; sys.exit('no licence')", "SystemExit: no licence"),
        ("import other_library", "ModuleNotFoundError: No module named 'other_library'"),
        ("SCHEME = 'other:'", "it has the type str, not Scheme"),
        ("", "AttributeError: module 'other_package' has no attribute 'SCHEME'"),
    ],
)
def test_a_broken_scheme_is_left_out_and_logged(tmp_path: Path, module: str, reason: str) -> None:
    code = "from perdure.ids import parse; print(parse('pdi://a.us/'))"
    printed, logged = run_with_another_package(tmp_path, module, code)
    assert printed == "pdi://a.us/\n"
    assert "perdure.schemes" in logged
    assert "of other-package" in logged
    assert reason in logged
    assert len(logged.splitlines()) == 1


SHELF_MARKS = """
import re
from typing import ClassVar

from perdure.errors import MalformedIdentifier
from perdure.ids import Label, Minting, Scheme
from perdure.ids.keyed import Keyed

_MARK = re.compile("shelf:([a-z]+)-([a-z0-9!]+)")


class ShelfMark(Keyed, frozen=True, gc=False):
    kind: ClassVar[str] = "shelf"

    room: str
    number: str

    def __str__(self):
        return f"shelf:{self.room}-{self.number}"

    @property
    def key(self):
        return str(self)

    @property
    def assigned_under(self):
        return f"shelf:{self.room}"


def parse(text):
    found = _MARK.fullmatch(text.lower())
    if found is None:
        raise MalformedIdentifier(text=text, at=0, expected="shelf:room-number", rule="none")
    return ShelfMark(found[1], found[2])


SCHEME = Scheme(
    name="shelf", prefixes=("shelf:",), spec="none", parse=parse,
    equivalent=lambda one, other: False, examples=("shelf:hall-1",),
    labels=(
        Label(
            text="shelf:", datacite_type="Shelf", resolver="https://shelf.example/",
            is_dropped=True,
        ),
    ),
    delimiters=("!",),
    minting=Minting(
        kind="room",
        read_authority=lambda text: parse(f"{text}-1").assigned_under,
        requested_authority=lambda text: text[:-1] if text.endswith("-") else None,
        spell=lambda new: parse(f"{new.authority}-{new.text}"),
        alphabet="123456789",
        length=4,
    ),
)
"""

USE_OF_SHELF_MARKS = """
import re
from pathlib import Path

from perdure import metadata
from perdure.cli.options import AUTHORITY
from perdure.errors import UnknownAuthority
from perdure.ids import parse
from perdure.ids.urls import find_public_address
from perdure.model.commands import Mint
from perdure.model.queries import Query
from perdure.model.records import Location
from perdure.policy import rights
from perdure.registry import Registry, initialise
from perdure.server.resource.writing import minting_authority

root = Path(sys.argv[1])
initialise(root, authorities=("shelf:Hall",))
with Registry(root, environment={}) as registry:
    find = lambda name: registry.reading.resolve(Query(identifier=name))
    place = Location(uri="https://a.example/")
    mint = Mint(authority="shelf:hall", locations=(place,))
    fresh = registry.door.execute_command(mint).identifier
    print(bool(re.fullmatch("shelf:hall-[1-9]{4}", fresh)))
    print(registry.door.execute_command(Mint(authority="shelf:hall", uid="7")).identifier)
    try:
        registry.door.execute_command(Mint(authority="shelf:cellar"))
    except UnknownAuthority as error:
        print(error.known)
    name = parse("shelf:hall-7")
    described = registry.documents.describe_resolved(find(name), find_public_address(name))
    written = metadata.write_record(described, "datacite").decode()
    print(re.search("<identifier [^>]*>[^<]*", written)[0], find_public_address(name))
    (owned,) = registry.settings.owned_authorities
    print(rights.covers_object("shelf:hall", rights.make_new_object(owned, "2026-11-22")))
    seven = rights.make_object(name)
    print(rights.covers_object("shelf:hall", seven), rights.covers_object("x", seven))
    print(find(parse("shelf:hall-7!p")).part, name.path)
    print(minting_authority("shelf:hall-", registry))
    print(AUTHORITY.convert("shelf:Hall"), AUTHORITY.convert("iana:42117"))
"""


def test_another_package_mints_resolves_and_describes(tmp_path: Path) -> None:
    package = tmp_path / "site"
    metadata = package / "shelf_marks-1.dist-info"
    metadata.mkdir(parents=True)
    (package / "shelf_marks.py").write_text(SHELF_MARKS)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: shelf-marks\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text("[perdure.schemes]\nshelf = shelf_marks:SCHEME\n")
    code = f"import sys; sys.path.insert(0, {str(package)!r})\n{USE_OF_SHELF_MARKS}"
    printed = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "registry")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert printed.splitlines() == [
        "True",
        "shelf:hall-7",
        "('shelf:hall',)",
        '<identifier identifierType="Shelf">hall-7 https://shelf.example/hall-7',
        "True",
        "True False",
        "p shelf:hall-7",
        "shelf:hall",
        "shelf:hall IANA:42117",
    ]


PREFIXES = sorted({prefix for scheme in load_schemes().values() for prefix in scheme.prefixes})


@given(
    st.sampled_from(PREFIXES).flatmap(any_case),
    st.sampled_from(["", "x", "pdi:", "PWID:x", "iana:1::x:::", "\u212a", "\u00e9" * 30]),
    st.integers(0, 30),
)
def test_a_scheme_is_found_by_its_longest_prefix(prefix: str, rest: str, length: int) -> None:
    """ "Return the scheme whose prefix begins a text, well-formed or not, or None." """
    text = f"{prefix}{rest}"[:length]
    claims = {
        one: scheme
        for scheme in load_schemes().values()
        for one in scheme.prefixes
        if text[: len(one)].isascii() and text.lower().startswith(one)
    }
    assert find_scheme(text) is (claims[max(claims, key=len)] if claims else None)
