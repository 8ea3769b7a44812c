"""Callers of the Handle REST API, and their rights.

How it works: a request carries one of our tokens (as Bearer, or as the password of any user) or
the user and password of a Handle administrator (Basic). A token's scope decides as everywhere
(`perdure.server.common.auth`). The HS_ADMIN values of a handle list the rights of its
administrators, and those of `0.NA/<prefix>` list who may create handles of the prefix
(`perdure.policy.handles.admins`). Administrators listed in the setting `handle_admins` have every
right under the prefixes that are homed here.

A secret that was written by a token ends with the token: its bearer can do at any time only what
the token can do, too.

What must stay true: a password is read only if it came over TLS, unless the operator allows
otherwise. It reaches neither log nor answer. A caller who is refused does not learn the reason,
not even from the time that the answer took.
"""

from __future__ import annotations

import msgspec

from perdure.errors import Forbidden, MalformedIdentifier, Unauthenticated
from perdure.errors.credentials import (
    PasswordWrong,
    RightMissing,
    ValueNotWritable,
)
from perdure.ids import Identifier
from perdure.model.records import Token, Value
from perdure.policy import rights, tokens
from perdure.policy.handles import names, sealing
from perdure.policy.handles.admins import Administrator, Permission, find_permissions
from perdure.policy.handles.values import ADMIN, is_secret, list_values
from perdure.server.common import auth
from perdure.server.common.request import Request
from perdure.server.common.service import Service


class Actor(msgspec.Struct, frozen=True):
    """The sender of a request: the bearer of a token, or an administrator."""

    name: str
    token: Token | None = None
    """The token of the request or, for an administrator, the one by which the secret was written.
    It limits the rights of both."""
    user: Administrator | None = None

    @property
    def bearer(self) -> str:
        """The name under which the names that the sender is given are counted."""
        return self.granted_by or self.name

    @property
    def granted_by(self) -> str:
        """The name of the token on which the rights of the sender depend; empty if on none."""
        return "" if self.token is None else self.token.name


async def identify_actor(service: Service, request: Request) -> Actor:
    """Find the sender of a request.

    Raises Unauthenticated, or Unavailable if too many passwords are being checked.
    """
    scheme, _, credentials = request.read_field(b"authorization").partition(" ")
    if scheme.lower() == "basic":
        return await _check_password(service, request, credentials.strip())
    token = auth.find_bearer(service, request)
    return Actor(token.name, token=token)


async def _check_password(service: Service, request: Request, credentials: str) -> Actor:
    name, password = auth.read_password(service, request, credentials)
    if tokens.is_token(password):
        token = auth.find_known_token(service, tokens.digest_secret(password))
        return Actor(token.name, token=token)
    user = Administrator.from_user_name(name)
    values = (one for one in _find_values(service, user.handle) if one.index == user.index)
    secret = next((one for one in values if is_secret(one)), None)
    kept = sealing.NOBODYS if secret is None else secret.data
    if await service.passwords.match_password(password, kept) and secret is not None:
        return Actor(str(user), token=_find_grantor(service, secret), user=user)
    raise PasswordWrong()


def _find_grantor(service: Service, secret: Value) -> Token | None:
    """The token by which a secret was written, or None if an operator wrote it.

    Raises Unauthenticated if the token, or one that it was granted from, is no longer valid.
    """
    if not secret.granted_by:
        return None
    token = service.bearers.find_named(secret.granted_by)
    if token is None:
        raise PasswordWrong()
    try:
        for one in service.bearers.trace_chain(token):
            rights.check_valid(one, auth.current_time(service))
    except Unauthenticated:
        raise PasswordWrong() from None
    return token


def _find_values(service: Service, handle: str) -> tuple[Value, ...]:
    """The values of a handle, or an empty tuple if the handle does not exist."""
    try:
        record = service.find_record(names.read_handle(handle))
    except MalformedIdentifier:
        return ()
    return () if record is None or record.tombstone else list_values(record)


# rights of a caller
# ------------------


def check_permission(
    service: Service,
    who: Actor,
    operation: str,
    identifier: Identifier,
    current: tuple[Value, ...],
    needed: frozenset[Permission],
) -> None:
    """Raise Forbidden or Unauthenticated unless the caller may do all of this to a handle.

    A token must cover `operation`. For an administrator, the HS_ADMIN values must grant `needed`,
    and the token by which the secret was written must cover `operation`.
    """
    if who.token is not None:
        auth.check_right(service, who.token, operation, identifier)
        if who.user is None:
            return
    missing = needed - _list_granted(service, who, identifier, current)
    if missing:
        raise RightMissing(who=who.name, needed=", ".join(sorted(missing)))


def may_read(
    service: Service, who: Actor, identifier: Identifier, current: tuple[Value, ...]
) -> bool:
    """True if the caller may read the values that are for administrators only."""
    try:
        check_permission(
            service, who, "bind", identifier, current, frozenset((Permission.READ_VALUE,))
        )
    except Forbidden:
        return False
    return True


def _list_granted(
    service: Service, who: Actor, identifier: Identifier, current: tuple[Value, ...]
) -> frozenset[Permission]:
    if who.user is None:
        return frozenset()
    home = names.find_home_prefix(identifier)
    homed = home in service.settings.handle_prefixes
    if homed and str(who.user) in service.settings.handle_admins:
        return frozenset(Permission)

    def find_values(handle: str) -> tuple[Value, ...]:
        return _find_values(service, handle)

    found = find_permissions(who.user, current, find_values)
    if homed:
        of_prefix = find_permissions(
            who.user, find_values(names.spell_handle(names.make_prefix_handle(home))), find_values
        )
        found |= of_prefix & {Permission.ADD_HANDLE, Permission.LIST_HANDLES}
    return found


def list_needed(before: tuple[Value, ...], after: tuple[Value, ...]) -> frozenset[Permission]:
    """The permissions needed to change the values of a handle from `before` to `after`.

    Raises Forbidden if a value changes that not even administrators may write.
    """
    old, new = ({one.index: one for one in values} for values in (before, after))
    needed: set[Permission] = set()
    for index in old.keys() | new.keys():
        was, will = old.get(index), new.get(index)
        if was is None and will is not None:
            needed.add(Permission.ADD_ADMIN if _is_admin(will) else Permission.ADD_VALUE)
        elif was is not None and will is None:
            needed.add(Permission.REMOVE_ADMIN if _is_admin(was) else Permission.REMOVE_VALUE)
        elif was is not None and will is not None:
            if was == msgspec.structs.replace(will, at=was.at):
                continue
            admin = _is_admin(was) or _is_admin(will)
            needed.add(Permission.MODIFY_ADMIN if admin else Permission.MODIFY_VALUE)
        if was is not None and was.permissions[1] == "0":
            raise ValueNotWritable(who="any caller", index=index)
    return frozenset(needed)


def _is_admin(value: Value) -> bool:
    return value.type.upper() == ADMIN
