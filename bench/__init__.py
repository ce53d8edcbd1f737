"""Figures of speed and memory, measured side by side with other projects in one run. Never part of the tests."""
