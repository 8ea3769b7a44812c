"""The text of redirects around the places that differ, for `perdure.server.fast.leads`."""

from __future__ import annotations

from functools import lru_cache

from perdure.ids import parse
from perdure.model.queries import Redirect
from perdure.model.records import Location
from perdure.server.common.answers import write_answer
from perdure.server.common.elsewhere import make_redirection
from perdure.server.common.redirects import make_redirect, redirect_onward

_MOST_FRAMES = 64  # there is one for each time to live


@lru_cache(_MOST_FRAMES)
def make_onward_frame(fresh: int) -> tuple[bytes, bytes]:
    """The text of a redirect to another name, around the address of that name."""
    before, _, behind = write_answer(redirect_onward("x:there", fresh=fresh)).partition(b"x:there")
    return before, behind


@lru_cache(_MOST_FRAMES)
def make_resolver_frame(bases: tuple[str, ...], fresh: int) -> list[bytes]:
    """The text of a redirect to other resolvers, around each place of the target."""
    target = "x:target"
    answer = make_redirection([base + target for base in bases], fresh=fresh)
    return write_answer(answer).split(target.encode())


@lru_cache(_MOST_FRAMES)
def make_part_frame(
    fresh: int, base: str, vary: bytes, has_linkset: bool
) -> tuple[bytes, list[bytes], bytes]:
    """The text of a redirect to a part: before its location, around each path of the part, and
    behind the path of the whole."""
    whole, location, path = parse("urn:x-example:whole"), "x:location", "urn:x-example:p?part=p"
    step = Redirect(identifier=whole, location=Location(uri=location))
    answer = make_redirect(
        step, fresh=fresh, base=base, vary=vary, path=path, has_linkset=has_linkset
    )
    before, _, rest = write_answer(answer).partition(location.encode())
    text, _, behind = rest.partition(whole.path.encode())
    return before, text.split(path.encode()), behind
