"""Runs of every kind of resource: what starts one, and how it stands among others."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from ringback.client import records, requests
from ringback.client.exchange import IDEMPOTENCY_HEADER, Link, Steps, exchange
from ringback.client.operations import json_object


@dataclass(frozen=True, slots=True)
class RunStart:
    """A run to start. `input` is what its kind takes, without the `mode`, which is the kind."""

    resource: str | None
    input: Mapping[str, Any]
    kind: str = "tool"
    channel: str | None = None
    revision: str | None = None
    idempotency_key: str | None = None
    depends_on: Sequence[str] = ()
    follow_up_of: str | None = None
    timeout: float | timedelta | None = None
    total_timeout: float | timedelta | None = None
    not_before: datetime | None = None
    priority: int | None = None
    tags: Sequence[str] = ()
    thread_id: str | None = None
    run_on: str | None = None

    def body(self) -> dict[str, Any]:
        """The members of the request; what was not given is absent.

        Raises:
            ValueError: `not_before` has no offset.
        """
        given = {
            "resourceType": self.kind,
            "resourceId": self.resource,
            "releaseChannel": self.channel,
            "resourceRevisionId": self.revision,
            "input": {**self.input, "mode": self.kind},
            "dependsOn": list(self.depends_on) or None,
            "followUpOf": self.follow_up_of,
            "timeoutSeconds": requests.seconds(self.timeout),
            "totalTimeoutSeconds": requests.seconds(self.total_timeout),
            "notBefore": None if self.not_before is None else requests.utc(self.not_before),
            "priority": self.priority,
            "tags": list(self.tags) or None,
            "threadId": self.thread_id,
            "runOn": self.run_on,
        }
        return {name: value for name, value in given.items() if value is not None}


def start_run(link: Link, wanted: RunStart) -> Steps[records.Started]:
    """Start a run, always with a key: without one a lost answer could double the work."""
    key = requests.header_value(uuid.uuid4().hex if wanted.idempotency_key is None else wanted.idempotency_key)
    request = requests.of_catalogue(link, "POST", "runs", body=wanted.body(), headers={IDEMPOTENCY_HEADER: key})
    answer = yield from exchange(link, request)
    body = json_object(answer.json())
    replayed = answer.headers.get("idempotency-replayed") == "true"
    return records.Started(str(body["jobId"]), str(body["status"]), replayed)
