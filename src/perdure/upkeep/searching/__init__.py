"""Searching: which documents contain some words, and where.

How it works: `text_index` is an index of words in SQLite (FTS5). `indexing` fills it: a follower of
the changes that reads titles, descriptions and plain texts, and `captures` does the same for the
web archive. `finding` looks a query up, compares each hit through the read door, and names the part
that contains it. `updating` says when the index is brought up to date, and by which process.
"""
