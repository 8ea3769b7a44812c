"""A processor for the Citation Style Language, as far as one entry of a bibliography goes.

How it works: `locale` reads the terms and dates of a language, `style` compiles a style into
functions, `names` and `dates` write people and days, `wording` has what is done to text: case,
quotation marks, punctuation that meets punctuation. `perdure.metadata.citing` is what others call.

What must stay true: a compiled style is a value: rendering an item changes nothing in it. What
citeproc-js writes of the items in `vectors/citations.json` is what is written here. Nothing of
perdure is imported here, so that the processor could become a package of its own.

Specification: CSL 1.0.2, https://docs.citationstyles.org/en/stable/specification.html.
"""
