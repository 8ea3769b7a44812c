"""The one place that speaks to the object store: its requests, and their errors as ours.

How it works: obstore signs and repeats the requests. A request that may already have been carried
out when it is repeated is a conditional creation: the store then answers that the object exists,
and the bytes there show whether they are ours.

What must stay true: `create_object` returns only after the store has acknowledged these bytes at
this key; no error has a secret.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import obstore
from obstore import exceptions
from obstore.store import S3Store

from perdure.errors.object_stores import (
    BucketMissing,
    ObjectCredentialsRefused,
    ObjectStoreBusy,
    ObjectStoreFailed,
    ObjectStoreRefused,
    ObjectStoreSilent,
    ObjectTaken,
)
from perdure.storage.segments.objects.addresses import ObjectAddress

PIECE = 8 << 20
"""Bytes that are fetched or sent in one request."""
_STATUS = re.compile(r"status code: (\d{3})")
_MESSAGE = re.compile(r"<Message>([^<]{0,200})")
_TOO_FAR = 416
_LONGEST_FAULT = 200
_NO_VERSION = "null"  # of a bucket without versioning, or with suspended versioning

Pieces = Callable[[], Iterator[bytes]]
"""Returns the bytes of an object in pieces, from the beginning each time.

They do not come from a request to the store: the library allows none while it sends."""


class ObjectAbsent(Exception):
    """There is no object with this key."""


class ObjectClient:
    """The objects below one prefix of a bucket. Safe to use from several threads."""

    def __init__(self, address: ObjectAddress, prefix: str, *, is_patient: bool = True) -> None:
        """`is_patient`: repeat requests for a while, rather than give up at once."""
        self._address = address
        self._place = "/".join(filter(None, (f"s3://{address.bucket}", prefix)))
        seconds = address.timeout if is_patient else min(address.timeout, 3)
        options = address.options
        settings: dict[str, object] = {"region": options["region"]}
        if options["endpoint"]:
            settings["endpoint"] = options["endpoint"]
        if address.key:
            settings["access_key_id"] = address.key
            settings["secret_access_key"] = address.secret
        if address.session:
            settings["session_token"] = address.session
        self._store = S3Store(
            address.bucket,
            prefix=prefix or None,
            virtual_hosted_style_request=options["style"] == "host",
            client_options={
                "allow_http": options["endpoint"].startswith("http://"),
                "timeout": f"{seconds}s",
                "connect_timeout": f"{min(seconds, 5)}s",
            },
            retry_config={
                "max_retries": 10 if is_patient else 0,
                "retry_timeout": timedelta(seconds=address.retry),
                "backoff": {
                    "init_backoff": timedelta(milliseconds=100),
                    "max_backoff": timedelta(seconds=5),
                    "base": 2,
                },
            },
            **settings,  # type: ignore[arg-type]  # each is an option there
        )

    # Reading
    # -------

    def read_range(self, key: str, start: int, length: int) -> bytes:
        """At most `length` bytes of an object; fewer only at its end. Raises ObjectAbsent."""
        if length <= 0:
            return b""
        try:
            with self._translate_errors(key):
                return bytes(obstore.get_range(self._store, key, start=start, length=length))
        except _RangeBehindEnd:
            return b""

    def read_pieces(self, key: str, start: int, length: int) -> Iterator[bytes]:
        """The same in pieces. An object that ends too early yields fewer bytes."""
        end = start + length
        while start < end:
            piece = self.read_range(key, start, min(PIECE, end - start))
            if not piece:
                return
            start += len(piece)
            yield piece

    def read_object(self, key: str) -> bytes:
        """A small object. Raises ObjectAbsent."""
        with self._translate_errors(key):
            return bytes(obstore.get(self._store, key).bytes())

    def find_size(self, key: str) -> int | None:
        """The length of an object in bytes, or None if it does not exist."""
        try:
            with self._translate_errors(key):
                return int(obstore.head(self._store, key)["size"])
        except ObjectAbsent:
            return None

    def list_objects(self, folder: str, *, after: str | None = None) -> dict[str, int]:
        """The keys below `folder`, or those of them after a key, in order, with their lengths in
        bytes."""
        with self._translate_errors(folder):
            pages = obstore.list(self._store, folder, offset=after)
            found = {one["path"]: int(one["size"]) for page in pages for one in page}
        return dict(sorted(found.items()))

    def list_folders(self, folder: str) -> list[str]:
        """The last names of the folders in `folder`, in order."""
        with self._translate_errors(folder):
            found = obstore.list_with_delimiter(self._store, folder)
        return sorted(one.rstrip("/").rpartition("/")[2] for one in found["common_prefixes"])

    # Writing
    # -------

    def create_object(self, key: str, data: bytes) -> None:
        """Create an object if none has this key. It may have these bytes already.

        Raises ObjectTaken if it has others.
        """
        self._create(key, lambda: iter((data,)), lambda: data)

    def create_large(self, key: str, pieces: Pieces) -> None:
        """The same for bytes of any length, which are sent in parts and appear at once."""
        self._create(key, pieces, pieces)

    def _create(self, key: str, pieces: Pieces, make_body: Callable[[], object]) -> None:
        body = make_body()
        try:
            with self._translate_errors(key):
                obstore.put(
                    self._store,
                    key,
                    body,  # type: ignore[arg-type]  # bytes, or an iterator of bytes
                    mode="create",
                    use_multipart=not isinstance(body, bytes),
                    chunk_size=PIECE,
                )
        except ObjectTaken:
            if not self._has_bytes(key, pieces):
                raise

    def _has_bytes(self, key: str, pieces: Pieces) -> bool:
        """Return True if an object has these bytes, as after a request that was repeated."""
        at = 0
        for piece in pieces():
            if b"".join(self.read_pieces(key, at, len(piece))) != piece:
                return False
            at += len(piece)
        return self.find_size(key) == at

    def replace_object(self, key: str, pieces: Pieces) -> str | None:
        """Put bytes under a key, whatever is there. Return the version, if the bucket has any."""
        first = b"".join(_take_some(pieces()))
        body = first if len(first) < PIECE else pieces()
        with self._translate_errors(key):
            done = obstore.put(
                self._store,
                key,
                body,
                mode="overwrite",
                use_multipart=not isinstance(body, bytes),
                chunk_size=PIECE,
            )
        return None if done["version"] in (None, _NO_VERSION) else done["version"]

    def move_object(self, key: str, target: str) -> None:
        """Give an object another key, within the store. Raises ObjectAbsent."""
        with self._translate_errors(key):
            obstore.copy(self._store, key, target)
        self.delete_objects([key])

    def delete_objects(self, keys: list[str]) -> None:
        """Delete objects, if they exist: a thousand in one request."""
        if keys:
            with self._translate_errors(keys[0]):
                obstore.delete(self._store, keys)

    # Errors
    # ------

    def name_place(self, key: str = "") -> str:
        """The bucket, prefix and key, as errors show it."""
        return f"{self._place}/{key}" if key else self._place

    @contextmanager
    def _translate_errors(self, key: str) -> Iterator[None]:
        try:
            yield
        except exceptions.AlreadyExistsError:
            raise ObjectTaken(place=self.name_place(key)) from None
        except (exceptions.BaseError, OSError) as error:
            raise self._explain_error(key, error) from None

    def _explain_error(self, key: str, error: Exception) -> ObjectStoreFailed | ObjectAbsent:
        place, text = self.name_place(key), str(error)
        if "NoSuchBucket" in text:
            return BucketMissing(place=self.name_place())
        if isinstance(error, FileNotFoundError):
            return ObjectAbsent(key)
        status = int(found[1]) if (found := _STATUS.search(text)) else 0
        if isinstance(error, PermissionError) or status in (401, 403):
            return ObjectCredentialsRefused(place=place)
        if isinstance(error, (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError)):
            return ObjectCredentialsRefused(place=place)
        if status == _TOO_FAR:
            return _RangeBehindEnd(key)
        if status == 429 or status >= 500:
            return ObjectStoreBusy(place=place, answered=status)
        fault = self._address.scrub_text(text.partition("Debug source:")[0])[:_LONGEST_FAULT]
        if status:
            message = _MESSAGE.search(text)
            return ObjectStoreRefused(place=place, fault=message[1] if message else fault)
        return ObjectStoreSilent(place=place, fault=fault)


def _take_some(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The first pieces, of at least `PIECE` bytes if there are so many."""
    size = 0
    for piece in pieces:
        yield piece
        size += len(piece)
        if size >= PIECE:
            return


class _RangeBehindEnd(ObjectAbsent):
    """A range begins behind the end of its object."""
