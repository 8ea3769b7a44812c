"""The tags of a document: the true byte offsets of every one, in one pass.

How it works: a regular expression finds everything that begins with `<`. Tags are by far the most
frequent and match completely. Everything else (comments, declarations, sections, the text of
`script`) has its own way to find its end, and scanning continues from there. There are three
lexical rules:

* `HTML`: the tokenizer of the HTML standard, section 13.2.5, on bytes. After the start tags of
  `script`, `style`, `textarea` and `title`, text follows up to the matching end tag (for `script`
  with the escaped states). No other element has such text, whatever a tree builder would do.

  # ruling: elt-range
* `XML`: XML 1.0. Names may have any characters except delimiters. There are CDATA sections and
  document types with an internal subset, but no elements whose text is not markup.
* `SGML`: as much of SGML as is recognizable without its declaration: like XML, but processing
  instructions end at `>`, and marked sections are known.

An unfinished tag at the end of a document is not a tag. Documents in UTF-16 and the like are
presented to this module through `perdure.extractors.text.ascii_view`.

What must stay true: the lexical rule is normative, because citations contain the numbers of tags: a
change here changes the meaning of identifiers. Every byte is examined a bounded number of times. No
group is possessive and none is repeated without bound (the former goes wrong before Python 3.11.5,
CPython issue 106052; the latter takes memory). Every alternative ends in one that matches, so the
matcher never tries again.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

import msgspec

View = bytes | memoryview
MOST_TAGS = 1 << 24  # in a document; its index then takes 128 MiB
_REST = re.DOTALL | re.VERBOSE

_SPACE = rb"\t\n\f\r\ "
_ATTRIBUTE = rb"""
  [%(s)s/]++
