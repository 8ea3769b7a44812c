"""JSON Merge Patch: the test cases of RFC 7396, appendix A, and descriptions that it changes."""

from __future__ import annotations

from typing import Any

import pytest

from perdure.errors import InvalidMetadata
from perdure.model.about import About, DescriptionText
from perdure.model.merging import (
    apply_merge_patch,
    merge_descriptions,
    patch_description,
    read_patch,
)


@pytest.mark.parametrize(
    ("original", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_appendix_a(original: Any, patch: Any, result: Any) -> None:
    assert apply_merge_patch(original, patch) == result


def test_a_patch_changes_the_members_that_it_names() -> None:
    held = About(titles=(DescriptionText(value="First"),), edition="2nd")
    changed = patch_description(held, {"titles": [{"value": "Second"}]})
    assert (changed.title, changed.edition) == ("Second", "2nd")
    assert (
        merge_descriptions(held, About(titles=(DescriptionText(value="Third"),))).title == "Third"
    )


@pytest.mark.parametrize("patch", [{"titles": 5}, {"titles": [{"value": 5}]}])
def test_a_member_of_the_wrong_type_is_refused(patch: dict[str, Any]) -> None:
    with pytest.raises(InvalidMetadata):
        patch_description(About(), patch)


def test_a_patch_is_an_object() -> None:
    assert read_patch(b'{"titles": null}') == {"titles": None}
    for data in (b"[]", b"{", b"\xff"):
        with pytest.raises(InvalidMetadata):
            read_patch(data)
