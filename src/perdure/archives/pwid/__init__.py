"""PWIDs: how they are made, the archives they name, and the verdict on each."""
