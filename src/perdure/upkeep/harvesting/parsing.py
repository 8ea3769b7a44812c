"""The XML of other servers, parsed event by event. Pure.

What must stay true: a document type declaration is refused, so that no entity expands; a document
that is not well-formed to its end raises the error.
"""

from __future__ import annotations

from typing import Any, NoReturn, Protocol
from xml.parsers import expat


class XmlEvents(Protocol):
    """The reader of a document, which is called for each element and text.

    The name of an element in a namespace is the namespace, a space and the local name.
    """

    def enter_element(self, name: str, attributes: dict[str, str]) -> None: ...

    def add_text(self, text: str) -> None: ...

    def leave_element(self, name: str) -> None: ...


def parse_events(body: bytes, events: XmlEvents, malformed: type[ValueError]) -> None:
    """Parse a document. Raises `malformed` with the reason, and what the reader raises."""

    def refuse(*_: object) -> NoReturn:
        raise malformed("it has a document type declaration")

    parser: Any = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = events.enter_element
    parser.EndElementHandler = events.leave_element
    parser.CharacterDataHandler = events.add_text
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(body, True)
    except expat.ExpatError as error:
        words = expat.errors.messages[error.code]
        raise malformed(f"it is not XML: {words} (line {error.lineno})") from None
    except UnicodeDecodeError as error:
        raise malformed(f"it is not text: {error.reason}") from None
