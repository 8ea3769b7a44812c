"""Capture pages, and list what belongs to a captured page or site."""
