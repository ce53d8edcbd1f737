"""A plain HTTP client for tests: it says exactly what it is told to and repeats nothing by itself."""

import base64
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx2

from ringback.client.sse import Parser

FINAL = frozenset({"done", "failed", "cancelled"})
WITHIN_S = 60.0
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Event:
    """One event as a stream or a page gave it."""

    sequence: int
    type: str
    body: Mapping[str, Any]

    @property
    def is_final(self) -> bool:
        return self.type == "run.status.changed" and self.body.get("status") in {"succeeded", "failed", "canceled"}


class Client:
    """One connection pool to one server."""

    def __init__(self, url: str, token: str, *, project: str) -> None:
        """`project` is a slug."""
        self._http = httpx2.Client(
            base_url=url,
            headers={"authorization": f"Bearer {token}", "ringback-project": project},
            timeout=WITHIN_S,
            trust_env=False,
            limits=httpx2.Limits(max_connections=300, max_keepalive_connections=50),
        )

    def close(self) -> None:
        self._http.close()

    def ask(self, method: str, path: str, **given: Any) -> httpx2.Response:
        """Any request; no status is an error here."""
        return self._http.request(method, path, **given)

    def read(self, method: str, path: str, **given: Any) -> Any:
        """The JSON of a request that must succeed."""
        answer = self.ask(method, path, **given)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json()

    def apply(self, *definitions: Mapping[str, Any]) -> None:
        """Release tools."""
        self.read("PUT", "/v1/tools", json={"definitions": list(definitions)})

    # --- jobs

    def post(
        self, tool: str, arguments: Mapping[str, Any] | None = None, *, key: str | None = None, **more: Any
    ) -> httpx2.Response:
        """START, whatever the answer."""
        headers = {} if key is None else {"idempotency-key": key}
        return self.ask(
            "POST", "/jobs", json={"tool": tool, "arguments": dict(arguments or {}), **more}, headers=headers
        )

    def start(
        self, tool: str, arguments: Mapping[str, Any] | None = None, *, key: str | None = None, **more: Any
    ) -> str:
        """START; the id of the job."""
        answer = self.post(tool, arguments, key=key, **more)
        assert answer.status_code == 202, f"{answer.status_code} {answer.text}"
        body = answer.json()
        assert set(body) == {"job_id", "status"}
        return str(body["job_id"])

    def job(self, job_id: str, *, wait_s: int = 0) -> Json:
        """GET."""
        found: Json = self.read("GET", f"/jobs/{job_id}", headers={"prefer": f"wait={wait_s}"} if wait_s else {})
        return found

    def stop(self, job_id: str) -> Json:
        """STOP."""
        found: Json = self.read("DELETE", f"/jobs/{job_id}")
        return found

    def ended(self, job_id: str, *, within_s: float = WITHIN_S) -> Json:
        """The job once it is final. A server that is away meanwhile is waited for."""
        return self._awaited(job_id, FINAL, within_s)

    def running(self, job_id: str, *, within_s: float = WITHIN_S) -> Json:
        """The job once it runs (or has ended, which the caller will notice)."""
        return self._awaited(job_id, FINAL | {"running"}, within_s)

    def _awaited(self, job_id: str, words: frozenset[str], within_s: float) -> Json:
        give_up = time.monotonic() + within_s
        job: Json = {}
        while time.monotonic() < give_up:
            try:
                job = self.job(job_id, wait_s=5 if words is FINAL else 0)
            except httpx2.TransportError:
                job = {"status": "unreachable"}
            if job["status"] in words:
                return job
            time.sleep(0.02)
        raise AssertionError(f"{job_id} is not {'/'.join(sorted(words))} within {within_s:g} s: {job}")

    def result(self, job_id: str, **query: str | int) -> Json:
        """RESULT, one page."""
        found: Json = self.read("GET", f"/jobs/{job_id}/result", params=query)
        return found

    def pages(self, job_id: str, **query: str | int) -> Iterator[Json]:
        """RESULT, page by page."""
        while True:
            page = self.result(job_id, **query)
            yield page
            if "next_cursor" not in page:
                return
            query["cursor"] = page["next_cursor"]

    def jobs(self, **query: str | int) -> Iterator[Json]:
        """LIST, all pages."""
        while True:
            page = self.read("GET", "/jobs", params=query)
            yield from page["jobs"]
            if "next_cursor" not in page:
                return
            query["cursor"] = page["next_cursor"]

    # --- runs

    def run(self, job_id: str) -> Json:
        found: Json = self.read("GET", f"/v1/runs/{job_id}")
        return found

    def attempts(self, job_id: str) -> list[Json]:
        found: list[Json] = self.read("GET", f"/v1/runs/{job_id}/attempts")["items"]
        return found

    def output(self, job_id: str, **query: str | int) -> bytes:
        """The raw bytes."""
        answer = self.ask("GET", f"/v1/runs/{job_id}/output", params=query)
        assert answer.is_success, f"{answer.status_code} {answer.text}"
        return answer.content

    def replay(self, job_id: str) -> bool:
        """Whether what events rebuild is what the ledger stored."""
        return bool(self.read("GET", f"/v1/runs/{job_id}/replay")["identical"])

    def events(self, job_id: str, *, after: int = 0, **query: str) -> list[Event]:
        """EVENTS so far, all pages."""
        found: list[Event] = []
        cursor: Json = {"after": str(after)}
        while True:
            page = self.read("GET", f"/v1/runs/{job_id}/events", params={**query, **cursor})
            found += [event_of(item) for item in page["items"]]
            if page.get("nextCursor") is None:
                return found
            cursor = {"cursor": page["nextCursor"]}

    @contextmanager
    def stream(self, job_id: str, *, last_event_id: str | None = None, **query: str) -> Iterator[Iterator[Event]]:
        """EVENTS as a stream. It ends when the server ends it; leaving the block cuts it."""
        headers = {"accept": "text/event-stream"}
        if last_event_id is not None:
            headers["last-event-id"] = last_event_id
        with self._http.stream("GET", f"/v1/runs/{job_id}/events", headers=headers, params=query) as answer:
            assert answer.is_success, f"{answer.status_code} {answer.read()!r}"
            yield _streamed(answer)


def _streamed(answer: httpx2.Response) -> Iterator[Event]:
    parser = Parser()
    for piece in answer.iter_bytes():
        for message in parser.feed(piece):
            body = json.loads(message.data)
            if "event" in body:
                yield event_of(body)


def event_of(item: Mapping[str, Any]) -> Event:
    return Event(item["sequence"], item["event"]["type"], item["event"])


def output_in(events: list[Event]) -> bytes:
    """The output that events carry."""
    return b"".join(_bytes_of(event.body) for event in events if event.type == "output.chunk")


def _bytes_of(body: Mapping[str, Any]) -> bytes:
    text = str(body["data"])
    return base64.b64decode(text) if body["encoding"] == "base64" else text.encode()
