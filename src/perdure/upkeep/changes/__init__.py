"""Numbered changes: shown to those who follow them, checked, counted."""
