"""The CDX server API without the server: parse a query, select captures, format them. Pure.

    url=http://www.dr.dk/   the URL; `*.dr.dk` and `http://dr.dk/a*` imply their match type
    matchType=              exact, prefix, host, domain
    from= to=               times of 4 to 14 digits, both included
    closest=                the nearest to this time first, for an exact URL
    sort=reverse            the last one first
    limit=                  the largest number of captures
    filter=                 see `perdure.archives.index.filters`; may be repeated
    fl= or fields=          names of fields, separated by commas
    output=                 cdxj, json (one object on a line), text (11 fields)
    collapse=timestamp:8    the first of neighbours with the same (first 8 characters of a) field
    page= pageSize=         pages of n blocks of 3,000 captures; showNumPages=true counts them
    resolveRevisits=true    the place of the originals of revisits, in three further fields
    showResumeKey=true      after an empty line, the resumeKey= of the next query

How it works: parameters and fields have the names of pywb and those of the Internet Archive's
server, because clients use both. Every query is a stretch of the index, read from one of its ends
or from the middle outwards, and never held in memory. The captures of many URLs come in the order
of a CDXJ file, so that clients can merge answers.

What must stay true: one query reads at most `MOST_READ` captures, and reports an error if it needs
more.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple
from urllib.parse import quote_plus

import msgspec

from perdure.archives.dates import seconds_between
from perdure.archives.index import cdx_lines, filters
from perdure.archives.index.cdx_lines import ALIASES, FIELDS, WRITERS, Writer
from perdure.archives.index.cdxj import format_listed_place, make_exchanged_key
from perdure.archives.index.filters import Filter
from perdure.archives.index.ranges import (
    IndexRange,
    format_place,
    make_range,
    walk_listed,
    walk_outwards,
    walk_range,
)
from perdure.archives.index.revisits import resolve_revisits
from perdure.archives.port import Capture, Captures
from perdure.errors.captures import (
    ClosestNotExact,
    ForeignResumeKey,
    MalformedCollapse,
    MalformedTime,
    NoSuchTime,
    UnknownField,
    UnknownMatchType,
    UnknownOutput,
)
from perdure.errors.limits import CapturesTooMany
from perdure.errors.requests import MissingParameter, TooManyParameters
from perdure.ids.urlkey import make_url_key
from perdure.model.matches import MATCHES
from perdure.model.parameters import Parameters, read_number, read_parameters
from perdure.model.timestamps import find_span

MOST_READ = 1_000_000  # captures
BLOCK = 3000  # captures; the lines of a block that clients assume
_PAGE_SIZE = 5  # blocks, as in pywb
_LARGEST_PAGE = 50  # blocks
_LARGEST_LIMIT = 1_000_000
_MOST_FILTERS = 8
_MOST_PARAMETERS = 64
_UNLISTED = frozenset(("request", "continuation", "warcinfo"))
"""Kinds of record that a listing leaves out, unless a filter names a kind."""
_BESIDE = 2  # neighbouring records of a capture: the capture and its request
_REQUEST = re.compile("[?&]__wb_method=")
_UNESCAPED = re.compile(r"(?:\A|&)url=(?=[^&]*\?)")
_PARAMETERS = frozenset((
    "url", "matchType", "from", "from_ts", "to", "closest", "sort", "reverse", "limit", "filter",
    "fl", "fields", "output", "collapse", "page", "pageSize", "showNumPages", "resumeKey",
    "showResumeKey", "resolveRevisits",
))  # fmt: skip
"""Names of the parameters that `parse_query` reads."""
_RULE = "docs/reference/web-archives.md"


class CdxQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed query."""

    url: str
    stretch: IndexRange
    first: str | None = None
    last: str | None = None
    closest: str | None = None
    reverse: bool = False
    limit: int | None = None
    filters: tuple[Filter, ...] = ()
    collapse: tuple[str, int | None] | None = None
    fields: tuple[str, ...] = ()
    """Canonical names; empty for the default fields of the output."""
    names: tuple[str, ...] = ()
    """The same fields under the client's names."""
    output: str = "cdxj"
    page: int | None = None
    page_size: int = _PAGE_SIZE
    counts: bool = False
    resume: tuple[str, int] | None = None
    """Where the previous answer ended, and how many captures it returned at that place."""
    shows_resume: bool = False
    request_key: str = ""
    """The key of a request other than GET, if the URL contains one in the way of pywb."""
    resolves: bool = False
    """Whether revisits are listed with the place of their payloads."""

    @property
    def is_exact(self) -> bool:
        """True if the query is for one URL."""
        return self.stretch.low.endswith(" ")

    @property
    def is_direct(self) -> bool:
        """True if every capture that is read is also returned."""
        plain = not (self.filters or self.collapse or self.resolves or self.request_key)
        return self.is_exact and plain and not self.page


