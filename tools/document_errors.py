"""Write the tables of docs/reference/errors.md from the tree of errors.

    python tools/document_errors.py           write them
    python tools/document_errors.py --check   exit with 1 if they are not those of the tree

The tables stand between two comments of the page each; all other text is written by hand.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from perdure.errors import PerdureError
from perdure.errors.tree import list_classes
from perdure.server.common.problems import STATUS

PAGE = Path(__file__).parent.parent / "docs/reference/errors.md"


def describe_class(kind: type[PerdureError]) -> str:
    """The first paragraph of its docstring, without the names of rulings."""
    paragraph = (kind.__doc__ or "").split("\n\n")[0]
    text = re.sub(r"\s*# ruling: [a-z-]+", ".", " ".join(paragraph.split()))
    return text.removesuffix(" Abstract: each reason has a class.").replace("|", "\\|")


def list_members(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "–"


def write_codes() -> Iterator[str]:
    """The classes with a code of their own, in the order of the table of statuses."""
    yield "| code | status | meaning | members |"
    yield "| --- | --- | --- | --- |"
    for kind, status in STATUS.items():
        if kind is not PerdureError:
            members = list_members(tuple(dict.fromkeys((*kind.computed, *kind.fields))))
            yield f"| `{kind.code}` | {status.value} | {describe_class(kind)} | {members} |"


def write_reasons() -> Iterator[str]:
    """The classes that share the code of their parent."""
    yield "| class in `perdure.errors` | code | meaning | members |"
    yield "| --- | --- | --- | --- |"
    reasons = (kind for kind in list_classes() if kind.__module__.startswith("perdure.errors."))
    for kind in sorted(reasons, key=lambda kind: (kind.__module__, kind.__name__)):
        is_abstract = not all(hasattr(kind, name) or name in kind.fields for name in kind.computed)
        if "code" not in vars(kind) and not is_abstract:
            area = kind.__module__.removeprefix("perdure.errors.")
            own = list_members(tuple(name for name in kind.fields if name not in kind.computed))
            name = f"`{area}.{kind.__name__}`"
            yield f"| {name} | `{kind.code}` | {describe_class(kind)} | {own} |"


def fill_page(page: str) -> str:
    for mark, rows in (("codes", write_codes()), ("reasons", write_reasons())):
        begin, end = f"<!-- {mark}: tools/document_errors.py -->\n", f"<!-- end of {mark} -->"
        before, found, rest = page.partition(begin)
        if not found:
            raise SystemExit(f"{PAGE.name} has no place for {mark}")
        table = "\n".join(rows)
        page = f"{before}{begin}\n{table}\n\n{end}{rest.partition(end)[2]}"
    return page


def main() -> int:
    page = PAGE.read_text("utf-8")
    filled = fill_page(page)
    if "--check" in sys.argv[1:]:
        return int(filled != page)
    PAGE.write_text(filled, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
