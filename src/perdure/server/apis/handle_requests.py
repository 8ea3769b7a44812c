"""Requests of the Handle REST API: the handle, the parameters, and the answer if it is unknown.

How it works: the handle is the text after the path; parameters are in the query, or in a form in
the body. Clients repeat the same query, so its meaning is cached.

What must stay true: a PDI is not decoded, because its escapes belong to it.
"""

from __future__ import annotations

from functools import lru_cache
from http import HTTPStatus
from urllib.parse import unquote_to_bytes, urlencode

import msgspec

from perdure.errors import MalformedIdentifier
from perdure.ids import Identifier
from perdure.ids.handle import Handle
from perdure.ids.pdi import Pdi
from perdure.model.parameters import Parameters, read_parameters
from perdure.model.queries import Elsewhere
from perdure.policy.handles import names, values
from perdure.server.apis import handle_codes
from perdure.server.apis.handle_codes import AnswerForm, HandleCode
from perdure.server.common.answers import (
    Answer,
    escape_uri,
    join_links,
    make_empty_answer,
    write_link,
)
from perdure.server.common.service import Service

PATH = "api/handles"
LONGEST_BODY = 1 << 20  # bytes
_VARIOUS = "various"
_MOST_QUERIES = 256


class HandleRequest(msgspec.Struct, frozen=True):
    """The parameters of a request about a handle, from its query or its body."""

    handle: str
    """As it was written."""
    indexes: tuple[int, ...] = ()
    various: bool = False
    """True if each value is written to its own index (`index=various`)."""
    types: tuple[str, ...] = ()
    auth: bool = False
    """True if the answer must be authoritative. Ours always is; this one is not cached either."""
    overwrite: bool = True
    mint: bool = False
    form: AnswerForm = AnswerForm()

    @property
    def identifier(self) -> Handle | Pdi:
        """The parsed handle. Raises MalformedIdentifier."""
        return names.read_handle(self.handle)


def read_handle(text: str) -> str:
    """The handle in a path, decoded. A PDI is not decoded, because its escapes belong to it.

    Raises MalformedIdentifier.
    """
    handle = text.removeprefix(PATH).removeprefix("/")
    if names.is_pdi(handle):
        return handle
    try:
        return unquote_to_bytes(handle).decode("utf-8")
    except UnicodeDecodeError as error:
        raise MalformedIdentifier(
            text=handle, at=0, expected="escaped UTF-8", rule="RFC 3986 section 2.5"
        ) from error


def read_query(handle: str, question: str) -> HandleRequest:
    """Read the parameters from a query, or from the body of a form. Raises InvalidRequest."""
    return msgspec.structs.replace(_read_parameters(question), handle=handle)


@lru_cache(maxsize=_MOST_QUERIES)
def _read_parameters(question: str) -> HandleRequest:
    given = read_parameters(question)
    indexes = given.list_values("index")
    return HandleRequest(
        handle="",
        indexes=tuple(values.read_asked_index(one) for one in indexes if one != _VARIOUS),
        various=_VARIOUS in indexes,
        types=given.list_values("type"),
        auth=is_set(given, "auth"),
        overwrite=is_set(given, "overwrite", otherwise=True),
        mint=is_set(given, "mintNewSuffix"),
        form=handle_codes.read_form(pretty=is_set(given, "pretty"), callback=given.get("callback")),
    )


def is_set(given: Parameters, name: str, *, otherwise: bool = False) -> bool:
    """True if a parameter is set. `?auth` equals `?auth=true`."""
    return given[name].lower() in ("", "true", "1", "yes") if name in given else otherwise


def answer_unknown(service: Service, identifier: Handle | Pdi, asked: HandleRequest) -> Answer:
    if not is_home(service, identifier):
        return answer_not_home(asked)
    return handle_codes.write_answer(HandleCode.NOT_FOUND, asked.handle, form=asked.form)


def is_home(service: Service, identifier: Identifier) -> bool:
    """Return False if an identifier belongs to a prefix of handles that is not served here."""
    prefix = names.find_home_prefix(identifier)
    return not prefix or prefix in service.settings.handle_prefixes


def answer_elsewhere(elsewhere: Elsewhere, asked: HandleRequest) -> Answer:
    """Answer about a handle that another resolver may know: name that one, or redirect to it."""
    there = next((one.values for one in elsewhere.resolvers if one.values), "")
    if there and elsewhere.is_followed:
        chosen = [("index", str(one)) for one in asked.indexes]
        chosen += [("type", one) for one in asked.types]
        there += f"?{urlencode(chosen)}" if chosen else ""
        return make_empty_answer(
            HTTPStatus.FOUND, (b"location", escape_uri(there)), handle_codes.ANYBODY
        )
    first = elsewhere.resolvers[0]
    return handle_codes.write_answer(
        HandleCode.NOT_HOME,
        asked.handle,
        *join_links([write_link(there or first.address, "alternate", title=first.name)]),
        form=asked.form,
        message=f"That prefix doesn't live here; ask {first.name}: {there or first.address}",
    )


def answer_not_home(asked: HandleRequest) -> Answer:
    message = "That prefix doesn't live here"
    return handle_codes.write_answer(
        HandleCode.NOT_HOME, asked.handle, form=asked.form, message=message
    )
