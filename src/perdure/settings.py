"""Settings: one frozen value, from one TOML table and the environment.

How it works: `perdure.toml` in the registry directory holds the table `[perdure]`. A variable
`PERDURE_<NAME>` overrides the entry of that name (lists separated by commas). The metadata of each
field contain its description and its rules. A rule checks a value and returns its canonical form.
`_TOGETHER` lists the rules about several settings. A test keeps docs/reference/settings.md
complete. docs/decisions/settings.md explains why no library reads the settings.

What must stay true: an unknown name or an unusable value is an error at start-up that names the
setting, never a surprise later.
"""

from __future__ import annotations

import json
import re
import tomllib
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import cache
from ipaddress import ip_network
from pathlib import Path
from typing import Any

from perdure.errors import BadSettings
from perdure.errors.configuring import (
    CaptureNeedsArchive,
    MintingSettingUnknown,
    RegistryMissing,
    SettingForm,
    SettingMisplaced,
    SettingNotAllowed,
    SettingNotOfForm,
    SettingNotOfType,
    SettingOutOfRange,
    SettingsCut,
    SettingsNotTable,
    SettingUnknown,
    SettingUnreadable,
)
from perdure.ids import Authority, Identifier, Scheme, find_scheme, handle, load_schemes, pwid
from perdure.policy import shoulders as ark_shoulders
from perdure.policy import templates

FILE = "perdure.toml"
_LAST_LINE = "# end of the settings"
_FIRST_LINE = (
    "# Settings of this perdure registry, up to the line '# end of the settings', which must stay; "
    "see docs/reference/settings.md"
)
_IN_COMMENT = re.compile(r"^#\s*[a-z_]+ = ", re.MULTILINE)
_FORMS: dict[SettingForm, str] = {
    "domain": "[a-z0-9][a-z0-9.-]*",
    "origin": r"https?://(?:[0-9a-z._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?",
    "header": "[A-Za-z0-9-]{1,64}",
    "url": "https?://[!-~]+",
    "url-without-slash": "https?://[!-~]+[^/]",
    "contact": r"[^@\s<>\"]{1,64}@[^@\s<>\"]{1,255}|https?://[!-~]+",
}


Rule = Callable[[str, Any], Any]
"""Returns the canonical value of a setting, from its name and value. Raises BadSettings."""


class RetiredSetting(UserWarning):
    """A setting was given that has no effect in this version."""


def _define_setting(default: Any, help: str, *rules: Rule) -> Any:
    return field(default=default, metadata={"help": help, "rules": rules})


_RETIRED = {
    "http_parser": "requests are read by httptools. Remove the line from perdure.toml",
}
"""Settings of earlier versions, accepted with a warning that says what to do."""
_OF_OTHERS = "authorities"
"""The setting for authorities of schemes without a setting of their own."""
_OF_AUTHORITIES = ("series", "naming_authorities", "shoulders", _OF_OTHERS)
"""The settings that list authorities, in the order in which a registry mints."""


@cache
def _minting_schemes() -> list[tuple[Scheme, str]]:
    """The schemes in which names are minted, each with its setting, in the order of settings.

    Raises BadSettings if a scheme from another package names a setting that lists no authorities.
    """
    found = [
        (one, one.minting.setting) for one in load_schemes().values() if one.minting is not None
    ]
    for scheme, setting in found:
        if setting not in _OF_AUTHORITIES:
            raise MintingSettingUnknown(
                setting="Minting.setting", value=setting, scheme=scheme.name, known=_OF_AUTHORITIES
            )
    return sorted(found, key=lambda one: _OF_AUTHORITIES.index(one[1]))


# rules
# -----


def read_each(canonical: Callable[[str], str]) -> Rule:
    """A rule: each text of a list is made canonical by a function, and duplicates are dropped."""

    def apply_rule(name: str, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(_read_text(name, text, canonical) for text in value))

    return apply_rule


def allow_words(*allowed: str) -> Rule:
    """A rule: the value is one of these words."""

    def apply_rule(name: str, value: str) -> str:
        if value in allowed:
            return value
        raise SettingNotAllowed(setting=name, value=value, allowed=allowed)

    return apply_rule


