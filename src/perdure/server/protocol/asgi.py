"""The types of ASGI, as far as the server needs them.

Specification: https://asgi.readthedocs.io/en/latest/specs/www.html.
"""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
