"""Web archives: the registry of all of them, the captures of your own, and how to find one."""
