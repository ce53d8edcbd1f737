"""Questions whose worker, or whose server, is killed while people think."""

from typing import Any

from tests.cli.command import ringback
from tests.reliability.client import Client, Json
from tests.reliability.conftest import Fresh
from tests.reliability.installation import FUNCTIONS
from tests.reliability.waiting import until

PATIENT_LEASE_S = 60.0  # outlasts a server's restart on any machine, so that the attempt goes on
WITHIN_S = 120.0


def _asked(client: Client, job: str, title: str, *, other_than: str = "") -> Json:
    """The open question of that title, once there is one."""

    def found() -> list[Json]:
        items = client.read("GET", f"/v1/runs/{job}/interactions?status=open")["items"]
        return [each for each in items if each["prompt"]["title"] == title and each["interactionId"] != other_than]

    return dict(until(found, f"the job asks {title!r}", within_s=WITHIN_S)[0])


def _respond(client: Client, question: Json, **answer: Any) -> Json:
    path = f"/v1/interactions/{question['interactionId']}/respond"
    return dict(client.read("POST", path, json=answer))


def test_a_question_and_its_answer_outlive_the_server(fresh: Fresh) -> None:
    """Killed while the question is open, and again as soon as it was answered: the one attempt goes on and ends."""
    here = fresh(lease_s=PATIENT_LEASE_S)
    server = here.start_server()
    here.start_worker(app=FUNCTIONS)
    client = here.client()
    job = client.start("ask_twice")
    asked = _asked(client, job, "Go on?")
    assert client.job(job)["waiting_for"]["interactionId"] == asked["interactionId"]
    server.kill()
    server = here.start_server()
    assert _asked(client, job, "Go on?")["interactionId"] == asked["interactionId"]

    _respond(client, asked, decision="approve")
    server.kill()
    here.start_server()
    _respond(client, _asked(client, job, "Whose name?"), payload={"name": "Ada"})

    ended = client.ended(job, within_s=WITHIN_S)
    assert (ended["status"], ended["attempts"]) == ("done", 1)
    assert client.result(job)["result"] == ["approve", {"name": "Ada"}]


def test_a_question_is_asked_again_after_its_worker_was_killed_and_an_answer_is_not(fresh: Fresh) -> None:
    """What had been answered is known to the next attempt; what was open is withdrawn and asked anew."""
    here = fresh()
    here.start_server()
    worker = here.start_worker(app=FUNCTIONS)
    client = here.client()
    job = client.start("ask_twice")
    approved = ringback(here.data, "answer", str(_asked(client, job, "Go on?")["jobId"]), "--approve", "--json")
    assert (approved.code, approved.json["status"]) == (0, "answered"), approved.err
    left = _asked(client, job, "Whose name?")
    worker.kill()
    here.start_worker(app=FUNCTIONS)

    asked = _asked(client, job, "Whose name?", other_than=left["interactionId"])
    late = client.ask("POST", f"/v1/interactions/{left['interactionId']}/respond", json={"payload": {"name": "x"}})
    assert (late.status_code, late.json()["code"]) == (409, "already_answered")
    assert late.json()["interactionStatus"] == "withdrawn"
    shown = ringback(here.data, "answer", asked["interactionId"])
    assert "Whose name?" in shown.out
    assert "name" in shown.out.splitlines()[-1]
    wrong = ringback(here.data, "answer", asked["interactionId"], "--approve", "name:=7", "--json")
    assert (wrong.code, wrong.json["error"]["code"]) == (2, "invalid_input")
    assert ringback(here.data, "answer", asked["interactionId"], "name=Ada").code == 0

    ended = client.ended(job, within_s=WITHIN_S)
    assert (ended["status"], ended["attempts"]) == ("done", 2)
    assert client.result(job)["result"] == ["approve", {"name": "Ada"}]
    again = ringback(here.data, "answer", asked["interactionId"], "name=Eve", "--json")
    assert again.json["error"]["code"] == "already_answered"
    assert ringback(here.data, "answer", job).code == 2, "it asks nothing any more"


def test_a_parked_job_holds_no_slot_and_goes_on_where_it_stopped(fresh: Fresh) -> None:
    """One slot: another job runs on it meanwhile. The server and the worker are killed while people think."""
    here = fresh()
    server = here.start_server()
    worker = here.start_worker(app=FUNCTIONS, slots=1)
    client = here.client()
    file = here.work / "steps"
    job = client.start("ask_parked", {"file": str(file)})
    asked = _asked(client, job, "Deploy?")
    until(lambda: client.attempts(job)[0].get("outcome") == "released", "its attempt gave the slot back")
    shown = client.job(job)
    assert (shown["status"], shown["waiting_for"]["interactionId"]) == ("running", asked["interactionId"])
    assert client.ended(client.start(here.command("true")), within_s=WITHIN_S)["status"] == "done"
    server.kill()
    worker.kill()
    here.start_server()
    here.start_worker(app=FUNCTIONS, slots=1)
    assert _asked(client, job, "Deploy?")["interactionId"] == asked["interactionId"]

    _respond(client, asked, decision="approve")

    ended = client.ended(job, within_s=WITHIN_S)
    assert (ended["status"], ended["attempts"]) == ("done", 2)
    assert client.result(job)["result"] == [2, "prepared", "approve"]
    attempts = client.attempts(job)
    assert [(each["reason"], each["outcome"]) for each in attempts] == [("first", "released"), ("answer", "succeeded")]
    assert file.read_text(encoding="utf-8") == "prepared\n", "what was kept was not done again"
    assert len(client.read("GET", f"/v1/runs/{job}/interactions")["items"]) == 1


def test_a_stop_ends_a_parked_job_at_once_and_an_unanswered_question_ends_one_as_expired(fresh: Fresh) -> None:
    here = fresh()
    here.start_server()
    here.start_worker(app=FUNCTIONS)
    client = here.client()
    job = client.start("ask_parked", {"file": str(here.work / "steps")})
    _asked(client, job, "Deploy?")
    until(lambda: client.attempts(job)[0].get("outcome") == "released", "its attempt gave the slot back")
    client.stop(job)
    stopped = client.ended(job, within_s=WITHIN_S)
    assert (stopped["status"], stopped["end_reason"]) == ("cancelled", "cancelled_cooperatively")

    unheard = client.start("ask_in_vain")
    ended = client.ended(unheard, within_s=WITHIN_S)
    assert (ended["status"], ended["error_kind"]) == ("failed", "expired")
    assert [each["outcome"] for each in client.attempts(unheard)] == ["released", "failed"]
    assert ringback(here.data, "wait", unheard).code == 4
