"""Errors about settings: values, plug-ins, and the addresses that an operator configures."""

from __future__ import annotations

from typing import Literal, TypedDict

from perdure.errors.root import FaultQuoted, ReasonedError, quote
from perdure.errors.texts import BadSettings

# values
# ------


class SettingUnknown(BadSettings):
    """No setting has this name."""

    reason = "no setting has this name"


class SettingMisplaced(BadSettings):
    """A setting is outside the table of settings."""

    reason = "move it below [perdure]"


class SettingsNotTable(BadSettings):
    """The settings are not a table."""

    reason = "a table is needed"


class _SettingsFileUnusable(BadSettings):
    """The file of settings cannot be used; `value` is its path."""

    def problem(self) -> str:
        return f"settings file {quote(self.value)}: {self.reason}"


class SettingsMalformed(FaultQuoted, _SettingsFileUnusable):
    """The file of settings is not TOML; `fault` quotes the reader."""


class SettingsCut(_SettingsFileUnusable):
    """The file of settings has lost its end, or has no settings."""

    reason = (
        "it has lost its end, or has no settings; restore it from a backup, or write the settings "
        "again, those of the series first"
    )


class SettingNotOfType(BadSettings):
    """The value of a setting has another type than the setting needs."""

    needed: str
    """The type that is needed, such as `a number`."""

    @property
    def reason(self) -> str:
        return f"{self.needed} is needed"


class SettingNotAllowed(BadSettings):
    """The value of a setting is not one of those allowed."""

    allowed: tuple[str, ...]

    @property
    def reason(self) -> str:
        return f"use one of {', '.join(self.allowed)}"


class SettingOutOfRange(BadSettings):
    """The value of a setting is too low or too high."""

    low: int
    high: int

    @property
    def reason(self) -> str:
        return f"use a number from {self.low} to {self.high}"


SettingForm = Literal[
    "domain", "origin", "header", "url", "url-without-slash", "file-name", "line", "contact"
]
"""The forms that the value of a setting can need."""


class SettingNotOfForm(BadSettings):
    """The value of a setting does not have the documented form."""

    form: SettingForm

    @property
    def reason(self) -> str:
        says: dict[str, str] = {
            "domain": "use a domain in lower case",
            "origin": "use http(s)://host[:port] in lower case, other than base_url",
            "header": "use the name of a header field",
            "url": "use an http(s) URL",
            "url-without-slash": "use an http(s) URL without final slash",
            "file-name": "use the name of a file, of letters, digits, '.', '_' and '-'",
            "line": "use one line of at most 200 characters",
            "contact": "use an e-mail address or an http(s) URL",
        }
        return says[self.form]


class SettingUnreadable(FaultQuoted, BadSettings):
    """The value of a setting, or the file that it names, cannot be read; `fault` quotes the
    reader."""


class CaptureNeedsArchive(BadSettings):
    """Captures are switched on, but the archive that makes them has no id."""

    reason = "set archive_id, too"


# the installation
# ----------------


class RegistryMissing(BadSettings):
    """A directory is not a registry."""

    file: str
    """The file that a registry would contain."""

    @property
    def reason(self) -> str:
        return (
            f"it contains no {self.file}; name the directory with -C or $PERDURE_REGISTRY, or "
            "create one with 'perdure init'"
        )


class StoreUnknown(BadSettings):
    """No installed store has this name."""

    installed: tuple[str, ...]

    @property
    def reason(self) -> str:
        return f"no store has this name; installed: {', '.join(self.installed) or 'none'}"


class StoreAddressMalformed(BadSettings):
    """The address of a store cannot be read; `value` is the address without its password."""

    reason = "libpq cannot read it; see docs/reference/postgresql.md"


class StorePasswordUnescaped(BadSettings):
    """The password in the address of a store has characters that end it."""

    reason = "write the characters / ? # @ of its password as %2F %3F %23 %40"


class StoreSchemaInvalid(BadSettings):
    """The schema in the address of a store is not a name."""

    reason = "its schema must begin with a letter, and have lower-case letters, digits and _"


class StoreIsFixed(BadSettings):
    """The store of a registry that exists cannot be changed."""

    reason = "this registry has another store already; only a new directory takes --store"


