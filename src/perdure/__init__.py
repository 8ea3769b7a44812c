"""perdure: persistent identifiers that keep, prove and point inside what they name."""
