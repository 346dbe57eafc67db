"""Files and batches as OpenAI has them: uploaded, run, cancelled, their outputs read."""

import json
from collections.abc import Sequence
from typing import Any

import httpx
import pytest

from simulated.asking import CHAT, Asking, asking, chat_body
from stagepost.simulated import Step
from stagepost.simulated.files import MOST_FILE
from support.waiting import until

EMBEDDINGS = "/v1/embeddings"


def line(number: int, url: str = CHAT, **body: Any) -> dict[str, Any]:
    return {
        "custom_id": f"call-{number}",
        "method": "POST",
        "url": url,
        "body": body or chat_body(f"clause {number}"),
    }


async def upload(sim: Asking, lines: Sequence[Any], purpose: str = "batch") -> str:
    text = "\n".join(json.dumps(each) for each in lines).encode()
    answer = await sim.client.post(
        "/v1/files", data={"purpose": purpose}, files={"file": ("calls.jsonl", text)}
    )
    assert answer.status_code == 200, answer.text
    assert answer.json()["bytes"] == len(text)
    identity: str = answer.json()["id"]
    return identity


async def create(sim: Asking, file: str, **more: Any) -> httpx.Response:
    body = {"input_file_id": file, "endpoint": CHAT, "completion_window": "24h", **more}
    return await sim.client.post("/v1/batches", json=body)


async def ended(sim: Asking, batch: str) -> dict[str, Any]:
    await until(lambda: sim.provider.batches.get(batch).over)
    found: dict[str, Any] = (await sim.client.get(f"/v1/batches/{batch}")).json()
    return found


async def content(sim: Asking, file: str) -> list[dict[str, Any]]:
    text = (await sim.client.get(f"/v1/files/{file}/content")).text
    return [json.loads(each) for each in text.splitlines()]


async def test_a_batch_answers_each_line_at_half_the_price() -> None:
    async with asking(batch_seconds=0, price=(2.0, 10.0)) as sim:
        direct = (await sim.chat("clause 1")).json()
        paid = sim.provider.ledger.dollars
        file = await upload(sim, [line(1)])
        made = (await create(sim, file, metadata={"for": "test"})).json()
        assert made["status"] == "validating"
        batch = await ended(sim, made["id"])
        assert batch["status"] == "completed"
        assert batch["metadata"] == {"for": "test"}
        assert batch["request_counts"] == {"total": 1, "completed": 1, "failed": 0}
        assert batch["error_file_id"] is None
        [answer] = await content(sim, batch["output_file_id"])
        assert answer["custom_id"] == "call-1"
        assert answer["response"]["status_code"] == 200
        assert answer["response"]["body"]["choices"] == direct["choices"]
        assert sim.provider.ledger.dollars == pytest.approx(paid * 1.5)


async def test_lines_that_fail_come_in_a_file_of_their_own() -> None:
    steps = [Step(fault="content-filter", contains="clause 2")]
    async with asking(batch_seconds=0, script=steps) as sim:
        lines = [line(1), line(2), line(3, model="none", messages=[]), line(4)]
        batch = await ended(sim, (await create(sim, await upload(sim, lines))).json()["id"])
        assert batch["request_counts"] == {"total": 4, "completed": 2, "failed": 2}
        errors = await content(sim, batch["error_file_id"])
        answers = await content(sim, batch["output_file_id"])
    assert [each["custom_id"] for each in answers] == ["call-1", "call-4"]
    assert [each["custom_id"] for each in errors] == ["call-2", "call-3"]
    assert errors[0]["response"]["body"]["error"]["code"] == "content_filter"
    assert sim.provider.ledger.refused == {"400 content-filter": 1}


async def test_a_batch_that_is_cancelled_keeps_what_was_done() -> None:
    async with asking(batch_seconds=3_000, speed=100) as sim:
        lines = [line(number) for number in range(1_000)]
        made = (await create(sim, await upload(sim, lines))).json()["id"]
        await until(lambda: len(sim.provider.batches.get(made).answers) >= 2)
        told = (await sim.client.post(f"/v1/batches/{made}/cancel")).json()
        assert told["status"] == "cancelling"
        batch = await ended(sim, made)
        again = await sim.client.post(f"/v1/batches/{made}/cancel")
        done = batch["request_counts"]["completed"]
        assert batch["status"] == "cancelled"
        assert 2 <= done < 1_000
        assert len(await content(sim, batch["output_file_id"])) == done
        assert sim.provider.ledger.billed == done
        assert again.status_code == 400


