"""The road of reads: from a query to what it resolves to."""
