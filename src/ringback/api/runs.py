"""The run door: start, look, list, stop, and what belongs to a run. The words are canonical, members are in camelCase."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from ringback.api.call import Call, text_member, whole_number
from ringback.api.looking import looked_at, unchanged
from ringback.api.reply import Reply, reply_json
from ringback.api.run_requests import CancelRequest, RerunRequest, RunRequest, start_request
from ringback.domain.errors import DependencyError, Flaw, InvalidInputError
from ringback.domain.idempotency import one_key, unquote
from ringback.domain.states import ACTIVE, Status
from ringback.services.family import family, surroundings
from ringback.services.runs import Details
from ringback.services.starting import Started
from ringback.views.runs import attempts_of, created, graph as graph_of, link, run_in_full, run_in_list, tree as tree_of
from ringback.views.sharing import shared_run

REASON_MAX = 500


async def start(call: Call) -> Reply:
    """202 with the run as it was created; it is durable by then."""
    body = await call.read(RunRequest)
    request = start_request(call, body)
    try:
        started = await call.core.starting.start(
            call.project.project_id, call.principal.owner, request, request_id=call.request_id
        )
    except InvalidInputError as error:
        raise _in_camel(error) from None
    return await _accepted(call, started)


async def _accepted(call: Call, started: Started) -> Reply:
    run, facts = started.run, started.facts
    if facts is None:  # a repetition: the first answer is written again from what was frozen then
        details = await call.core.runs.details(call.project.project_id, run.run_id)
        run, facts = details.run, details.facts
    headers = {"location": f"/v1/runs/{run.run_id}", "retry-after": "1"}
    if started.is_replay:
        headers["idempotency-replayed"] = "true"
    body = created(run, facts, org_id=call.core.access.project(run.project_id).org_id)
    aspects = await call.core.runs.aspects(call.project.project_id, run)
    return reply_json(shared_run(body, aspects), HTTPStatus.ACCEPTED, headers)


def _in_camel(error: InvalidInputError) -> InvalidInputError:
    """The same error with the members' names of this door."""
    flaws = []
    for flaw in error.flaws:
        first, slash, rest = flaw.pointer.removeprefix("/").partition("/")
        head, *words = first.split("_")
        name = head + "".join(word.capitalize() for word in words)
        where = "/input/" if name == "callerContext" else "/"
        flaws.append(Flaw(where + name + slash + rest, flaw.detail))
    return DependencyError(*flaws) if isinstance(error, DependencyError) else InvalidInputError(*flaws)


async def listed(call: Call) -> Reply:
    """Runs, newest first."""
    query = call.query()
    page = await call.core.runs.page(
        call.project.project_id,
        statuses=_statuses(call.listed("status")),
        tool=query.get("tool"),
        cursor=query.get("cursor"),
        limit=whole_number(query.get("limit"), "limit", least=1, most=200, default=50),
    )
    body: dict[str, Any] = {"items": [run_in_list(run) for run in page.items]}
    if page.next_cursor is not None:
        body["nextCursor"] = page.next_cursor
    return reply_json(body)


def _statuses(words: list[str]) -> list[Status]:
    meant = {"active": sorted(ACTIVE)} | {status.value: [status] for status in Status}
    if any(word not in meant for word in words):
        raise InvalidInputError(Flaw("/status", f"must be one of {', '.join(meant)}"))
    return list(dict.fromkeys(status for word in words for status in meant[word]))


async def show(call: Call) -> Reply:
    """One look at a run, or a wait for its end with `Prefer: wait=N`."""
    run, headers = await looked_at(call, call.path["run_id"])
    if unchanged(call, headers):
        return Reply(HTTPStatus.NOT_MODIFIED, headers=headers)
    details = await call.core.runs.describe(run)
    return reply_json(await _in_full(call, details), headers=headers)


async def _in_full(call: Call, details: Details) -> dict[str, Any]:
    """The run as the caller's project may see it."""
    ended, _ = await call.core.runs.attempts(details.run)
    org_id = call.core.access.project(details.run.project_id).org_id
    body = run_in_full(details, ended, org_id=org_id)
    return shared_run(body, await call.core.runs.aspects(call.project.project_id, details.run))


async def cancel(call: Call) -> Reply:
    """Ask for the end: 202 while the run is active, 200 with the unchanged run when it has ended."""
    asked = await call.read(CancelRequest)
    runs = call.core.runs
    reason = text_member(asked.reason, "/reason", REASON_MAX)
    run = await runs.cancel(call.project.project_id, call.path["run_id"], by=call.principal.owner, reason=reason)
    body = await _in_full(call, await runs.describe(run))
    return reply_json(body, HTTPStatus.OK if run.is_terminal else HTTPStatus.ACCEPTED, {"etag": f'"{run.version}"'})


async def rerun(call: Call) -> Reply:
    """A new run of the same tool with the same input, linked to the old one."""
    asked = await call.read(RerunRequest)
    header = call.header("idempotency-key")
    key = one_key(None if header is None else unquote(header), asked.idempotency_key)
    run = await call.core.runs.get(call.project.project_id, call.path["run_id"])
    started = await call.core.starting.rerun(run, call.principal.owner, idempotency_key=key, request_id=call.request_id)
    return await _accepted(call, started)


async def attempts(call: Call) -> Reply:
    """Attempts, oldest first."""
    run = await call.core.runs.get(call.project.project_id, call.path["run_id"], "attempts")
    ended, current = await call.core.runs.attempts(run)
    known = [*(each.attempt for each in ended), *([current] if current is not None else ())]
    capabilities = await call.core.connections.sets(each.capability_set for each in known)
    return reply_json({"items": attempts_of(ended, current, capabilities)})


async def links(call: Call) -> Reply:
    """Edges from and to other runs."""
    run = await call.core.runs.get(call.project.project_id, call.path["run_id"], "links")
    return reply_json({"items": [link(each) for each in await call.core.runs.links(run)]})


async def tree(call: Call) -> Reply:
    """The run with its descendants."""
    run = await call.core.runs.get(call.project.project_id, call.path["run_id"], "links")
    return reply_json(tree_of(await family(call.core.runs, call.project.project_id, run)))


async def graph(call: Call) -> Reply:
    """The run and all that it is linked with, in every direction: what it came from, waits for, goes on from, does again."""
    run = await call.core.runs.get(call.project.project_id, call.path["run_id"], "links")
    return reply_json(graph_of(await surroundings(call.core.runs, call.project.project_id, run)))


async def replay(call: Call) -> Reply:
    """What users see of the run, rebuilt from its events, and whether it equals what the ledger shows."""
    run = await call.core.runs.get(call.project.project_id, call.path["run_id"])
    is_identical, projection = await call.core.results.replay(run)
    return reply_json({"identical": is_identical, "projection": projection})
