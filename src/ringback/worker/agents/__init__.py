"""Agents: a model that answers, or calls what it may call; each call is a run of its own."""
