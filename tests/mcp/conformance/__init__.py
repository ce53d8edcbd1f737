"""The official conformance suite against `/mcp`."""
