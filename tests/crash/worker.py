"""A process that writes to a registry and says each receipt aloud once it has it.

    python worker.py ROOT mint ACTOR COUNT [LARGE]
        mints; every fourth is a commit to the document before, every LARGE-th is large
    python worker.py ROOT crowd ACTOR CLIENTS
        mints, so many clients at once, until it is killed
    python worker.py ROOT commit ACTOR NAME FIRST LAST [TEXT]
        commits versions FIRST to LAST, of the text that is given or its own

It prints one JSON object for each command, then waits until its standard input ends, and closes the
registry in good order. Everything is a function of ACTOR, so that whoever reads the receipts knows
the bytes: see `body`. The idempotency key of each command is the actor and a number.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from perdure.errors import PerdureError
from perdure.ids import parse
from perdure.model.commands import Commit, Content, Mint
from perdure.registry import Registry
from perdure.storage.spool import make_content

SERIES = "oma.eop.gov.us"
LARGE = 9 << 20


def body(actor: str, number: int, *, large: bool = False) -> bytes:
    """The bytes that an actor writes with its command of this number."""
    line = f"{actor} {number}\n".encode()
    return line * (LARGE // len(line)) if large else line * (number % 50 + 1)


def _content(registry: Registry, data: bytes) -> Content:
    if len(data) < LARGE // 2:
        return make_content(data, format="text", media_type="text/plain")
    with registry.spool() as spool:
        for start in range(0, len(data), 1 << 20):
            spool.write(data[start : start + (1 << 20)])
        return spool.finish_content(format="text", media_type="text/plain")


def say(**what: object) -> None:
    print(json.dumps(what), flush=True)


def mint(registry: Registry, actor: str, count: int, large: int) -> Iterator[dict[str, Any]]:
    """Carries out the commands of an actor; gives what there is to say about each."""
    names: dict[int, str] = {}
    for number in range(count):
        data = body(actor, number, large=large > 0 and number % large == large - 1)
        once = f"{actor}-{number}"
        try:
            contents = (_content(registry, data),)
            command: Mint | Commit
            if number % 4 == 3 and number - 1 in names:
                document = parse(names[number - 1])
                command = Commit(identifier=document, contents=contents, once=once, by=actor)
            else:
                command = Mint(authority=SERIES, contents=contents, once=once, by=actor)
            names[number] = registry.door.execute_command(command).identifier
        except PerdureError as error:
            yield {"number": number, "error": error.code, "message": str(error)}
        else:
            is_large = len(data) >= LARGE // 2
            yield {"number": number, "identifier": names[number], "large": is_large}


async def crowd(registry: Registry, actor: str, clients: int) -> None:
    """Client c has the commands c, c + clients, c + 2 clients, …"""

    async def client(number: int) -> None:
        while True:
            made = make_content(body(actor, number), format="text", media_type="text/plain")
            command = Mint(authority=SERIES, contents=(made,), by=actor)
            receipt = await registry.door.submit_command(command)
            say(number=number, identifier=receipt.identifier, large=False)
            number += clients

    await asyncio.gather(*map(client, range(clients)))


def commit(registry: Registry, actor: str, name: str, first: int, last: int, text: str) -> None:
    for version in range(first, last + 1):
        made = make_content(f"{text} {version}".encode(), format="text", media_type="text/plain")
        command = Commit(identifier=parse(name), contents=(made,), version=version, by=actor)
        while True:
            try:
                outcome = registry.door.execute_command(command).outcome.value
            except PerdureError as error:
                outcome = error.code
            if outcome != "no-such-version":  # the other has not made the one before yet
                break
        say(version=version, outcome=outcome)


def main(root: str, action: str, actor: str, *rest: str) -> None:
    with Registry(Path(root), environment={}) as registry:
        say(ready=True)
        if action == "mint":
            for said in mint(registry, actor, int(rest[0]), int(rest[1]) if rest[1:] else 0):
                say(**said)
        elif action == "crowd":
            asyncio.run(crowd(registry, actor, int(rest[0])))
        else:
            name, first, last, *same = rest
            commit(registry, actor, name, int(first), int(last), same[0] if same else actor)
        say(done=True)
        sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
