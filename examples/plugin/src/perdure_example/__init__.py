"""A plug-in for perdure, as an example: LSIDs, MODS, and parts by words."""
