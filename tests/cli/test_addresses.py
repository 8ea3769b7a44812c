"""`urlify` and `deurlify`."""

from __future__ import annotations

import pytest
from tests.cli.conftest import Shell


def test_there_and_back(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "pdi://oma.eop.gov.us/1997/09/01/1"
    assert shell.error("urlify", name, code=4)["code"] == "invalid-request"
    monkeypatch.setenv("PERDURE_BASE_URL", "https://pid.example.org")
    url = f"https://pid.example.org/{name}"
    assert shell.lines("urlify", name) == [url]
    assert shell.lines("deurlify", url, "https://doi.org/10.1000/182") == [name, "doi:10.1000/182"]
    assert shell.lines("urlify", "--public", "doi:10.1000/182") == ["https://doi.org/10.1000/182"]
    assert shell.json("deurlify", url) == {"url": url, "identifier": name}
