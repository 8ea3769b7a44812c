"""Exit codes in one table, and the printing of errors.

How it works: each class of `perdure.errors` has a code of its own. The tens group them by what the
caller can do: 3 correct the text or the settings, 10 look elsewhere, 20 make it available, 30 get
the right to do it, 40 resolve the conflict, 50 distrust the bytes, 60 ask another web archive. A
class of a plug-in has the code of its nearest base class.

What must stay true: a code, once published, keeps its meaning (docs/reference/cli.md lists them);
an error is one line; only `perdure` or a group without a command prints the list of commands.
# ruling: exit-codes
"""

from __future__ import annotations

import errno
import json

import click
from click.exceptions import NoArgsIsHelpError

from perdure import errors
from perdure.errors import PerdureError, quote
from perdure.errors.delegations import (
    AnsweredElsewhere,
    ResolverContradicted,
    ResolverTimedOut,
    ResolverUnreachable,
)
from perdure.errors.invalid import ContentNotSupported
from perdure.errors.lookup import CitationGone, CitationNotFound
from perdure.errors.processes import ClientLeft, DatabaseBusy
from perdure.errors.requests import UnknownEmbedFormat

FINDINGS = 1
"""The command did its work and found problems: bad lines, corrupt bytes, duplicates."""
USAGE = 2
SYSTEM = 6
NOTHING_FOUND = 10
GONE = 16
ELSEWHERE = 17
INTERRUPTED = 130
BROKEN_PIPE = 141

OTHERS = {
    0: "done",
    FINDINGS: "done, and problems were found: bad lines, damaged bytes, a damaged deployment",
    USAGE: "the command line is not valid",
    SYSTEM: "the operating system refused (a file cannot be read or written)",
    GONE: "`get`, `text`: it was withdrawn, or its last location was broken; stderr says when and "
    "why",
    ELSEWHERE: "`get`: the bytes are at another location; `--follow` fetches them",
    INTERRUPTED: "interrupted with Ctrl-C",
    BROKEN_PIPE: "the reader of stdout closed it",
}
"""Meanings of the codes that belong to no error."""

CODES: dict[type[PerdureError], int] = {
    PerdureError: 70,
    errors.MalformedIdentifier: 3,
    errors.UnknownScheme: 3,
    errors.MalformedPart: 3,
    errors.InvalidRequest: 4,
    ContentNotSupported: 4,
    UnknownEmbedFormat: 4,
    errors.BadSettings: 5,
    errors.NotFound: 10,
    AnsweredElsewhere: 10,
    errors.NoSuchVersion: 11,
    errors.UnknownAuthority: 12,
    errors.NotAcceptable: 13,
    errors.PartNotFound: 14,
    errors.NotCaptured: 60,
    errors.CaptureWithdrawn: 64,
    errors.UnknownArchive: 61,
    errors.ArchiveClosed: 62,
    errors.OriginalMissing: 63,
    CitationGone: 65,
    CitationNotFound: 66,
    errors.PartNotSupported: 15,
    errors.PartOutOfRange: 18,
    errors.PartCheckFailed: 19,
    errors.OverBudget: 22,
    errors.Undecodable: 54,
    errors.InvalidMetadata: 55,
    errors.Unavailable: 20,
    ClientLeft: 20,
    DatabaseBusy: 20,
    errors.ShareUsedUp: 23,
    ResolverUnreachable: 20,
    ResolverTimedOut: 20,
    ResolverContradicted: 20,
    errors.CopyNotPromoted: 20,
    errors.MirrorReadOnly: 20,
    errors.RegistriesDivided: 20,
    errors.MissingLibrary: 20,
    errors.StorageFailed: 21,
    errors.Unauthenticated: 30,
    errors.Forbidden: 31,
    errors.Embargoed: 32,
    errors.LegallyUnavailable: 33,
    errors.Conflict: 40,
    errors.PreconditionFailed: 41,
    errors.DigestMismatch: 50,
    errors.Incomplete: 51,
    errors.TooLarge: 52,
    errors.Corrupt: 53,
}


def exit_code_of(error: PerdureError) -> int:
    return next(CODES[kind] for kind in type(error).__mro__ if kind in CODES)


def report_error(error: PerdureError, *, as_json: bool) -> None:
    """Print one line on stderr: the sentence, or code and fields as JSON."""
    _print_error(str(error), error.as_dict() | {"message": str(error)}, as_json=as_json)


def report_usage(error: click.ClickException, *, as_json: bool) -> None:
    message = " ".join(line.strip() for line in error.format_message().splitlines())
    if isinstance(error, NoArgsIsHelpError):
        if not as_json:
            click.echo(error.format_message(), err=True)
            return
        message = "Missing command."
    path = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else None
    if path:
        message = f"{message.rstrip('.')}; see '{path} --help'"
    _print_error(message, {"code": "usage", "message": message}, as_json=as_json)


def report_system(error: OSError, *, as_json: bool) -> None:
    where = f": {quote(error.filename)}" if error.filename is not None else ""
    message = f"{error.strerror or type(error).__name__}{where}"
    name = errno.errorcode.get(error.errno or 0, "")
    _print_error(message, {"code": "system", "errno": name, "message": message}, as_json=as_json)


def _print_error(message: str, fields: dict[str, object], *, as_json: bool) -> None:
    click.echo(json.dumps(fields, default=str) if as_json else f"perdure: {message}", err=True)
