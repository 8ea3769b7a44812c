"""Writing through the Handle REST API: create a handle, replace or remove its values, delete it.

How it works: a `HandleChange` plans the new list of values from the current record and the values
that were sent, and checks the permissions that the difference needs
(`perdure.server.apis.handle_admins`). Its command tells the revision on which the plan is based. If
another write was faster, it plans again. `perdure.server.fast.assign` carries out the same changes
without ASGI.

What must stay true: an issued name can be deleted only under prefixes that the operator has set
aside for tests (ruling: http-405, pdi-version).
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from http import HTTPStatus

import msgspec

from perdure.errors import PreconditionFailed
from perdure.ids.handle import Handle
from perdure.ids.pdi import Pdi
from perdure.model.commands import Assign, Outcome, Receipt
from perdure.model.records import Record, Value
from perdure.policy.handles import changes, names, values
from perdure.policy.handles.admins import Permission
from perdure.policy.handles.values import is_public, is_url, list_locations, list_values
from perdure.server.apis import handle_admins, handle_codes
from perdure.server.apis.handle_admins import Actor
from perdure.server.apis.handle_codes import HandleCode
from perdure.server.apis.handle_requests import (
    LONGEST_BODY,
    HandleRequest,
    answer_not_home,
    answer_unknown,
    is_home,
)
from perdure.server.common.answers import Answer
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.common.target_kinds import TargetKind
from perdure.server.resource.planning import read_whole_body

_TRIES = 8  # if others write to the same handle
_NEW = frozenset((Permission.ADD_HANDLE,))
_GONE = frozenset((Permission.DELETE_HANDLE,))


class HandleChange:
    """A change to one handle, planned for its record, and again if another write was faster."""

    def __init__(
        self,
        service: Service,
        identifier: Handle | Pdi,
        who: Actor,
        plan: Callable[[Record | None], Answer | Assign],
        answer: Callable[[Receipt], Answer],
        *,
        creates: bool = False,
    ) -> None:
        """`plan` makes a command, or refuses with an answer; `answer` answers with its receipt.

        With `creates`, it makes a command only for an unknown handle.
        """
        self._service = service
        self._identifier = identifier
        self._plan = plan
        self._answer = answer
        self._creates = creates
        self._tries = 0
        self.bearer = who.bearer
        self.is_unread = False
        """The last plan was made without reading the record."""

    def make_first_command(self) -> Answer | Assign:
        """Plan for the current record. A handle that the client wants to create is not looked up:
        the write door finds out whether it is unknown, as most are."""
        if not self._creates:
            return self.make_command()
        self.is_unread = True
        planned = self._plan(None)
        return (
            planned if isinstance(planned, Answer) else msgspec.structs.replace(planned, expect=0)
        )

    def make_command(self) -> Answer | Assign:
        """Plan for the current record. A deleted handle is planned for like an unknown one."""
        self.is_unread = False
        record = self._service.find_record(self._identifier)
        revision = 0 if record is None else record.revision
        known = None if record is not None and changes.is_deleted(record) else record
        planned = self._plan(known)
        if isinstance(planned, Answer):
            return planned
        return msgspec.structs.replace(planned, expect=revision)

    def take_receipt(self, receipt: Receipt) -> Answer:
        """Count the write, and answer it."""
        self._service.metrics.count_write("assign", receipt.outcome)
        return self._answer(receipt)

    def note_race(self, error: PreconditionFailed) -> None:
        """Note that another write was faster. Raises the error if this happens again and again."""
        self._tries += 1
        if self._tries == _TRIES:
            raise error

    async def carry_out(self) -> Answer:
        """Submit the command and wait for its receipt. Raises the error of the command."""
        while True:
            planned = self.make_command()
            if isinstance(planned, Answer):
                return planned
            try:
                receipt = await self._service.submit_command(planned, self.bearer)
            except PreconditionFailed as error:
                self.note_race(error)
            else:
                return self.take_receipt(receipt)


async def write_handle(service: Service, request: Request, asked: HandleRequest) -> Answer:
    """Create a handle, or replace its values; with `?index`, only some of them."""
    who = await handle_admins.identify_actor(service, request)
    if asked.mint:
        asked = msgspec.structs.replace(
            asked, handle=f"{asked.handle}{uuid.uuid4()}", overwrite=False
        )
    identifier = asked.identifier
    if not is_home(service, identifier):
        return answer_not_home(asked)
    body = await read_whole_body(request, LONGEST_BODY)
    named = None if asked.mint else identifier
    if values.is_quickly_read(body):
        sent = values.read_values(body, named)
    else:  # to hash secrets takes a while
        sent = await asyncio.to_thread(values.read_values, body, named)
    return await plan_writing(service, who, asked, identifier, sent).carry_out()


def plan_writing(
    service: Service,
    who: Actor,
    asked: HandleRequest,
    identifier: Handle | Pdi,
    sent: tuple[Value, ...],
) -> HandleChange:
    """Plan to give a handle the values that were sent."""
    some = bool(asked.indexes) or asked.various

    def plan_write(record: Record | None) -> Answer | Assign:
        if some and not asked.various and {one.index for one in sent} != set(asked.indexes):
            message = "the indexes in the query differ from those of the values in the body"
            return handle_codes.write_answer(
                HandleCode.PROTOCOL_ERROR, asked.handle, form=asked.form, message=message
            )
        if some and record is None:
            return answer_unknown(service, identifier, asked)
        current = () if record is None else list_values(record)
        there = {one.index for one in current} & {one.index for one in sent}
        if not asked.overwrite and (record is not None if not some else there):
            code = HandleCode.VALUE_EXISTS if some else HandleCode.ALREADY_EXISTS
            return handle_codes.write_answer(code, asked.handle, form=asked.form)
        after = changes.put_values(current, sent, whole=not some, granted_by=who.granted_by)
        if record is None:
            handle_admins.check_permission(service, who, "register", identifier, (), _NEW)
        else:
            needed = handle_admins.list_needed(current, after)
            handle_admins.check_permission(service, who, "bind", identifier, current, needed)
        return Assign(by=who.name, identifier=identifier, values=after)

    def write_answer(receipt: Receipt) -> Answer:
        made = receipt.outcome is Outcome.CREATED and not asked.overwrite
        status = HTTPStatus.CREATED if made else HTTPStatus.OK
        message = _explain_unlocated(sent)
        return handle_codes.write_answer(
            HandleCode.SUCCESS, asked.handle, form=asked.form, status=status, message=message
        )

    creates = not (asked.overwrite or some)
    return HandleChange(service, identifier, who, plan_write, write_answer, creates=creates)


def _explain_unlocated(sent: tuple[Value, ...]) -> str:
    """Name the public `URL` values to which readers cannot be redirected; empty if there are none.

    The values are stored as they were sent.
    """
    odd = [one for one in sent if is_url(one) and is_public(one) and not list_locations(one)]
    if not odd:
        return ""
    places = ", ".join(f"index {one.index}" for one in odd)
    return f"readers are not redirected to the URL at {places}: no browser opens it"


async def delete_handle(service: Service, request: Request, asked: HandleRequest) -> Answer:
    """Remove values, or the complete handle if its prefix allows it  # ruling: http-405"""
    identifier = asked.identifier
    if not is_home(service, identifier):
        return answer_not_home(asked)
    if not may_delete(service, asked, identifier):
        message = "identifiers with this prefix are never deleted; withdraw it instead"
        allow = (b"allow", request.allow[TargetKind.PAGE])
        status = HTTPStatus.METHOD_NOT_ALLOWED
        return handle_codes.write_answer(
            HandleCode.NOT_SUPPORTED,
            asked.handle,
            allow,
            form=asked.form,
            status=status,
            message=message,
        )
    who = await handle_admins.identify_actor(service, request)
    return await plan_deletion(service, who, asked, identifier).carry_out()


