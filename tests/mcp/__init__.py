"""The MCP door, in its own process, over HTTP, and before other people's clients."""
