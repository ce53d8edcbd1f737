"""One lane of the worker's talk with the server: sends a request, and turns the status of its answer into what to do.

ChannelError
├── UnreachableServerError   no answer, or the server can't answer now (429, 5xx): ask again later
├── SessionOverError         the server ended this session: kill its work, attach anew
├── NotAllowedError          the token is not (or no longer) good for a worker
└── RefusedError             this very request is wrong; repeating it is useless
"""

from collections.abc import Callable
from typing import Final

from ringback.worker.connection import Address, Answer, Connection, UnreachableError
from ringback.worker.messages import problem

SESSION_OVER_CODES: Final = frozenset({"session_expired", "session_not_found", "session_superseded"})


class ChannelError(Exception):
    """Root of what a request can end in."""


class UnreachableServerError(ChannelError):
    """No answer, or none that helps; `retry_after_s` is what the server asked for."""

    def __init__(self, message: str, *, retry_after_s: float = 0.0) -> None:
        """`message` holds no secret: addresses and statuses only."""
        super().__init__(message)
        self.retry_after_s = retry_after_s


class SessionOverError(ChannelError):
    """The server no longer knows this session, or ended it."""


class NotAllowedError(ChannelError):
    """401 or 403."""


class RefusedError(ChannelError):
    """Another 4xx, with the problem's code."""

    def __init__(self, status: int, code: str, message: str) -> None:
        """The facts of the problem."""
        super().__init__(f"{status} {code}: {message}" if message else f"{status} {code}")
        self.status, self.code = status, code


class Channel:
    """One connection with its meaning; requests on it are sent one after the other."""

    def __init__(self, address: Address, token: str, *, heard: Callable[[], None]) -> None:
        """`heard` is called whenever the server showed that it is there and working."""
        self._connection = Connection(address, token)
        self._heard = heard

    async def call(self, path: str, body: bytes, *, within_s: float) -> bytes:
        """Send one request and return the body of a good answer.

        Raises:
            ChannelError: as drawn at the top.
        """
        try:
            answer = await self._connection.post(path, body, within_s=within_s)
        except UnreachableError as error:
            raise UnreachableServerError(str(error)) from error
        if answer.status < 300:
            self._heard()
            return answer.body
        raise _meaning(answer)

    def close(self) -> None:
        """Close the connection; a request that is under way fails."""
        self._connection.abort()


def _meaning(answer: Answer) -> ChannelError:
    flaw = problem(answer.body)
    code, message = flaw.code or "", flaw.detail or flaw.title or ""
    match answer.status:
        case 410:
            return SessionOverError(code or "gone")
        case 404 if code in SESSION_OVER_CODES or code == "not_found":
            return SessionOverError(code)
        case 401 | 403:
            return NotAllowedError(f"{answer.status} {code}: {message}")
        case status if status == 429 or status == 408 or status >= 500 or status < 400:
            return UnreachableServerError(f"status {status} {code}", retry_after_s=_retry_after(answer))
        case status:
            return RefusedError(status, code or "refused", message)


def _retry_after(answer: Answer) -> float:
    text = answer.headers.get("retry-after", "")
    return min(float(text), 60.0) if text.isdigit() else 0.0
