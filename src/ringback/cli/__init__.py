"""The command line: a door like the others. It speaks to the server through the client, and formats what comes back."""
