"""`stagepost schedules` on a real server, its how-to, and a server that is killed."""

import contextlib
import json
import os
import re
import shlex
import signal
import time
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from cli.serving import Server, stagepost, until, up
from stagepost.cli import run

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "schedules.md").read_text()


class Cli:
    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *words: str, code: int = 0) -> str:
        self._capsys.readouterr()
        assert run(["schedules", *words]) == code
        out, err = self._capsys.readouterr()
        self.err = err
        return out

    def json(self, *words: str, code: int = 0) -> Any:
        return json.loads(self(*words, "--json", code=code))


@pytest.fixture
def cli(asked: Server, capsys: pytest.CaptureFixture[str]) -> Iterator[Cli]:
    cli = Cli(capsys)
    yield cli
    for schedule in cli.json("list", "--all")["items"]:
        cli("delete", schedule["scheduleId"])


SAY = ("--input", '{"word": "hello"}')


def test_a_schedule_from_its_beginning_to_its_end(cli: Cli) -> None:
    words = ("--cron", "30 2 * * *", "--timezone", "Europe/Berlin", "--lane", "batch")
    policies = ("--overlap", "queue", "--misfire", "all", "--jitter", "9")
    made = cli.json("create", "nightly", "say", *SAY, *words, *policies)
    assert made["input"] == {"word": "hello"}
    assert (made["overlap"], made["misfire"], made["jitterSeconds"]) == ("queue", "all", 9)
    shown = cli("show", made["scheduleId"])
    assert "30 2 * * * (Europe/Berlin)" in shown
    assert "say in lane batch" in shown
    assert len(re.findall(r"02:30:00 CES?T", shown)) == 10
    assert cli.json("pause", made["scheduleId"])["paused"] is True
    assert "paused" in cli("list")
    assert cli.json("resume", made["scheduleId"])["paused"] is False
    assert cli.json("show", made["scheduleId"]) == made
    assert "is ended" in cli("delete", made["scheduleId"])
    cli("show", made["scheduleId"], code=4)
    assert "There is no schedule" in cli.err


@pytest.mark.parametrize(("words", "seconds"), [(("--every", "90"), 90), (("--every", "15m"), 900)])
def test_an_interval_is_seconds_or_words(cli: Cli, words: tuple[str, ...], seconds: int) -> None:
    assert cli.json("create", "pulse", "say", *SAY, *words)["everySeconds"] == seconds


def test_it_is_over_once_it_was(cli: Cli) -> None:
    made = cli.json("create", "once", "say", *SAY, "--at", _in_a_second())
    schedule_id = made["scheduleId"]
    until(lambda: cli.json("show", schedule_id)["lastRun"] is not None, "the run")
    shown = cli("show", schedule_id)
    assert "over" in shown
    assert "It has no next run." in shown
    assert cli.json("show", schedule_id)["nextRuns"] == []


def _in_a_second() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 2))


def test_a_backfill_is_told_how_many_it_has(cli: Cli) -> None:
    made = cli.json("create", "hourly", "say", *SAY, "--cron", "0 * * * *")
    day = ("--from", "2026-11-01T00:00:00-07:00", "--to", "2026-11-02T00:00:00-08:00")
    assert cli("backfill", made["scheduleId"], *day) == "25 runs are made up\n"
    assert cli.json("backfill", made["scheduleId"], *day) == {"matched": 0}


def test_runs_of_a_paused_schedule_are_told_to_wait(cli: Cli) -> None:
    made = cli.json("create", "hourly", "say", *SAY, "--cron", "0 * * * *", "--paused")
    schedule_id = made["scheduleId"]
    hours = ("--from", "2026-11-01T00:00:00Z", "--to", "2026-11-01T12:00:00Z")
    assert cli("backfill", schedule_id, *hours) == (
        "12 runs wait; the schedule is paused, and nothing starts until it is resumed\n"
    )
    assert "paused, 12 runs wait" in cli("show", schedule_id)
    assert cli("backfill", schedule_id, *hours) == "0 runs are made up\n"


