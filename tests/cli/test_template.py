"""`perdure template`: where a part lies, by the settings or by a template that is tried."""

from __future__ import annotations

from tests.cli.conftest import Shell


def test_where_a_part_lies(shell: Shell) -> None:
    shell.run("bind", "--register", "hdl:1839/A", "http://oserver/objectA")
    tried = ("--try", "hdl:1839/ # {location}?part={part}")
    found = shell.run("template", "hdl:1839/A#z", *tried)
    assert found.stdout == "http://oserver/objectA?part=z\n"
    found = shell.run("template", "hdl:1839/A", "--part", "z", *tried)
    assert found.stdout == "http://oserver/objectA?part=z\n"
    told = shell.json("template", "hdl:1839/A#z", *tried)
    assert told == {
        "whole": "hdl:1839/A",
        "delimiter": "#",
        "part": "z",
        "location": "http://oserver/objectA?part=z",
    }


def test_what_is_wrong_is_told(shell: Shell) -> None:
    shell.run("bind", "--register", "hdl:1839/A", "http://oserver/objectA")
    shell.run("template", "hdl:1839/A#z", code=15)
    shell.run("template", "hdl:1839/B#z", code=10)
    shell.run("template", "hdl:1839/A", code=2)
    shell.run("template", "hdl:1839/A#z", "--try", "hdl:1839/ # {nothing}", code=4)
    shell.run("template", "hdl:1839/A#z", "--try", r"hdl:1839/ # /(a+)+\1/ {location}", code=4)


def test_resolving_a_part(shell: Shell) -> None:
    shell.run("bind", "--register", "ark:12345/x8rd", "http://oserver/x8rd")
    assert shell.run("resolve", "ark:12345/x8rd/a.b").stdout == "redirect http://oserver/x8rd/a.b\n"
    found = shell.run("resolve", "--want", "I2L", "ark:12345/x8rd/a.b")
    assert found.stdout == "http://oserver/x8rd/a.b\n"
    shell.run("describe", "ark:12345/nobody/a.b", code=10)
