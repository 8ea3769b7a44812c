"""The names that a document is about, as its own bytes say: targets of its record.

How it works: an assertion is recognised by its media type, a signed statement by its first line, a
composite by the mark near its beginning. A mint, a commit, an import and a rebuild all ask here, so
that they agree.

`find_asserted` finds those about which a document says something: who brings such a document needs
the right `assert`.

What must stay true: a document that names nothing has no targets, whatever its type says; a long
one is not read. What reads assertions, composites and signatures is loaded when one comes: few do,
and every process that writes or imports asks here.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from perdure.errors import PerdureError
from perdure.formats.essence import JSON_LD
from perdure.ids import Identifier
from perdure.model import composite_marks
from perdure.model.commands import Content
from perdure.model.composite_marks import is_composite
from perdure.signing.statement import DOMAIN

_MARKED = (*composite_marks.HTML, *composite_marks.XML)
_STATEMENT = DOMAIN.encode() + b"\n"


def may_have_targets(content: Content) -> bool:
    """Return False if a content has no targets for sure. It is asked for every new document."""
    data = content.data
    if data is None:
        return False
    is_asserting, is_marked = _judge_type(content.media_type)
    return (
        is_asserting
        or data[: len(_STATEMENT)] == _STATEMENT
        or (is_marked and is_composite(content.media_type, data))
    )


@lru_cache(maxsize=1024)
def _judge_type(media_type: str) -> tuple[bool, bool]:
    """Return if documents of a type may be assertions, and if composites; there are few types."""
    return media_type.startswith(JSON_LD), media_type.startswith(_MARKED)


def find_targets(contents: Iterable[Content]) -> tuple[str, ...]:
    """Return the names that documents are about, each once."""
    found: dict[str, None] = {}
    for content in contents:
        if content.data is not None and may_have_targets(content):
            found.update(dict.fromkeys(read_targets(content.media_type, content.data)))
    return tuple(found)


def may_assert(media_type: str, data: bytes | None) -> bool:
    """Return False if a document is neither an assertion nor a signed statement for sure."""
    if data is None:
        return False
    return _judge_type(media_type)[0] or data[: len(_STATEMENT)] == _STATEMENT


def find_asserted(content: Content) -> tuple[Identifier, ...] | None:
    """Return the names about which an assertion or a signed statement says something.

    None if the document is neither. A composite shows its sources, and says nothing about them.
    """
    data = content.data
    if data is None or not may_assert(content.media_type, data):
        return None
    from perdure.model import assertions
    from perdure.signing import document

    if len(data) > assertions.LONGEST:
        return None
    try:
        if data.startswith(_STATEMENT):
            return (document.parse_signed_statement(data).statement.identifier,)
        return assertions.read_assertion(data).about
    except PerdureError:  # another document
        return None


def read_targets(media_type: str, data: bytes) -> tuple[str, ...]:
    """Return the names that a document is about."""
    if is_composite(media_type, data):
        from perdure.model import composites

        return composites.find_targets(media_type, data)
    from perdure.model import assertions

    if len(data) > assertions.LONGEST:
        return ()
    if data.startswith(_STATEMENT):
        from perdure.signing import document

        return document.find_targets(data)
    if assertions.may_be_assertion(media_type):
        return assertions.find_targets(data)
    return ()
