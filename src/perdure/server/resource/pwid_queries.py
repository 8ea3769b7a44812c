"""`/pwid?time=…&coverage=…&item=…`: the query that draft-04 section 5 recommends to archives.

How it works: the query names a capture of our own archive, so it is the PWID of that archive with
this time, coverage and item, and is answered as that PWID is: by its record, if it has one, or by
the captures. An item may be escaped as a whole. If it is not, it is everything after `item=`, with
its own `?` and `&`, as the example of the draft has it.

What must stay true: the answer is that of the PWID.  # ruling: pwid-endpoint
"""

from __future__ import annotations

from urllib.parse import unquote

from perdure.archives.pwid.making import make_pwid
from perdure.errors import UnknownArchive
from perdure.errors.requests import MissingParameter
from perdure.model.parameters import Parameters, decode_names, read_parameters
from perdure.reading.targets import Question, is_escaped
from perdure.server.apis import pwids
from perdure.server.common import asking
from perdure.server.common.answers import Answer
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.resource import reading


async def answer_pwid_query(service: Service, request: Request) -> Answer:
    """Answer GET or HEAD of `/pwid`.

    Raises UnknownArchive if this registry has no archive of its own, InvalidRequest if a parameter
    is missing, and what reading the PWID and resolving it raise.
    """
    archive = service.settings.archive_id
    if not archive:
        raise UnknownArchive(identifier="/pwid", archive="")
    given = parse_pwid_query(request.target.question or "")
    for name in ("time", "coverage", "item"):
        if not given.get(name):
            raise MissingParameter(
                request="query", parameter=name, manual="docs/reference/web-archives.md"
            )
    pwid = make_pwid(archive, given["time"], given["coverage"], given["item"])
    resolved = asking.resolve_name(service, request, str(pwid))
    if resolved.pwid is not None:
        return await pwids.answer_pwid(service, request, resolved.pwid, Question())
    return await reading.answer_resource(service, request, resolved)


def parse_pwid_query(question: str) -> Parameters:
    """Parse the query into its three parameters, as far as they are given.

    >>> dict(parse_pwid_query("time=2016-01-22T11:20:29Z&coverage=page&item=http://a.dk/?x=1&y=2"))
    {'time': '2016-01-22T11:20:29Z', 'coverage': 'page', 'item': 'http://a.dk/?x=1&y=2'}
    """
    pieces = question.split("&")
    names = [decode_names(one).partition("=")[0] for one in pieces]
    if "item" not in names:
        return read_parameters(question, keep_blank=False)
    begin = names.index("item")
    before, after = pieces[:begin], list(zip(names, pieces, strict=True))[begin:]
    beside = ("time", "coverage") if {"time", "coverage"} - {*names[:begin]} else ()
    kept = "&".join((*before, *(piece for name, piece in after if name in beside)))
    given = read_parameters(kept, keep_blank=False)
    item = "&".join(piece for name, piece in after if name not in beside).partition("=")[2]
    given.add("item", unquote(item) if is_escaped(item) else item)
    return given
