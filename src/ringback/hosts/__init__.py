"""Coding assistants that use Ringback: how each is configured, and how it is told that a job has ended."""
