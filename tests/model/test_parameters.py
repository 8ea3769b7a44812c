"""Parameters of a query: one value each."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors.requests import (
    MalformedNumber,
    RepeatedParameter,
    SeveralQuestions,
    TooManyParameters,
)
from perdure.model.parameters import MOST, Parameters, list_pairs, read_number, read_parameters
from perdure.reading.places import _PLACES
from perdure.reading.targets import _PARAMETERS, _TYPED, _VERBS, Question, read_question

_QUESTIONS = {"level": "metadata&"} | {
    name: f"point={kind}&" for kind, names in _PLACES.items() for name in names
}
"""Parameters that belong to one question alone."""
_REPEATABLE = ("index", "type", "locatt", "scope", "kind")


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("123"))))
def test_no_value_is_chosen_silently(pairs: list[tuple[str, str]]) -> None:
    found = Parameters(pairs)
    assert set(found) == {name for name, _ in pairs}
    assert len(found) == len(set(found))
    for name in found:
        values = tuple(dict.fromkeys(value for one, value in pairs if one == name))
        assert found.list_values(name) == values
        if len(values) == 1:
            assert found[name] == found.get(name) == values[0]
        else:
            with pytest.raises(RepeatedParameter) as refused:
                found.get(name)
            assert refused.value.values == values


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1", 1), ("500", 500), ("007", 7), ("0" * 5000 + "12", 12), ("0", 0), ("000", 0)],
)
def test_a_number_within_its_bounds(text: str, expected: int) -> None:
    assert read_number("limit", text, 0, 500) == expected


@pytest.mark.parametrize(
    "text", ["", "-1", "+1", "1.0", " 1", "1_0", "٣", "501", "0000000001999", "1" * 5000]
)
def test_a_number_out_of_its_bounds_is_refused(text: str) -> None:
    with pytest.raises(MalformedNumber) as refused:
        read_number("limit", text, 0, 500)
    assert (refused.value.parameter, refused.value.text) == ("limit", text)
    assert (refused.value.low, refused.value.high) == (0, 500)


@pytest.mark.parametrize("name", sorted({*_PARAMETERS, *_TYPED} - {*_REPEATABLE}))
def test_a_parameter_of_a_name_has_one_value(name: str) -> None:
    first, second = ("1", "2") if name == "limit" else ("t=1", "t=2")
    question = _QUESTIONS.get(name, "")
    with pytest.raises(RepeatedParameter) as refused:
        read_question(f"{question}{name}={first}&{name}={second}")
    assert refused.value.parameter == name


@pytest.mark.parametrize("name", _REPEATABLE)
def test_what_proxies_of_handles_repeat_may_be_repeated(name: str) -> None:
    first, second = ("1", "2") if name == "index" else ("a:1", "b:2")
    assert read_question(f"{name}={first}&{name}={second}") != read_question(f"{name}={first}")


def test_the_same_value_again_changes_nothing() -> None:
    assert read_question("part=char=0,3&part=char=0,3") == Question(part="char=0,3")


def test_what_other_sites_append_is_ignored() -> None:
    assert read_question("utm=1&utm=2") == Question()


@pytest.mark.parametrize("word", _VERBS[1:])
def test_a_query_asks_one_question(word: str) -> None:
    with pytest.raises(SeveralQuestions) as refused:
        read_question(f"info&{word}")
    assert refused.value.questions == ("?info", f"?{word}")
    assert read_question(f"{word}&{word}").verb == word


@pytest.mark.parametrize("word", [*_VERBS, "cite=apa", "quote=x"])
def test_a_question_with_a_value_is_a_question_too(word: str) -> None:
    for query in (f"{word}&metadata=csl", f"metadata&{word}"):
        with pytest.raises(SeveralQuestions) as refused:
            read_question(query)
        assert set(refused.value.questions) == {"?metadata", f"?{word.partition('=')[0]}"}


def test_a_query_has_at_most_a_thousand_parameters() -> None:
    query = "&".join(f"index={number}" for number in range(MOST))
    assert len(read_parameters(query).list_values("index")) == MOST
    with pytest.raises(TooManyParameters, match="at most 1000"):
        read_parameters(f"{query}&index={MOST}")
    with pytest.raises(TooManyParameters):
        list_pairs("&" * MOST)


def test_values_may_be_empty_only_where_that_means_something() -> None:
    assert dict(read_parameters("a=&b=1")) == {"a": "", "b": "1"}
    assert dict(read_parameters("a=&b=1", keep_blank=False)) == {"b": "1"}
