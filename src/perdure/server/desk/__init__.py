"""The desk: pages on which depositors who signed in mint documents, and commit next versions."""
