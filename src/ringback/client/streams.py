"""What comes as a stream: output and events, resumed where a connection broke.

output     raw bytes go on at the byte that is missing
events     the sequence number decides: what was seen is dropped, what is missing is asked for again, so the caller
           sees each event once and none is left out, however often the connection breaks
"""

import json
from collections.abc import Mapping

from ringback.client import reading, records, requests, sse
from ringback.client.errors import ProtocolError, UnreachableError
from ringback.client.exchange import Emit, Link, LostError, Pause, Read, Steps, exchange
from ringback.client.operations import ask, json_object, listed


def output(link: Link, run_id: str, wanted: requests.Output) -> Steps[None]:
    """What a job wrote so far, piece by piece. Raw bytes go on where a connection broke; other forms begin again, if they can."""
    failures, offset = 0, 0
    is_resumable = wanted.tail is None and not wanted.is_text
    while True:
        yield from exchange(link, requests.output(link, run_id, wanted, offset=offset), opens=True)
        try:
            while piece := (yield Read()):
                offset, failures = offset + len(piece), 0
                yield Emit(piece)
        except LostError as lost:
            if offset and not is_resumable:
                raise UnreachableError(link.url, lost.detail) from lost
            failures += 1
            yield from _breathe(link, failures, lost.detail)
        else:
            return


def last_lines(link: Link, run_id: str, stream: str | None, count: int) -> Steps[tuple[bytes, int]]:
    """The last lines of what a job wrote so far, raw, and the sequence of the event up to which that reaches."""
    answer = yield from exchange(link, requests.output(link, run_id, requests.Output(stream, count)))
    sequence = answer.headers.get("etag", "").strip('"').partition("-")[0]
    return answer.body, int(sequence) if sequence.isdigit() else 0


def events_so_far(link: Link, run_id: str, *, after: int = 0) -> Steps[tuple[records.Event, ...]]:
    """The events behind `after` up to now, without waiting for more."""
    path = requests.run(link, run_id, "events").path
    return listed(link, path, reading.event, {"after": str(after)})


def events(link: Link, run_id: str, *, after: int = 0) -> Steps[None]:
    """Every event behind `after` up to the terminal one, once and in order."""
    failures, last = 0, after
    while True:
        parser = sse.Parser()
        before = last
        detail = "the stream ended before the run did"
        yield from exchange(link, requests.events(link, run_id, after=last), opens=True)
        try:
            while piece := (yield Read()):
                for message in parser.feed(piece):
                    found = _event_behind(last, message)
                    if found is None:
                        continue
                    last = found.sequence
                    yield Emit(found)
                    if found.is_final:
                        return
        except LostError as lost:
            detail = lost.detail
        except sse.MessageTooLongError:
            raise ProtocolError("an event without end") from None
        if last == before and (yield from _is_over(link, run_id, last)):
            return
        failures = 0 if last > before else failures + 1
        if failures:
            yield from _breathe(link, failures, detail, parser.retry_s)


def _event_behind(last: int, message: sse.Message) -> records.Event | None:
    """The event of a message, unless it was seen before. Raises `LostError` where one is missing: reconnect from `last`."""
    try:
        body = json.loads(message.data)
    except ValueError:
        raise ProtocolError("an event that is not JSON") from None
    if not isinstance(body, Mapping) or "event" not in body:
        return None
    found = reading.event(body)
    if found.sequence <= last:
        return None
    if found.sequence > last + 1:
        raise LostError(f"event {last + 1} was left out", was_sent=True)
    return found


def _is_over(link: Link, run_id: str, last: int) -> Steps[bool]:
    """Whether a silent end of the stream is right: the run is final and all its events were seen."""
    body = yield from ask(link, requests.run(link, run_id), json_object)
    return body.get("status") in records.FINAL_RUN_STATUSES and int(body.get("eventSequence", last)) <= last


def _breathe(link: Link, failures: int, detail: str, at_least_s: float | None = None) -> Steps[None]:
    delay_s = link.retry.delay_s(failures, at_least_s)
    if delay_s is None:
        raise UnreachableError(link.url, detail)
    yield Pause(delay_s)
