"""The runtime protocol, from its page and in another language."""
