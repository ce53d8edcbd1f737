"""Processes that cannot outlive their attempt: the guardian, its wire, and the walk over a tree of processes."""