def may_delete(service: Service, asked: HandleRequest, identifier: Handle | Pdi) -> bool:
    """Return True if a request removes only some values, or if its prefix allows more."""
    return bool(asked.indexes) or changes.is_mutable(
        names.find_home_prefix(identifier), service.settings.mutable_prefixes
    )


def plan_deletion(
    service: Service, who: Actor, asked: HandleRequest, identifier: Handle | Pdi
) -> HandleChange:
    """Plan to remove values, or the complete handle."""

    def plan_removal(record: Record | None) -> Answer | Assign:
        if record is None:
            return answer_unknown(service, identifier, asked)
        current = list_values(record)
        if not asked.indexes:
            handle_admins.check_permission(service, who, "withdraw", identifier, current, _GONE)
            return Assign(by=who.name, identifier=identifier, values=None)
        if not {one.index for one in current}.issuperset(asked.indexes):
            return handle_codes.write_answer(
                HandleCode.VALUES_NOT_FOUND, asked.handle, form=asked.form
            )
        after = changes.remove_values(current, frozenset(asked.indexes))
        needed = handle_admins.list_needed(current, after)
        handle_admins.check_permission(service, who, "bind", identifier, current, needed)
        return Assign(by=who.name, identifier=identifier, values=after)

    def write_answer(_: Receipt) -> Answer:
        return handle_codes.write_answer(HandleCode.SUCCESS, asked.handle, form=asked.form)

    return HandleChange(service, identifier, who, plan_removal, write_answer)
