"""Work on whole registries: audit, rebuild, import, export, link checks and collections."""
