"""Reading: from a query to the record, bytes or location that it resolves to."""
