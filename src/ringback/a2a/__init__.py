"""A2A: runs as tasks of the Agent2Agent protocol, on the official SDK (the extra `a2a`)."""
