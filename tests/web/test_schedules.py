"""Schedules over HTTP."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest

from stagepost.maintenance.planner import Planner
from web.kit import API, Engine, engine_in, http

PATH = f"{API}/schedules"
HOURLY = {"name": "hourly", "type": "echo", "cron": "0 * * * *"}


async def made(client: httpx.AsyncClient, **changes: Any) -> Any:
    response = await client.post(PATH, json={**HOURLY, **changes})
    assert response.status_code == 201, response.text
    assert response.headers["location"] == f"{PATH}/{response.json()['scheduleId']}"
    return response.json()


def instants(texts: list[str]) -> list[datetime]:
    return [datetime.fromisoformat(text) for text in texts]


async def refused(client: httpx.AsyncClient, body: Any, field: str) -> str:
    response = await client.post(PATH, json=body)
    assert response.status_code == 422, response.text
    problem = response.json()
    assert problem["type"] == "urn:stagepost:problem:validation"
    places = [fault["pointer"] for fault in problem["errors"]]
    assert places == [f"#/{field}" if field else "#"], problem
    return " ".join(fault["detail"] for fault in problem["errors"])


class TestCreate:
    async def test_a_schedule_is_told_with_its_next_runs(self, client: httpx.AsyncClient) -> None:
        schedule = await made(client, input={"text": "hi"}, timezone="US/Pacific")
        assert schedule.pop("scheduleId")
        assert schedule.pop("createdAt")
        runs = instants(schedule.pop("nextRuns"))
        assert len(runs) == 10
        assert all(run.minute == 0 for run in runs)
        assert all(later - run == timedelta(hours=1) for run, later in pairwise(runs))
        assert timedelta() < runs[0] - datetime.now(UTC) <= timedelta(hours=1)
        assert schedule == {
            "name": "hourly",
            "type": "echo",
            "input": {"text": "hi", "number": 0, "words": [], "nested": {}},
            "cron": "0 * * * *",
            "everySeconds": None,
            "at": None,
            "timezone": "US/Pacific",
            "lane": "interactive",
            "overlap": "skip",
            "misfire": "skip",
            "jitterSeconds": 0,
            "paused": False,
            "tenant": "local",
            "user": "local",
            "waitingRuns": 0,
            "held": None,
            "lastRun": None,
            "lastSkipped": None,
        }

    async def test_all_of_its_options_are_kept(self, client: httpx.AsyncClient) -> None:
        options = {
            "overlap": "cancelOld",
            "misfire": "once",
            "jitterSeconds": 7,
            "lane": "batch",
            "paused": True,
        }
        schedule = await made(client, **options)
        assert {name: schedule[name] for name in options} == options
        assert len(schedule["nextRuns"]) == 10, "those that it would have"

    async def test_an_interval_counts_from_its_beginning(self, client: httpx.AsyncClient) -> None:
        schedule = await made(client, cron=None, everySeconds=90)
        created = datetime.fromisoformat(schedule["createdAt"])
        first, second = instants(schedule["nextRuns"])[:2]
        assert (first - created, second - first) == (timedelta(seconds=90),) * 2

    async def test_once_has_one_next_run(self, client: httpx.AsyncClient) -> None:
        at = (datetime.now(UTC) + timedelta(days=3)).isoformat()
        schedule = await made(client, cron=None, at=at)
        assert len(schedule["nextRuns"]) == 1
        assert schedule["at"] == schedule["nextRuns"][0]

    @pytest.mark.parametrize(
        ("changes", "field", "says"),
        [
            ({"type": "nonsense"}, "type", 'There is no task type "nonsense"'),
            ({"lane": "nowhere"}, "lane", "there are: interactive, batch"),
            ({"input": {"number": "x"}}, "input/number", "valid integer"),
            ({"input": {"txet": "x"}}, "input/txet", "no such field"),
            ({"type": "review", "input": {"file": "x"}}, "input/file", "can't name files"),
            ({"cron": "61 * * * *"}, "cron", "look at the minute"),
            ({"cron": "* * * * * *"}, "cron", "five fields"),
            ({"cron": "0 0 31 2 *"}, "cron", "look at the day-of-month"),
            ({"timezone": "Mars/Olympus"}, "timezone", "IANA"),
            ({"cron": None}, "", "exactly one of"),
            ({"everySeconds": 60}, "", "exactly one of"),
            ({"cron": None, "everySeconds": 0}, "everySeconds", "greater than or equal to 1"),
            ({"cron": None, "everySeconds": 1.5}, "everySeconds", "valid integer"),
            ({"cron": None, "everySeconds": 5, "jitterSeconds": 5}, "jitterSeconds", "shorter"),
            ({"cron": None, "at": "2020-01-01T00:00:00Z"}, "at", "future"),
            ({"cron": None, "at": "2099-01-01T00:00:00Z"}, "at", "must lie in the future"),
            ({"cron": None, "at": "tomorrow"}, "at", "RFC 3339"),
            ({"overlap": "allow"}, "overlap", "'skip', 'queue' or 'cancelOld'"),
            ({"misfire": "some"}, "misfire", "'skip', 'once' or 'all'"),
            ({"jitterSeconds": 3_601}, "jitterSeconds", "3600"),
            ({"name": ""}, "name", "at least 1"),
            ({"name": "a\nb"}, "name", "printable"),
            ({"paused": "yes"}, "paused", "boolean"),
            ({"crno": "x"}, "crno", "There is no such field; there are: name, "),
        ],
    )
    async def test_what_is_wrong_is_named(
        self, client: httpx.AsyncClient, changes: dict[str, Any], field: str, says: str
    ) -> None:
        body = {name: value for name, value in {**HOURLY, **changes}.items() if value is not None}
        assert says in await refused(client, body, field)
        assert (await client.get(PATH)).json()["items"] == []

    async def test_what_never_comes_is_refused(self, client: httpx.AsyncClient) -> None:
        says = await refused(client, {**HOURLY, "cron": "0 0 31 2,4,6 *"}, "cron")
        assert "day" in says

    async def test_the_planned_instant_may_stand_in_the_input(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        wish = {"text": "{plannedAt}", "words": ["for {plannedAt}"]}
        schedule = await made(client, cron=None, everySeconds=1, input=wish)
        assert schedule["input"] == wish
        task = await first_task(engine, client, schedule)
        assert task["input"]["text"] == schedule["nextRuns"][0]
        assert task["input"]["words"] == ["for {plannedAt}"]


async def first_task(engine: Engine, client: httpx.AsyncClient, schedule: Any) -> Any:
    """Wait for the first task of a schedule of seconds."""
    planner = Planner(engine.store, engine.clock)
    tag = f"schedule:{schedule['scheduleId']}"
    for _ in range(600):
        await planner.look()
        found = (await client.get(f"{API}/tasks", params={"tag": tag})).json()["items"]
        if found:
            return (await client.get(f"{API}/tasks/{found[-1]['taskId']}")).json()
        await engine.clock.sleep(0.05)
    raise AssertionError("nothing was submitted")


class TestChange:
    async def test_it_is_paused_and_goes_on(self, client: httpx.AsyncClient) -> None:
        schedule = await made(client)
        url = f"{PATH}/{schedule['scheduleId']}"
        for paused in (True, False):
            response = await client.patch(url, json={"paused": paused})
            assert response.json() == {**schedule, "paused": paused}
            assert (await client.get(url)).json()["paused"] is paused

    async def test_one_timing_takes_the_place_of_another(self, client: httpx.AsyncClient) -> None:
        schedule = await made(client)
        url = f"{PATH}/{schedule['scheduleId']}"
        changed = (await client.patch(url, json={"everySeconds": 120, "name": "new"})).json()
        assert (changed["cron"], changed["everySeconds"], changed["name"]) == (None, 120, "new")
        back = (await client.patch(url, json={"cron": "5 5 * * *"})).json()
        assert (back["cron"], back["everySeconds"]) == ("5 5 * * *", None)

    @pytest.mark.parametrize(
        "changes",
        [
            {"cron": "nonsense"},
            {"timezone": "nowhere"},
            {"input": {"number": "x"}},
            {"type": "nonsense"},
            {"lane": "nowhere"},
            {"cron": "* * * * *", "everySeconds": 5},
        ],
    )
    async def test_what_is_wrong_changes_nothing(
        self, client: httpx.AsyncClient, changes: dict[str, Any]
    ) -> None:
        schedule = await made(client)
        url = f"{PATH}/{schedule['scheduleId']}"
        assert (await client.patch(url, json=changes)).status_code == 422
        assert (await client.get(url)).json() == schedule

    async def test_it_is_ended(self, client: httpx.AsyncClient) -> None:
        url = f"{PATH}/{(await made(client))['scheduleId']}"
        assert (await client.delete(url)).status_code == 204
        for call in (client.get(url), client.delete(url), client.patch(url, json={})):
            assert (await call).status_code == 404


class TestLooking:
    async def test_they_come_in_pages(self, client: httpx.AsyncClient) -> None:
        ids = [(await made(client))["scheduleId"] for _ in range(5)]
        found: list[str] = []
        after: str | None = None
        for _ in range(3):
            behind = {"after": after} if after else {}
            page = (await client.get(PATH, params={"limit": "2", **behind})).json()
            found += [item["scheduleId"] for item in page["items"]]
            after = page["next"]
        assert (found, after) == (ids, None)

    async def test_an_hourly_preview_of_a_day_of_25_hours(self, client: httpx.AsyncClient) -> None:
        query = {
            "cron": "0 * * * *",
            "timezone": "US/Pacific",
            "from": "2026-11-01T00:00:00-07:00",
            "to": "2026-11-02T00:00:00-08:00",
        }
        page = (await client.get(f"{PATH}/preview", params=query)).json()
        assert (len(page["items"]), page["next"]) == (25, None)
        assert page["items"][0] == "2026-11-01T07:00:00.000Z"
        halves = [
            (await client.get(f"{PATH}/preview", params={**query, "limit": 13})).json(),
        ]
        rest = {**query, "after": halves[0]["next"]}
        halves.append((await client.get(f"{PATH}/preview", params=rest)).json())
        assert halves[0]["items"] + halves[1]["items"] == page["items"]
        assert halves[1]["next"] is None

    @pytest.mark.parametrize(
        ("query", "name"),
        [
            ({"cron": "x"}, "cron"),
            ({"cron": "0 * * * *", "timezone": "x"}, "timezone"),
            ({"cron": "0 * * * *", "from": "x"}, "from"),
            ({"cron": "0 * * * *", "to": "2020-01-01T00:00:00Z"}, "from"),
            ({"cron": "0 * * * *", "from": "1970-01-01T00:00:00Z"}, "from"),
            ({"cron": "0 * * * *", "after": "x"}, "after"),
            ({}, "cron"),
        ],
    )
    async def test_a_preview_that_is_not_understood(
        self, client: httpx.AsyncClient, query: dict[str, str], name: str
    ) -> None:
        response = await client.get(f"{PATH}/preview", params=query)
        assert response.status_code == 422, response.text
        assert [fault["parameter"] for fault in response.json()["errors"]] == [name]

    async def test_the_metrics_tell_how_they_stand(self, client: httpx.AsyncClient) -> None:
        await made(client)
        await made(client, paused=True)
        text = (await client.get("/metrics")).text
        assert 'stagepost_schedules{state="active"} 1.0' in text
        assert 'stagepost_schedules{state="paused"} 1.0' in text
        assert "stagepost_schedule_runs_waiting 0.0" in text
        assert "stagepost_schedule_late_seconds 0.0" in text


async def looked_until(
    engine: Engine, client: httpx.AsyncClient, schedule: Any, seen: Callable[[Any], bool]
) -> Any:
    """Let the planner look until a schedule of seconds is so; answers it."""
    planner = Planner(engine.store, engine.clock)
    for _ in range(600):
        await planner.look()
        shown = (await client.get(f"{PATH}/{schedule['scheduleId']}")).json()
        if seen(shown):
            return shown
        await engine.clock.sleep(0.05)
    raise AssertionError("it never was so")


class TestHeldUp:
    async def test_a_quota_that_refuses_its_runs_is_named(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        quotas = f"{API}/tenants/local/quotas"
        await client.put(quotas, json={"maxQueued": 1})
        later = await client.post(f"{API}/tasks/echo?delaySeconds=3600", json={})
        schedule = await made(client, cron=None, everySeconds=1)
        first = schedule["nextRuns"][0]
        shown = await looked_until(
            engine, client, schedule, lambda now: now["lastSkipped"] is not None
        )
        assert (shown["waitingRuns"], shown["lastRun"]) == (1, None)
        assert shown["held"]["reason"] == "quota"
        assert shown["held"]["since"] >= first
        assert "has 1 tasks that wait to start" in shown["held"]["detail"]
        assert shown["lastSkipped"]["reason"] == "quota"
        assert "quota (maxQueued)" in shown["lastSkipped"]["detail"]
        assert shown["lastSkipped"]["plannedAt"] > first
        (listed,) = (await client.get(PATH)).json()["items"]
        assert listed["held"] == shown["held"]

        await client.post(f"{API}/tasks/{later.json()['taskId']}/cancel")
        shown = await looked_until(engine, client, schedule, lambda now: now["held"] is None)
        assert shown["lastRun"]["plannedAt"] == first, "the run that was held is not lost"
        assert shown["waitingRuns"] == 0

    async def test_what_holds_up_the_task_of_its_last_run_is_told(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        await client.post(f"{API}/lanes/interactive/pause")
        schedule = await made(client, cron=None, everySeconds=1)
        shown = await looked_until(
            engine, client, schedule, lambda now: now["lastSkipped"] is not None
        )
        assert shown["lastSkipped"]["reason"] == "overlap"
        assert shown["lastSkipped"]["detail"] == "The run before had not ended."
        assert shown["held"] is None
        last = shown["lastRun"]
        assert (last["status"], last["plannedAt"]) == ("QUEUED", schedule["nextRuns"][0])
        assert last["waitingFor"] == {"kind": "paused", "name": "lane interactive", "until": None}
        url = f"{PATH}/{schedule['scheduleId']}"
        changed = (await client.patch(url, json={"paused": True})).json()
        assert changed["lastRun"] == last
        (listed,) = (await client.get(PATH)).json()["items"]
        assert listed["lastRun"] == {**last, "status": None, "waitingFor": None}
        await client.post(f"{API}/tasks/{last['taskId']}/cancel")
        assert (await client.delete(f"{API}/tasks/{last['taskId']}")).status_code == 200
        gone = (await client.get(url)).json()
        assert gone["lastRun"] == listed["lastRun"]


class TestBackfill:
    async def test_a_past_range_is_made_up_once(self, client: httpx.AsyncClient) -> None:
        schedule = await made(client)
        url = f"{PATH}/{schedule['scheduleId']}/backfill"
        day = {"from": "2026-11-01T00:00:00-07:00", "to": "2026-11-01T06:00:00-07:00"}
        for matched in (6, 0):
            response = await client.post(url, json=day)
            assert (response.status_code, response.json()) == (202, {"matched": matched})
        shown = (await client.get(f"{PATH}/{schedule['scheduleId']}")).json()
        assert shown["waitingRuns"] == 6

    @pytest.mark.parametrize(
        ("day", "field"),
        [
            ({"from": "2026-01-01T00:00:00Z", "to": "2099-01-01T00:00:00Z"}, "to"),
            ({"from": "2026-01-02T00:00:00Z", "to": "2026-01-01T00:00:00Z"}, "from"),
            ({"from": "2020-01-01T00:00:00Z", "to": "2026-01-01T00:00:00Z"}, "from"),
            ({"from": "2026-01-01T00:00:00Z"}, "to"),
        ],
    )
    async def test_a_range_that_can_not_be(
        self, client: httpx.AsyncClient, day: dict[str, str], field: str
    ) -> None:
        url = f"{PATH}/{(await made(client))['scheduleId']}/backfill"
        response = await client.post(url, json=day)
        assert response.status_code == 422, response.text
        assert [fault["pointer"] for fault in response.json()["errors"]] == [f"#/{field}"]


class TestOwners:
    async def test_anothers_schedule_is_not_there(self, tmp_path: Path) -> None:
        async with engine_in(tmp_path, auth=("keys",)) as keyed, http(keyed) as client:
            mine = await keyed.key("operate", user="ann")
            schedule = (await client.post(PATH, json=HOURLY, headers=mine)).json()
            assert (schedule["tenant"], schedule["user"]) == ("acme", "ann")
            url = f"{PATH}/{schedule['scheduleId']}"
            whole = await keyed.key("operate")
            assert (await client.get(url, headers=whole)).status_code == 200
            for other in (
                await keyed.key("admin", tenant="other"),
                await keyed.key("operate", user="bob"),
            ):
                assert (await client.get(PATH, headers=other)).json()["items"] == []
                for call in (
                    client.get(url, headers=other),
                    client.patch(url, json={"paused": True}, headers=other),
                    client.delete(url, headers=other),
                    client.post(
                        f"{url}/backfill",
                        json={"from": "2026-01-01T00:00:00Z", "to": "2026-01-02T00:00:00Z"},
                        headers=other,
                    ),
                ):
                    assert (await call).status_code == 404
            assert (await client.get(url, headers=mine)).json() == schedule

    async def test_its_tasks_are_its_users(self, tmp_path: Path) -> None:
        async with engine_in(tmp_path, auth=("keys",)) as keyed, http(keyed) as client:
            client.headers.update(await keyed.key("operate", user="ann"))
            schedule = await made(client, cron=None, everySeconds=1)
            task = await first_task(keyed, client, schedule)
            assert (task["tenant"], task["user"]) == ("acme", "ann")
            shown = (await client.get(f"{PATH}/{schedule['scheduleId']}")).json()
            assert shown["lastRun"]["plannedAt"] == task["tags"][0].removeprefix("planned:")
