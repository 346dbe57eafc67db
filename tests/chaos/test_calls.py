"""A worker is killed or stopped at each point of a call to a model."""

import asyncio
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from chaos.checker import history, violations
from chaos.faults import Fault
from chaos.paid import endings, overpaid, rows
from chaos.recorder import LONG, Life, Recorder
from chaos.scenes import TIMES, answered, seeded
from engine_kit.asking import models_file
from engine_kit.engine import lines, until
from stagepost.simulated import SimulatedProvider, Simulation, Timing, serve
from support.postgres import Server
from support.postgres import server as own_server

STEPS = 4


@dataclass(frozen=True)
class Point:
    """Where it is killed in the third of four calls, and what comes of it.

    `unknown` calls are left without an end; a provider that was asked `again` has billed both.
    """

    fault: Fault
    unknown: int
    again: int


POINTS = {
    "before the intent": Point(Fault("begin", "before", 3), 0, 0),
    "before it is sent": Point(Fault("begin", "after", 3), 1, 0),
    "before the result": Point(Fault("end", "before", 3), 1, 1),
    "after the result": Point(Fault("end", "after", 3), 0, 0),
    "before the checkpoint": Point(Fault("checkpoint", "before", 3), 0, 0),
}
points = pytest.mark.parametrize("point", POINTS.values(), ids=POINTS)


@dataclass
class Scene:
    recorder: Recorder
    simulation: Simulation

    @asynccontextmanager
    async def life(self, **plan: object) -> AsyncIterator[Life]:
        async with self.recorder.life(cut_power=False, **plan) as life:
            yield life

    def ask(self, life: Life, name: str, **more: object) -> None:
        life.submit("one", name, self.recorder.ask("one", steps=STEPS, **more))

    async def end(self, *, redrive: bool = False) -> None:
        """The last life, in which all comes to its end."""
        async with self.life() as life:
            await life.idle()
            if redrive:
                life.say(redrive=self.task_id)
                async with asyncio.timeout(LONG):
                    await life.redriven.wait()
                await life.idle()
            life.signal(signal.SIGTERM)
            await life.killed()

    @property
    def task_id(self) -> str:
        return self.recorder.log.accepted["one"]

    @property
    def ending(self) -> tuple[str, str | None]:
        return endings(self.recorder)[self.task_id]

    def wrong(self) -> list[str]:
        found = violations(history(self.recorder)) + overpaid(self.recorder, self.simulation.ledger)
        if found:
            print((self.recorder.folder / "stderr").read_text()[-20_000:])  # noqa: T201
        return found


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with own_server() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgres"])
async def scene(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Scene]:
    store = ""
    if request.param == "postgres":
        server: Server = request.getfixturevalue("server")
        store = server.url_of(f"calls_{abs(hash(tmp_path)) % 10**12}")
    timing = Timing(first_token=0.3, token=0.001, sigma=0)
    async with serve(SimulatedProvider(timing=timing, length=200)) as simulation:
        models = models_file(tmp_path, simulation.base_url)
        yield Scene(Recorder(tmp_path, store, models=models), simulation)


async def killed_at(scene: Scene, point: Point, name: str, **plan: object) -> None:
    async with scene.life(faults=(point.fault,), **plan) as life:
        scene.ask(life, name)
        await life.killed()


@points
async def test_what_was_answered_is_never_paid_again(scene: Scene, point: Point) -> None:
    await killed_at(scene, point, "consult")
    await scene.end()
    assert scene.wrong() == []
    assert scene.ending == ("COMPLETED", None)
    found = rows(scene.recorder)
    assert [row.state for row in found].count("RESULT") == STEPS
    assert len(found) == STEPS + point.unknown, "with pay-again it is sent once more, no oftener"
    assert scene.simulation.ledger.billed == STEPS + point.again


@pytest.mark.parametrize("name", ["before it is sent", "before the result", "after the result"])
async def test_what_nobody_knows_is_not_paid_again_where_it_is_held(
    scene: Scene, name: str
) -> None:
    point = POINTS[name]
    await killed_at(scene, point, "consult-once")
    sent = scene.simulation.ledger.received
    await scene.end()
    if point.unknown:
        assert scene.ending == ("DEAD_LETTER", "UNKNOWN_OUTCOME")
        assert scene.simulation.ledger.received == sent
        # A person has looked, and pays again.
        await scene.end(redrive=True)
    assert scene.ending == ("COMPLETED", None)
    assert scene.wrong() == []
    assert scene.simulation.ledger.billed == STEPS + point.again


