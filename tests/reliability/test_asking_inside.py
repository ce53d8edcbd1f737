"""Shell scripts inside jobs that ask people: what they print, how they exit, and that a killed server changes nothing of it."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.cli.command import ringback
from tests.reliability.client import Client, Json
from tests.reliability.conftest import Fresh
from tests.reliability.installation import Installation
from tests.reliability.processes import pids
from tests.reliability.waiting import until

PATIENT_LEASE_S = 60.0  # outlasts a server's restart on any machine, so that the attempt goes on
WITHIN_S = 120.0
ASK = f'ask() {{ {sys.executable} -m ringback ask "$@"; }}\n'
FORM = '{"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}'


def _script(here: Installation, text: str, **policy: Any) -> str:
    """A tool that runs a shell script from a file."""
    file = here.work / f"script-{len(list(here.work.glob('script-*')))}.sh"
    file.write_text(text, encoding="utf-8")
    return here.command(["sh", str(file)], **policy)


def _open(client: Client, job: str, title: str) -> Json:
    """The open question of that title, once there is one."""

    def found() -> list[Json]:
        items = client.read("GET", f"/v1/runs/{job}/interactions?status=open")["items"]
        return [each for each in items if each["prompt"]["title"] == title]

    return dict(until(found, f"the job asks {title!r}", within_s=WITHIN_S)[0])


def _respond(client: Client, question: Json, **answer: Any) -> None:
    client.read("POST", f"/v1/interactions/{question['interactionId']}/respond", json=answer)


def _output(client: Client, job: str, stream: str = "stdout") -> str:
    return client.ask("GET", f"/v1/runs/{job}/output?stream={stream}").text


def test_a_script_asks_once_and_goes_on_after_two_restarts_of_the_server(fresh: Fresh) -> None:
    """The issue's own line: an approval from a shell script inside a job."""
    here = fresh(lease_s=PATIENT_LEASE_S)
    server = here.start_server()
    here.start_worker()
    client = here.client()
    tool = _script(here, ASK + 'ask --approve "Deploy 1.4 to production?" && echo deployed "$RINGBACK_RUN_TOKEN"')
    job = client.start(tool)
    asked = _open(client, job, "Deploy 1.4 to production?")
    assert client.job(job)["waiting_for"]["interactionId"] == asked["interactionId"]
    server.kill()
    server = here.start_server()
    server.kill()
    here.start_server()
    titles = [Path(f"/proc/{pid}/cmdline") for pid in pids()]
    assert not [path for path in titles if path.exists() and b"rbr_" in path.read_bytes()], (
        "no process title shows a token"
    )
    answered = ringback(here.data, "answer", job, "--approve", "--json")
    assert (answered.code, answered.json["interactionId"]) == (0, asked["interactionId"]), answered.err

    ended = client.ended(job, within_s=WITHIN_S)

    assert (ended["status"], ended["attempts"]) == ("done", 1)
    assert _output(client, job) == "deployed ***\n"
    assert len(client.read("GET", f"/v1/runs/{job}/interactions")["items"]) == 1
    assert "rbr_" not in here.log()
    again = ringback(here.data, "answer", asked["interactionId"], "--reject")
    assert again.code != 0
    assert "answered: approve, by local-owner" in again.err, "a late answer is shown the first"


def test_exit_codes_and_output_tell_the_answers(installation: Installation) -> None:
    script = (
        ASK
        + f"""
    ask --approve "Yes?"; echo "code $?"
    ask --approve "No?"; echo "code $?"
    ask --input "Who?" --schema '{FORM}'; echo "code $?"
    ask "Where?" --option eu=Europe --option us --description "First of all."; echo "code $?"
    ask --input "Text?" --schema '{{"type": "string"}}' ; echo "code $?"
    ask "Taken back?"; echo "code $?"
    ask "Late?" --expires 200ms; echo "code $?"
    ask "Late, no?" --expires 200ms --on-expiry reject; echo "code $?"
    ask --input "Late, some?" --expires 200ms --default '{{"n": 1}}'; echo "code $?"
    """
    )
    client = installation.client()
    job = client.start(_script(installation, script))
    _respond(client, _open(client, job, "Yes?"), decision="approve")
    _respond(client, _open(client, job, "No?"), decision="reject")
    _respond(client, _open(client, job, "Who?"), payload={"name": "Ada"})
    where = _open(client, job, "Where?")
    assert where["options"] == [{"id": "eu", "label": "Europe"}, {"id": "us", "label": "us"}]
    assert where["prompt"]["description"] == "First of all."
    _respond(client, where, selectedOptionId="eu")
    _respond(client, _open(client, job, "Text?"), payload="so\u00df")
    assert ringback(installation.data, "withdraw", _open(client, job, "Taken back?")["interactionId"]).code == 0
    client.ended(job, within_s=WITHIN_S)
    assert _output(client, job).splitlines() == [
        "code 0",
        "code 1",
        '{"name": "Ada"}',
        "code 0",
        "eu",
        "code 0",
        "so\u00df",
        "code 0",
        "code 3",
        "code 4",
        "code 1",
        '{"n": 1}',
        "code 0",
    ]
    assert "ringback: rejected by local-owner" in _output(client, job, "stderr")