def test_a_quota_that_holds_up_its_runs_is_named(cli: Cli) -> None:
    assert run(["quotas", "local", "--max-queued", "0"]) == 0
    try:
        made = cli.json("create", "pulse", "say", *SAY, "--every", "1")
        schedule_id = made["scheduleId"]
        until(lambda: cli.json("show", schedule_id)["lastSkipped"] is not None, "an instant")
        shown = " ".join(cli("show", schedule_id).split())
        assert "active, 1 run waits for the quota" in shown
        assert "The tenant may submit no task now: its quota is 0." in shown
        assert "The run before still waited for room in its tenant's quota (maxQueued)." in shown
        assert "for the quota" in " ".join(cli("list").split())
    finally:
        assert run(["quotas", "local", "--default"]) == 0
    until(lambda: cli.json("show", schedule_id)["held"] is None, "room")
    assert cli.json("show", schedule_id)["lastRun"]["plannedAt"] == made["nextRuns"][0]


def test_a_lane_that_holds_up_its_last_run_is_named(cli: Cli) -> None:
    assert run(["lanes", "pause", "batch"]) == 0
    try:
        words = ("--at", _in_a_second(), "--lane", "batch")
        schedule_id = cli.json("create", "once", "say", *SAY, *words)["scheduleId"]
        until(lambda: cli.json("show", schedule_id)["lastRun"] is not None, "the run")
        until(lambda: "QUEUED: lane batch is paused" in cli("show", schedule_id), "why it waits")
    finally:
        assert run(["lanes", "resume", "batch"]) == 0
    until(lambda: "COMPLETED" in cli("show", schedule_id), "its end")


def test_one_run_is_one(cli: Cli) -> None:
    made = cli.json("create", "hourly", "say", *SAY, "--cron", "0 * * * *")
    hour = ("--from", "2026-11-01T00:00:00Z", "--to", "2026-11-01T01:00:00Z")
    assert cli("backfill", made["scheduleId"], *hour) == "1 run is made up\n"


def test_a_preview_of_a_range_says_that_there_are_more(cli: Cli) -> None:
    day = ("--from", "2026-11-01T00:00:00Z", "--to", "2026-11-02T00:00:00Z")
    cli("preview", "0 * * * *", *day)
    assert cli.err == "there are more: --limit N up to 200, or --from 2026-11-01T09:00:00.000Z\n"
    assert len(cli("preview", "0 * * * *", *day, "--limit", "24").splitlines()) == 25
    assert cli.err == ""
    cli("preview", "0 * * * *", "--from", "2026-11-01T00:00:00Z")
    assert cli.err == ""


def test_a_preview_shows_both_clocks(cli: Cli) -> None:
    words = ("30 2 * * *", "--timezone", "US/Pacific", "--limit", "2")
    out = cli("preview", *words, "--from", "2026-03-08T00:00:00-08:00")
    assert "2026-03-08T10:00:00.000Z" in out
    assert "Sun 2026-03-08 03:00:00 PDT" in out
    assert "Mon 2026-03-09 02:30:00 PDT" in out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("create", "a", "say"), "exactly one of --cron, --every and --at"),
        (("create", "a", "say", "--every", "5s", "--cron", "* * * * *"), "exactly one of"),
        (("create", "a", "say", "--every", "soon"), "no duration"),
        (("create", "a", "say", "--every", "1.5s"), "whole seconds"),
        (("create", "a", "say", "--at", "soon"), "no instant"),
        (("create", "a", "say", "--every", "5s", "--input", "x"), "no JSON"),
        (("backfill", "x", "--from", "2026-01-01T00:00:00Z"), "--to INSTANT"),
    ],
)
def test_a_wrong_command_line_asks_nobody(cli: Cli, words: tuple[str, ...], says: str) -> None:
    cli(*words, code=2)
    assert says in cli.err


