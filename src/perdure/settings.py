"""Settings: one frozen value, from one TOML table and the environment.

How it works: `perdure.toml` in the registry directory holds the table `[perdure]`; a variable
`PERDURE_<NAME>` overrides the entry of that name (lists separated by commas). Every field says in
its metadata what it is for; docs/reference/settings.md is held complete by a test.

What must stay true: an unknown name or a value that cannot work is an error at the start, with the
name of the setting, never a surprise later.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from ipaddress import ip_network
from pathlib import Path
from typing import Any

from perdure.errors import BadSettings
from perdure.ids import ark, handle, pdi, pwid, urn1993
from perdure.policy import templates

FILE = "perdure.toml"


def _setting(default: Any, help: str) -> Any:
    return field(default=default, metadata={"help": help})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that an operator can choose."""

    series: tuple[str, ...] = _setting((), "document series minted here (PDI section 2.2)")
    naming_authorities: tuple[str, ...] = _setting(
        (), "naming authorities of the URN of 1993 minted for here, such as IANA:42117"
    )
    shoulders: tuple[str, ...] = _setting((), "ARK shoulders minted on here, such as 99999/fk4")
    handle_prefixes: tuple[str, ...] = _setting((), "Handle prefixes homed here, such as 21.T14999")
    mutable_prefixes: tuple[str, ...] = _setting(
        (), "those of them whose handles can be deleted, for tests"
    )
    handle_admins: tuple[str, ...] = _setting(
        (), "administrators of all prefixes homed here, such as 300:21.T14999/ADMIN"
    )
    templates: tuple[str, ...] = _setting(
        (), "where parts lie of what is held elsewhere, see docs/reference/templates.md"
    )
    basic_authentication: str = _setting(
        "https", "https (passwords of Handle administrators over TLS only), always or never"
    )
    host: str = _setting("127.0.0.1", "address to listen on")
    port: int = _setting(8080, "port to listen on")
    workers: int = _setting(1, "server processes")
    archive_id: str = _setting(
        "", "id of one's own web archive in PWIDs, such as archive.example.org"
    )
    archive_aliases: tuple[str, ...] = _setting(
        (), "other archive ids whose PWIDs are answered from the captures kept here"
    )
    closed_archives: str = _setting(
        "451", "answer to PWIDs of closed archives: 451, 404 (as if unknown) or local (their form)"
    )
    replay_origin: str = _setting(
        "", "origin of another host that archived pages are shown on; empty: they are not"
    )
    archives_file: str = _setting(
        "", "TOML file with further web archives, see docs/reference/web-archives.md"
    )
    unknown_archives: str = _setting(
        "refuse", "refuse, or standard-form: believe that an unknown archive resolves its own PWIDs"
    )
    capture: str = _setting(
        "off", "on: POST /captures captures pages into one's own web archive (archive_id)"
    )
    private_networks: tuple[str, ...] = _setting(
        (), "networks not on the public internet that may be fetched from, such as 10.1.0.0/16"
    )
    private_locations: str = _setting(
        "accept", "accept, or refuse: locations on addresses that are not on the public internet"
    )
    region_header: str = _setting(
        "", "header field in which a proxy says the reader's region, such as CF-IPCountry"
    )
    check_links_hours: int = _setting(
        0, "hours after which 'perdure serve' checks a location again; 0: it checks none"
    )
    base_url: str = _setting("", "public URL of the resolver, for links; empty: as requested")
    largest_upload: int = _setting(1 << 40, "bytes; a larger upload is refused")
    http_parser: str = _setting("httptools", "httptools (fast) or h11 (pure Python)")
    fresh_seconds: int = _setting(60, "seconds that an answer to a version-less name may be cached")
    page_size: int = _setting(1000, "identifiers on a page of a listing")
    store: str = _setting("sqlite", "what keeps the records: sqlite, or what a package brings")
    segment_bytes: int = _setting(256 << 20, "bytes; an open segment is sealed beyond this")
    capture_index: str = _setting(
        "", "URL of a CDX server (OutbackCDX, pywb) that is asked for captures, too"
    )
    captures_in_sqlite: int = _setting(
        10_000_000, "captures of web archives; beyond this they go to ZipNum runs"
    )
    withdrawal_persons: int = _setting(
        1, "actors who must ask for a withdrawal before it is carried out, 1 or 2"
    )
    log_level: str = _setting("info", "debug, info, warning or error")

    def __post_init__(self) -> None:
        for name, canonical in (
            ("series", _series),
            ("naming_authorities", _naming_authority),
            ("shoulders", _shoulder),
            ("handle_prefixes", _prefix),
            ("mutable_prefixes", _prefix),
            ("handle_admins", _admin),
            ("private_networks", _network),
            ("templates", _template),
            ("archive_aliases", _archive),
        ):
            written = getattr(self, name)
            read = tuple(dict.fromkeys(_read(name, text, canonical) for text in written))
            object.__setattr__(self, name, read)  # frozen for everybody else
        for name, allowed in (
            ("http_parser", ("httptools", "h11")),
            ("log_level", ("debug", "info", "warning", "error")),
            ("basic_authentication", ("https", "always", "never")),
            ("private_locations", ("accept", "refuse")),
            ("unknown_archives", ("refuse", "standard-form")),
            ("capture", ("off", "on")),
            ("closed_archives", ("451", "404", "local")),
        ):
            if getattr(self, name) not in allowed:
                raise BadSettings(
                    setting=name, value=getattr(self, name), reason=f"one of {', '.join(allowed)}"
                )
        for name, low, high in _RANGES:
            if not low <= getattr(self, name) <= high:
                raise BadSettings(
                    setting=name, value=getattr(self, name), reason=f"from {low} to {high}"
                )
        if self.archive_id and not re.fullmatch("[a-z0-9][a-z0-9.-]*", self.archive_id):
            raise BadSettings(
                setting="archive_id", value=self.archive_id, reason="a domain in lower case"
            )
        if self.capture == "on" and not self.archive_id:
            raise BadSettings(setting="capture", value="on", reason="it needs an archive_id")
        if self.region_header and not re.fullmatch("[A-Za-z0-9-]{1,64}", self.region_header):
            raise BadSettings(
                setting="region_header",
                value=self.region_header,
                reason="the name of a header field is needed",
            )
        if self.replay_origin and (
            not _ORIGIN.fullmatch(self.replay_origin)
            or f"{self.base_url}/".startswith(f"{self.replay_origin}/")
        ):
            raise BadSettings(
                setting="replay_origin",
                value=self.replay_origin,
                reason="http(s)://host[:port] in lower case, other than base_url, is needed",
            )
        if self.capture_index and not re.fullmatch(r"https?://[!-~]+", self.capture_index):
            raise BadSettings(
                setting="capture_index", value=self.capture_index, reason="http(s) URL is needed"
            )
        if self.base_url and not re.fullmatch(r"https?://[!-~]+[^/]", self.base_url):
            raise BadSettings(
                setting="base_url", value=self.base_url, reason="http(s) URL without final slash"
            )


