"""Errors about webhooks: addresses that are notified of changes."""

from __future__ import annotations

from perdure.errors.invalid import InvalidRequest
from perdure.errors.lookup import NotFound
from perdure.errors.rights import Conflict
from perdure.errors.root import quote


class NoSuchWebhook(NotFound):
    """No webhook has this number."""

    def problem(self) -> str:
        return f"not found: there is no webhook {quote(self.identifier)}"

    def repair(self) -> str:
        return "'perdure webhooks list' lists the webhooks with their numbers"


class WebhooksTooMany(Conflict):
    """The registry has as many webhooks as it may have."""

    most: int

    @property
    def reason(self) -> str:
        return f"there are {self.most} webhooks already; remove one with 'perdure webhooks remove'"


class SetHasRepresentations(InvalidRequest):
    """The names of a webhook are formats or versions, but its messages are about resources."""

    names: str
    reason = "it names formats or versions, and messages are about resources"
    rule = "docs/reference/webhooks.md"

    @property
    def what(self) -> str:
        return f"the set {quote(self.names)}"
