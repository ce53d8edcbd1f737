"""What user code raises, or gets raised from the platform.

`Cancelled`, `Released` and `Fail` are control signals, not errors: they derive from `BaseException`, so that a handler for
`Exception` in a library between the tool and the platform does not swallow them.
"""

from typing import Any


class Cancelled(BaseException):
    """The attempt was asked to stop; raised by calls on the context. Clean up and let it pass."""


class Released(BaseException):
    """The attempt gives its slot back until its question is answered; raised by `ask(…, release=True)`. Let it pass."""


class Fail(BaseException):
    """Ends the attempt as failed with this message and no traceback.

    Args:
        message: for the caller; at most 4,000 characters are kept.
        retryable: False when another attempt can't help; the retry policy is then not asked.
        detail: any JSON value that a program may look at.
    """

    def __init__(self, message: str, *, retryable: bool = True, detail: object = None) -> None:
        super().__init__(message)
        self.message = message
        self.retryable = retryable
        self.detail = detail


class ChildRefusedError(Exception):
    """The run that was to be started below this one was refused; the message says why."""


class QuestionRefusedError(Exception):
    """The question could not be asked; the message says why."""


class CapabilityRefusedError(Exception):
    """A secret, a value or the configuration is not given; the message says why."""


class ValueChangedError(Exception):
    """The value that was to be written is of another version by now; `current` is the `Stored` one."""

    def __init__(self, current: Any) -> None:
        super().__init__("somebody else has changed the value")
        self.current = current


class UnansweredError(Exception):
    """Nobody answered in time and the question had no default, or it was withdrawn.

    Attributes:
        status: `expired` or `withdrawn`. A tool that lets the first of them pass ends its run as `expired`.
    """

    def __init__(self, message: str = "", *, status: str = "") -> None:
        super().__init__(message)
        self.status = status
