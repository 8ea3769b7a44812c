"""Work on complete registries: audit, rebuild, import, export, link checks and collections."""
