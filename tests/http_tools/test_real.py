"""Whole runs of http tools: a real server and worker on one side, somebody else's job API on the other."""

import base64
import hashlib
import hmac
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.http_tools.conftest import HOOK_SECRET, SERVER_ENV, WORKER_ENV, Fresh
from tests.http_tools.other_side import JobApi, Say, Seen, done, running
from tests.reliability.client import Client
from tests.reliability.installation import Installation, errors_in
from tests.reliability.scale import IS_FULL, times
from tests.reliability.waiting import until

FOLLOW = {"intervalS": 0.05, "intervalMaxS": 0.2}
_count = iter(range(1, 1000))


def tool(client: Client, url: str, *, inputs: dict[str, Any] | None = None, **http: Any) -> str:
    """Release an http tool; its name."""
    policy, follow = http.pop("policy", {}), http.pop("follow", {})
    definition = {
        "name": f"http_{next(_count)}",
        "runtime": "http",
        "inputSchema": {"type": "object", "properties": inputs or {}, "additionalProperties": False},
        "profile": {
            "secrets": ["API_TOKEN"],
            "http": {
                "url": url,
                "headers": {"Authorization": "Bearer {secret:API_TOKEN}"},
                "follow": {**FOLLOW, **follow},
                **http,
            },
        },
        "policy": policy,
    }
    client.apply(definition)
    return str(definition["name"])


def calling(client: Client, api: JobApi, **more: Any) -> str:
    """A tool whose job calls back."""
    return tool(client, f"{api.url}/jobs", body={"hook": "{callback_url}"}, **more)


def hook_of(api: JobApi) -> str:
    return str(api.until_asked("POST")[-1].json["hook"])


def post(url: str, body: bytes, headers: dict[str, str] | None = None) -> int:
    return httpx2.post(url, content=body, headers=headers or {}, trust_env=False).status_code


def resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096


def signed(body: bytes, *, secret: str = HOOK_SECRET, ago_s: int = 0) -> dict[str, str]:
    sent = str(int(time.time()) - ago_s)
    key = base64.b64decode(secret.removeprefix("whsec_"))
    mac = hmac.new(key, f"msg_1.{sent}.".encode() + body, hashlib.sha256).digest()
    return {
        "webhook-id": "msg_1",
        "webhook-timestamp": sent,
        "webhook-signature": f"v1,AAAA v1,{base64.b64encode(mac).decode()}",
    }


def test_a_run_follows_a_job_to_its_result(here: Installation) -> None:
    client = here.client()
    with JobApi() as api:
        api.show(running(progress={"done": 2, "total": 5}), done({"rows": 3}))
        job = client.start(tool(client, f"{api.url}/jobs", inputs={"scene": {"type": "string"}}), {"scene": "a"})
        ended = client.ended(job)
        assert (ended["status"], ended["attempts"]) == ("done", 1)
        assert client.result(job)["result"] == {"rows": 3}
        assert "following" in client.output(job, stream="stderr").decode()
        assert client.replay(job)
        (sent,) = api.asked("POST")
        assert (sent.json, sent.headers["authorization"]) == ({"scene": "a"}, f"Bearer {WORKER_ENV['API_TOKEN']}")
        assert sent.headers["idempotency-key"] == client.run(job)["runId"]


def test_jobs_that_are_waited_for_hold_no_slot(here: Installation) -> None:
    """Many jobs of others run for as long as the test wants, and the worker's only slot is free for a command."""
    client, count = here.client(), times(20, 500)
    with JobApi() as api:
        api.show(running())
        name = tool(client, f"{api.url}/jobs", follow={"intervalS": 1 + count / 50, "intervalMaxS": 1 + count / 50})
        before = resident_bytes(here.workers[0].pid)
        jobs = [client.start(name) for _ in range(count)]
        until(lambda: len(api.started) == count, "all of them run at once", within_s=120)
        assert client.ended(client.start(here.command("echo between")))["status"] == "done"
        assert not here.attempt_processes()
        used = (resident_bytes(here.workers[0].pid) - before) / count
        assert used < 2**20 if count < 100 else 150 * 1024, f"{used:.0f} bytes for each attempt"
        api.show(done())
        assert {client.ended(job)["status"] for job in jobs} == {"done"}
        assert len(api.started) == count


def test_a_definition_with_mistakes_is_refused_whole(here: Installation) -> None:
    client = here.client()
    http = {"url": "https://{host}.example.com", "headers": {"Authorization": "Bearer abc"}, "follow": {"state": "x"}}
    definition = {"name": "wrong", "runtime": "http", "inputSchema": {"type": "object"}, "profile": {"http": http}}
    answer = client.ask("PUT", "/v1/tools", json={"definitions": [definition]})
    assert answer.status_code == 422
    at = "/definitions/0/profile/http"
    pointers = {flaw["pointer"] for flaw in answer.json()["errors"]}
    assert pointers == {f"{at}/url", f"{at}/headers/Authorization", f"{at}/follow/state"}
    assert client.ask("GET", "/v1/tools/wrong").status_code == 404


