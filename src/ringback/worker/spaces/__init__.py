"""Places that a worker makes for single attempts; a place is known by its record before anything of it exists."""
