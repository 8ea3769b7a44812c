"""A process that writes to a registry and says each receipt aloud once it has it.

    python worker.py ROOT mint ACTOR COUNT [LARGE]   mints and commits; every LARGE-th is large
    python worker.py ROOT commit ACTOR NAME FIRST LAST [SAME]   commits versions FIRST to LAST

It prints one JSON object for each command, then waits until its standard input ends, and closes the
registry in good order. Everything is a function of ACTOR, so that whoever reads the receipts knows
the bytes: see `body`. The idempotency key of each command is the actor and a number.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from perdure.app import Registry
from perdure.blobs.spool import content
from perdure.errors import PerdureError
from perdure.ids import parse
from perdure.model import Commit, Content, Mint

SERIES = "oma.eop.gov.us"
LARGE = 9 << 20


def body(actor: str, number: int, *, large: bool = False) -> bytes:
    """The bytes that an actor writes with its command of this number."""
    line = f"{actor} {number}\n".encode()
    return line * (LARGE // len(line)) if large else line * (number % 50 + 1)


def _content(registry: Registry, data: bytes) -> Content:
    if len(data) < LARGE // 2:
        return content(data, format="text", media_type="text/plain")
    with registry.spool() as spool:
        for start in range(0, len(data), 1 << 20):
            spool.write(data[start : start + (1 << 20)])
        return spool.finish(format="text", media_type="text/plain")


def say(**what: object) -> None:
    print(json.dumps(what), flush=True)


def mint(registry: Registry, actor: str, count: int, large: int) -> None:
    last = None
    for number in range(count):
        data = body(actor, number, large=large > 0 and number % large == large - 1)
        once = f"{actor}-{number}"
        try:
            contents = (_content(registry, data),)
            if last is not None and number % 3 == 2:
                command: Mint | Commit = Commit(
                    identifier=parse(last), contents=contents, once=once, by=actor
                )
            else:
                command = Mint(authority=SERIES, contents=contents, once=once, by=actor)
            last = registry.door.execute(command).identifier
        except PerdureError as error:
            say(number=number, error=error.code, message=str(error))
        else:
            say(number=number, identifier=last, large=len(data) >= LARGE // 2)


def commit(registry: Registry, actor: str, name: str, first: int, last: int, text: str) -> None:
    for version in range(first, last + 1):
        made = content(f"{text} {version}".encode(), format="text", media_type="text/plain")
        command = Commit(identifier=parse(name), contents=(made,), version=version, by=actor)
        while True:
            try:
                outcome = registry.door.execute(command).outcome.value
            except PerdureError as error:
                outcome = error.code
            if outcome != "no-such-version":  # the other has not made the one before yet
                break
        say(version=version, outcome=outcome)


def main(root: str, action: str, actor: str, *rest: str) -> None:
    with Registry(Path(root), environment={}) as registry:
        say(ready=True)
        if action == "mint":
            mint(registry, actor, int(rest[0]), int(rest[1]) if len(rest) > 1 else 0)
        else:
            name, first, last, *same = rest
            commit(registry, actor, name, int(first), int(last), same[0] if same else actor)
        say(done=True)
        sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
