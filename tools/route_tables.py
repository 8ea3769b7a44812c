"""Writes what is generated from the table of routes, or says what is out of date.

    python tools/route_tables.py --write

It writes the map at the top of `perdure.server.application` and the tables of
docs/reference/http.md. Without `--write` it changes nothing and exits with 1 if one differs;
`tests/server/test_routes.py` asks the same.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from perdure.server.routes.listing import replace_sections, write_map, write_tables
from perdure.server.routes.table import ROUTES

PROJECT = Path(__file__).resolve().parent.parent
PAGE = PROJECT / "docs/reference/http.md"
MODULE = PROJECT / "src/perdure/server/application.py"
_MAP = re.compile(r"(identifiers have a colon in them\.\n\n).*?(\n\nHow it works)", re.DOTALL)


def generate_texts() -> dict[Path, str]:
    """The files as they should be."""
    page, module = PAGE.read_text("utf-8"), MODULE.read_text("utf-8")
    return {
        PAGE: replace_sections(page, write_tables(ROUTES)),
        MODULE: _MAP.sub(lambda found: f"{found[1]}{write_map(ROUTES)}{found[2]}", module, 1),
    }


def main() -> int:
    """Write the files, or compare them."""
    differing = [path for path, text in generate_texts().items() if path.read_text("utf-8") != text]
    if "--write" in sys.argv[1:]:
        for path, text in generate_texts().items():
            path.write_text(text, "utf-8")
        return 0
    for path in differing:
        print(f"{path.relative_to(PROJECT)} is out of date: run tools/route_tables.py --write")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
