"""The blocking client that scripts use. Each method is one operation; what it does is written in `operations`."""

from collections.abc import Generator, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from ringback.client import operations, requests, streams
from ringback.client.access import Access
from ringback.client.catalogue import Aliases, Grants, Resources
from ringback.client.errors import UnreachableError
from ringback.client.exchange import Link
from ringback.client.records import AnswerLink, Change, Event, Interaction, JobResult, JobSnapshot, Replay, Tool
from ringback.client.retry import RetryPolicy
from ringback.client.runs import RunStart, start_run
from ringback.client.scripts import Scripts
from ringback.client.sync import Driver, Wire
from ringback.settings.connection import Connection, find_connection

if TYPE_CHECKING:
    from ringback.client.embedded import PrivateServer

NO_SERVER = "start one with `ringback up`, or name one with RINGBACK_URL"


class Ringback:
    """A connection to one server, safe to share between threads. Use it as a context manager, or call `close`."""

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        project: str | None = None,
        data: str | Path | None = None,
        retry: RetryPolicy | None = None,
        wire: Wire | None = None,
    ) -> None:
        """Find the server; nothing is sent yet.

        Args:
            url: the server's address; else `RINGBACK_URL`, else the server of the data folder.
            token: else `RINGBACK_TOKEN`, else the local owner's token, for the data folder's server only.
            project: slug; else `RINGBACK_PROJECT`, else the server decides.
            data: a data folder: connect to the server that runs there.
            retry: how often to try again; the default gives up after some seconds.
            wire: instead of a connection over the network.

        Raises:
            SettingsError: an address that is none.
        """
        self.connection = find_connection(url=url, token=token, project=project, data=data)
        self.link = link_to(self.connection, retry)
        self._driver = None if wire is None else Driver(wire)
        self._making = Lock()
        self._server: PrivateServer | None = None

    @property
    def driver(self) -> Driver:
        """What carries out the operations of `ringback.client.operations`."""
        with self._making:  # two threads must not open two wires, of which one would be forgotten
            if self._driver is None:
                if self.link.url is None:
                    raise UnreachableError(None, NO_SERVER)
                from ringback.client.wires import HttpxWire

                self._driver = Driver(HttpxWire(self.link.url))
            return self._driver

    def start(
        self,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        idempotency_key: str | None = None,
        depends_on: Sequence["str | Job"] = (),
        timeout: float | timedelta | None = None,
        not_before: datetime | None = None,
        priority: int | None = None,
        tags: Sequence[str] = (),
        thread_id: str | None = None,
        total_timeout: float | timedelta | None = None,
        run_on: str | None = None,
    ) -> "Job":
        """Start a job and return at once.

        Args:
            tool: its name.
            arguments: what the tool's input schema asks for.
            idempotency_key: repeating a start with the same key and arguments returns the same job. Without one, a
                fresh key protects this call's own retries.
            depends_on: jobs that must succeed first.
            timeout: seconds an attempt may take, instead of the tool's own limit.
            not_before: with an offset.
            priority: higher runs earlier.
            tags: labels to find the job by.
            thread_id: the conversation that gets the completion event.
            total_timeout: seconds from now to the end, waiting and all attempts included.
            run_on: `always` starts it after `depends_on` whatever became of those; the default is `success`.

        Raises:
            InvalidInputError: `.errors` names the members at fault.
            IdempotencyConflictError: the key belongs to another payload.
        """
        wanted = requests.Start(
            tool=tool,
            arguments=arguments or {},
            idempotency_key=idempotency_key,
            depends_on=[_id_of(job) for job in depends_on],
            timeout=timeout,
            total_timeout=total_timeout,
            not_before=not_before,
            priority=priority,
            tags=tags,
            thread_id=thread_id,
            run_on=run_on,
        )
        started = self.driver.run(operations.start(self.link, wanted))
        return Job(self, started.job_id, is_replay=started.is_replay)

    def start_run(
        self,
        resource: str | None,
        input: Mapping[str, Any] | None = None,  # noqa: A002 - its name on every surface
        *,
        kind: str = "tool",
        channel: str | None = None,
        revision: str | None = None,
        idempotency_key: str | None = None,
        depends_on: Sequence["str | Job"] = (),
        follow_up_of: "str | Job | None" = None,
        timeout: float | timedelta | None = None,
        total_timeout: float | timedelta | None = None,
        not_before: datetime | None = None,
        priority: int | None = None,
        tags: Sequence[str] = (),
        thread_id: str | None = None,
        run_on: str | None = None,
    ) -> "Job":
        """Start a run of any kind of resource and return at once.

        Args:
            resource: its name, its id, an alias, or a grant's id; None where `revision` says it all.
            input: what its kind takes: `{"arguments": …}` of a tool, `{"messages": […]}` of an agent,
                `{"clientInfo": …}` of a session of an MCP server.
            kind: tool, agent or mcp_server.
            channel: instead of `stable`.
            revision: the id of the revision itself, wherever the channels point.
            idempotency_key: see `start`, as for all that follow but one.
            follow_up_of: the run that this one goes on from.
        """
        wanted = RunStart(
            resource=resource,
            input=input or {},
            kind=kind,
            channel=channel,
            revision=revision,
            idempotency_key=idempotency_key,
            depends_on=[_id_of(each) for each in depends_on],
            follow_up_of=None if follow_up_of is None else _id_of(follow_up_of),
            timeout=timeout,
            total_timeout=total_timeout,
            not_before=not_before,
            priority=priority,
            tags=tags,
            thread_id=thread_id,
            run_on=run_on,
        )
        started = self.driver.run(start_run(self.link, wanted))
        return Job(self, started.job_id, is_replay=started.is_replay)

    def job(self, job_id: str) -> "Job":
        """A handle on a job that exists; nothing is sent."""
        return Job(self, job_id)

    def jobs(
        self, *, status: str | None = None, tool: str | None = None, limit: int | None = None
    ) -> Generator[JobSnapshot, None, None]:
        """Jobs, newest first; further pages are fetched as they are needed."""
        filters = {"status": status, "tool": tool}
        return self.driver.iterate(operations.jobs(self.link, filters, limit))

    def interaction(self, interaction_id: str) -> Interaction:
        """One question of a job."""
        return self.driver.run(operations.interaction(self.link, interaction_id))

    def answer(
        self,
        interaction_id: str,
        decision: str | None = None,
        *,
        option: str | None = None,
        payload: Any = requests.ABSENT,
    ) -> Interaction:
        """Answer a question; the first answer counts.

        Args:
            interaction_id: from `Job.interactions`.
            decision: `approve` or `reject`; to reject is possible for every question.
            option: the id of the chosen one, where there are options.
            payload: the answer itself, in the shape that the question asks for.

        Raises:
            AlreadyAnsweredError: it is over, and how.
            InvalidInputError: this is no answer to it; it stays open.
        """
        return self.driver.run(
            operations.answer(self.link, interaction_id, requests.response(decision, option, payload))
        )

    def answer_link(
        self,
        interaction_id: str,
        *,
        label: str | None = None,
        role: str | None = None,
        expires_in: float | timedelta | None = None,
    ) -> AnswerLink:
        """Make a link to a page where whoever holds it answers the question, once, without an account.

        Args:
            label: whom it is for; the answer shows it.
            role: as which it answers; else as yours.
            expires_in: seconds; else a day.

        Raises:
            AlreadyAnsweredError: the question is over, and how.
            ForbiddenError: you may not answer it yourself.
        """
        seconds = expires_in.total_seconds() if isinstance(expires_in, timedelta) else expires_in
        return self.driver.run(operations.answer_link(self.link, interaction_id, label, role, seconds))

    def withdraw(self, interaction_id: str) -> Interaction:
        """Take a question back: nobody can answer it any more.

        Raises:
            AlreadyAnsweredError: it is over, and how.
        """
        return self.driver.run(operations.withdraw(self.link, interaction_id))

    def tools(self) -> tuple[Tool, ...]:
        """The project's tools."""
        return self.driver.run(operations.tools(self.link))

    def tool(self, name: str) -> Tool:
        """One tool."""
        return self.driver.run(operations.tool(self.link, name))

    def apply(
        self, definitions: Iterable[Mapping[str, Any]], *, channel: str = "stable", dry_run: bool = False
    ) -> tuple[Change, ...]:
        """Release each definition on a channel, or none if one is wrong; resources that are not named stay as they are."""
        return self.driver.run(operations.apply(self.link, definitions, channel=channel, dry_run=dry_run))

    def tree(self, run: "str | Job") -> Mapping[str, Any]:
        """A run with its descendants: `{"run", "children": […], "relationType"?, "truncated"?}`, each child the same."""
        return self.driver.run(operations.run(self.link, _id_of(run), "tree"))

    def graph(self, run: "str | Job") -> Mapping[str, Any]:
        """All that a run hangs together with: `{"nodes": […], "edges": […], "truncated"?}`."""
        return self.driver.run(operations.run(self.link, _id_of(run), "graph"))

    def workers(self) -> tuple[Mapping[str, Any], ...]:
        """The workers that are attached."""
        return self.driver.run(operations.workers(self.link))

    def inbox(self, *, thread_id: str | None = None, limit: int | None = None) -> Mapping[str, Any]:
        """What we were not told yet about jobs that we started: `{"items": […], "nextCursor"?}`, oldest first."""
        return self.driver.run(operations.inbox(self.link, thread_id, limit))

    def acknowledge(self, *, items: Sequence[str] = (), runs: Sequence[str] = ()) -> None:
        """Say that notices have arrived, by `itemId`, or that the end of jobs is known anyhow."""
        self.driver.run(operations.acknowledge(self.link, items, runs))

    def pause(self, pool: str) -> Mapping[str, Any]:
        """Hand out nothing more of this pool; what runs goes on."""
        return self.driver.run(operations.switch_queue(self.link, pool, "pause"))

    def resume(self, pool: str) -> Mapping[str, Any]:
        """Hand out work of this pool again."""
        return self.driver.run(operations.switch_queue(self.link, pool, "resume"))

    @property
    def access(self) -> Access:
        """Projects, members, tokens and the audit log."""
        return Access(self)

    @property
    def scripts(self) -> Scripts:
        """Stored scripts and their tests."""
        return Scripts(self)

    @property
    def resources(self) -> Resources:
        """The catalogue: resources of every kind, their revisions and channels."""
        return Resources(self)

    @property
    def aliases(self) -> Aliases:
        """Names that stand for resources."""
        return Aliases(self)

    @property
    def grants(self) -> Grants:
        """What other projects may call, and what this one may call of theirs."""
        return Grants(self)

    @classmethod
    def embedded(cls, path: str | Path, *, app: str | None = None, file: str | Path | None = None) -> Self:
        """A private server and worker on the data folder `path`, as child processes that end with this client.

        A server that already runs there is used as it is, and goes on afterwards.

        Args:
            path: the data folder; made if it does not exist.
            app: `module:app` with function tools.
            file: a `ringback.toml`; the one of the working directory if there is one.

        Raises:
            UnreachableError: the server did not start; the text says why.
        """
        from ringback.client.embedded import PrivateServer

        server = PrivateServer(Path(path), app=app, file=None if file is None else Path(file))
        server.start()
        client = cls(data=path)
        client._server = server
        return client

    def close(self) -> None:
        """Close the connections, and end the private server if there is one."""
        try:
            if self._driver is not None:
                self._driver.wire.close()
        finally:
            if self._server is not None:
                self._server.stop()

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()


