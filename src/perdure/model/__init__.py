"""Values: what is kept, what may be written, what may be asked, and what answers those."""
