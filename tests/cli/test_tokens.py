"""`token create`, `token list`, `token revoke`."""

from __future__ import annotations

import base64
import json

from tests.cli.conftest import Shell
from tests.conftest import SERIES

from perdure.policy.operations import OPERATIONS
from perdure.policy.tokens import digest_secret
from perdure.registry import Registry


def test_a_token_is_shown_once_and_only_its_hash_is_kept(shell: Shell) -> None:
    result = shell.run(
        "token", "create", "press", "--series", SERIES.upper(), "--operation", "mint"
    )
    secret = result.stdout.strip()
    assert "not shown again" in result.stderr
    with Registry(shell.root) as registry:
        kept = registry.records.find_token(digest_secret(secret))
    assert kept is not None
    assert (kept.name, kept.operations, kept.authorities) == ("press", ("mint",), (SERIES,))
    assert secret not in shell.run("token", "list", "--json").stdout
    assert kept.digest not in shell.run("token", "list", "--json").stdout


def test_a_token_that_nobody_could_use_is_not_made(shell: Shell) -> None:
    shell.run("token", "create", "late", "--series", SERIES, "--expires", "2020-01-01", code=2)
    assert not shell.run("token", "list").stdout


def test_days_in_the_wrong_order_are_none(shell: Shell) -> None:
    words = ["--first-day", "2026-12-01", "--last-day", "2026-11-01"]
    told = shell.error("token", "create", "press", "--authority", "*", *words, code=4)
    assert told["code"] == "invalid-request"
    assert "2026-12-01" in told["message"]
    assert not shell.run("token", "list").stdout
    same = ["--first-day", "2026-12-01", "--last-day", "2026-12-01"]
    shell.run("token", "create", "press", "--authority", "*", *same)


def test_the_scope_of_a_token(shell: Shell) -> None:
    words = ["--first-day", "2026-01-01", "--last-day", "2026-12-31", "--expires", "2027-01-31"]
    shell.run("token", "create", "press", "--authority", "*", *words)
    (told,) = map(json.loads, shell.run("token", "list", "--json").stdout.splitlines())
    assert told["operations"] == list(OPERATIONS[:7])
    assert (told["first_day"], told["last_day"]) == ("2026-01-01", "2026-12-31")
    assert told["expires"] == "2027-01-31T00:00:00Z"
    shell.error("token", "create", "other", code=2)
    shell.error("token", "create", "other", "--authority", "*", "--operation", "rule", code=2)


def test_a_name_is_given_to_one_token_only(shell: Shell) -> None:
    shell.run("token", "create", "press", "--authority", "*")
    shell.error("token", "create", "press", "--authority", "*", code=40)


def test_a_revoked_token_stays_revoked(shell: Shell) -> None:
    shell.run("token", "create", "press", "--authority", "*")
    first = shell.json("token", "revoke", "press")
    assert shell.json("token", "revoke", "press") == first
    assert "revoked" in shell.lines("token", "list")[0]
    shell.error("token", "create", "press", "--authority", "*", code=40)
    unknown = shell.error("token", "revoke", "nobody", code=10)
    assert "no token has the name 'nobody'" in unknown["message"]
    assert "perdure token list" in unknown["message"]
    assert "resolver" not in unknown["message"]


def test_a_token_of_a_key_has_no_secret(shell: Shell) -> None:
    key = base64.b64encode(bytes(range(32))).decode()
    told = shell.json("token", "create", "robot", "--series", SERIES, "--key", key)
    assert told == {"name": "robot", "key": key}
    wrong = ("token", "create", "other", "--series", SERIES, "--key", "AAAA")
    assert shell.error(*wrong, code=4)["code"] == "invalid-request"


def test_tokens_of_one_key_stand_beside_one_another(shell: Shell) -> None:
    """A key is public: nobody takes a token, or its revocation, away by naming its key."""
    key = base64.b64encode(bytes(range(32))).decode()
    for name in ("robot", "other"):
        shell.run("token", "create", name, "--series", SERIES, "--key", key)
    shell.run("token", "revoke", "robot")
    shell.run("token", "create", "third", "--series", SERIES, "--key", key)
    told = [json.loads(line) for line in shell.lines("token", "list", "--json")]
    assert [(one["name"], bool(one["revoked"])) for one in told] == [
        ("other", False),
        ("robot", True),
        ("third", False),
    ]
    shell.error("token", "create", "robot", "--series", SERIES, "--key", key, code=40)


def test_what_was_done_with_a_token_is_kept(shell: Shell) -> None:
    shell.run("token", "create", "press", "--series", SERIES)
    shell.run("token", "revoke", "press")
    told = [json.loads(line) for line in shell.lines("token", "history", "press", "--json")]
    assert [sorted(one["changes"]) for one in told][1] == ["revoked"]
    assert {one["by"] for one in told} == {"local"}
    assert "digest" not in shell.run("token", "history", "press").stdout
    assert shell.error("token", "history", "nobody", code=10)["code"] == "not-found"
