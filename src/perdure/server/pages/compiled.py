"""Bytecode of templates, kept for the next start of a server.

How it works: to compile all templates takes half a second, to read their bytecode a twentieth of
that. The files are in the directory of the bytecode of this package's modules; anyone who can write
there can change the modules, too. If nothing can be written, or Python shall write no bytecode
(PYTHONDONTWRITEBYTECODE), each start compiles.

What must stay true: a file that another version of Jinja, of Python or of this package wrote, or
that is damaged, is not loaded but replaced. So each begins with a digest over these and its bytes.
"""

from __future__ import annotations

import contextlib
import os
import sys
from hashlib import blake2b
from importlib.util import cache_from_source
from pathlib import Path

import jinja2
from jinja2.bccache import Bucket

_DIGEST = 32  # bytes


class CompiledTemplates(jinja2.BytecodeCache):
    """Bytecode of templates in a directory, which need not be there.

    `settings` says how the templates are compiled: what was compiled with others is not loaded.
    """

    def __init__(self, place: Path, settings: bytes) -> None:
        self._place = place
        self._origin = b"\0".join((jinja2.__version__.encode(), sys.version.encode(), settings))

    def load_bytecode(self, bucket: Bucket) -> None:
        """Load what a template was compiled to, if it is there; Jinja compares its source."""
        with contextlib.suppress(OSError):
            stored = self._find_file(bucket).read_bytes()
            digest, bytecode = stored[:_DIGEST], stored[_DIGEST:]
            if digest == self._compute_digest(bytecode):
                bucket.bytecode_from_string(bytecode)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep what a template was compiled to, if that can be written; whole or not at all."""
        if sys.dont_write_bytecode:
            return
        bytecode = bucket.bytecode_to_string()
        path = self._find_file(bucket)
        part = path.with_suffix(f".{os.getpid()}")
        with contextlib.suppress(OSError):
            self._place.mkdir(parents=True, exist_ok=True)
            try:
                part.write_bytes(self._compute_digest(bytecode) + bytecode)
                part.replace(path)
            except OSError:
                part.unlink()
                raise

    def _find_file(self, bucket: Bucket) -> Path:
        return self._place / f"{bucket.key}.{sys.implementation.cache_tag}.jinja"

    def _compute_digest(self, bytecode: bytes) -> bytes:
        return blake2b(bytecode, key=blake2b(self._origin).digest(), digest_size=_DIGEST).digest()


def keep_compiled(module: str) -> CompiledTemplates:
    """Keep templates beside the bytecode of the module that says how they are compiled."""
    return CompiledTemplates(Path(cache_from_source(module)).parent, Path(module).read_bytes())
