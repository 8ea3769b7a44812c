"""Harvesting from others: their records become records here, or links.

`oai` and `sitemaps` ask a repository by its protocol; `lines` turns what it says into lines of an
import; `taking` takes them and honours deletions; `state` remembers how far a harvest came.
"""
