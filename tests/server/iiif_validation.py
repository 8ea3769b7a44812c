"""The validator of IIIF (`iiif-validator`, from PyPI), and the picture that it knows.

Its test picture has ten by ten squares of a hundred pixels, whose colours it carries with it. It
runs in a Python of its own, which the environment variable PERDURE_IIIF_VALIDATOR names: the
executable `iiif-validate.py`, as `pip install iiif-validator` puts it there.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
from pathlib import Path

from PIL import Image

VALIDATOR = os.environ.get("PERDURE_IIIF_VALIDATOR", "")
SIDE = 100  # pixels of a square
_COLOURS = """
import json
from iiif_validator.validator import ValidationInfo
print(json.dumps(ValidationInfo().colorInfo))
"""
Colours = list[list[tuple[int, int, int]]]


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
    python = Path(VALIDATOR).parent / "python"
    shown = subprocess.run(
        [python, "-c", _COLOURS], capture_output=True, text=True, check=True
    ).stdout
    found: Colours = json.loads(shown.splitlines()[-1])  # it says other things before
    return [[(red, green, blue) for red, green, blue in column] for column in found]


def validate(server: str, version: str, name: str, level: int) -> subprocess.CompletedProcess[str]:
    """Run the validator at a level; its exit code is the number of tests that failed."""
    command = [str(Path(VALIDATOR).parent / "python"), VALIDATOR, "--server", server]
    command += ["--prefix", f"iiif/{version[0]}", "--identifier", name]
    command += ["--version", version, "--level", str(level), "--verbose"]
    return subprocess.run(command, capture_output=True, text=True, timeout=200)
