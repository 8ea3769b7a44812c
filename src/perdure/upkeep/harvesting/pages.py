"""Pages of OAI-PMH as they come from a repository: headers, whole records, tokens, errors. Pure.

How it works: a page is parsed twice. First expat reads the frame: the time of the answer, the error
or the token, and the header of each record. Then the same bytes are cut into records, each as text
that can be parsed alone (`perdure.upkeep.exchange.xml_records`).

What must stay true: a page that is not well-formed to its end gives nothing, since half of it may
be missing; a document type declaration is refused, so that no entity expands; what a repository
says is only ever text.
"""

from __future__ import annotations

import io
from collections.abc import Iterator

import msgspec

from perdure.upkeep.exchange.xml_records import cut_elements
from perdure.upkeep.harvesting.parsing import parse_events

NAMESPACE = "http://www.openarchives.org/OAI/2.0/"
LISTS = ("ListRecords", "ListIdentifiers", "GetRecord")
_DEEPEST = 200
_LONGEST_TEXT = 8192
"""Characters of an identifier, a token or another text of the frame."""


class PageMalformed(ValueError):
    """An answer is not a page of OAI-PMH; the text says why, in words for people."""


class ForeignRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A record of a repository, as its header describes it."""

    identifier: str
    datestamp: str
    is_deleted: bool = False
    raw: str = ""
    """The whole record as it came, with the namespaces that are declared around it."""


class OaiPage(msgspec.Struct, frozen=True, kw_only=True):
    """An answer of a repository."""

    answered: str
    """The time of the answer by the repository's clock; empty if it does not say it."""
    error: str = ""
    """The code of the error, such as `noRecordsMatch`."""
    message: str = ""
    token: str = ""
    """Asks for the next page; empty on the last one."""
    granularity: str = ""
    deleted_record: str = ""
    """Whether the repository lists deleted records: `no`, `transient` or `persistent`."""
    records: tuple[ForeignRecord, ...] = ()


def read_page(body: bytes) -> OaiPage:
    """Read an answer. Raises PageMalformed."""
    frame = _Frame()
    parse_events(body, frame, PageMalformed)
    found = frame.texts
    records = tuple(_join_records(frame.headers, body))
    return OaiPage(
        answered=found.get("responseDate", ""),
        error=frame.error,
        message=found.get("error", ""),
        token=found.get("resumptionToken", ""),
        granularity=found.get("granularity", ""),
        deleted_record=found.get("deletedRecord", ""),
        records=records,
    )


def _join_records(headers: list[dict[str, str]], body: bytes) -> Iterator[ForeignRecord]:
    cut = list(cut_elements(io.BytesIO(body), lambda name, depth: name == "record" and depth == 3))
    if cut and cut[-1].fault is not None:
        raise PageMalformed(cut[-1].fault.problem())
    if len(cut) != len(headers):
        raise PageMalformed("a record has no header, or two")
    for header, record in zip(headers, cut, strict=True):
        if not header.get("identifier"):
            raise PageMalformed("a header has no identifier")
        yield ForeignRecord(
            identifier=header["identifier"],
            datestamp=header.get("datestamp", ""),
            is_deleted=header.get("status") == "deleted",
            raw=record.raw,
        )


class _Frame:
    """The texts of a page outside the metadata of its records."""

    _PLACES = {
        ("responseDate",): "responseDate",
        ("error",): "error",
        ("Identify", "granularity"): "granularity",
        ("Identify", "deletedRecord"): "deletedRecord",
    } | {(one, "resumptionToken"): "resumptionToken" for one in LISTS}

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.headers: list[dict[str, str]] = []
        self.error = ""
        self._path: list[str] = []
        self._into: tuple[dict[str, str], str] | None = None

    def enter_element(self, name: str, attributes: dict[str, str]) -> None:
        space, _, local = name.rpartition(" ")
        if not self._path and name != f"{NAMESPACE} OAI-PMH":
            raise PageMalformed(f"its root is <{local[:80]}>, not <OAI-PMH>")
        self._path.append(local if space == NAMESPACE else name)
        if len(self._path) > _DEEPEST:
            raise PageMalformed("its elements are nested too deeply")
        match self._path[1:]:
            case ["error"]:
                self.error = attributes.get("code", "")[:80] or "unknown"
            case [_, "record", "header"]:
                self.headers.append({"status": attributes.get("status", "")})
            case [_, "record", "header", "identifier" | "datestamp" as field]:
                self._collect(self.headers[-1], field)
        place = self._PLACES.get(tuple(self._path[1:3])) if len(self._path) <= 3 else None
        if place is not None:
            self._collect(self.texts, place)

    def _collect(self, into: dict[str, str], field: str) -> None:
        into[field] = ""
        self._into = into, field

    def add_text(self, text: str) -> None:
        if self._into is not None:
            into, field = self._into
            into[field] += text
            if len(into[field]) > _LONGEST_TEXT:
                raise PageMalformed(f"its {field} is longer than {_LONGEST_TEXT} characters")

    def leave_element(self, _: str) -> None:
        if self._into is not None:
            into, field = self._into
            into[field] = into[field].strip()
            self._into = None
        self._path.pop()


def cut_metadata(raw: str, root: str) -> str:
    """Return the element of a record whose local name is `root`, as text; empty without one."""
    found = next(
        cut_elements(io.BytesIO(raw.encode()), lambda name, depth: name == root and depth > 2), None
    )
    return "" if found is None or found.fault is not None else found.raw