def test_a_caller_is_told_what_does_not_fit(here: Installation) -> None:
    client = here.client()
    inputs: dict[str, Any] = {"team": {}, "note": {}}
    name = tool(client, "http://x.invalid/{team}/jobs", inputs=inputs, headers={"X-Note": "{note}"})
    for arguments, pointer in (
        ({"team": ".."}, "/arguments/team"),
        ({"note": "n"}, "/arguments/team"),
        ({"team": ["a"]}, "/arguments/team"),
        ({"team": "a", "note": "x\r\nAuthorization: y"}, "/arguments/note"),
    ):
        answer = client.post(name, arguments)
        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, pointer)


def test_a_stop_that_the_other_side_confirms_and_one_that_it_refuses(here: Installation) -> None:
    client = here.client()
    with JobApi() as api:

        def accept(_: Seen) -> Say:
            api.show(Say(200, {"status": "cancelled"}))
            return Say(202)

        api.on_delete = accept
        api.show(running())
        name = tool(client, f"{api.url}/jobs", policy={"cancelGraceS": 2})
        job = client.start(name)
        api.until_asked("GET")
        client.stop(job)
        ended = client.ended(job)
        assert (ended["status"], ended["end_reason"]) == ("cancelled", "cancelled_cooperatively")
        assert "cancelAcknowledgedAt" in client.run(job)
        api.on_delete = lambda _: Say(405)
        api.show(running())
        job = client.start(name)
        until(lambda: "the job is running" in client.output(job).decode(), "it is followed", within_s=30)
        client.stop(job)
        ended = client.ended(job)
        run = client.run(job)
        assert (ended["status"], ended["end_reason"]) == ("cancelled", "cancel_unconfirmed")
        assert "cancelAcknowledgedAt" not in run
        assert "cancelDeliveredAt" not in run
        assert "the job may still run" in str(client.attempts(job)[-1])
        assert client.replay(job)


def test_a_job_calls_back_once(here: Installation) -> None:
    client = here.client()
    with JobApi(lambda _: Say(202)) as api:
        job = client.start(calling(client, api, callback=True))
        hook = hook_of(api)
        assert hook.startswith(f"{here.url}/callbacks/{job}/")
        assert len(hook.rpartition("/")[2]) == 43  # 256 bits
        until(lambda: "waiting to be called" in client.output(job).decode(), "it waits", within_s=30)
        assert post(hook[:-1] + ("A" if hook[-1] != "A" else "B"), b"{}") == 404
        assert post(hook.replace(job, client.start(here.command("true"))), b"{}") == 404
        assert post(hook, b"x" * (1024 * 1024 + 1)) == 413
        assert post(hook, b'{"status":"done","result":42}') == 204
        assert client.ended(job)["status"] == "done"
        assert client.result(job)["result"] == 42
        assert post(hook, b'{"status":"done","result":42}') == 404
    assert hook.rpartition("/")[2] not in here.log()
    assert client.replay(job)


def test_a_callback_with_a_signature(here: Installation) -> None:
    client, body = here.client(), b'{"status":"succeeded","result":"signed"}'
    with JobApi(lambda _: Say(202)) as api:
        job = client.start(calling(client, api, callback={"secret": "HOOK_SECRET"}))
        hook = hook_of(api)
        other = "whsec_" + base64.b64encode(b"another secret").decode()
        for wrong in ({}, signed(b"other body"), signed(body, ago_s=600), signed(body, secret=other)):
            assert post(hook, body, wrong) == 403
        assert post(hook, body, signed(body)) == 204
        assert client.ended(job)["status"] == "done"
        assert client.result(job)["result"] == "signed"
        job = client.start(calling(client, api, callback={"secret": "NOBODY_HAS_THIS"}))
        ended = client.ended(job)
        assert "this server has no variable NOBODY_HAS_THIS" in ended["error_message"]


def test_a_worker_that_is_killed_while_it_follows(fresh: Fresh) -> None:
    """kill -9: another worker goes on with the same job, which was started once."""
    here = fresh()
    here.start_server()
    worker = here.start_worker(env=WORKER_ENV)
    client = here.client()
    with JobApi() as api:
        api.show(running())
        job = client.start(tool(client, f"{api.url}/jobs"))
        api.until_asked("GET", 2)
        worker.kill()
        api.show(running(), done("after all"))
        here.start_worker(env=WORKER_ENV)
        ended = client.ended(job)
        assert (ended["status"], ended["attempts"], api.started) == ("done", 2, ["1"])
        assert [each["outcome"] for each in client.attempts(job)] == ["lost", "succeeded"]
        assert client.result(job)["result"] == "after all"
        assert api.asked("DELETE") == []
        assert client.replay(job)


