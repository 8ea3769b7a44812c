"""The text of mail."""
