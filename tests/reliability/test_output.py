"""OUT: large and odd output."""

from pathlib import Path

from tests.reliability.client import Client, output_in
from tests.reliability.installation import Installation, python
from tests.reliability.scale import times

LONGEST_RESULT = 100_000


def _peak_bytes(pid: int) -> int:
    """The largest resident size that the process ever had."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def test_a_line_may_have_any_length(installation: Installation, client: Client) -> None:
    """O28: five million characters without a newline arrive in pieces, and nobody grows with them."""
    assert installation.server is not None
    watched = [installation.server.pid, *(worker.pid for worker in installation.workers)]
    before = [_peak_bytes(pid) for pid in watched]
    job = client.start(installation.command(python("print('x'*5000000); print('end')")))
    assert client.ended(job)["status"] == "done"
    assert client.output(job) == b"x" * 5_000_000 + b"\nend\n"
    pages = [page["output"] for page in client.pages(job)]
    assert "".join(pages) == "x" * 5_000_000 + "\nend\n"
    grown = [_peak_bytes(pid) - peak for pid, peak in zip(watched, before, strict=True)]
    assert max(grown) < 64 << 20, grown


def test_bytes_that_are_no_text_stop_nothing(installation: Installation, client: Client) -> None:
    """O29: shown with a replacement, kept as they were."""
    code = "import sys;o=sys.stdout.buffer;o.write(b'\\xff\\x97\\n');o.write(b'y'*300000);o.write(b'\\nend\\n')"
    job = client.start(installation.command(python(code)))
    raw = b"\xff\x97\n" + b"y" * 300_000 + b"\nend\n"
    assert client.ended(job)["status"] == "done"
    assert client.output(job) == raw
    assert output_in(client.events(job)) == raw
    assert "".join(page["output"] for page in client.pages(job)) == "\ufffd\ufffd\n" + "y" * 300_000 + "\nend\n"


def test_output_has_a_cap_and_says_so(installation: Installation, client: Client) -> None:
    """O30: the job goes on without what is above the cap, its limit of time ends it, and others are not held up."""
    cap = 10_000_000
    job = client.start(installation.command(["yes"], limits={"outputBytes": cap}), timeout_seconds=times(3, 20))
    client.running(job)
    beside = [client.start("quick", {"number": number}) for number in range(5)]
    assert [client.ended(each)["status"] for each in beside] == ["done"] * 5
    ended = client.ended(job)
    assert (ended["status"], ended["error_kind"], ended["time_limit"]) == ("failed", "timeout", "attempt")
    stored = output_in(client.events(job))
    assert cap * 0.99 <= len(stored) <= cap * 1.01
    dropped = [event.body for event in client.events(job) if event.type == "output.dropped"]
    assert sum(body["bytes"] for body in dropped) > 0


def test_a_default_reply_is_small_and_leads_to_the_rest(installation: Installation, client: Client) -> None:
    """O31: the summary has the end, a page is bounded, and the cursor gets every line."""
    job = client.start(installation.command("seq 1 40000; echo FAIL >&2; exit 2"))
    ended = client.ended(job)
    assert ended["status"] == "failed"
    assert "FAIL" in ended["summary"]
    assert len(ended["summary"]) <= 500
    first = client.ask("GET", f"/jobs/{job}/result")
    assert len(first.content) < LONGEST_RESULT
    assert first.json()["complete"] is False
    pages = list(client.pages(job))
    assert (pages[-1]["complete"], pages[-1]["exit_code"]) == (True, 2)
    lines = "".join(page["output"] for page in pages).splitlines()
    assert [line for line in lines if line != "FAIL"] == [str(number) for number in range(1, 40_001)]
    assert lines.count("FAIL") == 1


UPDATES = r"""
import sys, time
for number in range(10000):
    sys.stdout.write("\r\x1b[32m %d%%|###" % (number // 100))
    sys.stdout.flush()
    if number % 100 == 99:
        time.sleep(PAUSE)
print("\ndone")
"""


def test_updates_of_one_line_are_one_line(installation: Installation, client: Client) -> None:
    """O32: ten thousand updates are few events; the text shows the last state, the bytes are all there."""
    seconds = times(2, 10)
    job = client.start(installation.command(python(UPDATES.replace("PAUSE", str(seconds / 100)))))
    assert client.ended(job)["status"] == "done"
    pages = [page["output"] for page in client.pages(job)]
    assert pages[-1].splitlines()[-2:] == [" 99%|###", "done"]
    assert "\x1b" not in "".join(pages)
    assert len("".join(pages)) < 4_000
    raw = client.output(job)
    assert raw.count(b"\r\x1b[32m") == 10_000
    chunks = [event for event in client.events(job) if event.type == "output.chunk"]
    assert len(chunks) <= seconds / 0.2 * 3 + 10