def test_a_worker_that_is_shut_down_hands_the_job_over(fresh: Fresh) -> None:
    """SIGTERM, several times: it leaves at once, and the job is followed to its end."""
    here = fresh()
    here.start_server()
    client = here.client()
    with JobApi() as api:
        api.show(running())
        job = client.start(tool(client, f"{api.url}/jobs"))
        for count in range(1, 3):
            worker = here.start_worker(env=WORKER_ENV, drain_grace_s=60)
            api.until_asked("GET", count)
            assert worker.end(within_s=20) == 0
        api.show(done(1))
        here.start_worker(env=WORKER_ENV)
        assert (client.ended(job)["status"], api.started) == ("done", ["1"])
        begun = [each["outcome"] for each in client.attempts(job) if "startedAt" in each]
        assert begun == ["released", "released", "succeeded"]  # one may also have been offered to who was leaving
        assert api.asked("DELETE") == []
        assert not errors_in(here.log())


def test_a_callback_comes_while_nobody_works(fresh: Fresh) -> None:
    """Worker and server were killed and the server is back: the callback is kept until an attempt goes on with the job.

    The address is the one by which others reach the server, and the same after all.
    """
    here = fresh(public_url="https://runs.example.com/rb/")
    server = here.start_server(env=SERVER_ENV)
    worker = here.start_worker(env=WORKER_ENV)
    client = here.client()
    with JobApi(lambda _: Say(202)) as api:
        job = client.start(calling(client, api, callback={"secret": "HOOK_SECRET"}))
        public = hook_of(api)
        assert public.startswith(f"https://runs.example.com/rb/callbacks/{job}/")
        hook = here.url + public.removeprefix("https://runs.example.com/rb")
        until(lambda: "waiting to be called" in client.output(job).decode(), "it waits", within_s=30)
        worker.kill()
        server.kill()
        here.start_server(env=SERVER_ENV)
        body, other = b'{"status":"done","result":"kept"}', b'{"status":"done","result":"other"}'
        assert post(hook, body, signed(body)) == 204
        assert post(hook, body, signed(body)) == 204
        assert post(hook, other, signed(other)) == 409
        here.start_worker(env=WORKER_ENV)
        ended = client.ended(job)
        assert (ended["status"], client.result(job)["result"], api.started) == ("done", "kept", ["1"])


@pytest.mark.parametrize(
    "is_repeatable", [False, pytest.param(True, marks=pytest.mark.skipif(not IS_FULL, reason="only at full scale"))]
)
def test_a_worker_that_is_killed_while_it_starts_the_job(fresh: Fresh, is_repeatable: bool) -> None:
    """Whether the job began is unknown: said so, unless the tool may be started again, under the same key."""
    here = fresh()
    here.start_server()
    worker = here.start_worker(env=WORKER_ENV)
    client = here.client()
    with JobApi(lambda _: Say(hangs=True)) as api:
        name = tool(client, f"{api.url}/jobs", policy={"idempotent": True} if is_repeatable else {})
        job = client.start(name)
        api.until_asked("POST")
        worker.kill()
        api.accepted = lambda job: Say(202, {}, {"Location": f"/jobs/{job}"})
        api.show(done("again"))
        here.start_worker(env=WORKER_ENV)
        ended = client.ended(job)
        keys = {seen.headers["idempotency-key"] for seen in api.asked("POST")}
        assert (ended["attempts"], len(keys)) == (2, 1)
        if is_repeatable:
            assert (ended["status"], len(api.started)) == ("done", 2)
        else:
            assert (ended["status"], len(api.started)) == ("failed", 1)
            assert "whether the work has begun is unknown" in ended["error_message"]


def test_a_failed_job_is_started_again_by_the_ledger_only(here: Installation) -> None:
    client = here.client()
    with JobApi() as api:
        api.show(Say(200, {"status": "failed", "error": {"message": "no luck"}}), done("third"))
        policy = {"retry": {"attemptsMax": 2, "delayS": 0}}
        job = client.start(tool(client, f"{api.url}/jobs", policy=policy))
        ended = client.ended(job)
        assert (ended["status"], ended["attempts"], len(api.started)) == ("done", 2, 2)
        run_id = client.run(job)["runId"]
        assert [seen.headers["idempotency-key"] for seen in api.asked("POST")] == [run_id, f"{run_id}-2"]


def test_ringback_follows_ringback(here: Installation) -> None:
    """The jobs of another installation, with its token as the secret: here it is this one."""
    client = here.client()
    inner = here.command("echo from the inside")
    token = here.settings.places.token.read_text(encoding="ascii").strip()
    here.start_worker("second", slots=2, pools=["outer"], env={"OTHER_TOKEN": token})
    client.apply(
        {
            "name": "elsewhere",
            "runtime": "http",
            "inputSchema": {"type": "object"},
            "profile": {
                "pool": "outer",
                "secrets": ["OTHER_TOKEN"],
                "http": {
                    "url": f"{here.url}/jobs",
                    "headers": {"Authorization": "Bearer {secret:OTHER_TOKEN}", "Ringback-Project": "default"},
                    "body": {"tool": inner},
                    "follow": {"style": "ringback", **FOLLOW},
                },
            },
        }
    )
    job = client.start("elsewhere")
    ended = client.ended(job)
    assert ended["status"] == "done", ended
    assert client.result(job)["result"] == {"exitCode": 0}