def test_a_script_is_answered_on_the_page_behind_a_link_from_the_command_line(installation: Installation) -> None:
    client = installation.client()
    job = client.start(_script(installation, ASK + 'ask --input "Who?" --schema \'' + FORM + "'"))
    asked = _open(client, job, "Who?")
    made = ringback(installation.data, "answer", job, "--link", "--for", "Bob", "--expires", "5m")
    assert made.code == 0, made.err
    url = made.out.strip()
    assert url.startswith(f"{installation.url}/answer/rba_")
    with httpx2.Client(trust_env=False, timeout=WITHIN_S) as phone:
        assert "Who?" in phone.get(url).text
        assert phone.post(url, data={"action": "answer", "member.name": "Ada"}).status_code == 303
        assert client.ended(job, within_s=WITHIN_S)["status"] == "done"
        assert "Ada" in phone.get(url).text
    assert _output(client, job) == '{"name": "Ada"}\n'
    late = ringback(installation.data, "answer", asked["interactionId"], "name=Eve")
    assert "by local-owner (link for Bob)" in late.err


def test_a_script_goes_on_with_other_work_and_comes_back_for_the_answer(installation: Installation) -> None:
    script = (
        ASK
        + """
    id=$(ask --input "Which?" --key which --no-wait); echo "asked"
    ask --input "Which?" --key which --json | grep -c "$id"
    ask --input "Which?" --key which
    """
    )
    client = installation.client()
    job = client.start(_script(installation, script))
    asked = _open(client, job, "Which?")
    assert asked["blocking"] is False
    until(lambda: "asked" in _output(client, job), "it went on")
    _respond(client, asked, payload=[1, 2])
    assert client.ended(job, within_s=WITHIN_S)["status"] == "done"
    assert _output(client, job) == "asked\n1\n[1, 2]\n"


def test_who_stops_waiting_takes_the_question_back_and_the_job_goes_on(installation: Installation) -> None:
    script = (
        ASK.replace("{ ", "{ exec ")
        + '(ask "Soon?") & sleep 0; while ! [ -e go ]; do sleep 0.1; done; kill $!; wait $!; echo "code $?"'
    )
    client = installation.client()
    (installation.work / "go").unlink(missing_ok=True)
    job = client.start(_script(installation, script))
    asked = _open(client, job, "Soon?")
    (installation.work / "go").touch()
    assert client.ended(job, within_s=WITHIN_S)["status"] == "done"
    assert _output(client, job) == "code 143\n"
    assert client.read("GET", f"/v1/interactions/{asked['interactionId']}")["status"] == "withdrawn"


def test_a_script_that_ends_with_the_code_of_an_unheard_question_has_expired(installation: Installation) -> None:
    client = installation.client()
    script = ASK + 'set -e; ask "Late?" --expires 200ms; echo never'
    job = client.start(_script(installation, script, retry={"attemptsMax": 3, "delayS": 0}))
    ended = client.ended(job, within_s=WITHIN_S)
    assert (ended["status"], ended["error_kind"], ended["attempts"]) == ("failed", "expired", 1)
    assert ended["error_message"] == "nobody answered in time: Late?"
    assert ringback(installation.data, "wait", job).code == 4
    other = client.start(_script(installation, "exit 4"))
    assert client.ended(other, within_s=WITHIN_S)["error_kind"] == "tool_error"


def test_a_stop_ends_the_waiting_and_withdraws_the_question(installation: Installation) -> None:
    client = installation.client()
    job = client.start(_script(installation, ASK + 'ask "Never?"'))
    asked = _open(client, job, "Never?")
    client.stop(job)
    assert client.ended(job, within_s=WITHIN_S)["status"] == "cancelled"
    found = until(
        lambda: (each := client.read("GET", f"/v1/interactions/{asked['interactionId']}"))["status"] != "open" and each,
        "its question is over",
    )
    assert found["status"] == "withdrawn"


def test_while_people_think_the_idle_limit_rests(installation: Installation) -> None:
    client = installation.client()
    tool = _script(installation, ASK + 'ask "Slowly?"; sleep 60', timeouts={"idleS": 2})
    job = client.start(tool)
    asked = _open(client, job, "Slowly?")
    until(lambda: client.job(job, wait_s=5)["status"] == "running", "it waits for longer than its idle limit")
    _respond(client, asked, decision="approve")
    ended = client.ended(job, within_s=WITHIN_S)
    assert (ended["error_kind"], ended["time_limit"]) == ("timeout", "idle"), "afterwards it counts"


def test_outside_of_a_job_it_says_so(tmp_path: Path) -> None:
    for words in (("ask", "Anybody?"), ("progress", "1")):
        ran = ringback(tmp_path, *words)
        assert ran.code == 2
        assert f"`ringback {words[0]}` works inside a job only" in ran.err


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--approve", "--input"], "exclude each other"),
        (["--expires", "soon"], "--expires"),
        (["--schema", "/no/such"], "--schema"),
        (["--respondent", "boss"], "/respondents"),
        (["--on-expiry", "default"], "/default"),
    ],
)
def test_what_cannot_be_asked_is_wrong_usage(installation: Installation, words: list[str], hint: str) -> None:
    client = installation.client()
    quoted = subprocess.list2cmdline(words)
    job = client.start(_script(installation, ASK + f'ask "Well?" {quoted}; echo "code $?"'))
    client.ended(job, within_s=WITHIN_S)
    assert _output(client, job) == "code 2\n"
    assert hint in _output(client, job, "stderr")


def test_progress_comes_from_the_script(installation: Installation) -> None:
    client = installation.client()
    script = f'{sys.executable} -m ringback progress 3 10 -m "third step"'
    ended = client.ended(client.start(_script(installation, script)), within_s=WITHIN_S)
    assert (ended["status"], ended["progress"]) == ("done", {"done": 3, "total": 10, "message": "third step"})
