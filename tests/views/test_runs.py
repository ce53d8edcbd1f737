"""A run on its two surfaces."""

from __future__ import annotations

import pytest

from ringback.domain.ids import job_id_of
from ringback.domain.moments import SECOND
from ringback.domain.runs import Cancellation
from ringback.domain.states import Status, job_word
from ringback.ports.store import Link
from ringback.services.family import Branch
from ringback.services.results import ResultPage
from ringback.services.runs import Details
from ringback.views import jobs, results, runs
from ringback.views.moments import poll_after_s, shown
from tests.builders import NOON, PROJECT, attempt, blocked, canceling, ended, facts, in_status, queued, running


@pytest.mark.parametrize("status", Status)
def test_what_was_created_is_shown_from_frozen_facts_alone(status: Status) -> None:
    first, now = queued(), in_status(status, summary=None, error=None)
    assert runs.created(now, facts(), org_id="o") == runs.created(first, facts(), org_id="o")
    assert runs.created(now, facts(), org_id="o")["status"] == "queued"


@pytest.mark.parametrize("status", Status)
def test_each_surface_has_its_word(status: Status) -> None:
    run = in_status(status)
    assert runs.run_in_list(run)["status"] == status.value
    assert jobs.job(run)["status"] == job_word(status, run.attempt_no)
    assert runs.run_ref(run) == {"runId": run.run_id, "jobId": job_id_of(run.run_id), "status": status.value}


def test_nothing_absent_is_shown() -> None:
    details = Details(run=queued(), facts=facts(), waiting_for=None, queue_position=None)
    for body in (runs.run_in_full(details, [], org_id="o"), jobs.job_in_full(details)):
        assert None not in body.values()
    assert "waitingFor" not in runs.run_in_full(details, [], org_id="o")


def test_the_overlay_is_shown_whole() -> None:
    body = runs.run_in_list(blocked(running()))
    assert (body["blockingInteractionId"], body["openInteractionCount"]) == ("i1", 1)
    assert {"blockedReason", "waitingSince"} <= body.keys()
    assert body["currentAttemptId"] == attempt().attempt_id


def test_the_evidence_of_a_stop() -> None:
    asked = Cancellation(requested_at=NOON, requested_by="me", reason="why", delivered_at=NOON + SECOND)
    body = runs.run_in_list(canceling(cancellation=asked))
    assert (body["cancelRequestedBy"], body["cancelReason"]) == ("me", "why")
    assert body["cancelDeliveredAt"] > body["cancelRequestedAt"]
    assert "cancelAcknowledgedAt" not in body
    assert jobs.job(canceling(cancellation=asked))["cancel_requested_at"] == body["cancelRequestedAt"]


def test_environments_are_shown_by_name() -> None:
    assert runs.profile_shown({"pool": "p", "env": {"B": "2", "A": "1"}}) == {"pool": "p", "env": ["A", "B"]}
    assert runs.profile_shown({"pool": "p"}) == {"pool": "p"}


def test_links_and_trees() -> None:
    edge = Link(from_run_id=queued(1).run_id, to_run_id=queued(2).run_id, relation="follow_up", created_at=NOON)
    assert runs.link(edge)["createdAt"] == "2026-01-01T12:00:00.000000Z"
    tree = runs.tree(Branch(queued(1), None, [Branch(queued(2), "tool_subrun", [], is_cut=True)]))
    assert ("relationType" in tree, "truncated" in tree) == (False, False)
    (child,) = tree["children"]
    assert (child["relationType"], child["truncated"], child["children"]) == ("tool_subrun", True, [])


def test_a_full_job_names_other_jobs_in_its_own_spelling() -> None:
    other = queued(2).run_id
    details = Details(
        run=queued(), facts=facts(depends_on=(other,), parent_id=other), waiting_for={"kind": "slot"}, queue_position=3
    )
    body = jobs.job_in_full(details)
    assert (body["depends_on"], body["parent_job_id"]) == ([job_id_of(other)], job_id_of(other))
    assert (body["waiting_for"], body["queue_position"]) == ({"kind": "slot"}, 3)


@pytest.mark.parametrize(
    ("items", "output", "shows"),
    [(None, b"", {"output"}), (None, b"x", {"output"}), ([1], b"", {"items"}), ([1], b"x", {"items", "output"})],
)
def test_a_page_shows_what_it_has(items: list[int] | None, output: bytes, shows: set[str]) -> None:
    page = ResultPage(
        run=ended(Status.SUCCEEDED), items=items, output=output, dropped=0, value={"result": 1}, next_cursor=None
    )
    for body in (jobs.job_result(page), results.run_result(page)):
        assert {"items", "output"} & body.keys() == shows
        assert (body["complete"], body["result"]) == (True, 1)


def test_a_page_with_more_behind_it_says_so() -> None:
    page = ResultPage(
        run=ended(Status.SUCCEEDED, summary="s"), items=None, output=b"x", dropped=7, value=None, next_cursor="c"
    )
    job, run = jobs.job_result(page), results.run_result(page)
    assert (job["complete"], job["next_cursor"], job["output_dropped_bytes"]) == (False, "c", 7)
    assert (run["complete"], run["nextCursor"], run["outputDroppedBytes"]) == (False, "c", 7)
    assert "summary" not in job
    assert "summary" not in run


def test_the_end_of_a_long_output_is_readable() -> None:
    assert results.ending(b"\x1b[31mred\x1b[0m\n", 9, {"exitCode": 1}) == {"tail": "red\n", "bytes": 9, "exit_code": 1}
    assert results.ending(b"", 0, None) == {"tail": "", "bytes": 0}


def test_moments_and_the_time_to_ask_again() -> None:
    assert (shown(None), shown(NOON)) == (None, "2026-01-01T12:00:00.000000Z")
    ages = {0: 1, 19: 1, 20: 2, 100: 10, 10_000: 15}
    assert {age: poll_after_s(NOON, NOON + age * SECOND) for age in ages} == ages
    assert runs.run_in_list(queued())["projectId"] == PROJECT
