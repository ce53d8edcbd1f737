"""Output is passed on in bounded pieces, up to a cap, and nothing that was written in time is missed."""

import asyncio
import os

import pytest

from ringback.worker.capture import CHUNK_BYTES, TAIL_BYTES, Capture
from ringback.worker.masking import Mask
from tests.worker.attempts import Recorder

MIB = 1024 * 1024


class Pipes:
    """The two pipes of a process that is not there."""

    def __init__(self) -> None:
        self.stdout, self.out = os.pipe()
        self.stderr, self.err = os.pipe()
        for reader in (self.stdout, self.stderr):
            os.set_blocking(reader, False)
        self._open = {self.out, self.err}

    def hang_up(self) -> None:
        for writer in self._open:
            os.close(writer)
        self._open.clear()

    def close(self) -> None:
        self.hang_up()
        os.close(self.stdout)
        os.close(self.stderr)


async def captured(recorder: Recorder, data: bytes, *, cap_bytes: int, mask: Mask | None = None) -> Capture:
    """Write everything to stdout as a process would, and wait for the end of the capture."""
    pipes = Pipes()
    capture = Capture(recorder, mask or Mask(), cap_bytes=cap_bytes)
    capture.start(pipes.stdout, pipes.stderr)
    await asyncio.to_thread(_write, pipes.out, data)
    pipes.hang_up()
    await capture.ended()
    pipes.close()
    return capture


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


async def test_what_was_written_arrives() -> None:
    recorder = Recorder()
    data = os.urandom(3 * MIB)
    capture = await captured(recorder, data, cap_bytes=8 * MIB)
    assert recorder.stdout == data
    assert recorder.stderr == b""
    assert recorder.dropped_bytes() == capture.dropped_bytes == 0
    assert max(detail[1] for _, detail in recorder.calls) <= CHUNK_BYTES


async def test_beyond_the_cap_the_first_and_the_last_bytes_are_kept() -> None:
    recorder = Recorder()
    data = b"".join(b"line %07d\n" % number for number in range(500_000))
    capture = await captured(recorder, data, cap_bytes=MIB)
    dropped = recorder.dropped_bytes()
    assert capture.dropped_bytes == dropped
    assert len(recorder.stdout) + dropped == len(data)
    assert 0.9 * MIB < len(recorder.stdout) <= MIB
    head = MIB - MIB // 4
    assert recorder.stdout[:head] == data[:head]
    assert recorder.stdout[head:] == data[head + dropped :]


async def test_the_gap_is_told_between_the_first_and_the_last_bytes() -> None:
    recorder = Recorder()
    await captured(recorder, b"x" * 3 * MIB, cap_bytes=MIB)
    names = recorder.names()
    first, last = names.index("dropped"), len(names) - names[::-1].index("dropped")
    assert set(names[first:last]) == {"dropped"}
    assert names[0] == names[-1] == "output"


async def test_exactly_the_cap_is_kept_whole() -> None:
    recorder = Recorder()
    data = os.urandom(200_000)
    await captured(recorder, data, cap_bytes=220_000)
    assert recorder.stdout == data
    assert "dropped" not in recorder.names()


async def test_a_secret_at_the_border_of_the_cap_is_masked() -> None:
    secret = "S3cr3t-abc-123456"
    data = b"x" * 740 + secret.encode() * 100 + b"y" * 500
    for cap_bytes in range(1000, 1030):
        recorder = Recorder()
        await captured(recorder, data, cap_bytes=cap_bytes, mask=Mask([secret]))
        assert b"S3" not in recorder.stdout
        assert b"456" not in recorder.stdout


async def test_many_small_writes_become_few_pieces() -> None:
    recorder = Recorder()
    pipes = Pipes()
    capture = Capture(recorder, Mask())
    capture.start(pipes.stdout, pipes.stderr)
    for number in range(2_000):
        os.write(pipes.out, b"\r\x1b[32m %4d|###" % number)
        await asyncio.sleep(0)
    pipes.hang_up()
    await capture.ended()
    pipes.close()
    assert recorder.stdout.count(b"\r") == 2_000
    assert len(recorder.calls) < 50


async def test_a_little_output_does_not_wait_for_more() -> None:
    recorder = Recorder()
    pipes = Pipes()
    capture = Capture(recorder, Mask())
    capture.start(pipes.stdout, pipes.stderr)
    os.write(pipes.out, b"prompt> ")
    assert await recorder.until(b"prompt> ") == b"prompt> "
    pipes.hang_up()
    await capture.ended()
    pipes.close()


async def test_a_pipe_that_stays_open_ends_by_the_clock_and_loses_nothing() -> None:
    recorder = Recorder()
    pipes = Pipes()
    capture = Capture(recorder, Mask())
    capture.start(pipes.stdout, pipes.stderr)
    await asyncio.sleep(0)
    os.write(pipes.out, b"written just before")
    capture.finish_by(asyncio.get_running_loop().time())
    async with asyncio.timeout(15):
        await capture.ended()
    assert recorder.stdout == b"written just before"
    pipes.close()


async def test_output_waits_for_the_reporter() -> None:
    recorder = Recorder()
    recorder.gate.clear()
    pipes = Pipes()
    capture = Capture(recorder, Mask())
    capture.start(pipes.stdout, pipes.stderr)
    writing = asyncio.create_task(asyncio.to_thread(_write, pipes.out, b"z" * 4 * MIB))
    done, _ = await asyncio.wait({writing}, timeout=0.1)
    assert not done
    assert capture.last_active_at >= asyncio.get_running_loop().time() - 0.01
    recorder.gate.set()
    await writing
    pipes.hang_up()
    await capture.ended()
    pipes.close()
    assert len(recorder.stdout) == 4 * MIB


async def test_a_reporter_that_fails_is_noticed() -> None:
    class Failing(Recorder):
        async def output(self, stream: object, data: bytes) -> None:
            raise ConnectionError("away")

    pipes = Pipes()
    capture = Capture(Failing(), Mask())
    capture.start(pipes.stdout, pipes.stderr)
    os.write(pipes.out, b"x" * CHUNK_BYTES)
    pipes.hang_up()
    await asyncio.wait({capture.broken})
    assert isinstance(capture.broken.exception(), ConnectionError)
    await capture.abandon()
    pipes.close()


async def test_the_tail_holds_both_streams() -> None:
    recorder = Recorder()
    pipes = Pipes()
    capture = Capture(recorder, Mask())
    capture.start(pipes.stdout, pipes.stderr)
    os.write(pipes.err, b"oops")
    os.write(pipes.out, b"fine")
    pipes.hang_up()
    await capture.ended()
    pipes.close()
    assert sorted([capture.tail[:4], capture.tail[4:]]) == [b"fine", b"oops"]
    assert recorder.stderr == b"oops"


@pytest.mark.parametrize(("written", "is_whole"), [(TAIL_BYTES, True), (TAIL_BYTES + 1, False)])
async def test_the_tail_says_whether_it_is_all(written: int, is_whole: bool) -> None:
    capture = await captured(Recorder(), b"x" * written, cap_bytes=8 * MIB)
    assert (len(capture.tail), capture.is_tail_whole) == (TAIL_BYTES, is_whole)