def test_what_the_server_refuses_is_one_line(cli: Cli) -> None:
    cli("create", "a", "say", "--cron", "61 * * * *", code=4)
    assert "look at the minute" in cli.err
    assert len(cli.err.splitlines()) == 1


def test_the_how_to_does_what_it_says(tmp_path: Path) -> None:
    first, rest = re.findall(r"^```\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    app = tmp_path / "my-app"
    assert stagepost("init", str(app)).code == 0
    with up(tmp_path / "server", "--app", "app:app", cwd=app) as server:
        env = {"STAGEPOST_URL": server.url}
        made = ""
        for line in (first + rest).splitlines():
            words = [word.replace("ID", made) if made else word for word in shlex.split(line)[1:]]
            ran = stagepost(*words, env=env)
            assert ran.code == 0, (line, ran.err)
            if "create" in words:
                made = ran.out.split()[1]
            if "backfill" in words:
                assert "runs are made up" in ran.out


# A server that is killed


def planned(server: Server, schedule_id: str) -> Counter[int]:
    """By planned instant, in seconds: how many tasks there are."""
    found: Counter[int] = Counter()
    after = ""
    for _ in range(50):
        page = server.get(f"/api/v1/tasks?limit=200&tag=schedule:{schedule_id}{after}").json()
        for item in page["items"]:
            (tag,) = [
                tag
                for tag in server.get(f"/api/v1/tasks/{item['taskId']}").json()["tags"]
                if tag.startswith("planned:")
            ]
            found[_second(tag.removeprefix("planned:"))] += 1
        if page["next"] is None:
            return found
        after = f"&after={page['next']}"
    raise AssertionError("too many tasks")


def _second(instant: str) -> int:
    return round(time.mktime(time.strptime(instant[:19], "%Y-%m-%dT%H:%M:%S")))


def test_what_was_missed_while_it_was_dead_is_made_up_as_the_policy_says(tmp_path: Path) -> None:
    ids: dict[str, str] = {}
    with up(tmp_path, "--app", "rig:app") as server:
        for misfire in ("skip", "once", "all"):
            ids[misfire] = _create(server, misfire)
        until(
            lambda: all(len(planned(server, schedule_id)) >= 2 for schedule_id in ids.values()),
            "two runs of each",
        )
        _kill(server)
    before = time.time()
    # So many instants are missed, however slow the machine is; the last ten seconds' are not.
    until(lambda: time.time() - before > 14, "fourteen seconds")
    with up(tmp_path, "--app", "rig:app") as server:
        last = {name: max(planned(server, schedule_id)) for name, schedule_id in ids.items()}
        until(
            lambda: all(max(planned(server, ids[name])) > last[name] + 2 for name in ids),
            "runs after the restart",
        )
        found = {name: planned(server, schedule_id) for name, schedule_id in ids.items()}
        until(lambda: _gaps(planned(server, ids["all"])) == [], "all that was missed")
    for name, runs in found.items():
        assert set(runs.values()) == {1}, f"{name}: an instant has one run"
    for name in ("skip", "once"):
        assert max(_gaps(found[name]), default=0) >= 3, f"{name}: {sorted(found[name])}"


def _create(server: Server, misfire: str) -> str:
    env = {"STAGEPOST_URL": server.url}
    words = ("create", misfire, "say", "--every", "1", "--overlap", "queue", "--misfire", misfire)
    made = stagepost("schedules", *words, *SAY, "--json", env=env)
    return str(made.json["scheduleId"])


def _kill(server: Server) -> None:
    child = server.child
    os.kill(server.process.pid, signal.SIGKILL)
    # It dies with its supervisor, perhaps before it is killed.
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    server.process.wait(30)


def _gaps(runs: Counter[int]) -> list[int]:
    """How many instants are missing between two that are there."""
    instants = sorted(runs)
    steps = [later - earlier for earlier, later in pairwise(instants)]
    return [step - 1 for step in steps if step > 1]
