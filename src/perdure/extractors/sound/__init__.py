"""Parts of sound."""