def limit_range(low: int, high: int) -> Rule:
    """A rule: the value is a number from `low` to `high`, both included."""

    def apply_rule(name: str, value: int) -> int:
        if low <= value <= high:
            return value
        raise SettingOutOfRange(setting=name, value=value, low=low, high=high)

    return apply_rule


def match_form(form: SettingForm) -> Rule:
    """A rule: the value is empty or has one of the known forms."""
    whole = re.compile(_FORMS[form], re.ASCII)

    def apply_rule(name: str, value: str) -> str:
        if not value or whole.fullmatch(value):
            return value
        raise SettingNotOfForm(setting=name, value=value, form=form)

    return apply_rule


def _read_text(name: str, text: str, canonical: Callable[[str], str]) -> str:
    try:
        return canonical(text)
    except ValueError as error:  # MalformedIdentifier is one
        raise SettingUnreadable(setting=name, value=text, fault=str(error)) from error


def _find_reader(setting: str) -> Callable[[str], str]:
    """Find the function that reads authorities of the scheme with this setting."""
    found = (one.minting for one in load_schemes().values() if one.minting is not None)
    return next(one.read_authority for one in found if one.setting == setting)


def read_authorities(setting: str) -> Rule:
    """A rule: each text is an authority of the scheme with this setting."""

    def read_authority(text: str) -> str:  # loads the schemes when a setting is read, not at import
        return _find_reader(setting)(text)

    return read_each(read_authority)


def _read_authority(text: str) -> str:
    """An authority of a scheme that has no setting of its own, in its canonical form."""
    scheme = find_scheme(text)
    if scheme is None or scheme.minting is None:
        raise ValueError("no scheme in which names are minted has this prefix")
    if scheme.minting.setting != _OF_OTHERS:
        raise ValueError(f"a {scheme.minting.kind} belongs in the setting {scheme.minting.setting}")
    return scheme.minting.read_authority(text)


def _read_prefix(text: str) -> str:
    """A prefix of the Handle System, in lower case."""
    return handle.parse_handle(f"hdl:{text}/x").prefix.lower()


def _read_archive(text: str) -> str:
    """The id of a web archive as PWIDs spell it, in lower case."""
    return pwid.parse_pwid(f"pwid:{text}:2000:part:x:").archive


def _read_template(text: str) -> str:
    """A template in its canonical form."""
    return str(templates.read_template(text))


def _read_admin(text: str) -> str:
    """A handle value as user names spell it (`index:handle`), in lower case."""
    index, _, name = text.partition(":")
    if not re.fullmatch("[0-9]{1,10}", index, re.ASCII):
        raise ValueError("an index, ':' and a handle are needed")
    found = handle.parse_handle(f"hdl:{name}")
    return f"{int(index)}:{found.prefix}/{found.suffix}".lower()


def _read_network(text: str) -> str:
    """An IPv4 or IPv6 network, or a single address."""
    return str(ip_network(text))


def _read_quota(text: str) -> str:
    """A series, `=` and a number from 1 to 10^18."""
    series, _, number = text.rpartition("=")
    if not re.fullmatch("[1-9][0-9]{0,17}", number, re.ASCII):
        raise ValueError("a series, '=' and a number are needed")
    return f"{_find_reader('series')(series)}={number}"


