"""Remove the framing of chunks from an archived message (RFC 9112 section 7.1).

How it works: many records say `chunked` and are not, because their writer had removed the chunks.
So data that does not begin with a chunk is yielded unchanged, and so is the rest after an invalid
one.

What must stay true: no byte of the content is lost, whatever the framing is like.
"""

from __future__ import annotations

from collections.abc import Iterator

_LONGEST_LINE = 4096


def remove_chunks(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the content of a chunked message.

    >>> b"".join(remove_chunks(iter([b"3\\r\\nabc\\r\\n0\\r\\n\\r\\n"])))
    b'abc'
    """
    buffer = b""
    left = 0
    begun = False
    for piece in pieces:
        buffer += piece
        while buffer:
            if left:
                part = buffer[:left]
                yield part
                left -= len(part)
                buffer = buffer[len(part) :]
                continue
            text = buffer.lstrip(b"\r\n") if buffer[:1] in b"\r\n" else buffer
            line, newline, rest = text.partition(b"\n")
            if not newline and len(text) < _LONGEST_LINE:
                break
            size = line.partition(b";")[0].strip()
            if not newline or not _is_hexadecimal(size):
                yield buffer
                yield from pieces
                return
            left, buffer, begun = int(size, 16), rest, True
            if not left:
                return
    rest = buffer.strip(b"\r\n")
    if not begun or (rest and not _is_hexadecimal(rest)):  # otherwise it is framing, cut off
        yield buffer


def _is_hexadecimal(text: bytes) -> bool:
    return 0 < len(text) <= 16 and all(byte in b"0123456789abcdefABCDEF" for byte in text)
