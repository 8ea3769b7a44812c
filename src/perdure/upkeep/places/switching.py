"""The settings of a registry name another place: one file is replaced, in one step.

What must stay true: only `store` and `bytes` change; comments and all other settings stay.
"""

from __future__ import annotations

import os
import re
import stat
import tomllib
from dataclasses import replace
from pathlib import Path

from perdure import settings as setting
from perdure.errors import BadSettings
from perdure.model.store_addresses import hide_password
from perdure.settings import Settings
from perdure.settings.file import format_value
from perdure.storage.durable import replace_durably


def switch_place(root: Path, store: str, held: str) -> None:
    """Write the settings `store` and `bytes`, durably. Raises OSError."""
    path = root / setting.FILE
    before = setting.load_settings(root, {})
    wanted = replace(before, store=store, bytes=held)
    text = path.read_text("utf-8")
    for name in ("store", "bytes"):
        text = _write_setting(text, name, getattr(wanted, name))
    if not _reads_as(text, wanted):  # an unusual file: write it as `init` does
        text = setting.write_toml(wanted)
    _replace_file(path, text, is_secret=any(hide_password(one) != one for one in (store, held)))


def _write_setting(text: str, name: str, value: str) -> str:
    line = f"{name} = {format_value(value)}"
    given = re.compile(rf"^[ \t]*{name}[ \t]*=.*$", re.MULTILINE)
    if given.search(text):
        return given.sub(lambda _: line, text, count=1)
    comment = re.compile(rf"^#[ \t]*{name} = .*$", re.MULTILINE)
    if comment.search(text):
        return comment.sub(lambda _: line, text, count=1)
    return text.replace("[perdure]\n", f"[perdure]\n{line}\n", 1)


def _reads_as(text: str, wanted: Settings) -> bool:
    try:
        return setting.read_table(tomllib.loads(text)["perdure"], {}) == wanted
    except (BadSettings, tomllib.TOMLDecodeError, KeyError):
        return False


def _replace_file(path: Path, text: str, *, is_secret: bool) -> None:
    """Replace a file durably. A file with a secret can be read by its owner only."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.unlink(missing_ok=True)
    mode = 0o600 if is_secret else stat.S_IMODE(path.stat().st_mode)
    fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "w", encoding="utf-8") as file:
        os.fchmod(file.fileno(), mode)
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    replace_durably(beside, path)
