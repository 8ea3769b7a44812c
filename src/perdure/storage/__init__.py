"""Storage: the ports that say what perdure needs of it, and the adapters that implement them."""
