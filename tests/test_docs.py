"""What is not documented fails the build."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from perdure.server.apis import thttp
from perdure.settings import Settings
from perdure.settings.file import format_value

PROJECT = Path(__file__).parent.parent
SOURCES = PROJECT / "src/perdure"
RULINGS = frozenset(
    re.findall(
        r"^\| ([a-z0-9-]*[a-z0-9]) \|",
        (PROJECT / "docs/reference/rulings.md").read_text("utf-8").replace("| ruling |", ""),
        re.MULTILINE,
    )
)
PAGES = sorted(PROJECT.glob("*.md")) + sorted((PROJECT / "docs").rglob("*.md"))


def test_every_setting_is_documented() -> None:
    page = (PROJECT / "docs/reference/settings.md").read_text()
    documented = re.findall(r"^\| `(\w+)` \| `(.*?)` \|", page, re.MULTILINE)
    assert documented == [(one.name, format_value(one.default)) for one in fields(Settings)]


def test_every_service_of_thttp_is_documented() -> None:
    page = (PROJECT / "docs/reference/http.md").read_text("utf-8")
    _, _, section = page.partition("## THTTP")
    documented = re.findall(r"\b[NLI](?:2[A-Za-z]+|=I)", section.partition("\n## ")[0])
    assert {one.upper() for one in documented} == set(thttp.SERVICES)


def test_the_page_of_errors_is_that_of_the_tree() -> None:
    """`python tools/document_errors.py` writes it."""
    tool = PROJECT / "tools/document_errors.py"
    assert subprocess.run([sys.executable, tool, "--check"], check=False).returncode == 0


def anchors(page: Path) -> set[str]:
    """What the headings of a page are linked by, as GitHub makes it of their words."""
    prose = re.sub(
        r"^( *)```.*?^\1```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    headings = re.findall(r"^#+ (.*)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", one.lower()).replace(" ", "-") for one in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", page.read_text("utf-8")):
        path, _, anchor = target.partition("#")
        there = page.parent / path if path else page
        assert there.exists(), f"{target} in {page.name}"
        assert not anchor or anchor in anchors(there), f"{target} in {page.name}"


def test_what_the_drawings_of_areas_name_exists() -> None:
    """docs/explanation/areas.md: "a module or a package below `src/perdure`"."""
    page = (PROJECT / "docs/explanation/areas.md").read_text()
    for drawing in page.split("```")[1::2]:
        names = set(re.findall(r"\b[a-z_]+(?:/[a-z_]+)+", drawing))
        assert names
        for name in names:
            assert (SOURCES / name).is_dir() or (SOURCES / f"{name}.py").is_file(), name


def test_the_index_has_each_page_once() -> None:
    index = PROJECT / "docs/README.md"
    linked = re.findall(r"\]\(([^)]+)\)", index.read_text("utf-8"))
    listed = [str(page.relative_to(index.parent)) for page in index.parent.glob("*/*.md")]
    assert sorted(linked) == sorted(listed)


def list_cited_rulings(source: Path) -> set[str]:
    lines = re.findall(
        r"rulings?:? ((?:[a-z0-9]+-[a-z0-9-]+(?:, | and )?)+)", source.read_text("utf-8")
    )
    return {name for line in lines for name in re.findall(r"[a-z0-9]+(?:-[a-z0-9]+)+", line)}


def test_every_ruling_cited_in_code_is_written_down() -> None:
    for source in SOURCES.rglob("*.py"):
        assert list_cited_rulings(source) <= RULINGS, source.name


def test_every_ruling_is_carried_out_somewhere() -> None:
    cited = {name for source in SOURCES.rglob("*.py") for name in list_cited_rulings(source)}
    assert {name for name in RULINGS if "-" in name} <= cited


def list_imports(package: str) -> set[str]:
    """The packages directly under `perdure` that a package or a module there imports."""
    root = SOURCES / package
    found = set()
    for path in root.rglob("*.py") if root.is_dir() else [root.with_suffix(".py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                names = [f"{node.module}.{one.name}" for one in node.names]
            else:
                names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            found |= {name.split(".")[1] for name in names if name.startswith("perdure.")}
    return found - {package}


def test_a_package_imports_only_packages_above_it_in_the_table() -> None:
    """architecture.md: "A package imports only packages above it in this table"."""
    page = (PROJECT / "docs/explanation/architecture.md").read_text()
    rows = re.findall(r"^\| (`[^|]*`) \|", page.partition("## Packages")[2], re.MULTILINE)
    listed = [name.rstrip("/") for row in rows for name in re.findall(r"`(\w+/?)`", row)]
    packages = {path.stem for path in SOURCES.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert sorted(listed) == sorted(packages - {"__pycache__"})
    for at, package in enumerate(listed):
        below = {name for name in list_imports(package) if name not in listed[:at]}
        assert not below & set(listed), f"{package} imports {below}"
