"""The index of captures: how it is written, searched and exchanged."""
