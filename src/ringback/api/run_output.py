"""A run's result in pages, and its captured output as it came."""

from __future__ import annotations

from ringback.api.routes import Endpoint

ENDPOINTS: list[Endpoint] = []
