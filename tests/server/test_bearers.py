"""A token that is remembered is forgotten when it is revoked, by whomever."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import msgspec

from perdure.model.commands import SaveToken
from perdure.model.records import Token
from perdure.registry import Registry, initialise
from perdure.server.common.bearers import Bearers
from perdure.storage.generation import Generation
from perdure.storage.ports import Records


def test_a_revoked_token_is_forgotten_in_every_process(tmp_path: Path) -> None:
    initialise(tmp_path, series=("a.us",))
    token = Token(name="t", digest="ab", operations=("mint",), authorities=("*",))
    with (
        Registry(tmp_path) as writing,
        Registry(tmp_path) as serving,
        Generation(tmp_path) as count,
    ):
        writing.door.execute_command(SaveToken(token=token))
        bearers = Bearers(serving.records, count)
        assert bearers.find_token("ab") == token
        assert bearers.find_token("cd") is None
        revoked = msgspec.structs.replace(token, revoked="2026-11-21T00:00:00Z")
        writing.door.execute_command(SaveToken(token=revoked))
        found = bearers.find_token("ab")
        assert found is not None
        assert found.revoked


def test_a_token_that_was_looked_up_while_it_was_revoked_is_not_remembered(tmp_path: Path) -> None:
    """Signed requests are checked in threads, which may be overtaken by the event loop."""
    token = Token(name="t", digest="ab", operations=("mint",), authorities=("*",), key="k")
    revoked = msgspec.structs.replace(token, revoked="2026-11-21T00:00:00Z")

    class Overtaken:
        """Records that are revised while they are read."""

        now = token

        def find_token_named(self, name: str) -> Token:
            found, self.now = self.now, revoked
            if found is token:
                count.note_revision()
                assert bearers.find_named(name) == revoked
            return found

    with Generation(tmp_path) as count:
        bearers = Bearers(cast(Records, Overtaken()), count)
        assert bearers.find_named("t") == token  # asked before it was revoked
        assert bearers.find_named("t") == revoked
