"""The MCP door: tools, tasks and subscriptions over stdio and HTTP. It speaks to the HTTP API like any other client."""
