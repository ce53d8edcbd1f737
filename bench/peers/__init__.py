"""Other projects that do comparable work, each in an environment of its own, measured in the same run."""
