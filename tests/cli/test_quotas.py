"""Quotas of series on the command line: the same limit as over HTTP, with an exit code."""

from __future__ import annotations

import re

from tests.cli.conftest import Shell


def test_a_series_that_has_used_its_quota(shell: Shell) -> None:
    settings = shell.root / "perdure.toml"
    series = re.findall(r'^series = \["([a-z.]+)"', settings.read_text(), re.MULTILINE)[0]
    settings.write_text(f'{settings.read_text()}series_quotas = ["{series}=2"]\n')
    for _ in range(2):
        shell.run("mint", "--series", series)
    error = shell.error("mint", "--series", series, code=23)
    assert (error["code"], error["series"], error["limit"]) == ("too-many-requests", series, 2)
    assert 0 < error["wait"] <= 86_400
    assert "series_quotas" in error["message"]
