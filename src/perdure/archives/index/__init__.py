"""Write, search and exchange the index of captures."""
