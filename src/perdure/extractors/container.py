"""Containers of sound or video, opened with PyAV (FFmpeg's libraries) and restricted to one file.

How it works: the caller knows the media type and names the demuxer. No other demuxer is tried, and
none may open another file or connection. So a playlist that is labelled as a film is only a damaged
film.

What must stay true: the code runs confined. The library gets the bytes of the source, never a path.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING

from perdure.errors import PerdureError
from perdure.extractors.libraries import import_library
from perdure.extractors.port import Source
from perdure.parts import Selector

if TYPE_CHECKING:
    from av.container import InputContainer

EXTRA = "media"
_ALIASES = {"mov": "mov,mp4,m4a,3gp,3g2,mj2"}
_LONGEST_PROBE = str(5 << 20)  # bytes that a demuxer may look at to find the streams


@contextmanager
def open_container(
    source: Source,
    demuxer: str,
    selector: Selector | str,
    more: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[InputContainer]:
    """Open a container. If FFmpeg finds a fault in it while it is open, Undecodable is raised.
    `more` has options of the demuxer.

    Raises MissingLibrary if PyAV or numpy is not installed.
    """
    av = import_library("av", EXTRA, source, selector)
    import_library("numpy", EXTRA, source, selector)
    av.logging.set_level(av.logging.PANIC)
    count_before, _ = av.logging.get_last_error()
    options = {
        "protocol_whitelist": "",
        "format_whitelist": _ALIASES.get(demuxer, demuxer),
        "probesize": _LONGEST_PROBE,
    }
    options |= more
    if demuxer == "mov":
        options["enable_drefs"] = "0"  # media in other files
    try:
        with (
            source.open_file() as file,
            av.open(file, format=demuxer, options=options, metadata_errors="replace") as container,
        ):
            yield container
    except PerdureError:
        raise
    except av.FFmpegError as error:
        count, last = av.logging.get_last_error()
        told = (
            last[2] if last and count > count_before else ""
        )  # about this file, not an earlier one
        reason = ": ".join(filter(None, (error.strerror, told.strip())))
        raise source.quote_decoder("FFmpeg", reason) from None
    except (ValueError, OverflowError) as error:
        raise source.quote_decoder("PyAV", error) from None
