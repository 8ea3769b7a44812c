"""People and organisations in citations: order, initials, "and", "et al."

Specification: CSL 1.0.2, "Names" and "Name".

What must stay true: the name of an organisation is never inverted or shortened to initials.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from perdure.metadata.citation.locale import NAMESPACE, Locale
from perdure.metadata.citation.wording import add_affixes, append_text, change_case

_SHARED = (
    "and", "delimiter-precedes-et-al", "delimiter-precedes-last", "et-al-min", "et-al-use-first",
    "et-al-use-last", "initialize", "initialize-with", "name-as-sort-order",
    "sort-separator",
)  # fmt: skip


class Look(msgspec.Struct, frozen=True):
    """Format of the names of one element."""

    conjunction: str
    delimiter: str
    precedes_last: str
    precedes_et_al: str
    et_al: str
    et_al_min: int
    use_first: int
    use_last: bool
    form: str
    initialize: bool
    initialize_with: str | None
    sort_order: str
    separator: str
    parts: dict[str, tuple[str, str, str]]
    """Prefix, suffix and text case of `family` and of `given`."""
    prefix: str
    suffix: str
    gap: str
    """Space between a particle and the name after it."""


def read_look(element: Any, above: Sequence[Mapping[str, str]], locale: Locale) -> Look:
    """Read the format of a names element. `above` is the layout and the style, nearest first."""
    name = element.find(f"{NAMESPACE}name")
    own = dict(name.attrib) if name is not None else {}
    if own.get("form") == "count":
        own["form"] = "long"
    inherited: dict[str, str] = {}
    for level in reversed(above):
        inherited |= {key: level[key] for key in _SHARED if key in level}
        if "name-delimiter" in level:
            inherited["delimiter"] = level["name-delimiter"]
        if "name-form" in level:
            inherited["form"] = level["name-form"]
    found: Mapping[str, str] = inherited | own
    joiner = {"text": locale.find_term("and"), "symbol": "&"}.get(found.get("and", ""), "")
    et_al = element.find(f"{NAMESPACE}et-al")
    word = "et-al" if et_al is None else et_al.get("term", "et-al")
    parts = () if name is None else name.findall(f"{NAMESPACE}name-part")
    return Look(
        conjunction=joiner,
        delimiter=found.get("delimiter", ", "),
        precedes_last=found.get("delimiter-precedes-last", "contextual"),
        precedes_et_al=found.get("delimiter-precedes-et-al", "contextual"),
        et_al=locale.find_term(word),
        et_al_min=int(found.get("et-al-min", 0)),
        use_first=int(found.get("et-al-use-first", 1)),
        use_last=found.get("et-al-use-last") == "true",
        form=found.get("form", "long"),
        initialize=found.get("initialize", "true") == "true",
        initialize_with=found.get("initialize-with"),
        sort_order=found.get("name-as-sort-order", ""),
        separator=found.get("sort-separator", ", "),
        parts={
            one.get("name"): (
                one.get("prefix", ""),
                one.get("suffix", ""),
                one.get("text-case", ""),
            )
            for one in parts
        },
        prefix=own.get("prefix", ""),
        suffix=own.get("suffix", ""),
        gap="\xa0" if locale.name.startswith("fr") else " ",
    )


def write_names(people: Sequence[Mapping[str, str]], look: Look) -> str:
    """Write a list of names in a format."""
    inverted = [
        look.sort_order == "all" or (look.sort_order == "first" and not at)
        for at in range(len(people))
    ]
    texts = [_write_name(one, look, turn) for one, turn in zip(people, inverted, strict=True)]
    count = len(texts)
    if look.et_al_min and count >= look.et_al_min and look.use_first < count:
        shown = texts[: look.use_first]
        first = look.delimiter.join(shown)
        if look.use_last and count > look.use_first + 1:
            return f"{first}{look.delimiter}… {texts[-1]}"
        if not look.et_al:
            return first
        comma = _is_delimited(look.precedes_et_al, len(shown), inverted[len(shown) - 1], least=2)
        return append_text(append_text(first, look.delimiter if comma else " "), look.et_al)
    if count < 2 or not look.conjunction:
        return look.delimiter.join(texts)
    # citeproc-js treats an organisation after persons as a separate list
    rule = "contextual" if "literal" in people[-1] else look.precedes_last
    comma = _is_delimited(rule, count - 1, inverted[count - 2], least=2)
    before = look.delimiter.join(texts[:-1])
    return f"{before}{look.delimiter if comma else ' '}{look.conjunction} {texts[-1]}"


def _is_delimited(rule: str, before: int, inverted: bool, *, least: int) -> bool:
    """Return True if the delimiter precedes "and" or "et al."."""
    return (
        rule == "always"
        or (rule == "contextual" and before >= least)
        or (rule == "after-inverted-name" and inverted)
    )


def _write_name(person: Mapping[str, str], look: Look, inverted: bool) -> str:
    if "literal" in person or "family" not in person:
        whole = person.get("literal") or person.get("given", "")
        return add_affixes(
            _style_part(whole.replace("'", "’"), "family", look), look.prefix, look.suffix
        )
    particle = person.get("non-dropping-particle", "")
    dropping = person.get("dropping-particle", "")
    gap = "" if particle[-1:] in ("", "'", "’") else look.gap
    family = f"{particle}{gap}"
    family = _style_part((family + person["family"]).replace("'", "’"), "family", look)
    if look.form == "short":
        return family
    given = person.get("given", "").replace("'", "’")
    if look.initialize_with is not None:
        given = write_initials(given, look.initialize_with, whole=look.initialize)
    if _EAST_ASIAN.match(person["family"]):
        blank = "" if _EAST_ASIAN.match(given) else " "
        return add_affixes(f"{person['family']}{blank}{given}".rstrip(), look.prefix, look.suffix)
    suffix = person.get("suffix", "")
    if inverted:
        given = _style_part(" ".join(part for part in (given, dropping) if part), "given", look)
        text = look.separator.join(part for part in (family, given, suffix) if part)
    else:
        given = _style_part(given, "given", look)
        text = " ".join(part for part in (given, dropping, family, suffix) if part)
    return add_affixes(text, look.prefix, look.suffix)


_EAST_ASIAN = re.compile(
    "[\u1100-\u11ff\u2e80-\ua4cf\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U0001b000-\U0001b16f"
    "\U00020000-\U0003ffff]"
)
"""Han, Kana, Hangul and Yi, written without blanks: a name in them is one word, family first, and
is never inverted (CSL 1.0.2, "Names")."""


def _style_part(text: str, part: str, look: Look) -> str:
    prefix, suffix, case = look.parts.get(part, ("", "", ""))
    if case and text:
        text = change_case(text, case, english=False)
    return add_affixes(text, prefix, suffix)


_INITIAL = re.compile(r"(?:[^\W\d_]\.)+", re.UNICODE)
_WITHOUT_CASE = re.compile("[\u05d0-\u05ea\u0620-\u064a\u066e-\u06d3]")
"""Letters of Hebrew and Arabic. They have no case and count as capitals."""


def write_initials(given: str, mark: str, *, whole: bool) -> str:
    """Shorten given names to initials; unless `whole`, only format those that already are initials.

    >>> write_initials("Jane Mary", ". ", whole=True), write_initials("Jean-Luc", ". ", whole=True)
    ('J. M.', 'J.-L.')
    >>> write_initials("Jane M.", ". ", whole=False)
    'Jane M.'
    """
    pieces: list[str] = []
    for word in given.replace(".", ". ").replace(". -", ".-").split():
        bare = word.rstrip(".")
        if (whole and _is_large(bare[:1])) or _INITIAL.fullmatch(word) or _is_initials(word):
            halves = [half.strip(".") for half in word.split("-")]
            letters = [half[0] for half in halves if _is_large(half[:1])]
            pieces.append(f"{mark.rstrip()}-".join(letters) + mark)
        else:
            pieces.append(f"{word} ")
    return "".join(pieces).strip()


def _is_large(letter: str) -> bool:
    return letter.isupper() or _WITHOUT_CASE.match(letter) is not None


def _is_initials(word: str) -> bool:
    """Return True for single capitals: `M`, `M.` or `J.-L.`."""
    halves = [half for half in re.split(r"[.-]", word) if half]
    return bool(halves) and all(len(half) == 1 and half.isupper() for half in halves)
