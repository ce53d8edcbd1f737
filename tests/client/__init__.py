"""The Python client: its protocol without a socket, and the whole of it against a real server."""
