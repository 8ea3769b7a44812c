"""Values: records, commands, queries, and their answers."""
