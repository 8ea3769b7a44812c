"""Parts of plain text and of tables."""
