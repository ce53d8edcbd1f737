"""What can be wrong with a host's files."""


class HostFileError(Exception):
    """A file of a host cannot be changed safely; it stays as it was. The message is one line for people."""