| [^%(s)s/>] [^%(s)s/>=]*+                                  # a name; = may be its first character
  (?: [%(s)s]*+ = [%(s)s]*+                                 # and a value, which may be empty
      (?: "[^"]*+"?+ | '[^']*+'?+ | [^%(s)s>"'] [^%(s)s>]*+ )? )?
"""
_ATTRIBUTES = rb"(?:" + _ATTRIBUTE + rb"){0,64}"
_END = rb"(?: > | (?P<cut>\Z) | (?P<more>) )"  # more: a tag with yet more attributes

_HTML = rb"""
< (?:
    (?: (?P<raw> (?i:script|style|textarea|title) (?=[%(s)s/>]) ) | /?+[A-Za-z] )
    [^%(s)s/>]*+ ATTRIBUTES END
  | (?P<other> !-- | !\[CDATA\[ )
  | (?P<skip> [!?/] [^>]*+ >?+ )                            # bogus comments, doctype, </>
)
"""
_XML = rb"""
< (?:
    /?+ [^\x00-\x20!?/<>=&"'0-9.-] [^%(s)s/>]*+ ATTRIBUTES END
  | (?P<other> !-- | !\[ | !(?i:DOCTYPE) | \? )
  | (?P<skip> [!/] [^>]*+ >?+ )
)
"""


def _compile_pattern(pattern: bytes) -> re.Pattern[bytes]:
    whole = pattern.replace(b"ATTRIBUTES", _ATTRIBUTES).replace(b"END", _END)
    return re.compile(whole % {b"s": _SPACE}, _REST)


_MORE = _compile_pattern(rb"ATTRIBUTES END")
_MANY = rb"""
(?: [^<]*+ (?P<last> < NAME [^%(s)s/<>"'=]*+                  # a part of what is allowed, and
    (?: [%(s)s/]++ [^%(s)s/<>"'=]++                          # nothing that can be read twice
        (?: = (?: "[^"]*+" | '[^']*+' | [^%(s)s<>"'=]++ ) )? ){0,64}
    [%(s)s/]*+ >
) ){1,64}
"""
_MANY_IN_HTML = _compile_pattern(
    _MANY.replace(b"NAME", rb"(?: / | (?! (?i:script|style|textarea|title) [%(s)s/>]) ) [A-Za-z]")
)
_MANY_IN_XML = _compile_pattern(_MANY.replace(b"NAME", rb"""/?+ [^\x00-\x20!?/<>=&"'0-9.-]"""))
_NOTHING = re.compile(rb"\0(?!)")


class Rule(NamedTuple):
    """The definition of a tag in one family of languages."""

    name: str
    pattern: re.Pattern[bytes]
    many: re.Pattern[bytes]
    """Plain tags in a row with the text before them. The last one is the group `last`."""
    ends: tuple[tuple[re.Pattern[bytes], Callable[[View, int], int]], ...]
    """Functions that find the end of a non-tag, by its beginning."""
    folds: bool
    """Whether names are compared case-insensitively."""


class Tags(NamedTuple):
    """Tag number n is the bytes [starts[n], stops[n])."""

    starts: array[int]
    stops: array[int]


def scan_tags(view: View, rule: Rule, most: int = MOST_TAGS) -> Tags:
    """Return the first `most` tags of a document in an ASCII-compatible encoding, in order."""
    code = "I" if len(view) < 1 << 32 else "Q"
    starts, stops = array(code), array(code)
    add_start, add_stop = starts.append, stops.append
    at = 0
    while at < len(view) and len(starts) < most:
        for match in islice(rule.pattern.finditer(view, at), most - len(starts)):
            kind = match.lastgroup
            if kind is None:
                start, stop = match.span()
                add_start(start)
                add_stop(stop)
            elif kind != "skip":
                break
        else:
            break
        end, at = _read_special(view, match, rule)
        if end is not None:
            add_start(match.start())
            add_stop(end)
    return Tags(starts, stops)


def find_tag_after(view: View, at: int, rule: Rule) -> tuple[int, int, int] | None:
    """Return where the next tag starts and stops, and where scanning continues; or None.

    `at` is such a place, or 0.
    """
    while at < len(view) and (match := rule.pattern.search(view, at)):
        kind = match.lastgroup
        if kind is None:
            return *match.span(), match.end()
        if kind == "skip":
            at = match.end()
            continue
        end, at = _read_special(view, match, rule)
        if end is not None:
            return match.start(), end, at
    return None


def _read_special(view: View, match: re.Match[bytes], rule: Rule) -> tuple[int | None, int]:
    """Return the end of a tag that is more than a match, or None if it is not a tag, and where
    scanning continues.
    """
    kind, at = match.lastgroup, match.end()
    if kind == "other":
        return None, _find_end_of_other(view, match.start(), at, rule)
    while kind == "more":
        rest = _MORE.match(view, at)
        kind, at = rest and rest.lastgroup, rest.end() if rest else len(view)
    if kind == "cut":
        return None, at
    raw = match.groupdict().get("raw")
    return at, _find_end_of_text(view, at, raw.lower()) if raw else at


class CharacterData(NamedTuple):
    """Character data at [start, stop)."""

    start: int
    stop: int
    verbatim: bool
    """Whether an ampersand stands for itself, as in a CDATA section."""


def read_text_between(view: View, start: int, stop: int, rule: Rule) -> Iterator[CharacterData]:
    """Yield the character data between two consecutive tags."""
    at = start
    while match := rule.pattern.search(view, at, stop):
        if match.start() > at:
            yield CharacterData(at, match.start(), verbatim=False)
        at = match.end() if match.lastgroup == "skip" else stop
        if match.lastgroup == "other":
            at = min(_find_end_of_other(view, match.start(), match.end(), rule), stop)
            if match[0].startswith(b"<![") and (opening := _CDATA.match(view, match.start())):
                close = at - 3 if view[at - 3 : at] == b"]]>" else at
                yield CharacterData(opening.end(), max(close, opening.end()), verbatim=True)
    if at < stop:
        yield CharacterData(at, stop, verbatim=False)


_CDATA = re.compile(rb"<!\[\s*+(?i:CDATA|RCDATA)\s*+\[")


def _find_end_of_other(view: View, start: int, at: int, rule: Rule) -> int:
    for begins, end in rule.ends:
        if begins.match(view, start):
            return end(view, at)
    return at


# the ends of non-tags
# --------------------


def _make_end_finder(pattern: bytes) -> Callable[[View, int], int]:
    """Return a function that ends after the next match, or at the end of the document."""
    search = re.compile(pattern).search

    def find_end(view: View, at: int) -> int:
        found = search(view, at)
        return found.end() if found else len(view)

    return find_end


_after_cdata = _make_end_finder(rb"\]\]>")
_after_dashes = _make_end_finder(rb"--!?>")
_ABRUPT = re.compile(rb"-?>")


def _after_html_comment(view: View, at: int) -> int:
    abrupt = _ABRUPT.match(view, at)  # <!--> and <!---> are comments without text
    return abrupt.end() if abrupt else _after_dashes(view, at)


_IN_DOCTYPE = re.compile(
    rb"""
    " [^"]*+ "?+ | ' [^']*+ '?+ | (?P<comment> <!-- ) | (?P<instruction> <\? )
    | (?P<open> \[ ) | (?P<close> \] ) | (?P<end> > )
    """,
    re.VERBOSE,
)


def _after_doctype(view: View, at: int, *, instruction: Callable[[View, int], int]) -> int:
    """Return the end of a doctype: after the first `>` outside quotes, comments and the internal
    subset.
    """
    depth = 0
    while found := _IN_DOCTYPE.search(view, at):
        at = found.end()
        match found.lastgroup:
            case "comment":
                at = _after_xml_comment(view, at)
            case "instruction":
                at = instruction(view, at)
            case "open":
                depth += 1
            case "close":
                depth -= 1
            case "end" if depth <= 0:
                return at
    return len(view)


_after_xml_comment = _make_end_finder(rb"-->")
_after_xml_instruction = _make_end_finder(rb"\?>")
_after_sgml_instruction = _make_end_finder(rb">")
_after_opening = _make_end_finder(rb"\[")


def _after_xml_doctype(view: View, at: int) -> int:
    return _after_doctype(view, at, instruction=_after_xml_instruction)


def _after_sgml_doctype(view: View, at: int) -> int:
    return _after_doctype(view, at, instruction=_after_sgml_instruction)


# text that only looks like markup
# --------------------------------


def _find_end_of_text(view: View, at: int, name: bytes) -> int:
    """Return the place of the end tag that ends the text of a raw element, or the end of the
    document.
    """
    if name == b"script":
        return _find_end_of_script(view, at)
    found = _END_TAGS[name].search(view, at)
    return found.start() if found else len(view)


_END_TAGS = {
    name: re.compile(rb"</(?i:%b)(?=[\t\n\f\r />])" % name)
    for name in (b"style", b"textarea", b"title")
}
_IN_SCRIPT = re.compile(rb"<!--|-->|<(/?+)(?i:script)[\t\n\f\r />]")


def _find_end_of_script(view: View, at: int) -> int:
    """Return the end of a script (HTML standard, 13.2.5.15 to 13.2.5.31: a script within a comment
    within a script).
    """
    escaped = twice = False
    while found := _IN_SCRIPT.search(view, at):
        at = found.end()
        if found.group() == b"<!--":
            escaped = True
            at -= 2  # the dashes of <!--> begin and end it
        elif found.group() == b"-->":
            escaped = twice = False
        elif not found.group(1):
            twice = twice or escaped
        elif twice:
            twice = False
        else:
            return found.start()
    return len(view)


def _compile_ends(
    *ends: tuple[bytes, Callable[[View, int], int]],
) -> tuple[tuple[re.Pattern[bytes], Callable[[View, int], int]], ...]:
    return tuple((re.compile(begins), end) for begins, end in ends)


HTML = Rule(
    "html",
    _compile_pattern(_HTML),
    _MANY_IN_HTML,
    _compile_ends((rb"<!--", _after_html_comment), (rb"<!\[CDATA\[", _after_cdata)),
    folds=True,
)
XML = Rule(
    "xml",
    _compile_pattern(_XML),
    _MANY_IN_XML,
    _compile_ends(
        (rb"<!--", _after_xml_comment),
        (rb"<!\[CDATA\[", _after_cdata),
        (rb"<!(?i:DOCTYPE)", _after_xml_doctype),
        (rb"<\?", _after_xml_instruction),
    ),
    folds=False,
)
SGML = Rule(
    "sgml",
    _compile_pattern(_XML),
    _MANY_IN_XML,
    _compile_ends(
        (rb"<!--", _after_xml_comment),
        (rb"<!\[\s*+(?i:CDATA|RCDATA|IGNORE)\s*+\[", _after_cdata),
        (rb"<!\[", _after_opening),
        (rb"<!(?i:DOCTYPE)", _after_sgml_doctype),
        (rb"<\?", _after_sgml_instruction),
    ),
    folds=True,
)
TEXT = Rule("text", _NOTHING, _NOTHING, (), folds=False)  # without any markup


# one tag
# -------


class Attribute(NamedTuple):
    """An attribute by its offsets in the document."""

    name: bytes
    start: int
    stop: int
    value: slice
    """Its value as it is written, without quotes; empty if it has no value."""


class Tag(msgspec.Struct, frozen=True, gc=False):
    """A tag, with its name as it is written."""

    name: bytes
    closing: bool
    """`</a>`"""
    empty: bool
    """`<a/>`; in HTML this has no meaning."""


_NAME = re.compile(rb"<(/?+)([^%b/>]++)" % _SPACE)
_ONE_ATTRIBUTE = re.compile(
    rb"""
    ([^%(s)s/>] [^%(s)s/>=]*+)
    (?: [%(s)s]*+ = [%(s)s]*+ (?: "([^"]*+)" | '([^']*+)' | ([^%(s)s>"'] [^%(s)s>]*+) )? )?
    """
    % {b"s": _SPACE},
    _REST,
)


def read_tag(view: View, start: int, stop: int) -> Tag:
    """Return the tag at [start, stop), which `scan_tags` has found."""
    named = _NAME.match(view, start, stop)
    assert named, "scan finds only tags"  # noqa: S101  (a failure is a mistake of the caller)
    empty = view[stop - 2] == 0x2F and not _has_unquoted_slash(view, start, stop)
    return Tag(named.group(2), bool(named.group(1)), empty)


def read_attributes(view: View, start: int, stop: int) -> Iterator[Attribute]:
    """Yield the attributes of the tag at [start, stop), in order. In HTML the first of a name
    counts.
    """
    named = _NAME.match(view, start, stop)
    if named is None:
        return
    for found in _ONE_ATTRIBUTE.finditer(view, named.end(), stop):
        start, end = found.span()
        group = found.lastindex or 1
        value = slice(*found.span(group)) if group > 1 else slice(end, end)
        yield Attribute(found[1], start, end, value)


def _has_unquoted_slash(view: View, start: int, stop: int) -> bool:
    """Return whether the slash before the end belongs to a value: `<a href=/>`."""
    found = list(read_attributes(view, start, stop))
    return bool(found) and found[-1].stop == stop - 1