_RANGES = (
    ("port", 0, 65535),
    ("workers", 1, 256),
    ("largest_upload", 0, 1 << 60),
    ("fresh_seconds", 0, 1 << 31),
    ("page_size", 1, 100_000),
    ("segment_bytes", 1, 1 << 40),
    ("withdrawal_persons", 1, 2),
    ("check_links_hours", 0, 100_000),
    ("captures_in_sqlite", 0, 100_000_000),
)


_WANTED: dict[type, str] = {
    tuple: "a list of texts",
    int: "a number",
    str: "a text in quotation marks",
}
_ORIGIN = re.compile(r"https?://(?:[0-9a-z._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?", re.ASCII)


def _read(name: str, text: str, canonical: Callable[[str], str]) -> str:
    try:
        return canonical(text)
    except ValueError as error:  # MalformedIdentifier is one
        raise BadSettings(setting=name, value=text, reason=str(error)) from error


def _series(text: str) -> str:
    """A series as it stands in a PDI: in lower case."""
    found = pdi.parse(f"pdi://{text}/")
    if found.date is not None:
        raise ValueError("a series has no date")
    return found.series


def _naming_authority(text: str) -> str:
    """A naming authority with its scheme in the draft's spelling."""
    return urn1993.parse(f"URN:{text}::x:::").authority