class Paging(NamedTuple):
    """The number of pages and blocks of a query."""

    pages: int
    size: int
    blocks: int


# parsing a query
# ---------------


def parse_query(question: str) -> CdxQuery:
    """Parse the query of a URL. Unknown parameters are ignored. Raises InvalidRequest."""
    before, unescaped = _cut_unescaped_request(question)
    given = read_parameters(before, most=_MOST_PARAMETERS)
    url = unescaped or given.get("url", "")
    if not url:
        raise MissingParameter(request="query", parameter="url", manual=_RULE)
    kind = given.get("matchType") or ""
    if not kind and url.startswith("*."):
        url, kind = url[2:], "domain"
    elif not kind and url.endswith("*"):
        url, kind = url[:-1], "prefix"
    kind = kind or "exact"
    url, request_key = _split_request(url) if kind == "exact" else (url, "")
    if kind not in MATCHES:
        raise UnknownMatchType(text=kind, known=MATCHES)
    closest = _parse_time(given, "closest", 1)
    if closest and kind != "exact":
        raise ClosestNotExact()
    chosen = given.list_values("filter")
    if len(chosen) > _MOST_FILTERS:
        raise TooManyParameters(what="filter", most=_MOST_FILTERS)
    names = tuple(filter(None, (given.get("fl") or given.get("fields") or "").split(",")))
    output = given.get("output") or "cdxj"
    if output not in WRITERS:
        raise UnknownOutput(text=output, known=tuple(WRITERS))
    return CdxQuery(
        url=url,
        stretch=make_range(url, kind),
        first=_parse_time(given, "from", 0) or _parse_time(given, "from_ts", 0),
        last=_parse_time(given, "to", 1),
        closest=closest,
        reverse=given.get("sort") == "reverse" or _parse_flag(given, "reverse"),
        limit=_parse_number(given, "limit", 1, _LARGEST_LIMIT),
        filters=tuple(_canonicalise_filter(filters.parse_filter(one)) for one in chosen),
        collapse=_parse_collapse(given.get("collapse", "")),
        fields=tuple(_canonicalise_name(name) for name in names),
        names=names,
        output=output,
        page=_parse_number(given, "page", 0, 1 << 30),
        page_size=_parse_number(given, "pageSize", 1, _LARGEST_PAGE) or _PAGE_SIZE,
        counts=_parse_flag(given, "showNumPages"),
        resume=_parse_resume_key(given.get("resumeKey", "")),
        request_key=request_key,
        shows_resume=_parse_flag(given, "showResumeKey"),
        resolves=_parse_flag(given, "resolveRevisits"),
    )


def _cut_unescaped_request(question: str) -> tuple[str, str]:
    """Return a query without its `url`, and this, if it is a request that was not escaped.

    pywb inserts its `{alt_url}` into a query as it is: `url=http://a.org/?__wb_method=POST&q=1`.
    The parameters of the query follow it, so the URL ends before the last words with their names.
    """
    start = _UNESCAPED.search(question) if _REQUEST.search(question) else None
    if start is None:
        return question, ""
    words = question[start.end() :].split("&")
    end = len(words)
    while end > 1 and words[end - 1].partition("=")[0] in _PARAMETERS:
        end -= 1
    url = "&".join(words[:end])
    if not _REQUEST.search(url):
        return question, ""
    before = question[: start.end()].removesuffix("url=")
    return before + "&".join(words[end:]), url


