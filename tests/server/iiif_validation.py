"""The validator of IIIF (`iiif-validator`, from PyPI), and the picture that it knows.

Its test picture has ten by ten squares of a hundred pixels, whose colours it carries with it. It is
a script of the Python that runs the tests, and needs libmagic of the system.
"""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

from PIL import Image

VALIDATOR = Path(sys.executable).parent / "iiif-validate.py"
SIDE = 100  # pixels of a square
Colours = list[list[tuple[int, int, int]]]


def can_run() -> bool:
    """Whether it is installed, and all that it needs."""
    if not VALIDATOR.exists():
        return False
    asked = [sys.executable, str(VALIDATOR), "--help"]
    return subprocess.run(asked, capture_output=True).returncode == 0


def squares(colours: Colours) -> bytes:
    """The picture, as PNG; the first index counts to the right, the second down."""
    picture = Image.new("RGB", (SIDE * len(colours), SIDE * len(colours[0])))
    for x, column in enumerate(colours):
        for y, colour in enumerate(column):
            picture.paste(colour, (SIDE * x, SIDE * y, SIDE * (x + 1), SIDE * (y + 1)))
    data = io.BytesIO()
    picture.save(data, "png")
    return data.getvalue()


def colours() -> Colours:
    """The colours that the validator expects."""
    from iiif_validator.validator import ValidationInfo  # imported late: it needs libmagic

    found: Colours = ValidationInfo().colorInfo
    return found


def validate(server: str, version: str, name: str, level: int) -> subprocess.CompletedProcess[str]:
    """Run the validator at a level; its exit code is the number of tests that failed."""
    command = [sys.executable, str(VALIDATOR), "--server", server]
    command += ["--prefix", f"iiif/{version[0]}", "--identifier", name]
    command += ["--version", version, "--level", str(level), "--verbose"]
    return subprocess.run(command, capture_output=True, text=True, timeout=200)
