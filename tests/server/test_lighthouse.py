"""Pages as Lighthouse judges them: performance, accessibility, best practices, search engines.

Lighthouse comes with `.oracles` (make unit), and drives Debian's Chromium; without either, the
tests are skipped. A run is repeated once if its performance falls short, because that is measured
with a clock, and other tests run at the same time.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.server.browser import find_chromium
from tests.server.deployment import SERIES, Deployment, text, today

from perdure.ids import parse
from perdure.model.commands import Describe

ORACLES = Path(os.environ.get("PERDURE_ORACLES", Path(__file__).parents[2] / ".oracles")).resolve()
LIGHTHOUSE = ORACLES / "node_modules/lighthouse/cli/index.js"
LETTER = b"Dear Sir,\r\n\r\nthank you for the herons. They have settled in.\r\n\r\nJane\r\n"
CATEGORIES = ("performance", "accessibility", "best-practices", "seo")
LEAST = 0.95

needs_lighthouse = pytest.mark.skipif(
    not LIGHTHOUSE.exists() or shutil.which("node") is None or find_chromium() is None,
    reason="Lighthouse or Chromium is not installed (make unit)",
)


@pytest.fixture(scope="module")
def letter(site: Deployment) -> str:
    name = site.mint(text(LETTER))
    patch = json.dumps({"titles": [{"value": "Letter about herons"}]}).encode()
    site.do(Describe(identifier=parse(name).resource, patch=patch))
    return name


def judge_page(address: str, tmp_path: Path) -> dict[str, float]:
    """The scores of a page by category, from 0 to 1."""
    found = tmp_path / "found.json"
    flags = "--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage"
    command = ["node", str(LIGHTHOUSE), address, "--quiet", "--output=json"]
    command += [f"--output-path={found}", f"--chrome-flags={flags} --user-data-dir={tmp_path}/user"]
    command += [f"--only-categories={','.join(CATEGORIES)}", "--no-enable-error-reporting"]
    environment = os.environ | {"CHROME_PATH": str(find_chromium()), "HOME": str(tmp_path)}
    subprocess.run(command, check=True, capture_output=True, env=environment, timeout=120)
    report = json.loads(found.read_text("utf-8"))
    return {name: report["categories"][name]["score"] for name in CATEGORIES}


@needs_lighthouse
@pytest.mark.parametrize("page", ["landing", "list", "search", "patterns"])
def test_pages_score_well_in_all_categories(
    site: Deployment, letter: str, tmp_path: Path, page: str
) -> None:
    addresses = {
        "landing": f"{letter}?landing",
        "list": f"pdi://{SERIES}/{today()}/",
        "search": "search",
        "patterns": "patterns",
    }
    for _ in range(2):
        scores = judge_page(f"{site.base}/{addresses[page]}", tmp_path)
        if scores["performance"] >= LEAST:
            break
    assert {name: score for name, score in scores.items() if score < LEAST} == {}


def test_results_of_a_search_ask_not_to_be_indexed(site: Deployment, letter: str) -> None:
    """Decided in docs/reference/landing-pages.md: there are endlessly many of them."""
    results = site.get("/search?q=herons", "Accept: text/html").body
    assert b'<meta name="robots" content="noindex">' in results
    for target in ("search", "patterns", f"{letter}?landing", f"pdi://{SERIES}/{today()}/"):
        assert b'name="robots"' not in site.get(f"/{target}", "Accept: text/html").body, target
    assert b"\nDisallow: /search?\n" in site.get("/robots.txt").body
