"""Settings of a registry: one frozen value, from one TOML table and the environment.

How it works: `rules` has the checks of single values, `values` the settings themselves, and `file`
reads, watches and writes `perdure.toml`.

What must stay true: an unknown name or an unusable value is an error at start-up that names the
setting, never a surprise later.
"""

from perdure.settings.file import (
    FILE,
    RenamedSetting,
    RetiredSetting,
    SettingsFile,
    load_settings,
    read_table,
    write_toml,
)
from perdure.settings.values import Settings, add_authorities

__all__ = [
    "FILE",
    "RenamedSetting",
    "RetiredSetting",
    "Settings",
    "SettingsFile",
    "add_authorities",
    "load_settings",
    "read_table",
    "write_toml",
]
