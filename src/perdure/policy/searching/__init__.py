"""Searching in words: what a query means, and where its words are in a text. Pure."""
