"""Many runs in one request."""

from __future__ import annotations

from typing import Any

from tests.api.door import Door


def asked(**more: Any) -> dict[str, Any]:
    return {"tool": "echo", "input": {"mode": "tool", "arguments": {}}, **more}


async def test_a_batch_starts_each_run_and_says_which_it_became(door: Door) -> None:
    answer = await door.client.post("/v1/runs/batch", json={"runs": [asked() for _ in range(600)]})

    assert answer.status_code == 202
    items = answer.json()["items"]
    assert len({item["runId"] for item in items}) == 600
    assert (await door.run(items[-1]["runId"]))["status"] == "queued"


async def test_a_refused_run_stands_in_no_others_way(door: Door) -> None:
    runs = [asked(), asked(tool="nope"), asked(dependsOn=["unknown"]), asked()]

    items = (await door.client.post("/v1/runs/batch", json={"runs": runs})).json()["items"]

    assert ["runId" in item for item in items] == [True, False, False, True]
    assert [items[n]["problem"]["code"] for n in (1, 2)] == ["not_found", "invalid_dependency"]


async def test_each_run_has_its_own_key_and_two_of_one_batch_may_share_it(door: Door) -> None:
    runs = [asked(idempotencyKey="k"), asked(idempotencyKey="k")]

    first = (await door.client.post("/v1/runs/batch", json={"runs": runs})).json()["items"]
    again = (await door.client.post("/v1/runs/batch", json={"runs": runs})).json()["items"]

    assert {item["runId"] for item in (*first, *again)} == {first[0]["runId"]}
    assert [item.get("replayed", False) for item in (*first, *again)] == [False, True, True, True]


async def test_a_batch_of_the_wrong_size_or_shape_is_refused_whole(door: Door) -> None:
    for body, pointer in (
        ({"runs": []}, "/runs"),
        ({"runs": [asked()] * 1001}, "/runs"),
        ({"runs": [asked(surprise=1)]}, "/runs/0/surprise"),
    ):
        answer = await door.client.post("/v1/runs/batch", json=body)
        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, pointer)
    header = {"idempotency-key": "k"}
    assert (await door.client.post("/v1/runs/batch", json={"runs": [asked()]}, headers=header)).status_code == 400
    assert (await door.get("/v1/runs"))["items"] == []
