"""The command line: what it reads, what it prints, how it exits; and `up` with its processes."""
