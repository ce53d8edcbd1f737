"""Fills a ledger with finished runs, quickly: one real run is carried out, and SQL copies its rows under new ids.

Each copy has everything that the real one has: the run, its facts, its attempt and its seven events. Ids grow, as they do in
life, so lists and indexes look as after that many starts.
"""

from pathlib import Path

import apsw

from bench.core import TOOL, Ledger
from ringback.domain.ids import ProjectId, RunId
from ringback.domain.runs import AttemptOutcome
from ringback.services.reports import SettleReport, StartReport
from ringback.services.start_request import StartRequest

CHUNK = 50_000
_ID = "printf('01900000-%04x-7%03x-8000-%012x', n >> 24, (n >> 12) & 4095, n)"
_PARTS = ("runs", "run_facts", "attempts", "run_events")


async def one_real_run(ledger: Ledger) -> RunId:
    """Start, claim, start report, settle."""
    request = StartRequest(tool=TOOL, arguments={"number": 1})
    await ledger.core.starting.start(ProjectId("default"), "bench", request, request_id="bench")
    claim = (await ledger.core.workers.handing_out.claim(ledger.session, slots=1, wait_s=5)).claims[0]
    run_id, fence = RunId(claim["runId"]), claim["fence"]
    await ledger.core.workers.report(ledger.session, [StartReport(run_id=run_id, fence=fence)])
    settle = SettleReport(run_id=run_id, fence=fence, outcome=AttemptOutcome.SUCCEEDED, result={"result": 1})
    await ledger.core.workers.report(ledger.session, [settle])
    return run_id


def copy_runs(path: Path, run_id: str, count: int) -> None:
    """Copy a finished run `count` times. Nobody else may have the file open."""
    db = apsw.Connection(str(path))
    try:
        for pragma in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -262144", "foreign_keys = OFF"):
            list(db.execute(f"PRAGMA {pragma}"))
        for first in range(1, count + 1, CHUNK):
            values = {"run_id": run_id, "first": first, "last": min(count, first + CHUNK - 1)}
            db.execute("BEGIN")
            for table in _PARTS:
                list(db.execute(_copy(db, table), values))
            db.execute("COMMIT")
        list(db.execute("PRAGMA journal_mode = WAL"))
    finally:
        db.close()


def _copy(db: apsw.Connection, table: str) -> str:
    columns = [str(row[1]) for row in db.execute(f"PRAGMA table_info({table})")]
    kept = [column for column in columns if column != "position"]
    chosen = ", ".join({"run_id": _ID}.get(column, f"original.{column}") for column in kept)
    order = "n, original.sequence" if table == "run_events" else "n"
    return f"""
        WITH RECURSIVE numbers (n) AS (SELECT :first UNION ALL SELECT n + 1 FROM numbers WHERE n < :last)
        INSERT INTO {table} ({", ".join(kept)})
        SELECT {chosen} FROM numbers CROSS JOIN {table} AS original
        WHERE original.run_id = :run_id
        ORDER BY {order}
    """


def copied_id(number: int) -> str:
    """The id of a copy, from 1."""
    return f"01900000-{number >> 24:04x}-7{(number >> 12) & 4095:03x}-8000-{number:012x}"
