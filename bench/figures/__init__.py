"""One module a target; each runs in a process of its own and prints what it found."""
