"""Searching: which documents contain some words, and where.

How it works: `text_index` is an index of words in SQLite (FTS5). `indexing` fills it: a follower of
the changes that reads titles, descriptions and plain texts, and `capture_texts` reads those of
captures in archive files. `finding` looks a query up, compares each hit through the read door, and
names the part that contains it. `updating` says when the index is brought up to date, and by which
process.
"""
