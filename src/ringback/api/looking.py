"""One look at a run, the same from the job door and the run door: a wait for its end, its version as ETag, when to ask again."""

from __future__ import annotations

from ringback.api.call import Call, wait_of
from ringback.domain.runs import Run
from ringback.services.grants import STATUS
from ringback.views.moments import poll_after_s


async def looked_at(call: Call, name: str) -> tuple[Run, dict[str, str]]:
    """The run, after the wait that the caller prefers, and headers about it."""
    runs = call.core.runs
    run = await runs.get(call.project.project_id, name, STATUS)
    headers: dict[str, str] = {}
    if (wait_s := wait_of(call.header("prefer"))) is not None:
        run = await runs.wait(run, within_s=wait_s)
        headers["preference-applied"] = f"wait={wait_s}"
    headers["etag"] = f'"{run.version}"'
    if not run.is_terminal:
        headers["retry-after"] = str(poll_after_s(run.created_at, call.core.clock.now()))
    return run, headers


def unchanged(call: Call, headers: dict[str, str]) -> bool:
    """Whether the caller already has this version."""
    known = call.header("if-none-match")
    if known is None:
        return False
    return known.strip() == "*" or headers["etag"] in (tag.strip().removeprefix("W/") for tag in known.split(","))
