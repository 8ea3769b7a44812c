"""Every decision, as pure functions over the values of `perdure.model`."""
