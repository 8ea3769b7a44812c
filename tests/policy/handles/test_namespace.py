"""Templates of the Handle System, with the example of its manual and with some that mean harm."""

from __future__ import annotations

import pytest

from perdure.errors import InvalidRequest
from perdure.model.records import Value
from perdure.policy.handles.namespace import Namespace
from perdure.policy.templates.expressions import MOST_STEPS, StepBudget

# Handle.Net technical manual version 9, section 11
MANUAL = r"""<namespace>
  <template delimiter="@">
    <foreach>
      <if value="type" test="equals" expression="URL">
        <if value="extension" test="matches" parameter="x"
            expression="box\(([^,]*),([^,]*),([^,]*),([^,]*)\)">
          <value data="${data}?wh=${x[4]}x${x[3]}&amp;tl=${x[2]}x${x[1]}" />
        </if>
        <else>
          <value data="${data}?part=${extension}" />
        </else>
      </if>
      <else><value /></else>
    </foreach>
  </template>
</namespace>"""
HELD = (
    Value(index=1, type="URL", data="http://example.org/data/1"),
    Value(index=2, type="EMAIL", data="a@example.org"),
    Value(index=3, type="HS_SECKEY", format="sealed", data="scrypt$"),
)


def made(text: str, extension: str) -> list[tuple[int, str, str]] | None:
    template = Namespace.read_xml(text)
    found = template.make_values(f"1/b@{extension}", "1/b", extension, HELD)
    return None if found is None else [(one.index, one.type, one.data) for one in found]


def test_the_example_of_the_manual() -> None:
    assert made(MANUAL, "box(10,20,30,40)") == [
        (1, "URL", "http://example.org/data/1?wh=40x30&tl=20x10"),
        (2, "EMAIL", "a@example.org"),
    ]
    assert made(MANUAL, "ch 1&x") == [
        (1, "URL", "http://example.org/data/1?part=ch%201%26x"),
        (2, "EMAIL", "a@example.org"),
    ]


def test_negation_and_notfound() -> None:
    text = """<namespace><template delimiter="@">
      <if value="extension" test="matches" expression="[0-9]+" negate="true"><notfound/></if>
      <value index="5" type="URL" data="http://example.org/${base}/${extension}"/>
    </template></namespace>"""
    assert made(text, "12") == [(5, "URL", "http://example.org/1/b/12")]
    assert made(text, "x") is None


def test_delimiters() -> None:
    template = Namespace.read_xml(MANUAL)
    assert template.delimiter == "@"


@pytest.mark.parametrize(
    "text",
    [
        "<namespace/>",
        "<namespace><template/></namespace>",
        '<namespace><template delimiter="@"><script/></template></namespace>',
        '<namespace><template delimiter="@"><if test="near"/></template></namespace>',
        '<namespace><template delimiter="@"><if test="matches"/><if/></template></namespace>',
        '<namespace><template delimiter="@"><if test="equals"><x/></if></template></namespace>',
        '<namespace><template delimiter="@">' + "<foreach>" * 30 + "</foreach>" * 30
        + "</template></namespace>",
        '<namespace><template delimiter="@">' + "<value/>" * 300 + "</template></namespace>",
        '<!DOCTYPE n><namespace><template delimiter="@"/></namespace>',
    ],
)  # fmt: skip
def test_what_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest):
        Namespace.read_xml(text)


def test_nested_loops_end() -> None:
    """Each value for each value for each value …: more than a handle has."""
    inner = "<foreach>" * 15 + "<value/>" + "</foreach>" * 15
    text = f'<namespace><template delimiter="@">{inner}</template></namespace>'
    assert made(text, "x") is None


@pytest.mark.parametrize(("length", "is_made"), [(8192, True), (8193, False)])
def test_data_that_a_template_writes_has_a_greatest_length(length: int, *, is_made: bool) -> None:
    text = """<namespace><template delimiter="@">
      <value type="X" data="${extension}"/>
    </template></namespace>"""
    found = made(text, "x" * length)
    assert (found is not None and [len(data) for _, _, data in found] == [length]) is is_made


def test_data_that_is_held_may_be_longer() -> None:
    held = Value(index=1, type="DESC", data="x" * 9000)
    template = Namespace.read_xml(
        '<namespace><template delimiter="@"><foreach><value/></foreach></template></namespace>'
    )
    found = template.make_values("1/b@1", "1/b", "1", (held,))
    assert found is not None
    assert [one.data for one in found] == [held.data]


@pytest.mark.parametrize(
    ("test", "extension", "is_made"),
    [
        ("equals", "a.c", True),
        ("equals", "abc", False),
        ("matches", "abc", True),
        ("matches", "a.c", True),
        ("matches", "abcd", False),
    ],
)
def test_equality_is_no_pattern(test: str, extension: str, *, is_made: bool) -> None:
    text = f"""<namespace><template delimiter="@">
      <if value="extension" test="{test}" expression="a.c"><value type="X" data="yes"/></if>
    </template></namespace>"""
    assert (made(text, extension) == [(1, "X", "yes")]) is is_made


@pytest.mark.parametrize("negate", ["", 'negate="true"'])
def test_all_expressions_for_one_handle_share_a_budget(negate: str) -> None:
    """Fifty of them, each with 250 steps for each character, would stop others for seconds."""
    tests = f'<if value="extension" test="matches" {negate} expression="{".*" * 80}b"/>' * 8
    text = f"""<namespace><template delimiter="@">
      {tests}<value type="X" data="yes"/></template></namespace>"""
    assert made(text, "a") == [(1, "X", "yes")]
    assert made(text, "a" * 400) is None
    budget = StepBudget()
    template = Namespace.read_xml(text)
    assert template.make_values("1/b@a", "1/b", "a", (), budget) is not None
    assert budget.left < MOST_STEPS
    budget.left = 0
    assert template.make_values("1/b@a", "1/b", "a", (), budget) is None
