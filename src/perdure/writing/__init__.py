"""The road of writes: from a command to a receipt, by way of one writer and one journal."""
