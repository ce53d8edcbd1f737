"""MCP servers of others, hosted by a worker: started or reached, spoken to, and ended without a trace."""
