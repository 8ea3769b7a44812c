"""Text that a browser finds and highlights: `:~:text=[prefix-,]start[,end][,-suffix]`.

Specification: URL Fragment Text Directives (WICG), section 3. Each directive highlights a text of
its own. A part is a single text, so the first well-formed directive is read. An ID before `:~:` is
for browsers that do not support directives.

>>> read_directive(":~:text=an%20example,text-,-here")  # doctest: +ELLIPSIS
Traceback (most recent call last):
perdure.errors.texts.MalformedPart: ... at 8; expected text=[prefix-,]start[,end][,-suffix] ...
>>> read_directive("intro:~:unknown=1&text=This%20is-,an%20example,-text%2dbook")
TextDirective(start='an example', end=None, prefix='This is', suffix='text-book')
"""

from __future__ import annotations

import re

from perdure.errors import MalformedPart
from perdure.parts.grammar import check_text, decode_piece
from perdure.parts.port import MARKUP, SGML, XML, Syntax
from perdure.parts.selectors import TEXT_DIRECTIVE, TextDirective

_RULE = "URL Fragment Text Directives section 3.1"
DELIMITER = ":~:"

# TextDirectiveParameters   ::= (TextDirectivePrefix ",")? TextDirectiveString
#                               ("," TextDirectiveString)? ("," TextDirectiveSuffix)?
# TextDirectivePrefix       ::= TextDirectiveString "-"
# TextDirectiveSuffix       ::= "-" TextDirectiveString
# TextDirectiveExplicitChar ::= any character but "&", "-" and ","
_TERM = "([^&,-]++)"
_DIRECTIVE = re.compile(f"text=(?:{_TERM}-,)?{_TERM}(?:,{_TERM})?(?:,-{_TERM})?")


def read_directive(text: str) -> TextDirective:
    """Read the text that the first well-formed directive names. Raises MalformedPart."""
    check_text(text, _RULE)
    _, delimiter, directives = text.partition(DELIMITER)
    at = stopped = len(text) - len(directives)
    for one in directives.split("&"):
        if found := _DIRECTIVE.fullmatch(one):
            prefix, start, end, suffix = (_decode_term(one) for one in found.groups())
            if start and None not in (prefix, end, suffix):
                return TextDirective(start, end or None, prefix or None, suffix or None)
        if one.startswith("text="):
            stopped = at + len("text=")
        at += len(one) + 1
    expected = "text=[prefix-,]start[,end][,-suffix]" if delimiter else f"'{DELIMITER}text='"
    raise MalformedPart(text=text, at=min(stopped, len(text)), expected=expected, rule=_RULE)


# positions of the scheme `quote`: [prefix "-,"] start ["," end] [",-" suffix]
_RAW = "[^(),]"
_QUOTED = rf"\({_RAW}++\)|{_RAW}++"
_QUOTE = re.compile(rf"(?:({_RAW}+)-,)?({_QUOTED})(?:,(?!-)({_QUOTED}))?(?:,-({_RAW}++))?")
_QUOTE_RULE = "ruling pdi-other-schemes"


def read_quote_scheme(text: str) -> TextDirective:
    """Read a PDI's `quote=TEXT`, or `quote=PREFIX-,TEXT,-SUFFIX`. Raises MalformedPart.

    Parentheses mark a text whose hyphen at the beginning or end is its own, because the canonical
    form of a PDI has no escaped hyphens.

    >>> read_quote_scheme("quote=names%20that-,outlive,-servers")
    TextDirective(start='outlive', end=None, prefix='names that', suffix='servers')
    >>> read_quote_scheme("quote=(a-),b").start
    'a-'
    """
    scheme, _, positions = text.partition("=")
    found = _QUOTE.fullmatch(positions)
    terms = [_read_quoted(one) for one in found.groups()] if found else []
    if not found or "" in terms:
        expected = "[prefix-,]start[,end][,-suffix], with commas and parentheses escaped"
        raise MalformedPart(text=text, at=len(scheme) + 1, expected=expected, rule=_QUOTE_RULE)
    prefix, start, end, suffix = terms
    return TextDirective(start or "", end, prefix, suffix)


def _read_quoted(written: str | None) -> str | None:
    """Decode a term: None if it is missing, empty if its escapes are not UTF-8."""
    return None if written is None else decode_piece(written.strip("()")) or ""


def _decode_term(written: str | None) -> str | None:
    """Decode a term: empty if it is missing, None if its escapes are not UTF-8."""
    return decode_piece(written) if written else ""


SYNTAX = Syntax(
    name=":~:text= (URL Fragment Text Directives)",
    media_types=("text/*", *SGML),  # ruling: part-meaning
    except_types=(*MARKUP, *XML),
    mark=re.compile(DELIMITER),
    read=read_directive,
    forms={TextDirective: (":~:text=",)},
    specifications=(TEXT_DIRECTIVE,),
    schemes=("quote",),
    read_scheme=read_quote_scheme,
    turn=60,
)
IN_MARKUP = Syntax(
    name=SYNTAX.name,
    media_types=(*MARKUP, *XML),
    mark=SYNTAX.mark,
    read=read_directive,
    schemes=SYNTAX.schemes,
    read_scheme=read_quote_scheme,
    turn=40,
)
