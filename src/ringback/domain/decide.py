"""The state machine of a run: which changes are legal and what each one records.

`decide` does no I/O, reads no clock and draws no random number: the same arguments always give the same decision, and a
refused command changes nothing. Laws that hold for any sequence of commands:

* a terminal status has no exit, and the first one wins;
* a run has at most one attempt at a time; every claim raises the fence, and only its bearer may write for the attempt;
* once a stop was accepted no further attempt starts;
* work that may have begun is never begun again unless its policy says that it may be, or it gave its slot back for an answer;
* `ready_at` and `timer_at` follow from the rest of the run (`arm`), so that no status can be left without its timer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from ringback.domain.endings import end_attempt, finish, lose, settle, status_event
from ringback.domain.errors import CancelRequestedError, IllegalTransitionError, StaleFenceError
from ringback.domain.ids import RunId
from ringback.domain.moments import Moment
from ringback.domain.records import replace
from ringback.domain.runs import (
    Append,
    Ask,
    Attempt,
    Blocking,
    Cancel,
    Cancellation,
    Claim,
    CloseInteraction,
    Command,
    Continue,
    Decision,
    Lose,
    NewEvent,
    NoteChild,
    NoteDependent,
    NoteDescendant,
    Occupy,
    Run,
    Settle,
    Start,
    Tick,
    UpstreamEnded,
)
from ringback.domain.states import WAITING, EndReason, FailureKind, Status, TimeLimit
from ringback.domain.timers import arm, queue_limit_at


def create(run: Run, upstream: Mapping[RunId, Status], *, now: Moment) -> Decision:
    """The first decision of a new run, given the statuses of the runs it depends on.

    `run` must be `queued`, with `waiting_on` naming every upstream run.
    """
    queued = NewEvent("run.status.changed", {"to": Status.QUEUED.value, "tool": run.tool})
    waiting = tuple(each for each in run.waiting_on if upstream[each] not in (Status.SUCCEEDED, *_UNSUCCESSFUL))
    spoiled = next((each for each in run.waiting_on if upstream[each] in _UNSUCCESSFUL), None)
    born = replace(run, waiting_on=waiting)
    if spoiled is not None and not run.runs_always:
        failed = _fail_dependency(born, spoiled, now)
        return replace(failed, events=(queued, *failed.events))
    return Decision(arm(born, now), (queued,))


_UNSUCCESSFUL = (Status.FAILED, Status.CANCELED)


def decide(run: Run, command: Command, *, now: Moment) -> Decision:  # noqa: C901  (one case a command)
    """Decide what `command` makes of `run`. Asking for what is already so decides nothing, so it may be repeated.

    Raises:
        StaleFenceError: the command's fence doesn't hold the run.
        CancelRequestedError: the attempt must not start any more.
        IllegalTransitionError: the command makes no sense in the run's status.
    """
    match command:
        case Claim():
            return _claim(run, command, now)
        case Start():
            return _start(run, command, now)
        case Occupy():
            return _occupy(run, command)
        case Append():
            return _append(run, command, now)
        case Settle():
            check_held(run, command.fence)
            return settle(run, command, now)
        case Lose():
            check_held(run, command.fence)
            return lose(run, command, now)
        case Cancel():
            return _cancel(run, command, now)
        case UpstreamEnded():
            return _upstream_ended(run, command, now)
        case Ask():
            return _ask(run, command, now)
        case CloseInteraction():
            return _close_interaction(run, command, now)
        case Continue():
            return _continue(run, command)
        case Tick():
            return _tick(run, now)
        case NoteDependent():
            return Decision(replace(run, dependents=run.dependents + 1))
        case NoteDescendant():
            return Decision(
                replace(run, descendants=command.budget.grown(run.run_id, run.descendants, command.generations))
            )
        case NoteChild():
            check_held(run, command.fence)
            return _note_child(run, command)
        case _:
            assert_never(command)


def check_held(run: Run, fence: int) -> None:
    """Raises StaleFenceError: no attempt with this fence holds the run."""
    if run.attempt is None or run.fence != fence:
        raise StaleFenceError(run.run_id, presented=fence, current=run.fence)


def _claim(run: Run, claim: Claim, now: Moment) -> Decision:
    if run.status not in WAITING or run.ready_at is None or run.ready_at > now:
        raise IllegalTransitionError(run.run_id, run.status, "claim")
    fence = run.fence + 1
    connection_id, epoch, capability_set = claim.attachment or (None, None, None)
    attempt = Attempt(
        attempt_id=claim.attempt_id,
        attempt_no=run.attempts_done + 1,
        fence=fence,
        reason=run.next_reason,
        session_id=claim.session_id,
        claimed_at=now,
        connection_id=connection_id,
        epoch=epoch,
        capability_set=capability_set,
    )
    claimed = replace(
        run,
        status=Status.SUBMITTED,
        fence=fence,
        attempt=attempt,
        backoff_until=None,
        ready_at=None,
        timer_at=run.deadline_at,
    )
    facts = {"attemptId": attempt.attempt_id, "attemptNo": attempt.attempt_no, "reason": attempt.reason}
    return Decision(claimed, (status_event(run, claimed, **facts),))


def _start(run: Run, start: Start, now: Moment) -> Decision:
    if run.fence == start.fence and run.cancellation is not None and run.attempt is None:
        raise CancelRequestedError(run.run_id)
    check_held(run, start.fence)
    attempt = run.attempt
    assert attempt is not None
    if attempt.started_at is not None:
        return Decision(run)  # said twice
    space_id = start.run_space_id or attempt.run_space_id
    begun = replace(attempt, started_at=now, provider=start.provider, run_space_id=space_id)
    running = arm(replace(run, status=Status.RUNNING, attempt=begun, started_at=run.started_at or now), now)
    body = {"attemptId": attempt.attempt_id, "attemptNo": attempt.attempt_no, "reason": attempt.reason}
    return Decision(running, (NewEvent("attempt.started", body), status_event(run, running)))


def _occupy(run: Run, occupy: Occupy) -> Decision:
    check_held(run, occupy.fence)
    attempt = run.attempt
    assert attempt is not None
    if attempt.run_space_id == occupy.run_space_id:
        return Decision(run)  # said twice
    return Decision(replace(run, attempt=replace(attempt, run_space_id=occupy.run_space_id)))


def _append(run: Run, append: Append, now: Moment) -> Decision:
    check_held(run, append.fence)
    attempt = run.attempt
    assert attempt is not None
    events = list(append.events)
    after = run
    if append.number is not None:
        if append.number <= attempt.heard:
            return Decision(run)  # said twice: the answer got lost
        after = replace(run, attempt=replace(attempt, heard=append.number))
    if append.progress is not None and append.progress != run.progress:
        after = replace(after, progress=append.progress)
        events.append(NewEvent("state.updated", {"progress": append.progress}))
    cancellation = run.cancellation
    if cancellation is not None:
        is_delivered = append.cancel_delivered or append.cancel_acknowledged  # what was acknowledged had arrived
        if is_delivered and cancellation.delivered_at is None:
            cancellation = replace(cancellation, delivered_at=now)
            events.append(NewEvent("cancel.delivered", {}))
        if append.cancel_acknowledged and cancellation.acknowledged_at is None:
            cancellation = replace(cancellation, acknowledged_at=now)
            events.append(NewEvent("cancel.acknowledged", {}))
        if cancellation is not run.cancellation:
            after = replace(after, cancellation=cancellation)
    return Decision(after, tuple(events))


def _cancel(run: Run, cancel: Cancel, now: Moment) -> Decision:
    if run.is_terminal or run.status is Status.CANCELING:
        return Decision(run)
    asked = Cancellation(requested_at=now, requested_by=cancel.by, reason=cancel.reason)
    body = {key: value for key, value in (("by", cancel.by), ("reason", cancel.reason)) if value is not None}
    requested = NewEvent("cancel.requested", body)
    run = replace(run, cancellation=asked)
    if run.status in WAITING:
        # A parked run has begun, and its work left by itself; before any other next attempt nothing of it runs, either.
        reason = EndReason.CANCELLED_COOPERATIVELY if run.is_parked else EndReason.CANCELLED_BEFORE_START
        done = finish(run, Status.CANCELED, now, end_reason=reason)
        return replace(done, events=(requested, *done.events), outbox=_with_children(run, done))
    canceling = arm(replace(run, status=Status.CANCELING), now)
    events = (requested, status_event(run, canceling))
    if run.status is Status.SUBMITTED:  # its start was not acknowledged, so user code has not run and never will
        done = end_attempt(canceling, now, outcome="stopped", error=None)
        ended = finish(done.run, Status.CANCELED, now, end_reason=EndReason.CANCELLED_BEFORE_START)
        return Decision(ended.run, (*events, *done.events, *ended.events), done.ended, _with_children(run, ended))
    return Decision(canceling, events, outbox=("children",) if run.children else ())


def _with_children(run: Run, done: Decision) -> tuple[str, ...]:
    return (*done.outbox, "children") if run.children else done.outbox


def _upstream_ended(run: Run, ended: UpstreamEnded, now: Moment) -> Decision:
    if run.is_terminal or ended.upstream_id not in run.waiting_on:
        return Decision(run)
    rest = replace(run, waiting_on=tuple(each for each in run.waiting_on if each != ended.upstream_id))
    if not ended.has_succeeded and not run.runs_always:
        return _fail_dependency(rest, ended.upstream_id, now)
    return Decision(arm(rest, now))


def _fail_dependency(run: Run, upstream_id: str, now: Moment) -> Decision:
    error = f"run {upstream_id}, which it depends on, did not succeed"
    return finish(run, Status.FAILED, now, failure_kind=FailureKind.DEPENDENCY_FAILED, error=error)


def _note_child(run: Run, note: NoteChild) -> Decision:
    noted = NewEvent("link.created", {"relationType": note.relation, "toRunId": note.child_id})
    outbox = ("children",) if run.cancellation is not None else ()  # born after the stop: it must hear of it, too
    return Decision(replace(run, children=run.children + 1), (noted,), outbox=outbox)


def _ask(run: Run, ask: Ask, now: Moment) -> Decision:
    if run.blocking is not None and run.blocking.interaction_id == ask.interaction_id:
        return Decision(run)  # said twice
    if not run.is_held or (ask.is_blocking and run.blocking is not None):
        raise IllegalTransitionError(run.run_id, "blocked" if run.blocking else run.status, "open an interaction")
    asked = replace(run, open_interactions=run.open_interactions + 1)
    if ask.is_blocking:
        asked = replace(asked, blocking=Blocking(interaction_id=ask.interaction_id, reason=ask.reason, since=now))
    body = {"interactionId": ask.interaction_id, "blocking": ask.is_blocking, "reason": ask.reason}
    return Decision(asked, (NewEvent("interaction.requested", body),))


def _close_interaction(run: Run, close: CloseInteraction, now: Moment) -> Decision:
    if not close.is_counted:
        return Decision(replace(run))  # nothing of the run changes, but its version: an answer is single
    is_blocking = run.blocking is not None and run.blocking.interaction_id == close.interaction_id
    others = run.open_interactions - (run.blocking is not None)
    if run.is_terminal or not (is_blocking or others):
        return Decision(run)
    closed = replace(run, open_interactions=run.open_interactions - 1, blocking=None if is_blocking else run.blocking)
    if run.is_parked and is_blocking:
        closed = arm(closed, now)  # the next attempt finds the answer
    kind = "interaction.responded" if close.status in ("answered", "rejected") else "interaction.updated"
    return Decision(closed, (NewEvent(kind, {"interactionId": close.interaction_id, "status": close.status}),))


def _continue(run: Run, command: Continue) -> Decision:
    if run.is_terminal or run.status is Status.CANCELING:
        raise IllegalTransitionError(run.run_id, run.status, "continue")
    return Decision(run, (NewEvent("mcp.request", command.body),))


def _tick(run: Run, now: Moment) -> Decision:
    if run.is_terminal or run.timer_at is None or run.timer_at > now:
        return Decision(run)
    if run.status in WAITING:
        return _tick_waiting(run, now)
    if run.status is Status.CANCELING:
        error = "its worker did not confirm in time that the work is gone"
        return _end_by_ledger(run, now, FailureKind.CANCEL_FAILED, None, error)
    is_deadline = run.deadline_at is not None and now >= run.deadline_at
    limit = TimeLimit.DEADLINE if is_deadline else TimeLimit.ATTEMPT
    return _end_by_ledger(run, now, FailureKind.TIMEOUT, limit, f"the limit of time was hit: {limit}")


def _tick_waiting(run: Run, now: Moment) -> Decision:
    queue_until = queue_limit_at(run)
    for limit, due in ((TimeLimit.DEADLINE, run.deadline_at), (TimeLimit.QUEUE, queue_until)):
        if due is not None and now >= due:
            kind = FailureKind.EXPIRED if run.attempts_done == 0 else FailureKind.TIMEOUT
            until = "before its question was answered" if run.is_parked else "before it could start"
            error = f"the limit of time was hit {until}: {limit}"
            return finish(run, Status.FAILED, now, failure_kind=kind, time_limit=limit, error=error)
    return Decision(arm(run, now))


def _end_by_ledger(run: Run, now: Moment, kind: FailureKind, limit: TimeLimit | None, error: str) -> Decision:
    """End what its worker should have ended long ago. The fence goes up: the worker's next heartbeat tells it to let go."""
    ended = end_attempt(run, now, outcome="lost", error=error)
    done = finish(ended.run, Status.FAILED, now, failure_kind=kind, time_limit=limit, error=error)
    return Decision(replace(done.run, fence=run.fence + 1), (*ended.events, *done.events), ended.ended, done.outbox)
