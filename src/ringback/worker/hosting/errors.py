"""What can go wrong between a worker and a hosted MCP server.

HostError
├── UnstartableError   no session came about
└── GoneError          the session is over: the server died, hung up, or broke the connection
AnswerError            the server answered with an error of the protocol; the session goes on
"""

from typing import Any


class HostError(Exception):
    """One line for a person."""


class UnstartableError(HostError):
    """The server did not start, or did not agree on how to speak."""


class GoneError(HostError):
    """The session is over; `code` is the exit status of the server's process, where that is known."""

    def __init__(self, message: str, *, code: int | None = None) -> None:
        super().__init__(message)
        self.code = code


class AnswerError(Exception):
    """An error of the protocol."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def to_wire(self) -> dict[str, Any]:
        """As it stands in a message."""
        return {"code": self.code, "message": self.message} | ({} if self.data is None else {"data": self.data})
