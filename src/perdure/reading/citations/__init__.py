"""Checking of citations: the verdict on what is at an origin (section 3.5 of the PDI draft).

`checking` resolves both sides through the read door and chooses the comparison, `origins` reads
origin positions, and each kind of medium has a module: `texts` (with `divided`), `references`
(elements and links in markup), `media` (pictures, sound, film, bytes).
"""
