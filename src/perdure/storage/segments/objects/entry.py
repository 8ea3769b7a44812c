"""The entry point of bytes in an S3 store: it loads obstore, or says how to install it."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from perdure.errors.object_stores import ObjectAddressMalformed
from perdure.errors.unavailable import import_library

if TYPE_CHECKING:
    from collections.abc import Callable

    from perdure.storage.segments.objects.store import ObjectBytes


def choose_objects(address: str | Path) -> Callable[[Path], ObjectBytes]:
    """Return what opens the bytes at an address, such as `s3://bucket/prefix`.

    Raises BadSettings if it is not an address, and MissingLibrary without the extra `s3`.
    """
    from perdure.storage.segments.objects.addresses import parse_address

    if isinstance(address, Path):  # the setting is only the name
        raise ObjectAddressMalformed(setting="bytes", value="s3")
    parsed = parse_address(address, os.environ)
    import_library("obstore", task="keeping bytes in an object store", extra="s3")
    from perdure.storage.segments.objects.store import ObjectBytes

    return partial(ObjectBytes, parsed)
