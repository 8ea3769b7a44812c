"""Frequent answers, made inside the protocol class. Tests keep them equal to the plain way."""
