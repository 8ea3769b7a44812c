"""Bytes at rest: WARC segments, how they are written, read, sealed and audited."""
