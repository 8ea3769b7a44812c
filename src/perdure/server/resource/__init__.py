"""What is served under an identifier: its bytes, its parts, and what is known about it."""
