"""Registries at rest. The embedded default is one SQLite file."""
