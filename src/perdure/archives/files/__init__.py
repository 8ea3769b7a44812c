"""Read the records of archive files (WARC, ARC and WACZ), in order or by offset."""
