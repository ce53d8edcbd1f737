"""The runtime of other people's job APIs: calls an endpoint, and follows the job that it started until that has ended.

An attempt is one coroutine, whatever the job takes. The client of HTTP is imported with the first attempt: a worker without such
tools pays nothing for it.
"""

import asyncio
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from ringback.domain.http_template import HttpTemplateError
from ringback.worker.assignment import Assignment, Outcome, Reporter, Stop
from ringback.worker.environment import MissingSecretError, secrets_of
from ringback.worker.masking import Mask

if TYPE_CHECKING:
    from ringback.worker.runtimes.http_client import Fetcher


class HttpRuntime:
    """Carries out http tools.

    Args:
        url: of the server, below which callbacks come in.
        environment: the worker's variables, where secrets are found; None is this process's.
        secret_values: what is masked beside a tool's own secrets (the worker's token).
    """

    name: Final = "http"

    def __init__(
        self, url: str, *, environment: Mapping[str, str] | None = None, secret_values: Iterable[str] = ()
    ) -> None:
        self._url = url.rstrip("/")
        self._environment = dict(os.environ if environment is None else environment)
        self._secret_values = tuple(secret_values)
        self._fetcher: Fetcher | None = None

    async def run(self, assignment: Assignment, reporter: Reporter, stop: Stop) -> Outcome:
        """Carry out one attempt. A lost one is left at once: the next attempt goes on with the same job."""
        try:
            secrets = secrets_of(assignment, self._environment)
        except MissingSecretError as error:
            return Outcome(kind="failed", error_kind="tool_error", error_message=str(error))
        from ringback.worker.runtimes.http_attempt import HttpAttempt

        attempt = HttpAttempt(
            self._shared(),
            assignment,
            reporter,
            stop,
            secrets=secrets,
            secret_values=self._secret_values,
            url=self._url,
        )
        working = asyncio.ensure_future(attempt.carry_out())
        lost = asyncio.ensure_future(stop.lost.wait())
        try:
            await asyncio.wait({working, lost}, return_when=asyncio.FIRST_COMPLETED)
            return working.result() if working.done() else Outcome(kind="released")
        except HttpTemplateError as error:
            return Outcome(
                kind="failed",
                error_kind="invalid_params",
                error_message=Mask(secrets.values()).text(str(error)),
                error_detail={"pointer": error.pointer},
                retryable=False,
            )
        finally:
            working.cancel()
            lost.cancel()
            await asyncio.gather(working, lost, return_exceptions=True)

    def _shared(self) -> "Fetcher":
        if self._fetcher is None:
            from ringback.worker.runtimes.http_client import Fetcher

            self._fetcher = Fetcher()
        return self._fetcher

    async def aclose(self) -> None:
        """Close the connections."""
        if self._fetcher is not None:
            await self._fetcher.aclose()
