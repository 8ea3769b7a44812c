"""The settings file: read with the environment, watched while a registry is open, and written.

How it works: `perdure.toml` in the registry directory has the table `[perdure]`. A variable
`PERDURE_<NAME>` overrides the entry of that name (lists separated by commas). An open registry
keeps the settings that it read, and learns only of authorities that are added.
docs/decisions/settings.md explains why no library reads the settings.

What must stay true: an unknown name, or a value of another type, is an error that names the
setting. A file that lost its end is refused. The file that `init` writes is read back as the same
settings.
"""

from __future__ import annotations

import json
import re
import tomllib
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

from perdure.errors import BadSettings
from perdure.errors.configuring import (
    RegistryMissing,
    SettingMisplaced,
    SettingNotOfType,
    SettingsCut,
    SettingsMalformed,
    SettingsNotTable,
    SettingUnknown,
)
from perdure.ids import Identifier
from perdure.model.store_addresses import hide_password
from perdure.settings.rules import OF_AUTHORITIES
from perdure.settings.values import Settings, add_authorities

FILE = "perdure.toml"
_LAST_LINE = "# end of the settings"
_FIRST_LINE = (
    "# Settings of this perdure registry, up to the line '# end of the settings', which must stay; "
    "see docs/reference/settings.md"
)
_IN_COMMENT = re.compile(r"^#\s*[a-z_]+ = ", re.MULTILINE)
_RETIRED = {
    "http_parser": "requests are read by httptools. Remove the line from perdure.toml",
}
"""Settings of earlier versions, accepted with a warning that says what to do."""
_RENAMED = {"replay_origin": "content_origin"}
"""Settings that had another name in earlier versions, which is still read, with a warning."""
_WANTED: dict[type, str] = {
    tuple: "a list of texts",
    int: "a number",
    str: "a text in quotation marks",
}


class RetiredSetting(UserWarning):
    """A setting was given that has no effect in this version."""


class RenamedSetting(UserWarning):
    """A setting was given by the name that it had in an earlier version."""


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
        raise SettingsMalformed(setting=FILE, value=path, fault=str(error)) from error
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
        self._mark = self._place_mark = self._read_mark()
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
            added = {name: getattr(found, name) for name in OF_AUTHORITIES}
            self.current = add_authorities(self.current, **added)
            self._mark = mark
        return self.current

    def find_move(self) -> str:
        """The address at which the registry is now, if it was moved since it was opened.

        Otherwise an empty text. It reads the file only if it was replaced.
        """
        mark = self._read_mark()
        if mark is None or mark == self._place_mark:
            return ""
        with suppress(BadSettings, OSError):
            found = load_settings(self._path.parent, self._environment)
            if found.store != self.current.store:
                return hide_password(found.store)
            if found.bytes != self.current.bytes:
                return hide_password(found.bytes)
            self._place_mark = mark
        return ""

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
    table, environment = _rename_entries(table, environment)
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


def _rename_entries(
    table: Mapping[str, object], environment: Mapping[str, str]
) -> tuple[dict[str, object], dict[str, str]]:
    """Give settings with an older name their name of today, unless they are given by that, too."""
    table, environment = dict(table), dict(environment)
    for old, new in _RENAMED.items():
        old_variable, new_variable = f"PERDURE_{old.upper()}", f"PERDURE_{new.upper()}"
        if old in table:
            _warn_of_name(old, new)
            older = table.pop(old)
            table.setdefault(new, older)
        if old_variable in environment:
            _warn_of_name(old_variable, new_variable)
            older_variable = environment.pop(old_variable)
            environment.setdefault(new_variable, older_variable)
    return table, environment


def _warn_of_name(old: str, new: str) -> None:
    message = f"the setting {old} is called {new} now; rename it, or remove it if both are given"
    warnings.warn(message, RenamedSetting, stacklevel=4)


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


def write_toml(settings: Settings) -> str:
    """Write the file of `perdure init`, in which settings with default values are comments."""
    lines = [_FIRST_LINE, "[perdure]"]
    for one in fields(Settings):
        value = getattr(settings, one.name)
        comment = "" if value != one.default else "# "
        lines += [f"# {one.metadata['help']}", f"{comment}{one.name} = {format_value(value)}"]
    return "\n".join([*lines, _LAST_LINE]) + "\n"


def format_value(value: object) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(format_value(one) for one in value) + "]"
    if isinstance(value, str):
        # TOML has the escapes of JSON and one more, for a character that JSON does not escape
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value)
