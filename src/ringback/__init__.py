"""Ringback: durable asynchronous runs for AI agents. Start work, hang up, be rung back."""

__version__ = "0.1.0"
