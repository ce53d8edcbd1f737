"""Coding assistants: how they are configured, and what their hooks are told."""
