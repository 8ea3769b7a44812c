"""Extractors that do what decoders do when they are attacked; a worker imports them by name."""

from __future__ import annotations

import os
import pickle
import socket
import struct
import time
from pathlib import Path
from typing import Any

from perdure.errors import PartNotFound
from perdure.extractors.port import CHUNK, Extent, Indexes, Part, Source, Stream
from perdure.parts import ByteRange, Selector


class _Extractor:
    media_types = ("*/*",)
    selectors = (ByteRange,)
    confined = True
    install = None

    def list_extents(self, source: Source, indexes: Indexes) -> tuple[Extent, ...]:
        return (Extent(syntax="byte=0,1", what="octets", size=source.length),)


class Sleeping(_Extractor):
    def extract_part(self, source: Source, selector: Selector, indexes: Indexes) -> Part:
        time.sleep(600)
        raise AssertionError


class Spinning(_Extractor):
    def extract_part(self, source: Source, selector: Selector, indexes: Indexes) -> Part:
        while True:
            pass


class Greedy(_Extractor):
    def extract_part(self, source: Source, selector: Selector, indexes: Indexes) -> Part:
        return Part(selector=selector, media_type="x/y", body=(bytes(bytearray(1 << 30)),))


class Crashing(_Extractor):
    def extract_part(self, source: Source, selector: Selector, indexes: Indexes) -> Part:
        os.abort()


class Mistaken(_Extractor):
    def extract_part(self, source: Source, selector: Selector, indexes: Indexes) -> Part:
        raise ZeroDivisionError


class Failing(_Extractor):
    def extract_part(self, source: Source, selector: Selector, indexes: Indexes) -> Part:
        raise PartNotFound(identifier=source.name, selector=str(selector), extent="nothing")


class Streaming(_Extractor):
    def extract_part(self, source: Source, selector: Selector, indexes: Indexes) -> Part:
        chunks = (bytes([n]) * 300_000 for n in range(10))
        return Part(selector=selector, media_type="x/y", body=Stream(chunks))


class Trickling(_Extractor):
    def extract_part(self, source: Source, selector: Selector, indexes: Indexes) -> Part:
        chunks = (b"" if n % 2 else b"row\r\n" for n in range(200_000))
        return Part(selector=selector, media_type="x/y", body=Stream(chunks))


class FailingLater(_Extractor):
    def extract_part(self, source: Source, selector: Selector, indexes: Indexes) -> Part:
        def chunks() -> Any:
            yield b"x" * CHUNK
            yield b"x"
            raise PartNotFound(identifier="x", selector="y", extent="nothing more")

        return Part(selector=selector, media_type="x/y", body=Stream(chunks()))


class _Evil:
    """What a pickle of this does when it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


class Fallen(_Extractor):
    """A worker that was taken over says what it likes."""

    def extract_part(self, source: Source, selector: Selector, indexes: Indexes) -> Part:
        assert isinstance(selector, ByteRange)
        wire = socket.socket(fileno=os.dup(0))
        evil = pickle.dumps(_Evil(source.path.with_name("harm")))
        long = struct.pack(">IB", 0xFFFFFFFF, 1) + bytes(1000)
        kinds = [struct.pack(">IB", len(evil), kind) + evil for kind in range(4)]
        wire.sendall([*kinds, long, b"", b"garbage" * 100][selector.start])
        os._exit(0)


SLEEPING, SPINNING, GREEDY, CRASHING = Sleeping(), Spinning(), Greedy(), Crashing()
MISTAKEN, FAILING, STREAMING, FAILING_LATER = Mistaken(), Failing(), Streaming(), FailingLater()
FALLEN, TRICKLING = Fallen(), Trickling()