def _split_request(url: str) -> tuple[str, str]:
    """Return a URL without the method and body that players append, and its key with them."""
    found = _REQUEST.search(url)
    return (url[: found.start()], make_url_key(url)) if found else (url, "")


def _parse_flag(given: Parameters, name: str) -> bool:
    return given.get(name, "").lower() in ("true", "1", "yes", "on")


def _parse_number(given: Parameters, name: str, low: int, high: int) -> int | None:
    text = given.get(name, "")
    if not text:
        return None
    return read_number(name, text, low, high, manual=_RULE)


def _parse_time(given: Parameters, name: str, end: int) -> str | None:
    """Return the first (0) or last (1) second of a time of 4 to 14 digits."""
    text = given.get(name, "")
    if not text:
        return None
    month = text[4:6] or "01"
    if not re.fullmatch("[0-9]{4}(?:[0-9]{2}){0,5}", text) or not "01" <= month <= "12":
        raise MalformedTime(parameter=name, text=text)
    try:
        seconds_between(find_span(text)[0], find_span(text)[0])
        return find_span(text)[end]
    except ValueError:
        raise NoSuchTime(parameter=name, text=text) from None


def _parse_collapse(text: str) -> tuple[str, int | None] | None:
    if not text:
        return None
    name, _, length = text.partition(":")
    if length and not re.fullmatch("[1-9][0-9]{0,3}", length):
        raise MalformedCollapse(text=text)
    return _canonicalise_name(name), int(length) if length else None


def _parse_resume_key(text: str) -> tuple[str, int] | None:
    if not text:
        return None
    found = re.fullmatch("(.* [0-9]{14}) ([0-9]{1,6})", text)
    if found is None:
        raise ForeignResumeKey(text=text)
    return found[1], int(found[2])


# names of fields
# ---------------


def _canonicalise_name(name: str) -> str:
    found = ALIASES.get(name, name)
    if found not in FIELDS:
        raise UnknownField(text=name, known=tuple(FIELDS))
    return found


def _canonicalise_filter(found: Filter) -> Filter:
    return Filter(_canonicalise_name(found.field), found.holds)


# selecting captures
# ------------------


def select_captures(captures: Captures, query: CdxQuery) -> Iterator[Capture]:
    """Yield the captures that a query selects, in the order that it requests.

    Raises OverBudget, perhaps after some of them.
    """
    found = _limit_reading(_read_in_order(captures, query))
    filtered = {one.field for one in query.filters}
    if "kind" not in filtered:
        found = (one for one in found if one.kind not in _UNLISTED)
    if query.request_key:
        found = (one for one in found if make_exchanged_key(one) == query.request_key)
    elif query.is_exact and "method" not in filtered:
        found = (one for one in found if not one.method)
    if query.first or query.last:
        first, last = query.first or "", query.last or "~"
        found = (one for one in found if first <= one.time <= last)
    if query.page is not None:
        size = query.page_size * BLOCK
        found = itertools.islice(found, query.page * size, (query.page + 1) * size)
    if query.resolves:
        if not query.filters and query.collapse is None:
            found = itertools.islice(found, query.limit)  # resolve only those that are returned
        found = resolve_revisits(captures, found)
    for condition in query.filters:
        found = _apply_filter(found, condition)
    if query.collapse is not None:
        found = _collapse_alike(found, *query.collapse)
    return itertools.islice(found, query.limit)


