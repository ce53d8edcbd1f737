"""docs/runtimes.md: a real server takes every request that the page shows, and answers in the members that it shows."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ringback.domain.runtimes import CORE, PROTOCOL_VERSIONS
from tests.api.door import Door, opened
from tests.real.cache import ROOT

PAGE = (ROOT / "docs" / "runtimes.md").read_text(encoding="utf-8")
FENCE = re.compile(r"(?:`POST (?P<path>\S+)`[^\n]*\n\n)?```json\n(?P<code>.*?)```", re.DOTALL)


@dataclass(slots=True)
class Reader:
    """Somebody who does what the page says, one example after the other."""

    door: Door
    session_id: str = ""
    claim: dict[str, Any] = field(default_factory=dict)
    answer: dict[str, Any] = field(default_factory=dict)

    async def send(self, path: str, body: dict[str, Any]) -> None:
        if path.endswith("/claim"):
            await self.door.start({"width": 200}, tool="resize")
        if path.endswith("/heartbeat"):
            await self._hold_a_stopped_run()
        answer = await self.door.client.post(path.format(sessionId=self.session_id), json=self._real(body))
        assert answer.is_success, (path, body, answer.text)
        self.answer = answer.json() if answer.content else {}
        assert all(result["ok"] for result in self.answer.get("results", ())), (body, self.answer)
        self.session_id = self.answer.get("sessionId", self.session_id)
        self.claim = next(iter(self.answer.get("claims", ())), self.claim)

    async def _hold_a_stopped_run(self) -> None:
        run_id = await self.door.start({}, tool="resize")
        await self.send("/v1/workers/{sessionId}/claim", {"slots": 1, "waitMs": 5_000})
        while self.claim["runId"] != run_id:  # the child that the page starts comes first
            await self.send("/v1/workers/{sessionId}/claim", {"slots": 1, "waitMs": 5_000})
        start = {"kind": "start", "runId": run_id, "fence": 1}
        await self.send("/v1/workers/{sessionId}/report", {"reports": [start]})
        assert (await self.door.client.delete(f"/jobs/{run_id}?reason=enough")).status_code == 202

    def _real(self, value: Any) -> Any:
        """The example with the ids of this server."""
        match value:
            case dict():
                known = {name: self.claim[name] for name in ("runId", "fence") if name in value}
                return {name: self._real(item) for name, item in value.items()} | known
            case list():
                return [self._real(item) for item in value]
            case _:
                return value


def strange(shown: Any, real: Any, at: str = "") -> list[str]:
    """Members that the page shows and the server does not give."""
    if isinstance(shown, Mapping) and isinstance(real, Mapping):
        missing = [f"{at}/{name}" for name in shown if name not in real]
        return missing + [
            each for name in shown if name in real for each in strange(shown[name], real[name], f"{at}/{name}")
        ]
    if isinstance(shown, list) and isinstance(real, list) and shown and real:
        return strange(shown[0], real[0], f"{at}/0")
    return [] if type(shown) is type(real) else [f"{at}: {real!r}"]


async def test_the_server_takes_and_gives_what_the_page_shows(tmp_path: Path) -> None:
    counts = {"taken": 0, "given": 0}
    async with opened(tmp_path, ()) as door:
        reader = Reader(door)
        for fence in FENCE.finditer(PAGE):
            body = json.loads(fence["code"])
            if fence["path"]:
                await reader.send(fence["path"], body)
                counts["taken"] += 1
            else:
                assert strange(body, reader.answer) == [], (body, reader.answer)
                counts["given"] += 1
    assert counts["taken"] >= 9
    assert counts["given"] >= 4


def test_the_page_names_what_there_is() -> None:
    assert [name for name in CORE if f"`{name}`" not in PAGE] == []
    assert f'"protocolVersion": {PROTOCOL_VERSIONS[-1]}' in PAGE
