"""Records and changes in a PostgreSQL database, which several machines can write."""
