"""Redirects without ASGI: what a resolver is asked most, answered inside the protocol class.

How it works: `FastPath` is called with each GET and HEAD as it was read. It looks at three things,
in the order of what they cost:

1. the header, by its bytes as a whole: clients send the same fields again and again, so whether
   they ask for anything unusual is remembered for the whole block;
2. the answers given lately, by target. They hold while `perdure.generation` says that no record was
   changed, in this process or another;
3. the record. Where `perdure.decide` redirects, `perdure.server.redirects` makes the answer.

Everything else is None and goes the plain way: queries, parts, escapes, conditions, wishes for JSON
or XML, bytes held here, and every error.

What must stay true: an answer from here is the same, byte for byte, as the plain way's; no answer
is older than the last change that was acknowledged.
"""

from __future__ import annotations

import re

import msgspec

from perdure.app import Registry
from perdure.decide import decide
from perdure.errors import PerdureError
from perdure.generation import Generation
from perdure.ids import parse
from perdure.model import Query, Record, Redirect
from perdure.server.answers import wire
from perdure.server.describing import TYPES
from perdure.server.doctor import ECHO
from perdure.server.head import header_fields
from perdure.server.negotiate import preferences, prefers
from perdure.server.redirects import redirect

# A target that names one whole resource and nothing else, in any scheme: no query, part, citation,
# wildcard or escape in it. A PWID may hold a query; such a one goes the plain way as well.
_SIMPLE = re.compile(
    rb"/([A-Za-z][A-Za-z0-9+.-]*:[!\"$&'()+,\-./0-9:;<=>A-Za-z\[\\\]^_`{|}~]*[^/])"
)
_MOST_HEADERS = 1024
_MOST_ANSWERS = 8192  # in each of two halves; an answer takes some 600 bytes
_UNUSUAL = frozenset((ECHO.lower().encode(), b"expect"))

_decode = msgspec.json.Decoder(Record).decode


class FastPath:
    """Answers plain redirects; `None` for everything else. See `perdure.server.http.Fast`."""

    def __init__(self, registry: Registry, generation: Generation) -> None:
        self._raw = registry.records.raw
        self._fresh = registry.settings.fresh_seconds
        self._generation = generation
        self._headers: dict[bytes, bool] = {}
        self._seen = -1
        # A cheap near relation of least-recently-used: what is asked for moves to the young half;
        # when that is full it becomes the old half, and what stood there is forgotten.
        self._young: dict[bytes, bytes] = {}
        self._old: dict[bytes, bytes] = {}
        self.answered = 0
        """Requests answered since somebody set this to 0."""

    def __call__(self, _method: bytes, target: bytes, fields: bytes) -> bytes | None:
        usual = self._headers.get(fields)
        if not (self._judge(fields) if usual is None else usual):
            return None
        # Read before the record is: an answer made from an older record is never kept as new.
        count = self._generation.count
        if count != self._seen:
            self._young, self._old, self._seen = {}, {}, count
        answer = self._young.get(target)
        if answer is None:
            answer = self._old.get(target) or self._make(target)
            if answer is None:
                return None
            self._keep(target, answer)
        self.answered += 1
        return answer

    def _keep(self, target: bytes, answer: bytes) -> None:
        if len(self._young) >= _MOST_ANSWERS:
            self._old, self._young = self._young, {}
        self._young[target] = answer

    def _judge(self, fields: bytes) -> bool:
        """Whether a header asks for nothing that could make the answer another one."""
        found = header_fields(fields)
        accept = b", ".join(value for name, value in found if name == b"accept")
        usual = not prefers(preferences(accept.decode("latin-1")), TYPES) and all(
            name not in _UNUSUAL for name, _ in found
        )
        if len(self._headers) >= _MOST_HEADERS:
            self._headers.clear()
        self._headers[fields] = usual
        return usual

    def _make(self, target: bytes) -> bytes | None:
        """The redirect of an identifier that is bound to a location."""
        simple = _SIMPLE.fullmatch(target)
        if simple is None:
            return None
        try:
            identifier = parse(simple[1].decode("ascii"))
            text = self._raw(identifier.key)
            if text is None:
                return None
            step = decide(Query(identifier=identifier), _decode(text))
        except PerdureError:
            return None
        if not isinstance(step, Redirect):
            return None
        return wire(redirect(step, fresh=self._fresh))
