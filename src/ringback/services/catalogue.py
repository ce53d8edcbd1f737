"""The catalogue as one thing: what there is, how it is released, what names stand for, and who else may call it."""

from __future__ import annotations

from dataclasses import dataclass

from ringback.ports.clock import Clock, Ids
from ringback.ports.store import Store
from ringback.services.callables import Callables
from ringback.services.channels import Channels
from ringback.services.grants import Grants
from ringback.services.resources import Resources


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """Its parts."""

    resources: Resources
    channels: Channels
    callables: Callables
    grants: Grants


def catalogue(store: Store, clock: Clock, ids: Ids) -> Catalogue:
    """Put it together."""
    resources = Resources(store=store, clock=clock)
    grants = Grants(store=store, clock=clock, ids=ids, resources=resources)
    return Catalogue(
        resources=resources,
        channels=Channels(store=store, resources=resources),
        callables=Callables(store=store, clock=clock, resources=resources, grants=grants),
        grants=grants,
    )