class PluginUnusable(FaultQuoted, BadSettings):
    """A plug-in cannot be loaded; `fault` quotes the plug-in or its loader."""


class PluginOfOtherType(BadSettings):
    """The object that a plug-in names does not have the type of its group."""

    found: str
    needed: str

    @property
    def reason(self) -> str:
        return f"it has the type {self.found}, not {self.needed}"


class ClaimTaken(BadSettings):
    """Two plug-ins claim the same thing: a prefix, a name, a media type."""

    claim: str
    owners: tuple[str, ...]

    @property
    def reason(self) -> str:
        return f"{self.claim} is claimed by {' and by '.join(self.owners)}"


ClaimFault = Literal["prefix", "mark", "names", "reserved"]
"""The ways in which what a plug-in claims can be invalid."""


class ClaimInvalid(BadSettings):
    """A plug-in claims something that no plug-in may have."""

    fault: ClaimFault
    claim: str

    @property
    def reason(self) -> str:
        says: dict[str, str] = {
            "prefix": "is not a prefix of lower-case ASCII with a colon in it",
            "mark": "is a mark that matches every text",
            "names": "needs lower-case names and at least one media type",
            "reserved": "is reserved for attached records",
        }
        return f"{quote(self.claim)} {says[self.fault]}"


class MintingSettingUnknown(BadSettings):
    """The scheme of a plug-in says that an unknown setting lists its authorities."""

    scheme: str
    known: tuple[str, ...]

    @property
    def reason(self) -> str:
        return (
            f"the plug-in of the scheme {quote(self.scheme)} must name one of "
            f"{', '.join(self.known)}; correct the plug-in, or uninstall it"
        )


class ArchivesTableUnknown(BadSettings):
    """A file of web archives has other tables than `archive`."""

    found: tuple[str, ...]

    @property
    def reason(self) -> str:
        return f"the only table allowed is [[archive]]; found {', '.join(map(quote, self.found))}"


EntryFault = Literal["names", "dates", "address", "slot-unknown", "slot-twice", "slot-missing"]
"""The ways in which an entry in a list of web archives can be invalid."""


class EntryFields(TypedDict):
    """The fields of `EntryFaulty`."""

    archive: str
    fault: EntryFault
    address: str
    slots: tuple[str, ...]


class EntryFaulty(ReasonedError):
    """An entry in a list of web archives is invalid. It has no code: a class gives it one."""

    archive: str
    fault: EntryFault
    address: str = ""
    """The address with slots that is at fault, if it is one."""
    slots: tuple[str, ...] = ()
    """The slots that are allowed, or that are missing."""

    @property
    def reason(self) -> str:
        slots = ", ".join(f"{{{slot}}}" for slot in self.slots)
        says: dict[str, str] = {
            "names": "its id and aliases must be domains in lower case",
            "dates": "since, until and seen must be dates like 2018, 2018-05 or 2018-05-31",
            "address": "it is not an http(s) address with a host before its first slot",
            "slot-unknown": f"a slot must be one of {slots}",
            "slot-twice": "it has the same slot twice",
            "slot-missing": f"it lacks {slots}",
        }
        where = f": {self.address}" if self.address else ""
        return f"archive {self.archive}: {says[self.fault]}{where}"


class ArchiveEntryInvalid(EntryFaulty, BadSettings):
    """An entry in a file of web archives is invalid."""


class ArchiveNameTwice(BadSettings):
    """Two web archives have the same name."""

    name: str
    archives: tuple[str, ...]

    @property
    def reason(self) -> str:
        return f"{self.name} names both {' and '.join(self.archives)}"


# servers
# -------


class TargetsNotPassed(BadSettings):
    """The server does not pass on the targets of requests as they were sent."""

    reason = (
        "this server does not pass on request targets; run 'perdure serve', or uvicorn "
        "with --http perdure.server.protocol.http:RawTargetProtocol"
    )


class AddressUnusable(BadSettings):
    """The server cannot listen on this address."""

    reason = "the server cannot listen on this address"


class OriginMalformed(BadSettings):
    """The text is not the URL of a host."""

    reason = "expected http://host[:port] or https://host[:port]"
