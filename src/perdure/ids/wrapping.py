"""Text around an identifier: what people copy with it from a page, a mail or a reference list.

How it works: `unwrap_text` removes white space, brackets, quotation marks and `URL:` (RFC 3986
appendix C) from both ends. `list_guesses` lists what a text may mean that begins with no known
prefix; `perdure.ids.parse` names the first guess that is an identifier in its error. It never reads
the guess instead: a parser is strict, and the command line and the forms for people unwrap
(`perdure.reading.pasted`).

What must stay true: both take time linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

_PAIRS = {
    "<": ">", "(": ")", "[": "]", "{": "}", "`": "`", '"': '"', "'": "'",
    "“": "”", "„": "“”", "”": "”", "‘": "’", "‚": "‘’", "’": "’",
    "«": "»", "»": "«", "‹": "›", "›": "‹",
}  # fmt: skip
"""By what opens, all that may close."""
_MOST_PAIRS = 3
_LABEL = re.compile("URL:[ \t]*", re.ASCII | re.IGNORECASE)
_ENDS = ".,;:!?"
"""Punctuation of the sentence, after what closes."""
_ADDRESS = re.compile("https?://[^/?#]*/+", re.ASCII | re.IGNORECASE)
_DOI = re.compile(r"10\.[0-9]{4,9}(?:\.[0-9]+)*/", re.ASCII)

_DATED = re.compile(r"[A-Za-z0-9.-]+/[0-9*]", re.ASCII)
"""The series of a PDI, and the beginning of its date."""


def unwrap_text(text: str) -> str:
    """Remove white space, brackets and quotation marks around a text.

    >>> unwrap_text(" <URL:pdi://a.us/1997/09/01/1>."), unwrap_text("“doi:10.1000/182”")
    ('pdi://a.us/1997/09/01/1', 'doi:10.1000/182')
    """
    found = text.strip()
    for _ in range(_MOST_PAIRS):
        closing = _PAIRS.get(found[:1])
        ended = found.rstrip(_ENDS) if closing else found
        if closing is None or len(ended) < len("<>") or ended[-1] not in closing:
            break
        found = ended[1:-1].strip()
    return _LABEL.sub("", found, count=1) if _LABEL.match(found) else found


def list_guesses(text: str) -> Iterator[str]:
    """Yield texts that may be the identifier which a text means, the most likely first.

    >>> list(list_guesses("http://pid.example.org/pdi://a.us/1997/09/01/1"))
    ['pdi://a.us/1997/09/01/1']
    >>> list(list_guesses("a.us/1997/09/01/1"))
    ['pdi://a.us/1997/09/01/1']
    """
    found = unwrap_text(text)
    if found.startswith("%"):  # wrapped in a target
        found = unwrap_text(unquote(found))
    if found != text:
        yield found
    if address := _ADDRESS.match(found):
        yield found[address.end() :]
    elif _DOI.match(found):
        yield f"doi:{found}"
    elif _DATED.match(found):
        yield f"pdi://{found}"
