"""Numbered changes: shown to followers, checked, counted."""