class Job:
    """A handle: the id, and what can be asked about it. It holds no state, so keeping it costs nothing."""

    def __init__(self, client: Ringback, job_id: str, *, is_replay: bool = False) -> None:
        """Made by `Ringback.start` and `Ringback.job`."""
        self.id = job_id
        self.is_replay = is_replay
        self._client, self._link = client, client.link

    def __repr__(self) -> str:
        """The id."""
        return f"Job({self.id!r})"

    def status(self) -> JobSnapshot:
        """One look."""
        return self._client.driver.run(operations.status(self._link, self.id))

    def wait(self, timeout: float | None = None) -> JobSnapshot:
        """Until it is done, failed or cancelled. Raises `StillRunningError` (a `TimeoutError`) after `timeout` seconds."""
        return self._client.driver.run(operations.wait(self._link, self.id, timeout))

    def result(self, *, partial: bool = False) -> JobResult:
        """The whole result. Raises `NotFinishedError` while it is active (unless `partial`), `JobCancelledError`."""
        return self._client.driver.run(operations.result(self._link, self.id, partial=partial))

    def pages(self, *, max_bytes: int | None = None, partial: bool = False) -> Generator[JobResult, None, None]:
        """The result page by page, each at most about `max_bytes` long."""
        return self._client.driver.iterate(operations.pages(self._link, self.id, max_bytes=max_bytes, partial=partial))

    def output(self, stream: str | None = None, *, tail: int | None = None) -> bytes:
        """What it wrote so far, exactly: `stdout`, `stderr`, or both as they came; with `tail` only the last lines."""
        return b"".join(self._pieces(requests.Output(stream, tail)))

    def text(self, stream: str | None = None, *, tail: int | None = None) -> str:
        """The same as a person would read it: no terminal control, redrawn lines settled, bytes that are no UTF-8 replaced."""
        return b"".join(self._pieces(requests.Output(stream, tail, is_text=True))).decode(errors="replace")

    def _pieces(self, wanted: requests.Output) -> Generator[bytes, None, None]:
        return self._client.driver.iterate(streams.output(self._link, self.id, wanted))

    def events(self, *, after: int = 0) -> Generator[Event, None, None]:
        """Its events, live, up to the terminal one; goes on by itself when the connection breaks."""
        return self._client.driver.iterate(streams.events(self._link, self.id, after=after))

    def stop(self, reason: str | None = None) -> JobSnapshot:
        """Ask it to stop; harmless when it is over. The answer may still say `running`: `wait` tells the end."""
        return self._client.driver.run(operations.stop(self._link, self.id, reason))

    def interactions(self, *, status: str | None = None) -> tuple[Interaction, ...]:
        """What it asks and asked, oldest first; `status="open"` is what waits for an answer."""
        return self._client.driver.run(operations.interactions(self._link, self.id, status))

    def replay(self) -> Replay:
        """Rebuild its output from its events alone and compare."""
        return self._client.driver.run(operations.replay(self._link, self.id))


def link_to(connection: Connection, retry: RetryPolicy | None) -> Link:
    """Identity and patience for the operations on a connection."""
    return Link(connection.url, connection.token, connection.project, retry or RetryPolicy())


def _id_of(job: "str | Job") -> str:
    return job if isinstance(job, str) else job.id