@pytest.mark.parametrize("emit", [False, True], ids=["whole", "streamed"])
async def test_killed_amid_eight_calls(scene: Scene, *, emit: bool) -> None:
    ledger = scene.simulation.ledger
    async with scene.life() as life:
        asked = scene.recorder.ask("one", steps=20, width=8, emit=emit)
        life.submit("one", "consult", asked)
        await until(lambda: ledger.billed >= 4 and ledger.flying >= 6, LONG)
        life.signal(signal.SIGKILL)
        await life.killed()
    await scene.end()
    assert scene.wrong() == []
    assert scene.ending == ("COMPLETED", None)
    unknown = [row for row in rows(scene.recorder) if row.unsure]
    assert 1 <= len(unknown) <= 8
    assert ledger.received <= 20 + len(unknown)


async def test_killed_again_and_again_amid_eight_calls(scene: Scene) -> None:
    rng, ledger, kills = seeded("killed amid calls"), scene.simulation.ledger, 4 * TIMES
    items = 15 * kills
    asked = scene.recorder.ask("one", steps=items, width=8)
    for _ in range(kills):
        async with scene.life() as life:
            life.submit("one", "consult", asked)
            await one_more(scene)
            await asyncio.sleep(rng.uniform(0, 0.4))
            life.signal(signal.SIGKILL)
            await life.killed()
    await scene.end()
    assert scene.wrong() == []
    assert scene.ending == ("COMPLETED", None)
    found = rows(scene.recorder)
    unknown = sum(row.unsure for row in found)
    print(  # noqa: T201  # shown with -s, and with a failure
        f"{kills} kills, {items} items: {ledger.received} calls received, {ledger.billed} billed, "
        f"{ledger.by_content.excess} of them again; {unknown} unknown in the ledger"
    )
    assert ledger.billed <= items + 8 * kills
    assert ledger.by_content.excess <= unknown <= 8 * kills
    assert ledger.received <= len(found) == items + unknown, "each one that was sent is explained"


async def test_an_answer_that_comes_past_the_lease_is_kept_and_used(scene: Scene) -> None:
    if not scene.recorder.store:
        # There is no other worker on a data folder: this one goes on, and its answer is in time.
        async with scene.life() as life:
            scene.ask(life, "consult")
            await stopped_amid_a_call(scene, life)
            life.signal(signal.SIGCONT)
            await life.idle()
    else:
        async with scene.life() as first:
            scene.ask(first, "consult")
            await stopped_amid_a_call(scene, first)
            async with scene.life() as second:
                await until(lambda: claims(scene) == 2, LONG)
                first.signal(signal.SIGCONT)
                await second.idle()
                await until(lambda: all(row.state == "RESULT" for row in rows(scene.recorder)))
    await scene.end()
    assert scene.wrong() == []
    assert scene.ending == ("COMPLETED", None)
    assert scene.simulation.ledger.by_content.excess <= 1


async def stopped_amid_a_call(scene: Scene, life: Life) -> None:
    await answered(life, scene.recorder, ["one"])
    await until(lambda: scene.simulation.ledger.received == 2, LONG)
    life.signal(signal.SIGSTOP)
    await asyncio.sleep(1.6)  # the lease is 1 s


async def one_more(scene: Scene) -> None:
    """Wait for the answer of another item."""
    had = got(scene)
    await until(lambda: got(scene) > had, LONG)


def got(scene: Scene) -> int:
    """How many items have had their answer."""
    told = (line.split() for line in lines(scene.recorder.side_effects))
    return len({each[2] for each in told if each[0] == "got"})


def claims(scene: Scene) -> int:
    return sum(line.startswith("began") for line in lines(scene.recorder.side_effects))


@pytest.mark.parametrize(
    ("broken", "at"),
    [("forgetful-calls", "after the result"), ("early-end", "before the checkpoint")],
)
async def test_the_judge_sees_what_is_broken(scene: Scene, broken: str, at: str) -> None:
    await killed_at(scene, POINTS[at], "consult", breaks=(broken,))
    async with scene.life(breaks=(broken,)) as life:
        await life.idle()
    wrong = scene.wrong()
    assert any(line.startswith("5") for line in wrong), wrong
