"""Output of functions: all of it, whoever wrote it, in the attempt that wrote it (O62, O70)."""

import pytest

from tests.worker.functions import functions

SIZE = 3_000_000


async def test_everything_that_is_written_is_output_of_the_attempt() -> None:
    async with functions() as tools:
        await tools.call("noop")
        started = tools.begin("prints_every_way")
        assert (await started.task).kind == "succeeded"
        lines = started.recorder.text("stdout").splitlines()
        assert sorted(lines) == ["print", "printf", "subprocess", "system", "write"]
        assert started.recorder.text("stderr") == "INFO:x:logging\nunfinished"


async def test_what_importing_prints_is_output_of_the_first_attempt() -> None:
    async with functions(slots=1) as tools:
        first, second = tools.begin("noop"), tools.begin("noop")
        await first.task
        await second.task
        assert first.recorder.text("stdout") == "printed while importing\n"
        assert first.recorder.text("stderr") == "INFO:import:logged while importing\n"
        assert not second.recorder.events


async def test_each_of_500_quick_attempts_gets_its_own_output() -> None:
    async with functions(slots=2) as tools:
        await tools.call("noop")
        await tools.call("noop")
        started = [
            tools.begin("prints" if n % 3 else "noop", {"text": f"line {n}"} if n % 3 else {}) for n in range(500)
        ]
        for n, each in enumerate(started):
            assert (await each.task).kind == "succeeded"
            text = each.recorder.text("stdout").removeprefix("printed while importing\n")
            assert text == (f"line {n}\n" if n % 3 else "")


async def test_much_output_arrives_whole() -> None:
    async with functions(slots=1) as tools:
        await tools.call("noop")
        started = tools.begin("prints_much", {"size": SIZE})
        await started.task
        assert started.recorder.text("stdout") == "y" * SIZE + "\nend\n"


async def test_output_beyond_the_cap_is_dropped_visibly() -> None:
    async with functions(slots=1) as tools:
        await tools.call("noop")
        started = tools.begin("prints_much", {"size": SIZE}, profile={"limits": {"outputBytes": 100_000}})
        await started.task
        kept = started.recorder.text("stdout")
        assert kept.endswith("\nend\n")
        assert len(kept) <= 100_000
        assert sum(count for _, count in started.recorder.of("dropped")) == SIZE + 5 - len(kept)


async def test_a_replaced_stdout_is_put_back() -> None:
    async with functions(slots=1) as tools:
        await tools.call("hides_stdout")
        started = tools.begin("prints", {"text": "seen"})
        await started.task
        assert started.recorder.text("stdout") == "seen\n"


@pytest.mark.parametrize("times", [1, 3])
async def test_secrets_are_masked_across_writes(times: int) -> None:
    async with functions(slots=1) as tools:
        await tools.call("noop")
        for _ in range(times):
            started = tools.begin("prints_secret")
            await started.task
            assert started.recorder.text("stdout") == "***\n"


async def test_odd_text_is_printed_in_a_readable_way() -> None:
    async with functions(slots=1) as tools:
        await tools.call("noop")
        started = tools.begin("prints", {"text": "é\0"})
        await started.task
        assert started.recorder.text("stdout") == "é\0\n"
