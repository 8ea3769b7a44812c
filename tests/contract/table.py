"""The contract table, `vectors/contract.json`: which face can ask what of which kind of name.

How it works: the table says for each kind of name and each question one outcome, and for each face
how it spells a question, or why it cannot ask it. `cells` multiplies them: each cell is one
request to one face, with the outcome that it must have. docs/reference/contract.md explains the
language of outcomes.

What must stay true: a kind answers every question, or says why it cannot be asked; a face spells
every question, or says why it cannot ask it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

FILE = Path(__file__).parents[2] / "vectors" / "contract.json"
TABLE: dict[str, Any] = json.loads(FILE.read_text("utf-8"))

Outcome = dict[str, Any]


class Cell(NamedTuple):
    """One request to one face, and the outcome that it must have."""

    face: str
    kind: str
    question: str
    spelling: str
    expected: Outcome

    @property
    def label(self) -> str:
        return f"{self.face}-{self.kind}-{self.question}-{self.spelling}".replace(" ", "_")


class Gap(NamedTuple):
    """A cell that cannot be asked, and the reason."""

    face: str
    kind: str
    question: str
    reason: str


def read_cells() -> Iterator[Cell | Gap]:
    """Every cell of the table, in its order."""
    differing = {
        (face, kind, one["spelling"]): one["outcome"]
        for one in TABLE["differs"]
        for face, has in TABLE["faces"].items()
        for kind in one["kinds"]
        if one["face"] in (face, has.get("like"))
    }
    for face, has in TABLE["faces"].items():
        for kind, name in TABLE["kinds"].items():
            for question in TABLE["questions"]:
                reason = _find_reason(has, kind, name, face, question)
                if reason is not None:
                    yield Gap(face, kind, question, reason)
                    continue
                for spelling in has["asks"][question]:
                    reason = name.get("cannot", {}).get(f"{face}: {spelling}")
                    if reason is not None:
                        yield Gap(face, kind, question, reason)
                        continue
                    expected = _say(has, name["answers"][question])
                    expected = differing.get((face, kind, spelling), expected)
                    yield Cell(face, kind, question, spelling, expected)


def _find_reason(
    face: dict[str, Any], label: str, kind: dict[str, Any], name: str, question: str
) -> str | None:
    """The reason why a face cannot ask a question about a kind of name; None if it can."""
    of_kind: dict[str, str] = kind.get("cannot", {})
    only = face.get("only")
    candidates = [find_face_reason(face, question), of_kind.get(question)]
    for one in (name, face.get("like", name)):
        candidates += [of_kind.get(one), of_kind.get(f"{one}: {question}")]
    if only is not None and label not in only["kinds"]:
        candidates.append(only["reason"])
    return next((one for one in candidates if one is not None), None)


def find_face_reason(face: dict[str, Any], question: str) -> str | None:
    """The reason why a face cannot ask a question about any name; None if it can."""
    if question in face["asks"]:
        return None
    reasons: dict[str, str] = face["cannot"]
    reason = reasons.get(question)
    return reasons.get("every other question") if reason is None else reason


def _say(face: dict[str, Any], outcome: Outcome) -> Outcome:
    """An outcome in the words of a face, whose protocol may have one word for several."""
    word = face.get("says", {}).get(outcome["is"])
    return outcome if word is None else {"is": word}


def cells() -> list[Cell]:
    """The cells that are asked."""
    return [one for one in read_cells() if isinstance(one, Cell)]


def fill_spelling(spelling: str, kind: dict[str, Any]) -> str:
    """A spelling with the name of a kind and its part put in."""
    return spelling.format_map(_Fields(kind))


class _Fields(dict[str, str]):
    """The fields of a kind. A path is spelled like the name, unless the table says otherwise."""

    def __missing__(self, field: str) -> str:
        if field == "path":
            return self["name"]
        if field == "query":
            return quote(self["name"], safe="")
        if field == "id":  # EZID reads its path decoded once
            return quote(self["name"], safe="/:")
        if field == "doi":
            return self["name"].removeprefix("doi:")
        if field == "info":
            return "info"
        raise KeyError(field)
