"""Documents of delegated names that are kept here, without ASGI, complete or one range of them.

How it works: a name leads to its kept document as long as nothing changes in the registry and the
day is the same (`perdure.server.fast.leads`). `ReadyDocument` is such a document: an open file, and
the fields of its answer. They are written again when its time to live has become a second shorter.
The bytes come from the page cache; the answer with a short document is remembered whole for that
second. The plain way answers if the bytes are not cached or exceed 256 KiB.

Other processes remove and replace entries of the cache, and so may its administrator. So the kernel
is asked before each answer whether the open file is still there (docs/decisions/proxy-cache.md).

What must stay true: an answer from here is the same, byte for byte, as the plain way's; nothing is
answered from an entry that was removed, replaced or has expired; at most `MOST_OPEN` files are
open.
"""

from __future__ import annotations

from http import HTTPStatus

from perdure.server.common.answers import STATUS_LINES, write_fields
from perdure.server.common.bodies import read_cached
from perdure.server.common.conditions import Span
from perdure.server.common.proxy_cache import KeptFile, ProxyCache
from perdure.server.resource.kept import describe_kept, make_range_fields
from perdure.storage.byte_ports import CHUNK

MOST_OPEN = 256
"""The most kept documents that one process has open."""
_SHORT = 16 << 10  # bytes: all open documents of this length take 4 MiB


class ReadyDocument:
    """A kept document, ready to be sent."""

    def __init__(self, file: KeptFile, cache: ProxyCache, pseudonym: str) -> None:
        """`pseudonym` is the name of this resolver in `Via`."""
        self.file: KeptFile | None = file
        """The open file, or None if the document must be looked for again."""
        self._document = file.document
        self._cache = cache
        self._pseudonym = pseudonym
        self._rest = -1
        """The seconds to live for which the fields are written."""
        self._fields = b""
        """The fields that are the same for all ranges."""
        self._head = b""
        """The status line and all fields of the whole document."""
        self._whole: bytes | None = None
        """The head and a short document."""

    def write_answer(self, asked: Span | None) -> bytes | None:
        """Write a complete response, or return None if the plain way must answer.

        `asked` is the range as in the request: it may be beyond the end.
        """
        file, document, now = self.file, self._document, self._cache.clock()
        rest = self._cache.find_rest(document, now)
        if file is None or rest is None or not file.is_in_place(now):
            self.file = None
            return None
        if rest != self._rest:
            self._write_head(file, rest)
        if asked is None and self._whole is not None:
            return self._whole
        head, span = self._head, (0, document.length)
        if asked is not None and asked[0] < document.length:
            span = (asked[0], min(asked[1], document.length))
            fields = write_fields(make_range_fields(document, span, partial=True))
            line = STATUS_LINES[HTTPStatus.PARTIAL_CONTENT]
            head = b"".join((line, self._fields, fields, b"\r\n"))
        body = _read_span(file, span)
        return None if body is None else head + body

    def drop_removed(self, now: float) -> bool:
        """Close the file if it was removed or replaced. Return True if the document is closed."""
        if self.file is not None and not self.file.is_in_place(now, is_use=False):
            self.file = None
        return self.file is None

    def _write_head(self, file: KeptFile, rest: int) -> None:
        self._rest = rest
        self._fields = write_fields(describe_kept(self._document, self._pseudonym, rest))
        span = (0, self._document.length)
        whole = write_fields(make_range_fields(self._document, span, partial=False))
        self._head = b"".join((STATUS_LINES[HTTPStatus.OK], self._fields, whole, b"\r\n"))
        body = _read_span(file, span) if self._document.length <= _SHORT else None
        self._whole = None if body is None else self._head + body


def _read_span(file: KeptFile, span: Span) -> bytes | None:
    """Read a span of a document from the page cache; None if it is not there."""
    length = span[1] - span[0]
    body = read_cached(file.fd, length, span[0])
    return None if body is None or len(body) != length else body


class ReadyDocuments:
    """The documents that one process has open."""

    def __init__(self, cache: ProxyCache, pseudonym: str) -> None:
        self._cache = cache
        self._pseudonym = pseudonym
        self._open: dict[str, ReadyDocument] = {}

    def find_document(self, name: str) -> ReadyDocument | None:
        """Return the document of a name with format and version, or None if the plain way must
        look for it."""
        found = self._open.get(name)
        if found is not None and found.file is not None:
            return found
        file = self._cache.open_document(name) if self._cache.is_on else None
        if file is None or file.document.length > CHUNK:
            return None
        self._open.pop(name, None)
        if len(self._open) >= MOST_OPEN:
            self._open.pop(next(iter(self._open))).file = None
        self._open[name] = made = ReadyDocument(file, self._cache, self._pseudonym)
        return made

    def drop_removed(self) -> None:
        """Close the files that were removed or replaced: until then, they take space."""
        now = self._cache.clock()
        for name, one in list(self._open.items()):
            if one.drop_removed(now):
                del self._open[name]
