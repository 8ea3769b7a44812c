"""Every error that perdure raises: one tree, stable codes, fields instead of sentences.

How it works: an error is a frozen value (`root`): a class for each reason, with typed fields, and a
sentence that is computed from them in `problem()`, what is wrong, and `repair()`, what the caller
can do about it. `str()` joins both. Classes with a `code` of their own (documented in
docs/reference/errors.md) say what the caller can do: mend the text, look elsewhere, try again, get
the right to, distrust the bytes. Classes without one tell the reasons of their parent apart. A
caller looks at the class or the code and reads the fields; nobody parses the sentence.

    texts, invalid (requests, naming, contents, tokens, locations, describing,
      captures, importing)              mend the text
    lookup, parts                       look elsewhere
    unavailable (servers, processes)    try again
    rights                              get the right to do it, or resolve the conflict
    stored                              distrust the bytes

Every class with a code can be imported from here. The reasons are imported from the module of their
area, in brackets above, by the code that raises them, so that no program loads all of them; `tree`
does when an error arrives from another process.

What must stay true: a class keeps the fields of its parents; a message quotes foreign text only
through `quote()`, and no control character gets from a request into a log line, a header or a
terminal. HTTP status codes live in one table (`perdure.server.common.problems`), exit codes in
another (`perdure.cli.exits`); a test holds both complete.
"""

from __future__ import annotations

from perdure.errors.invalid import (
    InvalidRequest,
    RefusedThere,
    UnknownChoice,
)
from perdure.errors.lookup import (
    NoSuchToken,
    NoSuchVersion,
    NotAcceptable,
    NotCaptured,
    NotFound,
    OriginalMissing,
    UnknownArchive,
    UnknownAuthority,
)
from perdure.errors.parts import (
    OverBudget,
    PartCheckFailed,
    PartNotFound,
    PartNotSupported,
    PartOutOfRange,
    Undecodable,
)
from perdure.errors.rights import (
    ArchiveClosed,
    Conflict,
    Forbidden,
    PreconditionFailed,
    Unauthenticated,
)
from perdure.errors.root import (
    PerdureError,
    quote,
)
from perdure.errors.stored import (
    Corrupt,
    DigestMismatch,
    Incomplete,
    TooLarge,
)
from perdure.errors.texts import (
    BadSettings,
    InvalidMetadata,
    MalformedIdentifier,
    MalformedPart,
    UnknownScheme,
)
from perdure.errors.unavailable import (
    StorageFailed,
    Unavailable,
    UnavailableThere,
)

__all__ = [
    "ArchiveClosed",
    "BadSettings",
    "Conflict",
    "Corrupt",
    "DigestMismatch",
    "Forbidden",
    "Incomplete",
    "InvalidMetadata",
    "InvalidRequest",
    "MalformedIdentifier",
    "MalformedPart",
    "NoSuchToken",
    "NoSuchVersion",
    "NotAcceptable",
    "NotCaptured",
    "NotFound",
    "OriginalMissing",
    "OverBudget",
    "PartCheckFailed",
    "PartNotFound",
    "PartNotSupported",
    "PartOutOfRange",
    "PerdureError",
    "PreconditionFailed",
    "RefusedThere",
    "StorageFailed",
    "TooLarge",
    "Unauthenticated",
    "Unavailable",
    "UnavailableThere",
    "Undecodable",
    "UnknownArchive",
    "UnknownAuthority",
    "UnknownChoice",
    "UnknownScheme",
    "quote",
]
