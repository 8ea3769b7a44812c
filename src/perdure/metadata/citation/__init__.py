"""A processor for the Citation Style Language that writes single entries of a bibliography.

How it works: `locale` reads the terms and dates of a language, `style` compiles a style into
functions, `names` and `dates` write people and days, and `wording` changes text: case, quotation
marks, adjacent punctuation. Callers use `perdure.metadata.citing`.

What must stay true: a compiled style is a value: rendering an item does not change it. For the
items in `vectors/citations.json` this package writes the same text as citeproc-js. It imports
nothing from perdure, so that the processor could become a separate package.

Specification: CSL 1.0.2, https://docs.citationstyles.org/en/stable/specification.html.
"""
