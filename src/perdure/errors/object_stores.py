"""Errors about an object store that keeps the bytes of a registry: its address, its answers.

Each class says which place was asked, without a secret, and what to do about it.
"""

from __future__ import annotations

from perdure.errors.root import quote
from perdure.errors.stored import Corrupt
from perdure.errors.texts import BadSettings
from perdure.errors.unavailable import Unavailable

# the address
# -----------


class ObjectAddressMalformed(BadSettings):
    """The address of bytes is not one; `value` is the address without its secret."""

    reason = (
        "use s3://bucket/prefix?endpoint=URL, with a bucket of lower-case letters, digits, '.' and "
        "'-', and %2F for '/' in a secret; see docs/reference/object-stores.md"
    )


class ObjectOptionUnknown(BadSettings):
    """The address of bytes has an option that does not exist."""

    option: str
    known: tuple[str, ...]

    @property
    def reason(self) -> str:
        return f"it has no option {quote(self.option)}; use {', '.join(self.known)}"


class ObjectOptionInvalid(BadSettings):
    """An option in the address of bytes has a value of another form."""

    option: str
    needed: str

    @property
    def reason(self) -> str:
        return f"its option {quote(self.option)} needs {self.needed}"


class ObjectCredentialsMissing(BadSettings):
    """There are no credentials for the object store."""

    reason = (
        "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or add credentials=instance if this "
        "machine has a role"
    )


# the server
# ----------


class ObjectStoreFailed(Unavailable):
    """An object store did not do what it was asked. Abstract: each reason has a class."""

    place: str
    """The bucket and the key, or the address, without a secret."""

    @property
    def what(self) -> str:
        return f"the object store at {quote(self.place)}"


class ObjectStoreSilent(ObjectStoreFailed):
    """No server answers at the endpoint, or not in time; `fault` quotes the library."""

    fault: str
    mend = (
        "check the endpoint in the setting bytes, the network and the server; nothing that was "
        "acknowledged is lost, and writing goes on when it answers"
    )

    @property
    def reason(self) -> str:
        return f"no answer: {quote(self.fault)}"


class ObjectStoreBusy(ObjectStoreFailed):
    """The server refuses because it is overloaded or failing (429 or 5xx)."""

    answered: int
    """The status of its answer."""
    mend = "try again later; if it stays so, look at the server of the object store"

    @property
    def reason(self) -> str:
        return f"it answered {self.answered}"


class ObjectStoreRefused(ObjectStoreFailed):
    """The server refuses the request in another way; `fault` quotes it."""

    fault: str
    mend = "run 'perdure doctor', and look at the server of the object store"

    @property
    def reason(self) -> str:
        return f"it refused: {quote(self.fault)}"


class ObjectCredentialsRefused(ObjectStoreFailed):
    """The server does not accept the credentials, or they do not allow this."""

    reason = "it does not accept the credentials, or they do not allow this"
    mend = (
        "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and that they may list the bucket and "
        "get, put and delete objects below the prefix"
    )


class BucketMissing(ObjectStoreFailed):
    """The bucket does not exist."""

    reason = "the bucket does not exist"
    mend = "create the bucket, or correct the setting bytes"


class ConditionIgnored(ObjectStoreFailed):
    """The store overwrites an object although it must only create a new one."""

    reason = "it accepts If-None-Match and ignores it, so that two writers can overwrite each other"
    mend = "use a store that honours conditional creation"


class ObjectTaken(ObjectStoreFailed):
    """Another writer has written the object that this one was about to create."""

    reason = "another writer has created this object with other bytes"
    mend = (
        "look for a second directory with the same file bytes-node, such as a copied machine; "
        "remove that file from the copy, then start the writer again"
    )


class SegmentHeldElsewhere(ObjectStoreFailed):
    """Another node seals, erases or mends in this segment."""

    node: str
    """The identity of that node."""
    mend = (
        "repeat it; if that node was stopped for good in the middle of it, delete the object at "
        "this place, then repeat it"
    )

    @property
    def reason(self) -> str:
        return f"node {quote(self.node)} works on this segment"


class DocumentsFetched(Unavailable):
    """The request needs documents that had to be fetched from the object store."""

    what = "the answer"
    reason = "its documents had to be fetched from the object store first"
    mend = "send the request again"


# what it has
# -----------


class ObjectAltered(Corrupt):
    """The object store returned other bytes than were stored."""

    segment: int
    offset: int
    sha512: str
    other: str
    """The SHA-512 of the bytes that it returned."""

    @property
    def identifier(self) -> str:
        return f"segment {self.segment}"

    @property
    def where(self) -> str:
        return f"offset {self.offset}"

    @property
    def promised(self) -> str:
        return f"sha512 {self.sha512}"

    @property
    def found(self) -> str:
        return f"sha512 {self.other}"
