"""What the API tells of the calls that a running handler makes."""

from pathlib import Path

import pytest

from engine_kit.models import ended
from stagepost.simulated import Step
from web.kit import API
from web.served_models import served


async def test_a_call_is_told_everywhere_it_belongs(tmp_path: Path) -> None:
    async with served(tmp_path, Step(fault="429", wait=1), speed=10) as (engine, provider, client):
        task = await ended(engine, "ask", "What is due?")
        path = f"{API}/tasks/{task.id}"
        refused, answered = (await client.get(f"{path}/calls")).json()["items"]
        assert (refused["state"], refused["cost"]) == ("REFUSED", 0)
        usage, cost = answered["usage"], answered["cost"]
        assert cost == pytest.approx((usage["input"] * 2 + usage["output"] * 10) / 1_000_000)
        assert cost > 0
        whole = (await client.get(f"{path}/calls/{answered['callId']}")).json()
        assert whole["requestBody"]["messages"] == [{"role": "user", "content": "What is due?"}]
        assert whole["answerBody"]["text"] == (await client.get(f"{path}/result")).json()
        (step,) = (await client.get(f"{path}/steps")).json()["items"]
        assert (step["path"], step["cost"]) == (answered["step"], cost) == ("read", cost)
        spent = (await client.get(path)).json()["spent"]
        assert (spent["calls"], spent["refused"], spent["cost"]) == (2, 1, cost)
        (sums,) = (await client.get(f"{API}/usage", params={"by": "model"})).json()["items"]
        assert (sums["provider"], sums["model"], sums["cost"]) == ("main", "sim-large", cost)
        limits = (await client.get(f"{API}/limits")).json()["items"]
        requests = next(each for each in limits if each["name"] == "model:main/sim-large:requests")
        assert (requests["used"], requests["held"]) == (2, 0)
        assert provider.ledger.billed == 1
