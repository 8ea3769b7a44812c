"""The settings of a registry: one frozen value, each setting with its default and its rules.

How it works: the metadata of each field contain its description and its rules, which are in
`perdure.settings.rules`. Creating a value applies the rules, so each `Settings` is valid and in
canonical form. `_TOGETHER` lists the rules about several settings. A test keeps
docs/reference/settings.md complete.

What must stay true: an unusable value is an error that names the setting.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import cache, lru_cache
from typing import Any

from perdure.errors.configuring import (
    CaptureNeedsArchive,
    MintingSettingUnknown,
    SettingNotOfForm,
)
from perdure.ids import Authority, Identifier, Scheme, find_scheme, load_schemes, parse
from perdure.policy import shoulders as ark_shoulders
from perdure.settings.rules import (
    OF_AUTHORITIES,
    OF_OTHERS,
    Rule,
    allow_words,
    limit_range,
    match_form,
    read_admin,
    read_archive,
    read_authorities,
    read_colour,
    read_document,
    read_each,
    read_further_authority,
    read_ip_address,
    read_name_server,
    read_network,
    read_prefix,
    read_quota,
    read_resolver,
    read_signers,
    read_single,
    read_template,
)


def _define_setting(default: Any, help: str, *rules: Rule) -> Any:
    return field(default=default, metadata={"help": help, "rules": rules})


@cache
def _minting_schemes() -> list[tuple[Scheme, str]]:
    """The schemes in which names are minted, each with its setting, in the order of settings.

    Raises BadSettings if a scheme from another package names a setting that lists no authorities.
    """
    found = [
        (one, one.minting.setting) for one in load_schemes().values() if one.minting is not None
    ]
    for scheme, setting in found:
        if setting not in OF_AUTHORITIES:
            raise MintingSettingUnknown(
                setting="Minting.setting", value=setting, scheme=scheme.name, known=OF_AUTHORITIES
            )
    return sorted(found, key=lambda one: OF_AUTHORITIES.index(one[1]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings of a registry."""

    series: tuple[str, ...] = _define_setting(
        (), "document series minted here (PDI section 2.2)", read_authorities("series")
    )
    naming_authorities: tuple[str, ...] = _define_setting(
        (),
        "naming authorities of URNs of 1993 minted here, such as IANA:42117",
        read_authorities("naming_authorities"),
    )
    shoulders: tuple[str, ...] = _define_setting(
        (), "ARK shoulders minted here, such as 99999/fk4", read_authorities("shoulders")
    )
    ark_policies: tuple[str, ...] = _define_setting(
        ark_shoulders.OF_TESTS,
        "promises about ARKs, each 'SHOULDER = STATEMENT'; without one, nothing is promised",
        read_each(ark_shoulders.read_policy),
    )
    authorities: tuple[str, ...] = _define_setting(
        (),
        "further authorities minted here, of schemes from other packages, with the scheme's prefix",
        read_each(read_further_authority),
    )
    handle_prefixes: tuple[str, ...] = _define_setting(
        (), "Handle prefixes homed here, such as 21.T14999", read_each(read_prefix)
    )
    mutable_prefixes: tuple[str, ...] = _define_setting(
        (), "prefixes homed here whose handles can be deleted, for tests", read_each(read_prefix)
    )
    handle_admins: tuple[str, ...] = _define_setting(
        (),
        "administrators of all prefixes homed here, such as 300:21.T14999/ADMIN",
        read_each(read_admin),
    )
    templates: tuple[str, ...] = _define_setting(
        (),
        "addresses of parts of resources held elsewhere, see docs/reference/templates.md",
        read_each(read_template),
    )
    forward: str = _define_setting(
        "refer",
        "names of other authorities that are unknown here: refer (name their public resolvers), "
        "redirect (to the official one) or never",
        allow_words("refer", "redirect", "never"),
    )
    resolvers: tuple[str, ...] = _define_setting(
        (),
        "resolvers of other series, for 'perdure discover' and commands that need one, such as "
        "oma.eop.gov.us = https://pid.example.org; *.gov.us is for all series below gov.us",
        read_each(read_resolver),
    )
    name_servers: tuple[str, ...] = _define_setting(
        (),
        "name servers that discovery asks, such as 127.0.0.1:5353; none: those of the system",
        read_each(read_name_server),
    )
    basic_authentication: str = _define_setting(
        "https",
        "passwords of Handle administrators: https (over TLS only), always or never",
        allow_words("https", "always", "never"),
    )
    host: str = _define_setting("127.0.0.1", "address to listen on")
    port: int = _define_setting(8080, "port to listen on", limit_range(0, 65535))
    handle_port: int = _define_setting(
        0, "port of the native Handle protocol, usually 2641; 0: none", limit_range(0, 65535)
    )
    handle_address: str = _define_setting(
        "",
        "IP address to which the Handle System refers its clients; none: that of host",
        read_single(read_ip_address),
    )
    workers: int = _define_setting(
        0, "server processes; 0: one for each core, at most 8", limit_range(0, 256)
    )
    archive_id: str = _define_setting(
        "",
        "id of your own web archive in PWIDs, such as archive.example.org",
        match_form("domain"),
    )
    archive_aliases: tuple[str, ...] = _define_setting(
        (),
        "other archive ids whose PWIDs are answered from the captures kept here",
        read_each(read_archive),
    )
    closed_archives: str = _define_setting(
        "451",
        "answer for PWIDs of closed archives: 451, 404 (as if unknown) or local (local address)",
        allow_words("451", "404", "local"),
    )
    content_origin: str = _define_setting(
        "",
        "origin on another host for showing archived pages and deposited HTML; empty: archived "
        "pages are not shown, and HTML is shown on the same host, in a sandbox",
        match_form("origin"),
    )
    archives_file: str = _define_setting(
        "", "TOML file with further web archives, see docs/reference/web-archives.md"
    )
    unknown_archives: str = _define_setting(
        "refuse",
        "refuse, or standard-form: assume that an unknown archive resolves its own PWIDs",
        allow_words("refuse", "standard-form"),
    )
    capture: str = _define_setting(
        "off",
        "on: POST /captures captures pages into your own web archive (archive_id)",
        allow_words("off", "on"),
    )
    private_networks: tuple[str, ...] = _define_setting(
        (),
        "private networks from which perdure may fetch, such as 10.1.0.0/16",
        read_each(read_network),
    )
    private_locations: str = _define_setting(
        "accept",
        "accept, or refuse: locations on addresses that are not on the public internet",
        allow_words("accept", "refuse"),
    )
    region_header: str = _define_setting(
        "",
        "header field in which a proxy says the reader's region, such as CF-IPCountry",
        match_form("header"),
    )
    check_links_hours: int = _define_setting(
        0,
        "hours after which 'perdure serve' checks a location again; 0: never",
        limit_range(0, 100_000),
    )
    index_seconds: int = _define_setting(
        60,
        "seconds after which 'perdure serve' brings the indexes of citations and passages up to "
        "date; 0: never",
        limit_range(0, 1 << 31),
    )
    webmentions: str = _define_setting(
        "off",
        "whether strangers may report pages that refer to names here (Webmention): off or on",
        allow_words("off", "on"),
    )
    base_url: str = _define_setting(
        "",
        "public URL of the resolver, for links; empty: as requested",
        match_form("url-without-slash"),
    )
    client_seconds: int = _define_setting(
        60,
        "seconds after which a client that reads or sends too little is cut off",
        limit_range(1, 86_400),
    )
    assertions: str = _define_setting(
        "off",
        "who may propose assertions without the right to make them: off (no one), tokens (holders "
        "of any token) or signed (also anyone who signs the request with a key)",
        allow_words("off", "tokens", "signed"),
    )
    sparql: str = _define_setting(
        "off",
        "whether anyone may query the assertions in SPARQL, at /sparql: off or on",
        allow_words("off", "on"),
    )
    pages: str = _define_setting(
        "not-for-html",
        "whether browsers get the landing page of a document: never, not-for-html (documents in "
        "HTML are sent themselves) or always",
        allow_words("never", "not-for-html", "always"),
    )
    trusted_proxies: tuple[str, ...] = _define_setting(
        ("127.0.0.1/32", "::1/128"),
        "proxies whose X-Forwarded-For and X-Forwarded-Proto are believed: addresses or networks",
        read_each(read_network),
    )
    requests_per_minute: int = _define_setting(
        30_000,
        "requests that one address may make in a minute; 0: no limit",
        limit_range(0, 1 << 40),
    )
    bytes_per_minute: int = _define_setting(
        1 << 33,
        "bytes that one address may be sent in a minute before it must wait; 0: no limit",
        limit_range(0, 1 << 60),
    )
    waiting_per_address: int = _define_setting(
        100,
        "requests of one address that may wait for each kind of slow work, such as parts cut by "
        "one extractor, lists or searches; 0: no limit",
        limit_range(0, 1 << 31),
    )
    waiting_requests: int = _define_setting(
        1000,
        "requests of all addresses that may wait for each kind of slow work; 0: no limit",
        limit_range(0, 1 << 31),
    )
    mints_per_day: int = _define_setting(
        1_000_000,
        "names that one token may be given over HTTP in a day; 0: no limit",
        limit_range(0, 1 << 40),
    )
    series_quotas: tuple[str, ...] = _define_setting(
        (),
        "names that a series may give out on one day, such as press.oma.eop.gov.us=500",
        read_each(read_quota),
    )
    allowed_signers: tuple[str, ...] = _define_setting(
        (),
        "documents that list the keys whose signatures count, for the names of a series or other "
        "authority, such as press.oma.eop.gov.us=pdi://press.oma.eop.gov.us/2026/11/23/1; * is "
        "for all others",
        read_each(read_signers),
    )
    time_authorities: str = _define_setting(
        "",
        "document with the certificates of the authorities whose time stamps of signatures count, "
        "in PEM, roots included",
        read_document,
    )
    largest_upload: int = _define_setting(
        1 << 40, "bytes; a larger upload is refused", limit_range(0, 1 << 60)
    )
    draft_bytes: int = _define_setting(
        1 << 38,
        "bytes of the deposits in a browser that a token has not minted yet",
        limit_range(0, 1 << 60),
    )
    fresh_seconds: int = _define_setting(
        60,
        "seconds for which answers to names without a version may be cached",
        limit_range(0, 1 << 31),
    )
    stale_ms: int = _define_setting(
        0,
        "milliseconds for which a node with a PostgreSQL store may answer redirects without asking "
        "the database; 0: no answer is older than the last acknowledged change",
        limit_range(0, 60_000),
    )
    pinned_seconds: int = _define_setting(
        604_800,
        "seconds for which bytes of a named version may be cached: as long, caches may keep what "
        "was withdrawn",
        limit_range(0, 1 << 31),
    )
    proxy_cache_bytes: int = _define_setting(
        1 << 30,
        "bytes of documents of resolvers to which names are delegated that are kept; 0: none",
        limit_range(0, 1 << 50),
    )
    page_size: int = _define_setting(
        1000, "identifiers per page of a listing", limit_range(1, 100_000)
    )
    store: str = _define_setting(
        "sqlite",
        "store of the records: sqlite, the address of a PostgreSQL database "
        "(postgresql://user@host/database), or one from another package",
    )
    bytes: str = _define_setting(
        "segments",
        "store of the bytes: segments, the address of a bucket of an S3 store "
        "(s3://bucket/prefix?endpoint=URL), or one from another package",
    )
    segment_bytes: int = _define_setting(
        256 << 20, "bytes beyond which an open segment is sealed", limit_range(1, 1 << 40)
    )
    capture_index: str = _define_setting(
        "",
        "URL of a CDX server (OutbackCDX, pywb) that is also asked for captures",
        match_form("url"),
    )
    captures_in_sqlite: int = _define_setting(
        10_000_000,
        "largest number of captures of web archives in SQLite; beyond it they go to ZipNum runs",
        limit_range(0, 100_000_000),
    )
    withdrawal_persons: int = _define_setting(
        1,
        "persons who must request a withdrawal before it is carried out, 1 or 2",
        limit_range(1, 2),
    )
    erasure_persons: int = _define_setting(
        2,
        "persons who must request an erasure before it is carried out, 1 or 2",
        limit_range(1, 2),
    )
    institution: str = _define_setting(
        "",
        "the name of the institution that runs this resolver, shown on every page",
        match_form("line"),
    )
    institution_url: str = _define_setting("", "the web site of the institution", match_form("url"))
    policy_url: str = _define_setting(
        "", "where the institution says what it promises about its names", match_form("url")
    )
    logo: str = _define_setting(
        "",
        "the logo on every page: a file .svg, .png, .webp or .jpg in the directory of the registry",
        match_form("file-name"),
    )
    colour: str = _define_setting(
        "#0b57a4",
        "the colour of links and buttons, as #rrggbb; white text on it must be readable",
        read_colour,
    )
    contact: str = _define_setting(
        "",
        "whom to ask: an e-mail address or a URL, shown on every page and on tombstones",
        match_form("contact"),
    )
    proposal_days: int = _define_setting(
        30,
        "days after which a withdrawal that no second person confirmed is no longer proposed",
        limit_range(1, 3650),
    )
    formats_together: str = _define_setting(
        "notice",
        "whether a new version may lack formats of the last one: notice or refuse",
        allow_words("notice", "refuse"),
    )
    on_drift: str = _define_setting(
        "notice",
        "what a link check does if the content of a location is not the one that was bound: notice "
        "(redirects skip it) or break (the record keeps the evidence)",
        allow_words("notice", "break"),
    )
    copy_fence: str = _define_setting(
        "full",
        "what a copy of a registry is known by: full (another directory or machine), directory, "
        "machine, or marks (of backups)",
        allow_words("full", "directory", "machine", "marks"),
    )
    search: str = _define_setting(
        "on",
        "on, or off: no index of words is kept, and nothing can be searched",
        allow_words("on", "off"),
    )
    log_level: str = _define_setting(
        "info", "debug, info, warning or error", allow_words("debug", "info", "warning", "error")
    )

    def __post_init__(self) -> None:
        for one in fields(self):
            for rule in one.metadata["rules"]:
                value = rule(one.name, getattr(self, one.name))
                object.__setattr__(self, one.name, value)  # frozen for all others
        for check in _TOGETHER:
            check(self)

    @property
    def owned_authorities(self) -> tuple[Authority, ...]:
        """The authorities, of all schemes, for which this registry mints."""
        return tuple(
            Authority(scheme.name, name)
            for scheme, setting in _minting_schemes()
            for name in getattr(self, setting)
            if setting != OF_OTHERS or find_scheme(name) is scheme
        )

    def is_numbered_here(self, identifier: Identifier) -> bool:
        """True if this registry numbers the names of the identifier's authority.

        Then an identifier without a record does not exist.
        """
        minting = load_schemes()[identifier.kind].minting
        if minting is None or not minting.is_numbered:
            return False
        return identifier.assigned_under in getattr(self, minting.setting)

    @property
    def quotas(self) -> dict[str, int]:
        """The numbers that a series may give out on one day, by series."""
        pairs = (one.rpartition("=") for one in self.series_quotas)
        return {series: int(number) for series, _, number in pairs}

    def find_signers(self, identifier: Identifier) -> Identifier | None:
        """The document that lists the keys whose signatures count for a name, or None.

        A series or another authority must be that of the name; a prefix (`hdl:1839/`) or a shoulder
        must be its beginning, and the longest one counts.
        """
        under = identifier.assigned_under
        lists = _parse_lists(self.allowed_signers)
        fitting = [one for one in lists if under == one or ("/" in one and under.startswith(one))]
        return lists.get(max(fitting, key=len, default="*"))

    def find_authority(self, name: str) -> Authority | None:
        """Find the authority with this name, or None if this registry does not own it."""
        return next((one for one in self.owned_authorities if one.name == name), None)


@lru_cache(maxsize=4)
def _parse_lists(pairs: tuple[str, ...]) -> dict[str, Identifier]:
    """The documents with the lists of allowed signers, by authority or prefix."""
    found = (one.split("=", 1) for one in pairs)
    return {authority: parse(name) for authority, name in found}


def _check_capture(settings: Settings) -> None:
    if settings.capture == "on" and not settings.archive_id:
        raise CaptureNeedsArchive(setting="capture", value="on")


def _check_origins(settings: Settings) -> None:
    """Require a host of its own for content by strangers."""
    origin = settings.content_origin
    if origin and f"{settings.base_url}/".startswith(f"{origin}/"):
        raise SettingNotOfForm(setting="content_origin", value=origin, form="origin")


_TOGETHER: tuple[Callable[[Settings], None], ...] = (_check_capture, _check_origins)
"""Rules about several settings."""


def add_authorities(settings: Settings, **more: tuple[str, ...]) -> Settings:
    """Add series, naming authorities or shoulders to settings."""
    grown = {
        name: tuple(dict.fromkeys((*getattr(settings, name), *new))) for name, new in more.items()
    }
    return replace(settings, **grown)  # type: ignore[arg-type]  # all of them are lists of texts
