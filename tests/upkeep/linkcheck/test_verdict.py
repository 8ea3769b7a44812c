"""What a verdict says of a server's own words."""

from __future__ import annotations

from perdure.upkeep.linkcheck.verdict import _printable_words


def test_words_of_a_server_are_shortened_and_printable() -> None:
    assert _printable_words("é" * 300) == "é" * 200
    assert _printable_words("a\r\n\x1b[31mb") == "a???[31mb"
