"""Answers about an identifier: its bytes, its parts, and its record."""
