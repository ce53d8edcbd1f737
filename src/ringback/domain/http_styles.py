"""How job APIs of others speak: where a job's status is, which words mean its end, where its result lies.

`auto` understands what most of them have in common, without being told. A style is a set of defaults for the members of a
profile's `follow`; whatever the profile says itself counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

Style = Mapping[str, Any]

DONE: Final = ("succeeded", "success", "successful", "completed", "complete", "done", "finished")
FAILED: Final = ("failed", "failure", "error", "errored", "expired", "timed_out", "timeout", "rejected")
CANCELLED: Final = ("cancelled", "canceled", "aborted", "stopped", "terminated")

_AUTO: Final[Style] = {
    "on": [202],
    "headers": ["Operation-Location", "Azure-AsyncOperation", "Location"],
    "location": ["/status_url", "/statusUrl", "/links/status", "/links/self", "/_links/self/href"],
    "state": ["/status", "/state", "/status/state", "/properties/provisioningState", "/done"],
    "done": [*DONE, True],
    "failed": list(FAILED),
    "cancelled": list(CANCELLED),
    "progress": ["/progress/done", "/progress", "/percentComplete", "/metadata/progressPercent"],
    "total": ["/progress/total"],
    "message": ["/progress/message", "/message", "/statusMessage"],
    "error": ["/error/message", "/error_message", "/errorMessage", "/error", "/detail", "/message"],
    "result": ["/result", "/response", "/output", ""],
    "resultLocation": ["/resourceLocation", "/result_url", "/resultUrl", "/links/result"],
    "cancelMethod": "DELETE",
    "cancelUrl": "{@status}",
    "intervalS": 2.0,
    "intervalMaxS": 60.0,
    "patienceS": 600.0,
}
STYLES: Final[Mapping[str, Style]] = MappingProxyType(
    {
        "auto": _AUTO,
        "azure": {
            **_AUTO,
            "on": [200, 201, 202],
            "headers": ["Azure-AsyncOperation", "Operation-Location", "Location"],
            "location": [],
            "state": ["/status", "/properties/provisioningState"],
            "error": ["/error/message", "/error/code"],
            "resultLocation": ["/resourceLocation"],
            "progress": ["/percentComplete"],
        },
        "google": {
            **_AUTO,
            "on": [200],
            "headers": [],
            "location": [],
            "statusUrl": "{@origin}/v1/{+/name}",
            "state": ["/done"],
            "done": [True],
            "failed": [],
            "cancelled": [],
            "error": ["/error/message"],
            "result": ["/response"],
            "resultLocation": [],
            "progress": ["/metadata/progressPercent", "/metadata/progressPercentage"],
            "cancelMethod": "POST",
            "cancelUrl": "{@status}:cancel",
        },
        "ringback": {
            **_AUTO,
            "headers": ["Location"],
            "location": [],
            "state": ["/status"],
            "done": ["done"],
            "failed": ["failed"],
            "cancelled": ["cancelled"],
            "progress": ["/progress/done"],
            "message": ["/progress/message"],
            "error": ["/error_message", "/summary"],
            "result": ["/result", "/items", "/output"],
            "resultLocation": [],
            "resultUrl": "{@status}/result",
        },
        "openai": {
            **_AUTO,
            "on": [200, 201, 202],
            "headers": [],
            "location": [],
            "statusUrl": "{@url}/{/id}",
            "state": ["/status"],
            "done": ["completed"],
            "failed": ["failed", "expired"],
            "cancelled": ["cancelled"],
            "progress": ["/request_counts/completed"],
            "total": ["/request_counts/total"],
            "error": ["/errors/data/0/message", "/error/message"],
            "result": [""],
            "resultLocation": [],
            "cancelMethod": "POST",
            "cancelUrl": "{@status}/cancel",
        },
    }
)
