"""PWIDs: how to make them, the archives that they name, and the verdict on each."""
