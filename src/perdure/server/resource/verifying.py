"""Checks of a document: for the browser and the command line of a reader. Pure.

What must stay true: nothing is offered for what was withdrawn, whose digest is not shown.
"""

from __future__ import annotations

import shlex
from typing import Any

from perdure.ids import parse
from perdure.reading.targets import append_question, spell_path
from perdure.server.resource.held import suggest_file_name


def add_checks(versions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add to each held representation the address of its bytes and a command that checks them."""
    return [
        one | {"representations": [_add_check(held) for held in one["representations"]]}
        for one in versions
    ]


def _add_check(held: dict[str, Any]) -> dict[str, Any]:
    if not held["sha512"]:
        return held
    identifier, url = parse(held["identifier"]), append_question(held["url"], "bytes")
    check = write_check(url, suggest_file_name(identifier, held["format"]), held["sha512"])
    path = append_question(f"/{spell_path(identifier)}", "bytes")
    return held | {"bytes_path": path, "check": check}


def write_check(url: str, name: str, sha512: str) -> str:
    """Write a command line that downloads a file and compares its digest.

    >>> write_check("https://perdure.example/x:1?bytes", "1.text", "0f")
    "curl -fo 1.text 'https://perdure.example/x:1?bytes' && echo '0f  1.text' | sha512sum --check"
    """
    line = shlex.quote(f"{sha512}  {name}")
    return f"curl -fo {shlex.quote(name)} {shlex.quote(url)} && echo {line} | sha512sum --check"
