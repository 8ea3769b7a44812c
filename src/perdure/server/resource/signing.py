"""The signatures of a name over HTTP: a list with their verdicts, and a way to attach one.

    GET  <name>?signatures    a list in JSON, page by page; of a set with the names in it
    POST <name>?signatures    attaches a signed statement: 201, or 200 if it is attached already

How it works: an attached signature becomes a document of its own, as on the command line
(`perdure.upkeep.signing`). It is judged first, in a thread, as readers will judge it. The record,
the landing page and the list show the same verdicts.

What must stay true: a signature that does not count is refused, and nothing of it is kept; a caller
who may not read a document learns nothing about it from a verdict.
"""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from itertools import islice

import msgspec
from msgspec.structs import replace

from perdure.errors import PerdureError
from perdure.errors.signing import PartNotSignable
from perdure.ids import Identifier
from perdure.ids.named_parts import join_part
from perdure.model.commands import Mint, Receipt
from perdure.model.records import Token
from perdure.policy.rules import require_known
from perdure.reading.resolved import Resolved
from perdure.reading.signatures import MOST, HeldSignature, SignaturePage, describe_signature
from perdure.reading.targets import Question, read_name, read_question, spell_path
from perdure.server.common import asking, auth, lists
from perdure.server.common.answers import Answer, make_answer
from perdure.server.common.readers import find_reader
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.resource import bibliographies
from perdure.server.resource.planning import read_whole_body
from perdure.server.resource.writing import make_receipt_answer, read_idempotency_key
from perdure.signing.document import LONGEST
from perdure.upkeep.signing import plan_attachment

WORD = "signatures"
RIGHT = "assert"
_MOST_SHOWN = 10
"""Signatures on a page or in a record. The list has all."""


async def list_signatures(
    service: Service, request: Request, resolved: Resolved, question: Question
) -> Answer:
    """Answer with the signatures of a name; of a set also with those of the names in it.

    Raises NotFound, NoSuchVersion or NotAcceptable if the name names nothing, InvalidRequest if the
    cursor is not from this list.
    """
    signatures, reader = service.registry.signatures, resolved.query.reader
    limit = min(question.limit or MOST, service.settings.page_size, MOST)
    if resolved.names is not None and resolved.record is None:
        run, read_page = service.read_list, partial(signatures.list_page, resolved.names)
        about = str(resolved.names)
    else:
        if resolved.names is None:
            resolved.require_known()
        run = service.run_cutter
        read_page = partial(signatures.list_page_of_name, resolved.identifier)
        about = str(resolved.identifier)
    page: SignaturePage = await run(partial(read_page, reader, cursor=question.cursor, limit=limit))
    found, following = page.signatures, lists.write_following(request, page.cursor, limit)
    _note_rules(service, request, found)
    body = {
        "identifier": about,
        "signatures": [_show_signature(one, request.base_url) for one in found],
    }
    if following is not None:
        body["next"] = following
    fresh = b"public, max-age=%d" % service.settings.fresh_seconds
    fields = [(b"cache-control", fresh), *bibliographies.link_following(following)]
    return make_answer(HTTPStatus.OK, "application/json", msgspec.json.encode(body), *fields)


async def read_shown(
    service: Service, request: Request, resolved: Resolved
) -> list[dict[str, object]]:
    """Return the first signatures of a name with their verdicts, for its page and its record.

    They are not shown if they cannot be judged: this installation cannot verify signatures, or the
    list of allowed signers is malformed. The list of signatures says why.
    """
    name, reader = resolved.identifier, resolved.query.reader
    if not service.listings.has_targeting(name):
        return []
    walk = service.registry.signatures.walk_signatures
    try:
        found = await service.run_cutter(lambda: list(islice(walk(name, reader), _MOST_SHOWN)))
    except PerdureError:  # the page and the record are about the document
        return []
    _note_rules(service, request, found)
    return [_show_signature(one, request.base_url) for one in found]


def _note_rules(service: Service, request: Request, found: list[HeldSignature]) -> None:
    """Keep caches from storing an answer that reading rules decide."""
    for one in found:
        for related in (one.identifier, one.signed.statement.identifier):
            asking.find_guard(service, request, related)


def _show_signature(held: HeldSignature, base: str) -> dict[str, object]:
    return describe_signature(held) | {"url": f"{base}/{spell_path(held.identifier)}"}


async def attach_signature(service: Service, request: Request) -> Answer:
    """Answer POST to `?signatures`. The body is a signed statement.

    Raises NotFound, Unauthenticated, Forbidden, TooLarge, and the errors of `plan_attachment`.
    """
    question = read_question(request.target.question, verbs=(WORD,))
    named = read_name(request.target.text, question.part)
    identifier, beside = join_part(named.identifier, named.part)
    is_known = identifier.is_pattern and service.knows_series(identifier)
    if not is_known:
        require_known(identifier, service.find_record(identifier.resource))
    token = auth.find_bearer(service, request)
    auth.check_right(service, token, RIGHT, identifier)
    auth.check_share(service, request, token)
    if beside is not None:
        raise PartNotSignable(identifier=f"{identifier}#{beside}")
    data = await read_whole_body(request, LONGEST)
    planned = await service.run_cutter(_plan, service, request, identifier, data, token)
    if isinstance(planned, Mint):
        command = replace(planned, once=read_idempotency_key(request))
        planned = await service.submit_command(command, token.name)
    service.metrics.count_write(WORD, planned.outcome)
    return make_receipt_answer(request.base_url, planned)


def _plan(
    service: Service, request: Request, identifier: Identifier, data: bytes, token: Token
) -> Mint | Receipt:
    """Plan an attachment. The right must also cover the series in which the signature is named."""
    planned = plan_attachment(
        service.registry, identifier, data, by=token.name, reader=find_reader(service, request)
    )
    if isinstance(planned, Mint):
        auth.check_minting(service, token, planned.authority, RIGHT)
    return planned
