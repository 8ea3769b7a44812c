"""Writing: from a command to its receipt, through one writer and one journal."""
