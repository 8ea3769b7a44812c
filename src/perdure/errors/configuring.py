"""Errors about settings: values, plug-ins, and the addresses that an operator configures."""

from __future__ import annotations

from perdure.errors.root import FaultQuoted, quote
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


class SettingsCut(BadSettings):
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


class SettingNotOfForm(BadSettings):
    """The value of a setting does not have the documented form."""

    form: str
    """The form, such as `an http(s) URL`."""

    @property
    def reason(self) -> str:
        return f"use {self.form}"


class SettingUnreadable(FaultQuoted, BadSettings):
    """The value of a setting, or a file of settings, cannot be read; `fault` quotes the reader."""


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


class PluginUnusable(FaultQuoted, BadSettings):
    """A plug-in cannot be loaded; `fault` quotes the plug-in or its loader."""


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


class ArchiveEntryInvalid(BadSettings):
    """An entry in a file of web archives is invalid."""

    archive: str
    fault: str

    @property
    def reason(self) -> str:
        return f"archive {self.archive}: {self.fault}"


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
