"""The paragraphs of an office document, collected from its tags and characters.

How it works: a paragraph within a paragraph (a note, a text box) follows it, because a reader of
the outer one does not stop there. Elements that are not shown (deleted text, a second form of the
same drawing) are skipped with everything in them.

What must stay true: a paragraph is one line, except for line breaks of its own.
"""

from __future__ import annotations

from perdure.extractors.mapped_text import TextBuilding
from perdure.extractors.markup.page_text import collapse_space
from perdure.extractors.packages.package import Attributes


class Paragraphs:
    """Paragraphs in the order in which they are read.

    If `collapsing`, white space between tags is one space, and none at either end of a paragraph
    (ODF 1.3 part 3, section 6.1.2).
    """

    def __init__(self, building: TextBuilding, *, collapsing: bool = False) -> None:
        self.building = building
        self._collapsing = collapsing
        self._lines: list[str] = []
        self._open: list[tuple[int, list[str]]] = []
        """Paragraphs that have not ended, the innermost last: the number of its line, and pieces of
        its text."""
        self._skipped = 0
        self._after_space = True

    def start_paragraph(self, _: Attributes) -> None:
        if not self._skipped:
            self._open.append((len(self._lines), []))
            self._lines.append("")
            self._after_space = True

    def end_paragraph(self) -> None:
        """End a paragraph. The outermost one is written with those within it."""
        if self._skipped or not self._open:
            return
        line, pieces = self._open.pop()
        text = "".join(pieces)
        if self._collapsing and self._after_space:
            text = text.removesuffix(" ")
        self._after_space = False
        self._lines[line] = text
        if not self._open:
            for one in self._lines:
                self.write_line(one)
            self._lines = []

    def write_line(self, text: str) -> None:
        """Write a line."""
        self.building.add_text(f"{text}\n")

    def add_characters(self, text: str) -> None:
        """Add characters between tags to the paragraph."""
        if self._skipped or not self._open:
            return
        if self._collapsing:
            text = collapse_space(text)
            if self._after_space:
                text = text.removeprefix(" ")
            if not text:
                return
            self._after_space = text.endswith(" ")
        self._open[-1][1].append(text)

    def add_sign(self, sign: str) -> None:
        """Add a character that the document has as an element, such as a tab."""
        if not self._skipped and self._open:
            self._open[-1][1].append(sign)
            self._after_space = False

    def start_skipping(self, _: Attributes) -> None:
        self._skipped += 1

    def end_skipping(self) -> None:
        self._skipped -= 1
