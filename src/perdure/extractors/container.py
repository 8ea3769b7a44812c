"""A file of sound or video, opened with PyAV (FFmpeg's libraries), and nothing but that file.

How it works: the demuxer is given by whoever knows the media type; no other is tried, and none may
open another file or connection. So a playlist that calls itself a film is only a damaged film.

What must stay true: it runs confined; the library gets the bytes of the source, never a path.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from perdure.errors import PerdureError
from perdure.extractors.libraries import library
from perdure.extractors.port import Source
from perdure.parts import Selector

if TYPE_CHECKING:
    from av.container import InputContainer

EXTRA = "media"
_ALIASES = {"mov": "mov,mp4,m4a,3gp,3g2,mj2"}
_LONGEST_PROBE = str(5 << 20)  # bytes that a demuxer may look at to find the streams


@contextmanager
def opened(source: Source, demuxer: str, selector: Selector | str) -> Iterator[InputContainer]:
    """The container. What FFmpeg finds wrong in it while it is open is raised as Undecodable.

    Raises PartNotSupported where PyAV or numpy is not installed.
    """
    av = library("av", EXTRA, source, selector)
    library("numpy", EXTRA, source, selector)
    av.logging.set_level(av.logging.PANIC)
    count_before, _ = av.logging.get_last_error()
    options = {
        "protocol_whitelist": "",
        "format_whitelist": _ALIASES.get(demuxer, demuxer),
        "probesize": _LONGEST_PROBE,
    }
    if demuxer == "mov":
        options["enable_drefs"] = "0"  # media that lie in other files
    try:
        with (
            source.open() as file,
            av.open(file, format=demuxer, options=options, metadata_errors="replace") as container,
        ):
            yield container
    except PerdureError:
        raise
    except av.FFmpegError as error:
        count, last = av.logging.get_last_error()
        told = last[2] if last and count > count_before else ""  # of this file, and no other
        reason = ": ".join(filter(None, (error.strerror, told.strip())))
        raise source.undecodable(reason or "FFmpeg gives no reason") from None
    except (ValueError, OverflowError) as error:
        raise source.undecodable(str(error)) from None
