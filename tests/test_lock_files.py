"""The lock files: pip must be able to install from them whatever is published later."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = Path(__file__).parent.parent


@pytest.mark.parametrize("file", ["requirements.lock", "requirements-dev.lock"])
def test_a_package_is_pinned_with_the_extras_that_others_need(file: str) -> None:
    """pip first takes the newest version of `coverage[toml]`, and refuses it as unpinned, if the
    file pins `coverage` alone."""
    lines = (PROJECT / file).read_text("utf-8").splitlines()
    pins = [Requirement(line.rstrip("\\ ")) for line in lines if line[:1].isalnum()]
    pinned = {canonicalize_name(pin.name): pin.extras for pin in pins}
    assert len(pinned) > 10
    missing = []
    for pin in pins:
        try:
            needs = [Requirement(one) for one in requires(pin.name) or ()]
        except PackageNotFoundError:  # for another platform, say
            continue
        for need in needs:
            applies = need.marker is None or any(
                need.marker.evaluate({"extra": extra}) for extra in ("", *pin.extras)
            )
            if applies and need.extras - pinned.get(canonicalize_name(need.name), set()):
                missing.append(f"{pin.name} needs {need}")
    assert missing == []
