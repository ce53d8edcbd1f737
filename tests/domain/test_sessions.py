"""Sessions: a lease belongs to one incarnation, and what is over stays over."""

from __future__ import annotations

import pytest

from ringback.domain.admission import lane_of
from ringback.domain.errors import SessionExpiredError
from ringback.domain.moments import SECOND
from ringback.domain.sessions import beat, end
from tests.builders import NOON, session


def test_a_beat_renews_the_lease() -> None:
    renewed = beat(session(lease_until=NOON + 2), now=NOON + 1, lease=9 * SECOND)
    assert (renewed.heartbeat_at, renewed.lease_until) == (NOON + 1, NOON + 1 + 9 * SECOND)


@pytest.mark.parametrize("now", [NOON, NOON + 1])
def test_nothing_prolongs_a_lease_that_ran_out(now: int) -> None:
    with pytest.raises(SessionExpiredError) as caught:
        beat(session(lease_until=NOON), now=now, lease=SECOND)
    assert caught.value.session_id == "session-w1"


def test_a_closed_session_does_not_beat() -> None:
    with pytest.raises(SessionExpiredError):
        beat(end(session(), now=NOON, reason="detached"), now=NOON, lease=SECOND)


def test_it_ends_once() -> None:
    over = end(session(), now=NOON, reason="detached")
    assert (over.ended_at, over.end_reason) == (NOON, "detached")
    assert end(over, now=NOON + 1, reason="lease_expired") == over


def test_it_serves_what_it_offers() -> None:
    worker = session(offers=frozenset({"default/command", "gpu/function:add"}))
    assert worker.can_serve(lane_of("default", "command", "deploy"))
    assert worker.can_serve(lane_of("gpu", "function:add", None))
    assert not worker.can_serve(lane_of("gpu", "command", None))
