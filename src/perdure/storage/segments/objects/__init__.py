"""Segments as objects of an S3 store: an adapter of `perdure.storage.byte_ports.Bytes`."""
