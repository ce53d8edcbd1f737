"""Kept values, secrets and the configuration, from inside a function."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.worker.functions import SECRET, Functions, functions


@asynccontextmanager
async def facilities() -> AsyncIterator[Functions]:
    async with functions(target="tests.worker.facility_tools:app") as tools:
        yield tools


async def test_values_are_read_written_and_deleted() -> None:
    async with facilities() as tools:
        started = tools.begin("keeps", {"key": "k", "value": {"a": 1}})
        started.recorder.answers += [{"version": 0}, {"value": {"a": 1}, "version": 1, "written": True}]
        started.recorder.answers.append({"version": 2, "written": True})
        assert (await started.task).result == [[None, 0], [{"a": 1}, 1], [None, 2]]
        assert started.recorder.used == [
            ("kv.read", {"key": "k"}),
            ("kv.write", {"key": "k", "value": {"a": 1}}),
            ("kv.write", {"key": "k", "delete": True}),
        ]


async def test_a_value_that_somebody_else_changed_is_an_error_of_its_own() -> None:
    async with facilities() as tools:
        started = tools.begin("keeps", {"key": "k", "value": None, "if_version": 3})
        started.recorder.answers += [{"version": 3}, {"value": 1, "version": 4, "written": False}]
        assert (await started.task).result == {"changed": 4}
        assert started.recorder.used[1] == ("kv.write", {"key": "k", "value": None, "ifVersion": 3})


async def test_an_async_tool_awaits_its_values() -> None:
    async with facilities() as tools:
        started = tools.begin("keeps_awaiting")
        started.recorder.answers += [{"value": 1, "version": 7}, {"value": [1], "version": 8, "written": True}]
        assert (await started.task).result == [[1], 8]


async def test_what_is_refused_says_why() -> None:
    async with facilities() as tools:
        refused = {"refused": "it was not agreed on (unsupported_capability)"}
        assert await tools.value("keeps", key="refused") == refused


async def test_secrets_are_masked_in_what_is_kept() -> None:
    async with facilities() as tools:
        started = tools.begin("keeps", {"key": "k", "value": SECRET})
        started.recorder.answers += [{"version": 0}, {"version": 1, "written": True}, {"version": 2, "written": True}]
        await started.task
        assert SECRET not in str(started.recorder.used)


async def test_a_secret_is_told_to_the_tool_that_names_it_and_to_nobody_else() -> None:
    async with facilities() as tools:
        names = {"secrets": ["SECRET_TOKEN", "ABSENT_TOKEN"]}
        told = await tools.call("tells", {"name": "SECRET_TOKEN"}, profile=names)
        assert told.result == {"is": "***", "length": len(SECRET)}
        absent = await tools.call("tells", {"name": "ABSENT_TOKEN"}, profile=names)
        assert absent.result == {"refused": "this worker has no variable ABSENT_TOKEN (not_found)"}
        for name in ("PATH", "RINGBACK_TOKEN"):
            undeclared = await tools.call("tells", {"name": name}, profile=names)
            assert undeclared.result == {"refused": f"the tool names no secret {name!r} (not_found)"}


async def test_the_configuration_is_what_was_frozen() -> None:
    async with facilities() as tools:
        policy = {"timeouts": {"attemptS": 77}}
        outcome = await tools.call("configured", profile={"pool": "p", "source": "x"}, policy=policy)
        assert outcome.result == {"profile": {"secrets": ["SECRET_TOKEN"], "pool": "p"}, "policy": policy}
