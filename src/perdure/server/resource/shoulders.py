"""Inflections of ARK shoulders and naming authorities: `ark:12345/x5?`, `ark:12345??`.

How it works: a text that is not the name of a resource may be a shoulder that mints here, that has
a policy, or that names known here begin with; or an authority of known names. It is described by an
ERC, as an ARK is, and for `??` with what is promised about its names.

What must stay true: a registered name precedes the shoulder that is written alike.
"""

from __future__ import annotations

from http import HTTPStatus

from perdure.policy import shoulders
from perdure.reading.targets import Question
from perdure.server.common.answers import Answer, make_answer
from perdure.server.common.request import Request
from perdure.server.common.service import Service


def answer_shoulder(service: Service, request: Request, question: Question) -> Answer | None:
    """Describe a shoulder or an authority; None if the target is none that is known here."""
    text = request.target.text
    name = shoulders.read_beginning(text) if text[:4].lower() == "ark:" else None
    if question.verb != "info" or name is None or not _is_known(service, name):
        return None
    number, _, shoulder = name.partition("/")
    there = f"{request.base_url}/ark:{name}{'*' if shoulder else '/'}"
    what = f"ARK shoulder {name}" if shoulder else f"naming authority {number}"
    parts: list[tuple[str, dict[str, str]]] = [
        (
            "erc",
            {
                "who": request.base_url.partition("//")[2],
                "what": what,
                "when": "(:unav)",
                "where": there,
            },
        )
    ]
    if question.inflection != "?":
        promise = shoulders.find_policy(service.settings.ark_policies, name)
        parts.append(("erc-support", {"what": promise, "where": there}))
    body = "".join(
        f"{kind}:\n" + "".join(f"{label}: {value}\n" for label, value in members.items())
        for kind, members in parts
    )
    fresh = (b"cache-control", b"public, max-age=%d" % service.settings.fresh_seconds)
    return make_answer(HTTPStatus.OK, "text/plain; charset=utf-8", body.encode(), fresh)


def _is_known(service: Service, name: str) -> bool:
    """Return True if names are minted here under a beginning, are known, or have a policy."""
    settings = service.settings
    owned = (*settings.shoulders, *(one.partition(" = ")[0] for one in settings.ark_policies))
    if any(one == name or one.startswith(f"{name}/") for one in owned):
        return True
    number, _, shoulder = name.partition("/")
    if shoulder and not shoulders.is_primordinal(shoulder):
        return False
    low = f"ark:{name}" if shoulder else f"ark:{number}/"
    return service.registry.records.find_first_key(low, f"{low}\U0010ffff") is not None
