"""Ringback: durable asynchronous runs for AI agents. Start work, hang up, be rung back.

The client, and what functions need to become tools, are offered here and loaded on first use, so that importing the package
stays cheap.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ringback.client import AsyncRingback as AsyncRingback, Ringback as Ringback
    from ringback.worker.app import App as App, Retry as Retry
    from ringback.worker.asking import Reply as Reply
    from ringback.worker.context import Context as Context
    from ringback.worker.signals import (
        Cancelled as Cancelled,
        CapabilityRefusedError as CapabilityRefusedError,
        ChildRefusedError as ChildRefusedError,
        Fail as Fail,
        QuestionRefusedError as QuestionRefusedError,
        Released as Released,
        UnansweredError as UnansweredError,
        ValueChangedError as ValueChangedError,
    )

__version__ = "0.1.0"
__all__ = [
    "App",
    "AsyncRingback",
    "Cancelled",
    "CapabilityRefusedError",
    "ChildRefusedError",
    "Context",
    "Fail",
    "QuestionRefusedError",
    "Released",
    "Reply",
    "Retry",
    "Ringback",
    "UnansweredError",
    "ValueChangedError",
    "__version__",
]

_HOMES = {
    "AsyncRingback": "ringback.client",
    "Ringback": "ringback.client",
    "App": "ringback.worker.app",
    "Retry": "ringback.worker.app",
    "Context": "ringback.worker.context",
    "Cancelled": "ringback.worker.signals",
    "CapabilityRefusedError": "ringback.worker.signals",
    "ChildRefusedError": "ringback.worker.signals",
    "Fail": "ringback.worker.signals",
    "QuestionRefusedError": "ringback.worker.signals",
    "Released": "ringback.worker.signals",
    "Reply": "ringback.worker.asking",
    "UnansweredError": "ringback.worker.signals",
    "ValueChangedError": "ringback.worker.signals",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