def _shoulder(text: str) -> str:
    """The number of an authority and the beginning of its names, without hyphens."""
    found = ark.parse(f"ark:{text}x")
    if found.qualifier:
        raise ValueError("a shoulder is the beginning of a name, and has no '/' or '.' in it")
    return f"{found.naan}/{found.name[:-1]}"


def _prefix(text: str) -> str:
    """A prefix of the Handle System, in lower case."""
    return handle.parse(f"hdl:{text}/x").prefix.lower()


def _archive(text: str) -> str:
    """The id of a web archive as it stands in a PWID, in lower case."""
    return pwid.parse(f"pwid:{text}:2000:part:x:").archive


def _template(text: str) -> str:
    """A template in its canonical form."""
    return str(templates.read(text))


def _admin(text: str) -> str:
    """A value of a handle, as user names have it, in lower case."""
    index, _, name = text.partition(":")
    if not re.fullmatch("[0-9]{1,10}", index, re.ASCII):
        raise ValueError("an index, ':' and a handle are needed")
    found = handle.parse(f"hdl:{name}")
    return f"{int(index)}:{found.prefix}/{found.suffix}".lower()


def _network(text: str) -> str:
    """A network of IPv4 or IPv6, or a single address."""
    return str(ip_network(text))


def load(root: Path, environment: Mapping[str, str]) -> Settings:
    """The settings of a registry directory. Raises BadSettings."""
    path = root / FILE
    try:
        read = tomllib.loads(path.read_text("utf-8"))
        table = read.pop("perdure", {})
        for name, value in read.items():
            raise BadSettings(setting=name, value=value, reason="settings stand below [perdure]")
        if not isinstance(table, dict):
            raise BadSettings(setting="perdure", value=table, reason="a table is needed")
    except FileNotFoundError:
        way = "name the directory with -C or $PERDURE_REGISTRY, or make one with 'perdure init'"
        raise BadSettings(
            setting="registry", value=root, reason=f"no {FILE} there; {way}"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadSettings(setting=FILE, value=path, reason=str(error)) from error
    return from_table(table, environment)


def from_table(table: Mapping[str, object], environment: Mapping[str, str]) -> Settings:
    """Settings from a TOML table, overridden by `PERDURE_…` variables."""
    known = {one.name: one.default for one in fields(Settings)}
    values: dict[str, Any] = {}
    for name, value in table.items():
        if name not in known:
            raise BadSettings(setting=name, value=value, reason="no setting has this name")
        values[name] = _typed(name, tuple(value) if isinstance(value, list) else value, known[name])
    for name, default in known.items():
        text = environment.get(f"PERDURE_{name.upper()}")
        if text is not None:
            values[name] = _typed(name, _from_text(name, text, default), default)
    return Settings(**values)


def _from_text(name: str, text: str, default: object) -> object:
    if isinstance(default, tuple):
        return tuple(part.strip() for part in text.split(",") if part.strip())
    if isinstance(default, int):
        try:
            return int(text)
        except ValueError:
            raise BadSettings(setting=name, value=text, reason="a number is needed") from None
    return text


def _typed(name: str, value: object, default: object) -> object:
    if type(value) is not type(default) or (
        isinstance(value, tuple) and not all(isinstance(one, str) for one in value)
    ):
        raise BadSettings(setting=name, value=value, reason=f"{_WANTED[type(default)]} is needed")
    return value


def added(settings: Settings, **more: tuple[str, ...]) -> Settings:
    """Settings with further series, naming authorities or shoulders."""
    grown = {
        name: tuple(dict.fromkeys((*getattr(settings, name), *new))) for name, new in more.items()
    }
    return replace(settings, **grown)  # type: ignore[arg-type]  # all of them are lists of texts


def write_toml(settings: Settings) -> str:
    """The file that `perdure init` writes: what differs from the default, the rest as comments."""
    lines = ["# Settings of this perdure registry; see docs/reference/settings.md", "[perdure]"]
    for one in fields(Settings):
        value = getattr(settings, one.name)
        comment = "" if value != one.default else "# "
        lines += [f"# {one.metadata['help']}", f"{comment}{one.name} = {_toml(value)}"]
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(_toml(one) for one in value) + "]"
    if isinstance(value, str):
        # JSON's escapes are TOML's, but for one character that JSON leaves as it is
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value)