# the settings
# ------------


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
        read_each(_read_authority),
    )
    handle_prefixes: tuple[str, ...] = _define_setting(
        (), "Handle prefixes homed here, such as 21.T14999", read_each(_read_prefix)
    )
    mutable_prefixes: tuple[str, ...] = _define_setting(
        (), "prefixes homed here whose handles can be deleted, for tests", read_each(_read_prefix)
    )
    handle_admins: tuple[str, ...] = _define_setting(
        (),
        "administrators of all prefixes homed here, such as 300:21.T14999/ADMIN",
        read_each(_read_admin),
    )
    templates: tuple[str, ...] = _define_setting(
        (),
        "addresses of parts of resources held elsewhere, see docs/reference/templates.md",
        read_each(_read_template),
    )
    basic_authentication: str = _define_setting(
        "https",
        "passwords of Handle administrators: https (over TLS only), always or never",
        allow_words("https", "always", "never"),
    )
    host: str = _define_setting("127.0.0.1", "address to listen on")
    port: int = _define_setting(8080, "port to listen on", limit_range(0, 65535))
    workers: int = _define_setting(1, "server processes", limit_range(1, 256))
    archive_id: str = _define_setting(
        "",
        "id of your own web archive in PWIDs, such as archive.example.org",
        match_form("domain"),
    )
    archive_aliases: tuple[str, ...] = _define_setting(
        (),
        "other archive ids whose PWIDs are answered from the captures kept here",
        read_each(_read_archive),
    )
    closed_archives: str = _define_setting(
        "451",
        "answer for PWIDs of closed archives: 451, 404 (as if unknown) or local (local address)",
        allow_words("451", "404", "local"),
    )
    replay_origin: str = _define_setting(
        "",
        "origin on another host for showing archived pages; empty: they are not shown",
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
        read_each(_read_network),
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
    base_url: str = _define_setting(
        "",
        "public URL of the resolver, for links; empty: as requested",
        match_form("url-without-slash"),
    )
    client_seconds: int = _define_setting(
        60,
        "seconds after which a client that reads nothing, or sends too little, is cut off",
        limit_range(1, 86_400),
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
        read_each(_read_network),
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
    mints_per_day: int = _define_setting(
        1_000_000,
        "names that one token may be given over HTTP in a day; 0: no limit",
        limit_range(0, 1 << 40),
    )
    series_quotas: tuple[str, ...] = _define_setting(
        (),
        "names that a series may give out on one day, such as press.oma.eop.gov.us=500",
        read_each(_read_quota),
    )
    largest_upload: int = _define_setting(
        1 << 40, "bytes; a larger upload is refused", limit_range(0, 1 << 60)
    )
    fresh_seconds: int = _define_setting(
        60,
        "seconds for which answers to names without a version may be cached",
        limit_range(0, 1 << 31),
    )
    pinned_seconds: int = _define_setting(
        604_800,
        "seconds for which bytes of a named version may be cached: as long, caches may keep what "
        "was withdrawn",
        limit_range(0, 1 << 31),
    )
    page_size: int = _define_setting(
        1000, "identifiers per page of a listing", limit_range(1, 100_000)
    )
    store: str = _define_setting(
        "sqlite", "store of the records: sqlite, or one from another package"
    )
    bytes: str = _define_setting(
        "segments", "store of the bytes: segments, or one from another package"
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
    contact: str = _define_setting(
        "",
        "whom to ask about withdrawn documents: an e-mail address or a URL, shown on tombstones",
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
            if setting != _OF_OTHERS or find_scheme(name) is scheme
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

    def find_authority(self, name: str) -> Authority | None:
        """Find the authority with this name, or None if this registry does not own it."""
        return next((one for one in self.owned_authorities if one.name == name), None)


def _check_capture(settings: Settings) -> None:
    if settings.capture == "on" and not settings.archive_id:
        raise CaptureNeedsArchive(setting="capture", value="on")


def _check_origins(settings: Settings) -> None:
    """Require a host of their own for archived pages."""
    origin = settings.replay_origin
    if origin and f"{settings.base_url}/".startswith(f"{origin}/"):
        raise SettingNotOfForm(setting="replay_origin", value=origin, form="origin")


_TOGETHER: tuple[Callable[[Settings], None], ...] = (_check_capture, _check_origins)
"""Rules about several settings."""
_WANTED: dict[type, str] = {
    tuple: "a list of texts",
    int: "a number",
    str: "a text in quotation marks",
}


def load_settings(root: Path, environment: Mapping[str, str]) -> Settings:
    """Load the settings of a registry directory. Raises BadSettings."""
    path = root / FILE
    try:
        text = path.read_text("utf-8")
        read = tomllib.loads(text)
        table = read.pop("perdure", {})
        for name, value in read.items():
            raise SettingMisplaced(setting=name, value=value)
        if not isinstance(table, dict):
            raise SettingsNotTable(setting="perdure", value=table)
    except FileNotFoundError:
        raise RegistryMissing(setting="registry", value=root, file=FILE) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingUnreadable(setting=FILE, value=path, fault=str(error)) from error
    if _is_cut(text, table):
        raise SettingsCut(setting=FILE, value=path)
    return read_table(table, environment)


class SettingsFile:
    """The settings of an open registry, which learn of authorities that `perdure init` adds.

    All other settings stay as they were when the registry was opened.
    """

    def __init__(self, root: Path, environment: Mapping[str, str]) -> None:
        """Read the file. Raises BadSettings."""
        self._path, self._environment = root / FILE, environment
        self._mark = self._read_mark()
        self.current = load_settings(root, environment)

    def is_numbered_here(self, identifier: Identifier) -> bool:
        """`Settings.is_numbered_here`, of the settings as they are now."""
        return self.current.is_numbered_here(identifier)

    def learn_authorities(self) -> Settings:
        """Read the file again if it changed, and return the settings with its authorities added.

        A file that is being edited, and cannot be read just now, changes nothing.
        """
        mark = self._read_mark()
        if mark is None or mark == self._mark:
            return self.current
        with suppress(BadSettings, OSError):
            found = load_settings(self._path.parent, self._environment)
            added = {name: getattr(found, name) for name in _OF_AUTHORITIES}
            self.current = add_authorities(self.current, **added)
            self._mark = mark
        return self.current

    def _read_mark(self) -> tuple[int, int, int] | None:
        """Return what changes when the file is written or replaced, or None if there is no file."""
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino


def _is_cut(text: str, table: Mapping[str, object]) -> bool:
    """Return True if a file of settings has lost its end: defaults would stand for what it had.

    A file that `init` wrote says at its beginning that it has an end. Another one is cut if it has
    no setting at all, not even in a comment.
    """
    lines = text.splitlines()
    if _FIRST_LINE in lines:
        return _LAST_LINE not in lines
    return not table and _IN_COMMENT.search(text) is None


def read_table(table: Mapping[str, object], environment: Mapping[str, str]) -> Settings:
    """Read settings from a TOML table, overridden by `PERDURE_…` variables."""
    known = {one.name: one.default for one in fields(Settings)}
    values: dict[str, Any] = {}
    for name, value in table.items():
        if name in _RETIRED:
            message = f"the setting {name} no longer has any effect: {_RETIRED[name]}"
            warnings.warn(message, RetiredSetting, stacklevel=2)
            continue
        if name not in known:
            raise SettingUnknown(setting=name, value=value)
        values[name] = _check_type(
            name, tuple(value) if isinstance(value, list) else value, known[name]
        )
    for name, default in known.items():
        text = environment.get(f"PERDURE_{name.upper()}")
        if text is not None:
            values[name] = _check_type(name, _parse_variable(name, text, default), default)
    return Settings(**values)


def _parse_variable(name: str, text: str, default: object) -> object:
    if isinstance(default, tuple):
        return tuple(part.strip() for part in text.split(",") if part.strip())
    if isinstance(default, int):
        try:
            return int(text)
        except ValueError:
            raise SettingNotOfType(setting=name, value=text, needed=_WANTED[int]) from None
    return text


def _check_type(name: str, value: object, default: object) -> object:
    if type(value) is not type(default) or (
        isinstance(value, tuple) and not all(isinstance(one, str) for one in value)
    ):
        raise SettingNotOfType(setting=name, value=value, needed=_WANTED[type(default)])
    return value


def add_authorities(settings: Settings, **more: tuple[str, ...]) -> Settings:
    """Add series, naming authorities or shoulders to settings."""
    grown = {
        name: tuple(dict.fromkeys((*getattr(settings, name), *new))) for name, new in more.items()
    }
    return replace(settings, **grown)  # type: ignore[arg-type]  # all of them are lists of texts


def write_toml(settings: Settings) -> str:
    """Write the file of `perdure init`, in which settings with default values are comments."""
    lines = [_FIRST_LINE, "[perdure]"]
    for one in fields(Settings):
        value = getattr(settings, one.name)
        comment = "" if value != one.default else "# "
        lines += [f"# {one.metadata['help']}", f"{comment}{one.name} = {_format_value(value)}"]
    return "\n".join([*lines, _LAST_LINE]) + "\n"


def _format_value(value: object) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(_format_value(one) for one in value) + "]"
    if isinstance(value, str):
        # TOML has the escapes of JSON and one more, for a character that JSON does not escape
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value)
