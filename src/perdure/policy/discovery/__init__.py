"""Finding the resolver of a series: name server records and date intervals. Pure.

`intervals` writes regular expressions for intervals of dates, `pointers` follows NAPTR records,
`services` orders SRV records, and `zones` writes the lines of a zone file.
"""
