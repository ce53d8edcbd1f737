"""The door of callbacks: open to whoever holds the one-time address, and it tells nothing about the run."""

from __future__ import annotations

from http import HTTPStatus

from ringback.api.call import Call
from ringback.api.reply import Reply
from ringback.api.routes import Endpoint
from ringback.services.callbacks import BODY_MAX, Delivery


async def take(call: Call) -> Reply:
    """Keep what a job API says of its job. The same delivery again is no error."""
    delivery = Delivery(
        body=await call.body(BODY_MAX),
        content_type=call.header("content-type"),
        webhook_id=call.header("webhook-id"),
        timestamp=call.header("webhook-timestamp"),
        signature=call.header("webhook-signature"),
    )
    await call.core.callbacks.take(call.path["run_id"], call.path["token"], delivery)
    return Reply(HTTPStatus.NO_CONTENT, headers={"cache-control": "no-store"})


ENDPOINTS = [
    Endpoint(
        method="POST",
        path="/callbacks/{run_id}/{token}",
        scope=None,
        handler=take,
        summary="Tell how a job of another API ended, at the one-time address that it was given",
        gives={204: None},
        headers={
            "Webhook-Id": "Standard Webhooks: the id of the message",
            "Webhook-Timestamp": "Standard Webhooks: when it was sent, in seconds since 1970",
            "Webhook-Signature": "Standard Webhooks: v1,… signatures, separated by spaces",
        },
    )
]
