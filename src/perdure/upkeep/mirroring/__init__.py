"""Mirrors: follow the changes of an origin, fetch its bytes, compare and repair them.

`wire` reads what an origin sends, `client` asks it, `following` runs a mirror, `comparing`
challenges another registry over its bytes. docs/how-to/run-a-mirror.md
"""
