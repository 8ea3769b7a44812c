"""Names that are delegated to other resolvers: redirects, and documents that are kept here.

How it works: `AwayLeads` is asked about names of which nothing is known here. All PDIs of a series
and a day are delegated alike, unless a delegation divides days, so what was decided for one of them
is remembered for the others. The read door decides it (`perdure.reading.delegations`).

A name whose requests are passed on leads to its document if that is kept here
(`perdure.server.fast.proxied`). The plain way asks other resolvers for everything else.

The list of delegations and the day are looked up once for each state of the registry that is held
for look-ups (`perdure.server.fast.lookups`). A revision ends that state, and so does the end of the
turn of the event loop.

What must stay true: what is remembered holds for one list of delegations and one day; both are at
most one turn of the event loop old.
"""

from __future__ import annotations

from perdure.ids import parse
from perdure.model.delegations import HeldDelegation
from perdure.policy.delegating import DelegationIndex
from perdure.policy.unfolding import find_beginnings
from perdure.reading.delegations import Delegations
from perdure.server.common.answers import escape_uri
from perdure.server.fast.lead_frames import make_resolver_frame
from perdure.server.fast.lead_kinds import PDI, Lead, ProxiedLead
from perdure.server.fast.lookups import LookUps
from perdure.server.fast.proxied import ReadyDocuments
from perdure.settings import Settings

_MOST_REMEMBERED = 4096  # days of series
_PASSED_ON: list[bytes] = []
"""Stands for the frame of names whose requests are passed on."""


class AwayLeads:
    """Finds where delegated names lead."""

    def __init__(
        self,
        delegations: Delegations,
        lookups: LookUps,
        settings: Settings,
        documents: ReadyDocuments,
    ) -> None:
        self._delegations = delegations
        self._lookups = lookups
        self._fresh = settings.fresh_seconds
        self._documents = documents
        self._turn = 0
        """The state of `_lookups` for which the next two were looked up."""
        self._index = DelegationIndex()
        self._today = ""
        self._days: dict[str, list[bytes] | None] = {}
        """The frames of the redirects of PDIs by their beginnings up to the day."""

    def find_lead(
        self, text: str, written: bytes, changes: int, *, is_full: bool
    ) -> Lead | ProxiedLead | None:
        """Redirect to the resolver to which an unknown name is delegated, or find its document.

        `written` is the name as the target has it. `is_full`: it has format and version, so its
        document may be kept. Raises AnswerLater if the disk must be read before.
        """
        if self._turn != self._lookups.turn:
            self._look_up_state()
        if not self._index.held:
            return None
        if text.startswith(PDI) and not self._index.divides_days:
            try:
                frame = self._days[text.rpartition("/")[0]]
            except KeyError:
                frame = self._find_frame_of_day(text)
        else:
            name = parse(text)
            held = self._delegations.find_reading(name)
            if held is not None and any(
                self._lookups.find_record(one.whole.key) for one in find_beginnings(name)
            ):
                return None
            frame = self._find_frame(held)
        if frame:
            head = escape_uri(written.decode("ascii")).join(frame)
            return Lead(head, None, changes, True)
        if frame is None or not is_full:
            return None
        document = self._documents.find_document(text)
        if document is None:
            return None
        return ProxiedLead(document, changes, self._today)

    def _look_up_state(self) -> None:
        """Look up the delegations and the day, and forget what held for others."""
        index, today = self._delegations.load_index(), self._delegations.today
        if index is not self._index or today != self._today:
            self._index, self._today, self._days = index, today, {}
        self._turn = self._lookups.turn

    def _find_frame_of_day(self, text: str) -> list[bytes] | None:
        """Find the frame for a PDI. It is the same for all PDIs of its series and day."""
        if len(self._days) >= _MOST_REMEMBERED:
            self._days = {}
        found = self._find_frame(self._delegations.find_reading(parse(text)))
        self._days[text.rpartition("/")[0]] = found
        return found

    def _find_frame(self, held: HeldDelegation | None) -> list[bytes] | None:
        """The text of a redirect around each place of the name; None if it is not redirected.

        `_PASSED_ON` if the request is passed on.
        """
        if held is None or held.delegation.how == "refer":
            return None
        if held.delegation.how == "proxy":
            return _PASSED_ON
        if any(one.kind != "http" for one in held.delegation.resolvers):
            return None
        bases = tuple(one.base for one in held.delegation.resolvers)
        return make_resolver_frame(bases, self._fresh)
