"""The worker, part by part and as a whole, without a server."""