async def test_a_batch_that_waits_is_cancelled_at_once() -> None:
    async with asking(batch_seconds=86_400) as sim:
        made = (await create(sim, await upload(sim, [line(1)]))).json()["id"]
        await until(lambda: sim.provider.batches.get(made).status == "in_progress")
        await sim.client.post(f"/v1/batches/{made}/cancel")
        batch = await ended(sim, made)
    assert (batch["status"], batch["output_file_id"]) == ("cancelled", None)


async def test_embeddings_go_in_batches_too() -> None:
    lines = [line(n, EMBEDDINGS, model="sim-embedding", input=f"text {n}") for n in range(2)]
    async with asking(batch_seconds=0) as sim:
        made = await create(sim, await upload(sim, lines), endpoint=EMBEDDINGS)
        batch = await ended(sim, made.json()["id"])
        answers = await content(sim, batch["output_file_id"])
    assert len(answers[0]["response"]["body"]["data"][0]["embedding"]) == 256


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ([], "no lines"),
        ([{"a": 1}], "Line 1: custom_id"),
        ([line(1), line(1)], "Line 2: the custom_id"),
        ([line(1, EMBEDDINGS)], "Line 1: method and url"),
        ([[1]], "Line 1: The body must be"),
        ([{**line(1), "body": 1}], "Line 1: body"),
    ],
)
async def test_a_file_that_makes_no_sense_fails_the_batch(lines: Any, says: str) -> None:
    async with asking(batch_seconds=0) as sim:
        batch = await ended(sim, (await create(sim, await upload(sim, lines))).json()["id"])
        assert batch["status"] == "failed"
        assert says in batch["errors"]["data"][0]["message"]
        assert sim.provider.ledger.received == 0


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"endpoint": "/v1/none"}, "endpoint"),
        ({"completion_window": "1h"}, "24h"),
        ({"input_file_id": "file-none"}, "No such File"),
    ],
)
async def test_a_batch_that_makes_no_sense_is_refused(change: Any, says: str) -> None:
    async with asking() as sim:
        answer = await create(sim, await upload(sim, [line(1)]), **change)
        assert answer.status_code in {400, 404}
        assert says in answer.json()["error"]["message"]
        assert (await sim.client.get("/v1/batches")).json()["data"] == []


async def test_files_are_told_deleted_and_bounded() -> None:
    async with asking() as sim:
        file = await upload(sim, [line(1)], purpose="user_data")
        wrong = await create(sim, file)
        told = (await sim.client.get(f"/v1/files/{file}")).json()
        gone = (await sim.client.delete(f"/v1/files/{file}")).json()
        after = await sim.client.get(f"/v1/files/{file}")
        unformed = await sim.client.post("/v1/files", json={"purpose": "batch"})
        large = await sim.client.post(
            "/v1/files",
            data={"purpose": "batch"},
            files={"file": ("x", b"x" * (MOST_FILE + 2**20))},
        )
    assert wrong.status_code == 400
    assert (told["filename"], gone["deleted"]) == ("calls.jsonl", True)
    assert [after.status_code, unformed.status_code, large.status_code] == [404, 400, 413]


async def test_a_batch_whose_answer_fails_is_told_to_have_failed() -> None:
    def fails(_asked: Any) -> Any:
        raise RuntimeError("of the test")

    async with asking(batch_seconds=0, answer=fails) as sim:
        batch = await ended(sim, (await create(sim, await upload(sim, [line(1)]))).json()["id"])
    assert batch["status"] == "failed"
    assert "has failed" in batch["errors"]["data"][0]["message"]


async def test_batches_that_run_end_with_the_server() -> None:
    async with asking(batch_seconds=86_400) as sim:
        made = (await create(sim, await upload(sim, [line(1)]))).json()["id"]
        await until(lambda: sim.provider.batches.get(made).status == "in_progress")
        listed = (await sim.client.get("/v1/batches?limit=5")).json()["data"]
        assert [batch["id"] for batch in listed] == [made]
    assert sim.provider.batches.get(made).status == "in_progress"
