"""One attempt of an http tool, from what an earlier one kept to the outcome."""

from collections.abc import Mapping

from ringback.worker.assignment import Assignment, Outcome, Reporter, Stop
from ringback.worker.masking import Mask
from ringback.worker.runtimes.http_client import Fetcher, WebAnswer
from ringback.worker.runtimes.http_follow import Follower
from ringback.worker.runtimes.http_start import before_start, start
from ringback.worker.runtimes.http_stop import Stopper
from ringback.worker.runtimes.http_work import Kept, Work


class HttpAttempt:
    """Starts a job, or goes on with the one that an earlier attempt started, and sees it through."""

    def __init__(
        self,
        fetcher: Fetcher,
        assignment: Assignment,
        reporter: Reporter,
        stop: Stop,
        *,
        secrets: Mapping[str, str],
        secret_values: tuple[str, ...],
        url: str,
    ) -> None:
        """`url` is the server's; `secret_values` are masked beside the tool's own `secrets`."""
        hidden = [*secret_values, *secrets.values()]
        self._work = Work(fetcher, assignment, reporter, stop, secrets, Mask(hidden), url, hidden)
        self._stop = stop

    async def carry_out(self) -> Outcome:
        """The outcome.

        Raises:
            HttpTemplateError: an argument doesn't fit its place.
        """
        work, kept = self._work, Kept.of(self._work.assignment.checkpoint)
        first: WebAnswer | None = None
        if kept.job is not None:
            job = kept.job
            await work.say(f"going on with the job at {job.status_url or 'its callback address'}")
        elif self._stop.why is not None:
            return before_start(work)
        else:
            begun = await start(work, kept.start_no, was_sent=kept.phase == "sending")
            if isinstance(begun, Outcome):
                return begun
            job, first = begun
        follower = Follower(work, job)
        return await follower.see_through(first) or await Stopper(follower).stop()
