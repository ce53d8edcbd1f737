"""The services of one server process, put together over a store. Doors get this and nothing below it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ringback.domain.moments import DAY, SECOND, Micros
from ringback.engine.bells import Bells
from ringback.engine.claims import Claims
from ringback.engine.engine import Engine
from ringback.engine.outbox import Outbox
from ringback.engine.retention import Retention
from ringback.engine.sweeper import Sweeper
from ringback.engine.timers import Timers
from ringback.ports.clock import Chance, Clock, Ids
from ringback.ports.notify import Notify
from ringback.ports.store import Store
from ringback.services.access import Access
from ringback.services.answer_links import AnswerLinks
from ringback.services.asking import Asking
from ringback.services.attempt_requests import AttemptRequests
from ringback.services.audit import Audit
from ringback.services.callbacks import Callbacks
from ringback.services.capabilities import Capabilities
from ringback.services.catalogue import Catalogue, catalogue
from ringback.services.connections import Connections
from ringback.services.continuations import Continuations
from ringback.services.directory import Directory
from ringback.services.facilities import Facilities
from ringback.services.feed import Feed
from ringback.services.handing_out import HandingOut
from ringback.services.inbox import Inbox
from ringback.services.interactions import Interactions
from ringback.services.limits import RateLimits
from ringback.services.outputs import Outputs
from ringback.services.published import Published
from ringback.services.queues import Queues
from ringback.services.resources import Resources
from ringback.services.results import Results
from ringback.services.run_tokens import RunTokens
from ringback.services.runs import Runs
from ringback.services.scripts import Scripts
from ringback.services.spaces import Spaces
from ringback.services.starting import Starting
from ringback.services.tokens import Tokens
from ringback.services.workers import Workers


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What an operator may set about the core."""

    lease: Micros = 15 * SECOND
    beat_every: Micros = 5 * SECOND
    sweep_every: Micros = SECOND
    keep: Micros | None = 30 * DAY
    requests_per_s: float = 0.0
    requests_burst: int = 100
    secret_of: Callable[[str], str | None] = lambda _: None
    public_url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Core:
    """Everything that a door may call."""

    store: Store
    clock: Clock
    ids: Ids
    engine: Engine
    access: Access
    directory: Directory
    tokens: Tokens
    audit: Audit
    catalogue: Catalogue
    starting: Starting
    scripts: Scripts
    published: Published
    capabilities: Capabilities
    runs: Runs
    results: Results
    outputs: Outputs
    feed: Feed
    inbox: Inbox
    queues: Queues
    workers: Workers
    connections: Connections
    spaces: Spaces
    interactions: Interactions
    asking: Asking
    callbacks: Callbacks
    answer_links: AnswerLinks
    continuations: Continuations
    public_url: str = ""

    async def start(self) -> None:
        await self.access.install()
        await self.queues.load()
        await self.engine.start()

    async def stop(self) -> None:
        await self.engine.stop()

    def close_doors(self) -> None:
        """Take nothing new and let every wait end: the process is going down."""
        self.starting.accepts = False
        self.runs.close()
        self.continuations.close()
        self.feed.close()
        self.asking.close()
        self.workers.handing_out.close()


def assemble(
    *, store: Store, clock: Clock, ids: Ids, chance: Chance, notify: Notify, pepper: bytes, options: Options
) -> Core:
    """Put the core together; `start` it afterwards."""
    limits = RateLimits(per_s=options.requests_per_s, burst=options.requests_burst)
    access = Access(store=store, clock=clock, ids=ids, pepper=pepper, limits=limits)
    bells = Bells(notify)
    claims = Claims(store=store, ids=ids, hands=bells.hands)
    sweeper = Sweeper(store=store, clock=clock, chance=chance, bells=bells, every=options.sweep_every)
    engine = _engine(store, clock, notify, bells, sweeper, options)
    parts = catalogue(store, clock, ids)
    resources = parts.resources
    starting = Starting(store=store, callables=parts.callables, ids=ids, claims=claims)
    queues = Queues(store=store, clock=clock, claims=claims, bells=bells)
    interactions = Interactions(store=store, clock=clock, bells=bells, pepper=pepper)
    engine.others.append(interactions.run)
    run_tokens = RunTokens(store=store, clock=clock, pepper=pepper, limits=limits)
    callbacks = _callbacks(store, clock, ids, bells, pepper, options)
    continuations = Continuations(store=store, bells=bells)
    connections = Connections(store=store, clock=clock, ids=ids, bells=bells, sweeper=sweeper, lease=options.lease)
    requests = AttemptRequests(
        store=store,
        starting=starting,
        interactions=interactions,
        callbacks=callbacks,
        continuations=continuations,
        spaces=Spaces(store=store),
        results=Results(store=store),
        facilities=Facilities(store=store, connections=connections, secret_of=options.secret_of),
    )
    handing_out = HandingOut(store=store, clock=clock, chance=chance, bells=bells, claims=claims, run_tokens=run_tokens)
    workers = _workers(chance, connections, handing_out, requests, resources, options)
    return Core(
        store=store,
        clock=clock,
        ids=ids,
        engine=engine,
        access=access,
        directory=Directory(store=store, ids=ids, access=access),
        tokens=Tokens(store=store, clock=clock, ids=ids, access=access),
        audit=Audit(store=store),
        catalogue=parts,
        starting=starting,
        scripts=Scripts(store=store, resources=resources, starting=starting),
        published=Published(store=store, resources=resources),
        capabilities=Capabilities(store=store, clock=clock, ids=ids, pepper=pepper),
        runs=Runs(store=store, bells=bells, grants=parts.grants, queues=queues, keep=options.keep),
        results=Results(store=store),
        outputs=Outputs(store=store),
        feed=Feed(store=store, notify=notify),
        inbox=Inbox(store=store, clock=clock),
        queues=queues,
        workers=workers,
        connections=connections,
        spaces=requests.spaces,
        interactions=interactions,
        asking=Asking(store=store, bells=bells, interactions=interactions, tokens=run_tokens),
        callbacks=callbacks,
        answer_links=AnswerLinks(
            store=store, clock=clock, ids=ids, pepper=pepper, access=access, interactions=interactions
        ),
        public_url=options.public_url,
        continuations=continuations,
    )


def _callbacks(store: Store, clock: Clock, ids: Ids, bells: Bells, pepper: bytes, options: Options) -> Callbacks:
    """What takes the deliveries of other people's jobs."""
    return Callbacks(
        store=store,
        clock=clock,
        ids=ids,
        bells=bells,
        pepper=pepper,
        secret_of=options.secret_of,
        public_url=options.public_url,
    )


def _workers(
    chance: Chance,
    connections: Connections,
    handing_out: HandingOut,
    requests: AttemptRequests,
    resources: Resources,
    options: Options,
) -> Workers:
    """What serves the sessions of workers."""
    return Workers(
        store=connections.store,
        clock=connections.clock,
        chance=chance,
        bells=connections.bells,
        sweeper=connections.sweeper,
        handing_out=handing_out,
        requests=requests,
        resources=resources,
        connections=connections,
        lease=options.lease,
        beat_every=options.beat_every,
    )


def _engine(store: Store, clock: Clock, notify: Notify, bells: Bells, sweeper: Sweeper, options: Options) -> Engine:
    """The loops that keep the ledger going."""
    return Engine(
        store=store,
        clock=clock,
        bells=bells,
        sweeper=sweeper,
        timers=Timers(store=store, clock=clock),
        outbox=Outbox(store=store, notify=notify),
        retention=Retention(store=store, clock=clock, keep=options.keep),
        lease=options.lease,
    )
