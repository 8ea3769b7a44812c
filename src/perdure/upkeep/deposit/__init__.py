"""Moving in: a directory of files becomes documents.

How it works: `planning` walks the directory (`walking`), groups files into documents (`grouping`),
joins them with an inventory (`inventory`, `tables`), and writes a plan (`plan`), which people can
correct. `running` carries out a plan: it mints each document with one command, whose idempotency
key comes from the plan, and writes a row of the receipts for each row of the plan, in the same
order. So a deposit that was interrupted goes on behind the last complete row.

What must stay true: nothing is minted that the plan does not say; a file that is not taken has a
row with the reason; whatever is killed when, no document is minted twice.
"""
