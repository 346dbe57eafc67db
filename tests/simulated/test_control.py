"""What steers a provider from outside its process: scripts, limits, rates; from this machine."""

from typing import Any

import httpx
import pytest

from simulated.asking import Asking, asking
from stagepost.simulated.asked import Asked
from stagepost.simulated.script import MOST_STEPS, Script, Step


async def post(sim: Asking, path: str, value: Any, **headers: str) -> httpx.Response:
    return await sim.client.post(f"/_sim/{path}", json=value, headers=headers)


async def test_a_script_takes_the_calls_that_it_is_about() -> None:
    async with asking() as sim:
        steps = [
            {"fault": "500", "contains": "clause 3", "times": 2},
            {"answer": "scripted", "model": "sim-small"},
            {"answer": {"a": 1}, "skip": 1},
        ]
        answer = await post(sim, "script", {"steps": steps})
        assert [step["left"] for step in answer.json()["steps"]] == [2, 1, 1]
        seen = [
            (await sim.chat("clause 1")).status_code,
            (await sim.chat("clause 3")).status_code,
            (await sim.chat("see clause 3")).status_code,
        ]
        assert seen == [200, 500, 500]
        small = (await sim.chat("x", model="sim-small")).json()
        data = (await sim.chat("x")).json()
        texts = [each["choices"][0]["message"]["content"] for each in (small, data)]
        assert texts == ["scripted", '{"a":1}']
        assert (await sim.client.get("/_sim/script")).json() == {"steps": []}


async def test_a_script_is_replaced_where_that_is_asked() -> None:
    async with asking(script=[Step(fault="500", times=9)]) as sim:
        await post(sim, "script", {"steps": [{"fault": "503"}], "replace": True})
        assert [(await sim.chat()).status_code for _ in range(2)] == [503, 200]


async def test_limits_and_rates_are_changed_while_it_runs() -> None:
    async with asking() as sim:
        assert (await sim.chat()).status_code == 200
        changed = await post(sim, "limits", {"requests": 1})
        assert changed.json()["requests"] == 1
        assert [(await sim.chat()).status_code for _ in range(2)] == [200, 429]
        assert (await post(sim, "faults", {"503": 1})).json() == {"503": 1.0}
        assert (await sim.chat()).status_code == 503


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("script", {"steps": [{"fault": "bad"}]}, "There is no fault"),
        ("script", {"steps": [{}]}, "needs a fault"),
        ("script", {"steps": [{"fault": "500", "time": 1}]}, "time"),
        ("script", {"steps": [{"fault": "500", "times": 0}]}, "times"),
        ("script", {"steps": [{"fault": "500"}] * (MOST_STEPS + 1)}, "steps"),
        ("script", [], "must be a JSON object"),
        ("limits", {"requests": 0}, "requests"),
        ("limits", {"rpm": 1}, "rpm"),
        ("faults", {"429": 2}, "429"),
        ("faults", {"bad": 0.1}, "There is no fault"),
        ("faults", {"429": "often"}, "429"),
    ],
)
async def test_what_makes_no_sense_changes_nothing(path: str, value: Any, says: str) -> None:
    async with asking() as sim:
        answer = await post(sim, path, value)
        assert answer.status_code == 400
        assert says in answer.json()["error"]["message"]
        assert (await sim.chat()).status_code == 200
        assert (await sim.client.get("/_sim/script")).json() == {"steps": []}


async def test_no_page_of_a_browser_can_steer_it() -> None:
    async with asking() as sim:
        by_name = await post(sim, "faults", {"503": 1}, host="evil.example")
        plain = await sim.client.post("/_sim/faults", content='{"503": 1}')
        read = await sim.client.get("/_sim/summary", headers={"host": "evil.example:80"})
        assert [by_name.status_code, plain.status_code, read.status_code] == [403, 400, 403]
        assert (await sim.chat()).status_code == 200


def test_a_script_is_bounded() -> None:
    script = Script([Step(fault="500")] * MOST_STEPS)
    with pytest.raises(ValueError, match="at most"):
        script.add([Step(fault="500")])
    assert len(script.coming) == MOST_STEPS
    script.clear()
    assert script.take(Asked(path="", model="", text="")) is None
