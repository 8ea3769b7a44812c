"""Every error that perdure raises: one tree, stable codes, fields instead of sentences.

How it works: an error is a frozen value (`root`). Each reason has a class with typed fields. The
message is computed from the fields: `problem()` says what is wrong, and `repair()` what the caller
can do about it. `str()` joins both. A class with its own `code` (documented in
docs/reference/errors.md) tells the caller what to do: correct the text, look elsewhere, try again,
obtain the right, distrust the bytes. A class without its own code is one reason of its parent. A
caller looks at the class or the code and reads the fields; it never parses the sentence.

    texts (configuring, records), invalid (requests, naming, contents, tokens, locations,
      reading, describing, captures, citing, importing)  correct the text
    lookup, parts (cutting, damage, limits)        look elsewhere
    unavailable (quotas, servers, processes, object_stores)  try again
    rights (credentials, conflicts)     obtain the right, or resolve the conflict
    stored (limits, corruption, segment_corruption, archive_corruption)
                                    distrust the bytes

Every class with a code can be imported from here. The code that raises a reason imports it from the
module of its area, in brackets above, so that no program loads all modules. Only `tree` loads them
all, when an error arrives from another process.

What must stay true: a class keeps the fields of its parents; a message quotes foreign text only
through `quote()`, so no control character gets from a request into a log line, a header or a
terminal. HTTP status codes are in one table (`perdure.server.common.problems`), exit codes in
another (`perdure.cli.exits`); a test checks that both are complete.
"""

from __future__ import annotations

from perdure.errors.invalid import (
    ContentNotSupported,
    ContentNotSupportedThere,
    InvalidRequest,
    RefusedThere,
    UnknownChoice,
)
from perdure.errors.lookup import (
    CaptureWithdrawn,
    NoSuchToken,
    NoSuchVersion,
    NotAcceptable,
    NotCaptured,
    NotFound,
    NothingMatches,
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
    Embargoed,
    Forbidden,
    LegallyUnavailable,
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
    CopyNotPromoted,
    MirrorReadOnly,
    MissingLibrary,
    RegistriesDivided,
    ShareUsedUp,
    ShareUsedUpThere,
    StorageFailed,
    Unavailable,
    UnavailableThere,
)

__all__ = [
    "ArchiveClosed",
    "BadSettings",
    "CaptureWithdrawn",
    "Conflict",
    "ContentNotSupported",
    "ContentNotSupportedThere",
    "CopyNotPromoted",
    "Corrupt",
    "DigestMismatch",
    "Embargoed",
    "Forbidden",
    "Incomplete",
    "InvalidMetadata",
    "InvalidRequest",
    "LegallyUnavailable",
    "MalformedIdentifier",
    "MalformedPart",
    "MirrorReadOnly",
    "MissingLibrary",
    "NoSuchToken",
    "NoSuchVersion",
    "NotAcceptable",
    "NotCaptured",
    "NotFound",
    "NothingMatches",
    "OriginalMissing",
    "OverBudget",
    "PartCheckFailed",
    "PartNotFound",
    "PartNotSupported",
    "PartOutOfRange",
    "PerdureError",
    "PreconditionFailed",
    "RefusedThere",
    "RegistriesDivided",
    "ShareUsedUp",
    "ShareUsedUpThere",
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
