"""Every case in `vectors/` that is about identifiers, by the entry to all schemes.

The files are data for any language: what a case has in it says what is to be tested.

    text, canonical, fields      reads, is written so, and has these attributes
    text, error, at, ruling      does not read; the error says where and names the ruling
    a, b, equal, equivalent      compares so
    pattern, identifier, matches
    a, b, same_extent
    ascending                    sorts so, and so do the keys
    pwid, readable               reads or not
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from perdure.errors import PerdureError
from perdure.ids import are_equivalent, parse
from perdure.ids.pdi import Pdi

VECTORS = Path(__file__).parents[2] / "vectors"

Case = dict[str, Any]


def cases(*keys: str) -> list[Any]:
    """The cases that have one of these keys, each under the name of its file."""
    found = []
    for path in sorted(VECTORS.glob("*.json")):
        file = json.loads(path.read_text())
        listed = file["cases"] if isinstance(file, dict) and "cases" in file else []
        found += [
            pytest.param(case, id=f"{path.stem}-{number}")
            for number, case in enumerate(listed)
            if isinstance(case, dict) and any(key in case for key in keys)
        ]
    assert found
    return found


def pdi(text: str) -> Pdi:
    identifier = parse(text)
    assert isinstance(identifier, Pdi)
    return identifier


@pytest.mark.parametrize("case", cases("canonical"))
def test_reads(case: Case) -> None:
    identifier = parse(case["text"])
    assert str(identifier) == case["canonical"]
    assert identifier.written == case["text"]
    for name, value in case.get("fields", {}).items():
        assert getattr(identifier, name) == value, name


@pytest.mark.parametrize("case", cases("error"))
def test_refuses(case: Case) -> None:
    with pytest.raises(PerdureError) as caught:
        parse(case["text"])
    error = caught.value
    assert error.code == case["error"]
    assert error.as_dict()["text"] == case["text"]
    if "at" in case:
        assert error.as_dict()["at"] == case["at"], error
    if "ruling" in case:
        assert f"ruling {case['ruling']}" in str(error.as_dict()["rule"])


@pytest.mark.parametrize("case", cases("equal"))
def test_compares(case: Case) -> None:
    a, b = parse(case["a"]), parse(case["b"])
    assert (a == b) is case["equal"]
    assert (a != b) is not case["equal"]
    assert are_equivalent(a, b) is are_equivalent(b, a) is case.get("equivalent", case["equal"])
    if are_equivalent(a, b):
        assert (a.equal_key or a.key) == (b.equal_key or b.key)
    if a == b:
        assert hash(a) == hash(b)


@pytest.mark.parametrize("case", cases("matches"))
def test_matches(case: Case) -> None:
    assert pdi(case["pattern"]).matches(pdi(case["identifier"])) is case["matches"]


@pytest.mark.parametrize("case", cases("same_extent"))
def test_same_extent(case: Case) -> None:
    a, b = pdi(case["a"]), pdi(case["b"])
    assert a.same_extent(b) is b.same_extent(a) is case["same_extent"]


@pytest.mark.parametrize("case", cases("ascending"))
def test_ascends(case: Case) -> None:
    identifiers = [pdi(text) for text in case["ascending"]]
    backwards = identifiers[::-1]
    assert sorted(backwards) == identifiers
    keys = [identifier.key for identifier in identifiers]
    assert sorted(keys) == keys


@pytest.mark.parametrize("case", cases("readable"))
def test_wild(case: Case) -> None:
    if case["readable"]:
        assert str(parse(case["pwid"])).startswith("pwid:")
    else:
        with pytest.raises(PerdureError):
            parse(case["pwid"])
