"""Files that a browser uploads in a form (`multipart/form-data`, RFC 7578), as they stream in.

How it works: werkzeug's decoder, which does no input or output, finds the parts; each file goes
into a spool, and its type is detected from a sample of its bytes, as for every upload. The fields
of the form come before its files, so what they say is checked before a byte of a file is kept.

What must stay true: memory is bounded for any body. Names of files are only shown: no path is made
of one. If the upload is refused or cut off, no file remains.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import PurePosixPath

from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.http import parse_options_header
from werkzeug.sansio.multipart import Data, Epilogue, Field, File, MultipartDecoder, NeedData

from perdure.errors import Incomplete, PerdureError
from perdure.errors.limits import BodyTooLarge, DraftsTooLarge, FilesTooMany
from perdure.errors.requests import FormNotMultipart, MalformedBody
from perdure.formats import detect
from perdure.formats.detect import Sampler
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.desk.drafts import StagedFile
from perdure.server.resource.writing import refuse_coding, spell_type
from perdure.storage.spool import Spool, discard_content

MOST_FILES = 50
_MOST_PARTS = MOST_FILES + 20
_LARGEST_FIELDS = 64 << 10  # bytes
_LONGEST_NAME = 200  # characters
_NOT_SHOWN = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Controls, and marks that turn the direction of a text so that a name looks like another one."""
_SLICE = 32 << 10  # bytes; the decoder holds at most `_LARGEST_FIELDS`

Fields = dict[str, str]


async def read_upload(
    service: Service, request: Request, check: Callable[[Fields], None], room: int
) -> tuple[Fields, tuple[StagedFile, ...]]:
    """Read a form with files. `check` gets the fields before the first file, and may refuse them.
    `room` is the most bytes of all files together.

    Raises what `check` raises, MalformedBody, TooLarge, or Incomplete.
    """
    refuse_coding(request)
    upload = _Upload(service, _make_decoder(request), check, room)
    try:
        more = True
        while more:
            message = await request.receive()
            if message["type"] != "http.request":
                raise Incomplete(expected=None, received=upload.received)
            more = message["more_body"]
            await upload.take_piece(message["body"] or b"", is_last=not more)
        return upload.fields, tuple(upload.files)
    except BaseException:
        upload.discard_files()
        raise
    finally:
        upload.close()


def _make_decoder(request: Request) -> MultipartDecoder:
    kind, options = parse_options_header(request.read_field(b"content-type"))
    boundary = options.get("boundary", "")
    if kind != "multipart/form-data" or not 0 < len(boundary) <= 70:
        raise FormNotMultipart(kind=kind[:100])
    return MultipartDecoder(
        boundary.encode("latin-1", "replace"),
        max_form_memory_size=_LARGEST_FIELDS,
        max_parts=_MOST_PARTS,
    )


class _Upload:
    """A form that arrives."""

    def __init__(
        self,
        service: Service,
        decoder: MultipartDecoder,
        check: Callable[[Fields], None],
        room: int,
    ) -> None:
        self._room = room
        self._service = service
        self._decoder = decoder
        self._check = check
        self._is_checked = False
        self._stack = ExitStack()
        self._spool: Spool | None = None
        self._sampler = Sampler()
        self._name = ""
        self._field: tuple[str, bytearray] | None = None
        self._fields_size = 0
        self.fields: Fields = {}
        self.files: list[StagedFile] = []
        self.received = 0

    async def take_piece(self, piece: bytes, *, is_last: bool) -> None:
        """Take the next bytes of the body."""
        self.received += len(piece)
        try:
            for start in range(0, len(piece), _SLICE):
                self._decoder.receive_data(piece[start : start + _SLICE])
                await self._take_events()
            if is_last:
                self._decoder.receive_data(None)
                await self._take_events()
        except RequestEntityTooLarge as error:
            raise BodyTooLarge(limit=_LARGEST_FIELDS) from error
        except PerdureError:  # some are also a ValueError
            raise
        except ValueError as error:
            raise MalformedBody(body="the form", fault=str(error)) from error
        if is_last and not self._is_checked:
            self._check_fields()

    async def _take_events(self) -> None:
        while not isinstance(event := self._decoder.next_event(), NeedData | Epilogue):
            await self._take_event(event)

    async def _take_event(self, event: object) -> None:
        match event:
            case Field(name=name):
                self._field = (name or "", bytearray())
            case File(filename=filename):
                self._begin_file(filename or "")
            case Data(data=data, more_data=more):
                await self._take_data(data, more)

    def _begin_file(self, filename: str) -> None:
        self._check_fields()
        if len(self.files) >= MOST_FILES:
            raise FilesTooMany(limit=MOST_FILES)
        self._name = clean_name(filename)
        self._spool = self._stack.enter_context(self._service.registry.spool())
        self._sampler = Sampler()

    def _check_fields(self) -> None:
        if not self._is_checked:
            self._is_checked = True
            self._check(self.fields)

    async def _take_data(self, data: bytes, more: bool) -> None:
        if self._field is not None:
            name, value = self._field
            value += data
            self._fields_size += len(data)
            if self._fields_size > _LARGEST_FIELDS:
                raise BodyTooLarge(limit=_LARGEST_FIELDS)
            if not more:
                self.fields.setdefault(name, bytes(value).decode("utf-8", "replace"))
                self._field = None
            return
        spool = self._spool
        if spool is None:
            return
        self._write(spool, data)
        if not more:
            await self._end_file(spool)

    def _write(self, spool: Spool, data: bytes) -> None:
        self._room -= len(data)
        if self._room < 0:
            raise DraftsTooLarge(limit=self._service.settings.draft_bytes)
        spool.write(data)
        self._sampler.feed(data)

    async def _end_file(self, spool: Spool) -> None:
        """Keep a file, unless it is what a browser sends for an empty field."""
        self._spool = None
        if not spool.length and not self._name:
            return
        self._service.metrics.count_upload(spool.length)
        kind = await self._service.run_cutter(
            partial(detect.detect_type, language=None), self._sampler.take_sample()
        )
        kind = detect.resolve_type(None, kind)
        format, media_type = spell_type(kind)
        content = await asyncio.to_thread(
            spool.finish_content, format=format, media_type=media_type, charset=kind.charset
        )
        self.files.append(
            StagedFile(name=self._name or "unnamed", content=content, detected=media_type)
        )

    def discard_files(self) -> None:
        for file in self.files:
            discard_content(self._service.registry.incoming, file.content)

    def close(self) -> None:
        self._stack.close()


def clean_name(filename: str) -> str:
    r"""Return the last component of a file name, in a form that can be shown.

    >>> clean_name("C:\\Users\\x\\a.txt"), clean_name("../../etc/passwd"), clean_name("a\r\nb\x00")
    ('a.txt', 'passwd', 'a__b_')
    """
    last = PurePosixPath(filename.replace("\\", "/")).name
    return _NOT_SHOWN.sub("_", last)[:_LONGEST_NAME]
