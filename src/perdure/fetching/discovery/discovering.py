"""Find the resolvers of a name, and tell each step.

How it works: a name of a scheme with a public resolver leads there; that asks no network. For a
PDI, these steps are taken in order, and the first that finds something ends them:

1. the settings (`resolvers`): a series, or one to the right of it (`*.oma.eop.gov.us`);
2. NAPTR records of the series, or else those that all series share (`pdi.urn.arpa`), and the SRV
   records to which they lead. What name servers said before is used for its lifetime;
3. the series as a host name, if it confirms the series (section 3.8.1), first by https, then http.

What must stay true: discovery ends within its time, after at most `MOST_REWRITES` rewritings, and
never asks about one owner twice; records that are forged end it, rather than let the next step
decide; addresses are checked when something is fetched from them, by `perdure.fetching.fetcher`.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable, Mapping
from typing import Literal

import msgspec

from perdure.errors import InvalidRequest
from perdure.errors.discovery import DiscoveryFailed, ResolverMalformed, ResolverNotFound
from perdure.errors.root import count_seconds
from perdure.fetching.discovery.cache import DiscoveryCache
from perdure.fetching.discovery.confirming import confirm_host
from perdure.fetching.discovery.lookups import Lookup, NameServers, Security
from perdure.fetching.fetcher import Fetcher
from perdure.fetching.targets import parse_target
from perdure.ids import Identifier
from perdure.ids.pdi import Pdi
from perdure.ids.public_resolvers import find_resolvers
from perdure.policy.discovery.pointers import (
    MOST_REWRITES,
    MOST_STEPS,
    ROOT,
    Rewritten,
    find_base,
    rewrite_name,
)
from perdure.policy.discovery.services import order_servers
from perdure.policy.templates.expressions import StepBudget

SECONDS = 30.0
"""The time for all steps."""
HOSTS = ("https://{series}", "http://{series}")
"""The addresses of a series that is taken for a host name, in order."""
_MOST_RESOLVERS = 16
_HOST_LIFETIME, _NO_HOST_LIFETIME = 3600, 300

Source = Literal["settings", "dns", "host", "public"]
Outcome = Literal["found", "nothing", "followed", "failed"]


class FoundResolver(msgspec.Struct, frozen=True, kw_only=True):
    """A resolver of a name."""

    base: str
    """Its address up to the identifier; empty if only `address` is known."""
    address: str
    """The address of the name there."""
    source: Source
    security: Security = "not validated"
    """DNSSEC status of the records that lead there."""
    kind: Literal["http", "thttp"] = "http"
    name: str = ""
    """What people call a public resolver."""
    is_official: bool = True


class DiscoveryStep(msgspec.Struct, frozen=True, kw_only=True):
    """One step of a discovery, for people."""

    where: str
    """What was asked: `settings`, `NAPTR oma.eop.gov.us`, `https://oma.eop.gov.us` …"""
    outcome: Outcome
    found: str
    """What was found, or why nothing was."""
    security: Security | None = None
    from_cache: bool = False


class Discovery(msgspec.Struct, frozen=True, kw_only=True):
    """The steps of a discovery, and the resolvers that it found, the best first."""

    identifier: str
    steps: tuple[DiscoveryStep, ...]
    resolvers: tuple[FoundResolver, ...]
    fault: str = ""
    """Why discovery failed. Empty if it found something, or if there is nothing to find."""

    def require_resolvers(self) -> tuple[FoundResolver, ...]:
        """Return the resolvers. Raises ResolverNotFound or DiscoveryFailed if there are none."""
        if self.resolvers:
            return self.resolvers
        if self.fault:
            raise DiscoveryFailed(identifier=self.identifier, fault=self.fault)
        raise ResolverNotFound(identifier=self.identifier)


def read_resolvers(entries: tuple[str, ...]) -> dict[str, str]:
    """Read entries `SERIES = ADDRESS` of the setting `resolvers`. Raises InvalidRequest."""
    found = {}
    for entry in entries:
        series, mark, base = (one.strip() for one in entry.partition("="))
        if not mark or not series:
            raise ResolverMalformed(text=entry)
        try:
            parse_target(base)
        except InvalidRequest:
            raise ResolverMalformed(text=entry) from None
        found[series.lower().removeprefix("pdi://").rstrip("/")] = base.rstrip("/")
    return found


class Discoverer:
    """Finds the resolvers of names. One may find many at the same time."""

    def __init__(
        self,
        *,
        fetcher: Fetcher,
        name_servers: Callable[[], NameServers] = NameServers,
        cache: DiscoveryCache | None = None,
        resolvers: Mapping[str, str] | None = None,
        root: str = ROOT,
        hosts: tuple[str, ...] = HOSTS,
        choose: Callable[[int], int] = lambda most: random.randint(0, most),  # noqa: S311 (RFC 2782)
        seconds: float = SECONDS,
    ) -> None:
        """`name_servers` is called when they are first needed; it may raise MissingLibrary.

        `resolvers` are known ones by their series. `root` is the owner of the records of all
        series. `hosts` are the addresses that a series may have as a host name. `choose(n)` returns
        a random number from 0 to n.
        """
        self.fetcher = fetcher
        self._make_name_servers = name_servers
        self._name_servers: NameServers | None = None
        self.cache = cache or DiscoveryCache()
        self.resolvers = dict(resolvers or {})
        self.root = root
        self.hosts = hosts
        self._choose = choose
        self._seconds = seconds

    async def discover(self, identifier: Identifier) -> Discovery:
        """Find the resolvers of a name.

        Raises MissingLibrary if name servers must be asked, and dnspython is not installed.
        """
        search = _Search(self, identifier.whole)
        try:
            async with asyncio.timeout(self._seconds):
                await search.take_steps()
        except TimeoutError:
            search.fail(f"it took more than {count_seconds(self._seconds)}")
        return search.finish()

    async def look_up(self, owner: str, kind: Literal["NAPTR", "SRV"]) -> tuple[Lookup, bool]:
        """Look up records of an owner; True with an answer that was kept."""
        kept = self.cache.find_lookup(owner, kind)
        if kept is not None:
            return kept, True
        if self._name_servers is None:
            self._name_servers = self._make_name_servers()
        ask = (
            self._name_servers.find_pointers if kind == "NAPTR" else self._name_servers.find_servers
        )
        found = await ask(owner)
        self.cache.keep_lookup(found)
        return found, False


class _Search:
    """One discovery."""

    def __init__(self, discoverer: Discoverer, name: Identifier) -> None:
        self._discoverer = discoverer
        self._name = name
        self._text = str(name)
        self._steps: list[DiscoveryStep] = []
        self._found: list[FoundResolver] = []
        self._asked: set[str] = set()
        self._budget = StepBudget(MOST_STEPS)
        self._fault = ""

    async def take_steps(self) -> None:
        if not isinstance(self._name, Pdi):
            self._find_public()
            return
        series = self._name.series
        if self._find_in_settings(series):
            return
        for owner in (series, self._discoverer.root):
            if await self._follow_pointers(owner, 0) or self._fault:
                return
        await self._try_host(series)

    def fail(self, fault: str) -> None:
        self._fault = self._fault or fault
        self._steps.append(DiscoveryStep(where="time", outcome="failed", found=fault))

    def finish(self) -> Discovery:
        unique = {one.address: one for one in reversed(self._found)}
        kept = tuple(one for one in self._found if unique[one.address] is one)
        return Discovery(
            identifier=self._text,
            steps=tuple(self._steps),
            resolvers=kept[:_MOST_RESOLVERS],
            fault="" if kept else self._fault,
        )

    # without a network
    # -----------------

    def _find_public(self) -> None:
        for one in find_resolvers(self._name):
            address = one.locate(self._name)
            self._found.append(
                FoundResolver(
                    base=find_base(address, self._text) if address.endswith(self._text) else "",
                    address=address,
                    source="public",
                    name=one.name,
                    is_official=one.official,
                )
            )
            found = f"{one.name}: {address}"
            self._note("public resolvers", "found", found)
        if not self._found:
            self._note("public resolvers", "nothing", "the scheme has no public resolver")

    def _find_in_settings(self, series: str) -> bool:
        """Look for the series, and for those to its right with an asterisk before them."""
        labels = series.split(".")
        wild = (f"*.{'.'.join(labels[at:])}" for at in range(1, len(labels)))
        for one in (series, *wild):
            base = self._discoverer.resolvers.get(one)
            if base is not None:
                self._note("settings", "found", base)
                self._add(base, "settings")
                return True
        self._note("settings", "nothing", f"no resolver of {series} is set")
        return False

    # name servers
    # ------------

    async def _follow_pointers(self, owner: str, depth: int) -> bool:
        """Follow the NAPTR records of an owner. Return True if they lead to a resolver."""
        if owner in self._asked:
            self._note(f"NAPTR {owner}", "nothing", "it was asked before: the records form a loop")
            return False
        if depth > MOST_REWRITES:
            self._note(f"NAPTR {owner}", "nothing", f"more than {MOST_REWRITES} rewritings")
            return False
        self._asked.add(owner)
        lookup = await self._ask(owner, "NAPTR")
        if lookup is None:
            return False
        rewritten, problems = rewrite_name(self._text, lookup.pointers, self._budget)
        for problem in problems:
            self._note(f"NAPTR {owner}", "nothing", f"a record was left out: {problem.reason}")
        for one in rewritten:
            with contextlib.suppress(InvalidRequest):
                if await self._follow(one, lookup.security, depth):
                    return True
            if self._fault:
                return False
        return False

    async def _follow(self, one: Rewritten, security: Security, depth: int) -> bool:
        kind: Literal["http", "thttp"] = "thttp" if one.protocol == "thttp" else "http"
        if one.flag == "":
            return await self._follow_pointers(one.target, depth + 1)
        if one.flag == "u":
            parse_target(one.target)
            base = find_base(one.target, self._text)
            self._add(base, "dns", security, kind, address=one.target)
            self._note("NAPTR result", "found", one.target)
            return True
        protocol = "https" if one.protocol in ("https", "pdi") else "http"
        if one.flag == "a":
            self._add(f"{protocol}://{one.target}", "dns", security, kind)
            self._note("NAPTR result", "found", f"{protocol}://{one.target}")
            return True
        lookup = await self._ask(one.target, "SRV")
        servers = order_servers(lookup.servers, self._discoverer._choose) if lookup else []
        weaker = security if lookup is None or lookup.security == security else "not validated"
        for server in servers:
            usual = 443 if protocol == "https" else 80
            port = "" if server.port == usual else f":{server.port}"
            base = f"{protocol}://{server.host}{port}"
            parse_target(base)
            self._add(base, "dns", weaker, kind)
            self._note(f"SRV {one.target}", "found", base)
        return bool(servers)

    async def _ask(self, owner: str, kind: Literal["NAPTR", "SRV"]) -> Lookup | None:
        """Look up records. None if there are none; forged or missing answers end the discovery."""
        lookup, kept = await self._discoverer.look_up(owner, kind)
        where, security = f"{kind} {owner}", lookup.security
        records = lookup.pointers or lookup.servers
        if lookup.fault:
            self._note(where, "failed", lookup.fault, security)
            self._fault = self._fault or f"{where}: {lookup.fault}"
            return None
        if not records:
            self._note(where, "nothing", "no records", security, from_cache=kept)
            return None
        count = f"{len(records)} record{'s' if len(records) > 1 else ''}"
        self._note(where, "followed", count, security, from_cache=kept)
        return lookup

    # the series as a host
    # --------------------

    async def _try_host(self, series: str) -> None:
        cache = self._discoverer.cache
        kept = cache.find_host(series)
        if kept is not None:
            outcome: Outcome = "found" if kept else "nothing"
            self._note(f"host {series}", outcome, kept or "it did not confirm", from_cache=True)
            if kept:
                self._add(kept, "host")
            return
        for host in self._discoverer.hosts:
            base = host.format(series=series)
            confirmed = await confirm_host(self._discoverer.fetcher, base, series)
            if confirmed.base:
                self._note(base, "found", confirmed.found)
                self._add(confirmed.base, "host")
                cache.keep_host(series, confirmed.base, _HOST_LIFETIME)
                return
            self._note(base, "nothing", confirmed.found)
        cache.keep_host(series, "", _NO_HOST_LIFETIME)

    # notes
    # -----

    def _add(
        self,
        base: str,
        source: Source,
        security: Security = "not validated",
        kind: Literal["http", "thttp"] = "http",
        *,
        address: str = "",
    ) -> None:
        usual = (
            f"{base}/uri-res/N2R?{self._name.urn}" if kind == "thttp" else f"{base}/{self._text}"
        )
        self._found.append(
            FoundResolver(
                base=base, address=address or usual, source=source, security=security, kind=kind
            )
        )

    def _note(
        self,
        where: str,
        outcome: Outcome,
        found: str,
        security: Security | None = None,
        *,
        from_cache: bool = False,
    ) -> None:
        self._steps.append(
            DiscoveryStep(
                where=where, outcome=outcome, found=found, security=security, from_cache=from_cache
            )
        )
