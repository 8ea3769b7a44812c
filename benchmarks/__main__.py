"""`python -m benchmarks [NAME …]`: runs the benchmarks, prints one table of ratios.

The exit code is 1 where a ratio misses its target.
"""

from __future__ import annotations

import importlib
import sys

from benchmarks.measure import Ratio, show
from benchmarks.servers import Missing

NAMES = (
    "parse",
    "minting",
    "http_minting",
    "handle_writing",
    "loading",
    "upkeep",
    "authorisation",
    "rights",
    "listing",
    "sizes",
    "redirects",
    "schemes",
    "links",
    "handles",
    "held",
    "hostile",
    "cold_disk",
    "neighbours",
    "metadata",
    "signatures",
    "archives",
    "cdx_server",
    "collections",
    "parts_markup",
    "parts_text",
    "parts_images",
    "parts_audio",
    "parts_video",
    "texts",
    "citations",
    "assertions",
    "fingerprints",
    "declared",
    "searching",
    "pages",
    "network",
    "network_mirrors",
    "network_proxies",
)


def main(names: list[str]) -> int:
    ratios: list[Ratio] = []
    for name in names or NAMES:
        print(f"{name} …", file=sys.stderr)
        try:
            ratios += importlib.import_module(f"benchmarks.{name}").run()
        except Missing as missing:
            print(f"{name} left out: {missing}", file=sys.stderr)
    return 0 if show(ratios) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
