"""The page behind a link over HTTP: looked at often, answered once, and closed to everything else."""

from __future__ import annotations

import asyncio
import logging
from typing import Any
from urllib.parse import urlencode

import httpx2
import pytest

from tests.api.callers import user
from tests.api.door import Door
from tests.api.test_interactions import FORM, _asked

FORM_TYPE = {"content-type": "application/x-www-form-urlencoded"}


class Phone:
    """A browser without an account."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._client = httpx2.AsyncClient(trust_env=False, timeout=30)

    async def __aenter__(self) -> Phone:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    async def look(self) -> httpx2.Response:
        return await self._client.get(self.url)

    async def send(self, headers: dict[str, str] | None = None, /, **form: str) -> httpx2.Response:
        return await self._client.post(self.url, content=urlencode(form), headers={**FORM_TYPE, **(headers or {})})


async def _linked(door: Door, body: Any = None, **question: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """A question, and a link to it."""
    _, _, item = await _asked(door, **question)
    made = await door.client.post(f"/v1/interactions/{item['interactionId']}/links", json=body or {})
    assert made.status_code == 201, made.text
    assert made.headers["cache-control"] == "no-store"
    return item, made.json()


async def test_a_question_is_answered_from_a_phone(door: Door) -> None:
    item, link = await _linked(door, {"label": "Bob"}, description="To production.")
    assert link["url"].startswith(str(door.client.base_url).rstrip("/") + "/answer/rba_")
    async with Phone(link["url"]) as phone:
        for _ in range(3):  # previews look, too
            page = await phone.look()
            assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
            assert "Deploy?" in page.text
            assert "To production." in page.text
        assert page.headers["referrer-policy"] == "no-referrer"
        assert "default-src 'none'" in page.headers["content-security-policy"]

        sent = await phone.send(action="approve")

        assert sent.status_code == 303
        ended = await phone._client.get(str(httpx2.URL(phone.url).join(sent.headers["location"])))
        assert "This question was answered" in ended.text
        assert "tester (link for Bob)" in ended.text
        late = await phone.send(action="reject")
        assert (late.status_code, "too late" in late.text, "approved" in late.text) == (409, True, True)
    answered = await door.get(f"/v1/interactions/{item['interactionId']}")
    assert (answered["response"]["decision"], answered["response"]["linkId"]) == ("approve", link["linkId"])


async def test_a_form_is_filled_in_and_mended(door: Door) -> None:
    item, link = await _linked(door, kind="input", responseSchema=FORM)
    async with Phone(link["url"]) as phone:
        assert 'type="number"' in (await phone.look()).text
        for form in ({"member.n": "0"}, {"member.n": "x"}, {}):
            wrong = await phone.send(action="answer", **form)
            assert wrong.status_code == 422
            assert "not an answer yet" in wrong.text
        assert (await phone.send()).status_code == 422
        assert (await phone.send(action="answer", **{"member.n": "7"})).status_code == 303
    assert (await door.get(f"/v1/interactions/{item['interactionId']}"))["response"]["payload"] == {"n": 7}


async def test_an_option_is_chosen_and_a_refusal_is_possible(door: Door) -> None:
    options = [{"id": "a", "label": "Now"}, {"id": "b"}]
    item, link = await _linked(door, kind="input", options=options)
    async with Phone(link["url"]) as phone:
        assert "Now" in (await phone.look()).text
        assert (await phone.send(action="answer", option="z")).status_code == 422
        assert (await phone.send(action="reject")).status_code == 303
    assert (await door.get(f"/v1/interactions/{item['interactionId']}"))["status"] == "rejected"


async def test_of_a_link_and_a_member_at_once_one_counts_and_both_see_it(door: Door) -> None:
    item, link = await _linked(door)
    path = f"/v1/interactions/{item['interactionId']}/respond"
    async with Phone(link["url"]) as phone:
        sent, said = await asyncio.gather(
            phone.send(action="approve"), door.client.post(path, json={"decision": "reject"})
        )
        assert sorted((sent.status_code, said.status_code)) in ([200, 409], [303, 409])
        counted = (await door.get(f"/v1/interactions/{item['interactionId']}"))["response"]["decision"]
        shown = {"approve": "approved", "reject": "rejected"}[counted]
        assert shown in (await phone.look()).text


async def test_a_link_is_listed_revoked_and_then_opens_nothing(door: Door) -> None:
    item, link = await _linked(door, {"label": "Bob", "role": "runner", "expiresInS": 60})
    path = f"/v1/interactions/{item['interactionId']}/links"
    (listed,) = (await door.get(path))["items"]
    assert (listed["linkId"], listed["label"], listed["role"]) == (link["linkId"], "Bob", "runner")
    assert "url" not in listed
    assert (await door.client.delete(f"{path}/{link['linkId']}")).status_code == 204
    async with Phone(link["url"]) as phone, Phone(link["url"][:-3] + "abc") as stranger:
        pages = [await phone.look(), await stranger.look(), await phone.send(action="approve")]
        assert {page.status_code for page in pages} == {404}
        assert len({page.text for page in pages}) == 1
    assert "revokedAt" in (await door.get(path))["items"][0]
    assert (await door.get(f"/v1/interactions/{item['interactionId']}"))["status"] == "open"


async def test_what_is_no_form_of_this_page_is_refused(door: Door) -> None:
    item, link = await _linked(door)
    async with Phone(link["url"]) as phone:
        assert (await phone.send({"sec-fetch-site": "cross-site"}, action="approve")).status_code == 403
        assert (await phone.send({"content-type": "application/json"}, action="approve")).status_code == 415
        assert (await phone.send(**{f"n{number}": "x" for number in range(300)})).status_code == 422
        assert (await phone.send(action="x" * 300_000)).status_code == 413
        assert (await phone._client.put(phone.url)).status_code == 405
        head = await phone._client.head(phone.url)
        assert (head.status_code, head.content) == (200, b"")
        assert (await phone.send({"sec-fetch-site": "same-origin"}, action="approve")).status_code == 303
    assert (await door.get(f"/v1/interactions/{item['interactionId']}"))["status"] == "answered"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"role": "boss"}, 422),
        ({"expiresInS": 0}, 422),
        ({"label": "x" * 101}, 422),
        ({"surprise": 1}, 422),
        ({"role": "viewer"}, 403),
    ],
)
async def test_a_link_that_cannot_be_is_refused(door: Door, body: Any, status: int) -> None:
    _, _, item = await _asked(door)
    answer = await door.client.post(f"/v1/interactions/{item['interactionId']}/links", json=body)
    assert answer.status_code == status, answer.text
    assert (await door.get(f"/v1/interactions/{item['interactionId']}/links"))["items"] == []


async def test_a_link_of_a_maker_who_left_opens_nothing(door: Door) -> None:
    _, _, item = await _asked(door, respondents=["editor"])
    path = f"/v1/interactions/{item['interactionId']}/links"
    runner, editor = [await user(door, name, {"default": name}) for name in ("runner", "editor")]
    refused = await door.client.post(path, json={}, headers=runner)
    assert (refused.status_code, refused.json()["code"]) == (403, "not_a_respondent")
    made = await door.client.post(path, json={}, headers=editor)
    assert (made.status_code, made.json()["role"]) == (201, "editor")
    async with Phone(made.json()["url"]) as phone:
        assert (await door.client.put("/v1/members/editor", json={"role": "runner"})).is_success
        assert (await phone.send(action="approve")).status_code == 403
        assert (await door.client.delete("/v1/members/editor")).is_success
        assert (await phone.look()).status_code == 404


async def test_no_log_shows_what_opens_a_question(door: Door, caplog: pytest.LogCaptureFixture) -> None:
    _, link = await _linked(door)
    token = link["url"].rpartition("/")[2]
    with caplog.at_level(logging.DEBUG):
        async with Phone(link["url"]) as phone:
            await phone.look()
            await phone.send(action="approve")
    told = [str({**vars(record)}) for record in caplog.records if record.name.startswith("ringback")]
    assert any("/answer/{token}" in each for each in told)
    assert not [each for each in told if token in each]