def count_pages(captures: Captures, query: CdxQuery) -> Paging:
    """Return the number of pages of a query without its filters. Raises OverBudget."""
    whole = msgspec.structs.replace(
        query, page=None, filters=(), collapse=None, limit=None, resolves=False
    )
    number = sum(1 for _ in select_captures(captures, whole))
    blocks = -(-number // BLOCK)
    return Paging(-(-blocks // query.page_size), query.page_size, blocks)


def _read_in_order(captures: Captures, query: CdxQuery) -> Iterator[Capture]:
    few = bool(query.limit) and not (query.filters or query.collapse or query.request_key)
    if query.closest is not None:
        if query.limit == 1 and few and not query.first and not query.last:
            return _find_nearest(captures, query.stretch, query.closest)
        batch = min((query.limit or 0) + 1, 64) if few else 64
        return walk_outwards(captures, query.stretch, query.closest, query.closest, batch=batch)
    low, high = query.stretch
    if query.is_exact:  # the times narrow the stretch
        low, high = low + (query.first or ""), low + (query.last or "") + "~"
    batch = min((query.limit or 0) + 1, 512) if few else 64 if query.is_exact else 512
    # the captures of one URL are listed by time, all others as in a file of CDXJ
    walk = walk_range if query.is_exact else walk_listed
    if query.resume is None:
        return walk(captures, IndexRange(low, high), backwards=query.reverse, batch=batch)
    at, given = query.resume
    rest = IndexRange(low, at + "~") if query.reverse else IndexRange(max(low, at), high)
    again = walk(captures, rest, backwards=query.reverse, batch=batch)
    return _skip_given(again, query, at, given)


def _find_place(query: CdxQuery, capture: Capture) -> str:
    """Return the position of a capture in the order of a query."""
    return format_place(capture) if query.is_exact else format_listed_place(capture)


def _skip_given(
    found: Iterator[Capture], query: CdxQuery, at: str, given: int
) -> Iterator[Capture]:
    """Skip the first `given` captures of a place."""
    for one in found:
        if given and _find_place(query, one) == at:
            given -= 1
            continue
        yield one


def _find_nearest(captures: Captures, found: IndexRange, middle: str) -> Iterator[Capture]:
    """Find the capture nearest to a time, the later of two equally near. Takes two look-ups."""
    centre = found.low + middle
    after = _keep_listed(captures.scan_range(centre, found.high, limit=_BESIDE))
    if after and after[0].time == middle:
        return iter(after[:1])
    before = _keep_listed(captures.scan_range(found.low, centre, backwards=True, limit=_BESIDE))
    if not before or not after:  # there are none, or unlisted records hide them
        return walk_outwards(captures, found, middle, middle, batch=64)
    later = seconds_between(middle, after[0].time)
    return iter(after[:1] if later <= seconds_between(before[0].time, middle) else before[:1])


def _keep_listed(found: list[Capture]) -> list[Capture]:
    return [one for one in found if one.kind not in _UNLISTED and not one.method]


def _limit_reading(found: Iterable[Capture]) -> Iterator[Capture]:
    for number, one in enumerate(found):
        if number >= MOST_READ:
            raise CapturesTooMany(most=MOST_READ)
        yield one


def _apply_filter(found: Iterable[Capture], condition: Filter) -> Iterator[Capture]:
    value, holds = FIELDS[condition.field], condition.holds
    return (one for one in found if holds(value(one)))


def _collapse_alike(found: Iterable[Capture], field: str, length: int | None) -> Iterator[Capture]:
    value = FIELDS[field]
    groups = itertools.groupby(found, key=lambda one: value(one)[:length])
    return (next(group) for _, group in groups)


def report_resume_key(
    found: Iterable[Capture], query: CdxQuery, at_end: Callable[[str], None]
) -> Iterator[Capture]:
    """Pass captures on, and at the end report the key with which the next query resumes."""
    last, given = query.resume or ("", 0)
    for one in found:
        place = _find_place(query, one)
        given = given + 1 if place == last else 1
        last = place
        yield one
    if last:
        at_end(quote_plus(f"{last} {given}"))


def choose_writer(query: CdxQuery) -> Writer:
    """Return the function that formats a capture as a line of the answer."""
    return cdx_lines.choose_writer(query.output, query.fields, query.names, resolves=query.resolves)
