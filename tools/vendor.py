"""Fetches the scripts of others that pages load: `make vendor`.

How it works: `vendor.toml`, beside the scripts, names each package of the npm registry, its
version, and the files in it. `npm pack` downloads the package; its script and its licence are
copied, and their digests must be those in the table. To take a newer release, change the version,
run this with `--trust`, which writes the new digests, and look at what changed.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path

VENDOR = Path(__file__).parents[1] / "src/perdure/server/pages/vendor"
_TABLE = VENDOR / "vendor.toml"


def list_scripts() -> list[dict[str, str]]:
    """The rows of the table."""
    found: list[dict[str, str]] = tomllib.loads(_TABLE.read_text("utf-8"))["script"]
    return found


def fetch_files(script: dict[str, str]) -> dict[str, bytes]:
    """Download a package, and return the script and its licence by the keys of their digests."""
    with tempfile.TemporaryDirectory() as place:
        name = f"{script['package']}@{script['version']}"
        subprocess.run(["npm", "pack", "--silent", name], cwd=place, check=True)
        (archive,) = Path(place).glob("*.tgz")
        with tarfile.open(archive) as packed:
            return {
                key: _read_member(packed, script[path])
                for key, path in (("sha256", "path"), ("licence_sha256", "licence_path"))
            }


def _read_member(packed: tarfile.TarFile, path: str) -> bytes:
    file = packed.extractfile(f"package/{path}")
    if file is None:
        raise FileNotFoundError(path)
    return file.read()


def main() -> None:
    trusts = "--trust" in sys.argv
    for script in list_scripts():
        files = fetch_files(script)
        for key, data in files.items():
            digest = hashlib.sha256(data).hexdigest()
            if digest != script[key]:
                if not trusts:
                    sys.exit(f"{script['package']}: {key} is {digest}, not {script[key]}")
                _TABLE.write_text(_TABLE.read_text("utf-8").replace(script[key], digest), "utf-8")
        (VENDOR / script["file"]).write_bytes(files["sha256"])
        (VENDOR / script["licence"]).write_bytes(files["licence_sha256"])


if __name__ == "__main__":
    main()
