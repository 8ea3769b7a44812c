"""Archive files (WARC, ARC and WACZ): their records, read in order or by offset."""
