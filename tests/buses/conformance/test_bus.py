"""Doorbells and streaming text, on every bus."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from buses.ear import Ear, bell, token
from stagepost.bus import TOKENS_KEPT, Bus, Committed, Token
from stagepost.buses.memory import MemoryBus
from stagepost.buses.postgres import PostgresBus
from support.postgres import Server
from support.waiting import PATIENCE, until


async def memory(_request: pytest.FixtureRequest) -> Bus:
    return MemoryBus()


async def postgres(request: pytest.FixtureRequest) -> Bus:
    server: Server = request.getfixturevalue("postgres_server")
    return await PostgresBus.open(server.url)


BUSES: dict[str, Callable[[pytest.FixtureRequest], Awaitable[Bus]]] = {
    "memory": memory,
    "postgres": postgres,
}


@pytest.fixture(params=BUSES)
async def bus(request: pytest.FixtureRequest) -> AsyncIterator[Bus]:
    bus = await BUSES[request.param](request)
    yield bus
    await bus.close()


async def test_bells_come_complete_and_in_order(bus: Bus) -> None:
    ear = Ear()
    stop = bus.listen(ear)
    bells = [bell(n) for n in range(100)]
    for news in bells:
        bus.ring(news)
    await until(lambda: len(ear.bells) == 100)
    assert ear.bells == bells
    stop()


async def test_a_bell_from_another_thread_is_heard_in_the_listeners_loop(bus: Bus) -> None:
    ear = Ear()
    stop = bus.listen(ear)

    def ring() -> None:
        for n in range(100):
            bus.ring(bell(n))
            bus.emit("task", token("x", n))

    await asyncio.to_thread(ring)
    await until(lambda: len(ear.bells) == len(ear.tokens) == 100)
    assert ear.threads == {threading.get_ident()}
    assert [news.events[0] for news in ear.bells] == [f"task {n}" for n in range(100)]
    stop()


async def test_everybody_hears_every_bell(bus: Bus) -> None:
    ears = [Ear() for _ in range(3)]
    stops = [bus.listen(ear) for ear in ears]
    bus.ring(bell(1))
    bus.emit("task", token("x"))
    await until(lambda: all(ear.bells and ear.tokens for ear in ears))
    for stop in stops:
        stop()


async def test_after_stop_nothing_is_heard_not_even_what_was_on_its_way(bus: Bus) -> None:
    ear, other = Ear(), Ear()
    stop, stop_other = bus.listen(ear), bus.listen(other)
    bus.ring(bell(1))
    stop()
    bus.ring(bell(2))
    bus.emit("task", token("x"))
    await until(lambda: len(other.bells) == 2 and other.tokens)
    assert (ear.bells, ear.tokens) == ([], [])
    stop()
    stop_other()


async def test_a_listener_in_another_loop_hears_there(bus: Bus) -> None:
    here, there = Ear(), Ear()
    listening, end = threading.Event(), threading.Event()

    async def listen() -> None:
        stop = bus.listen(there)
        listening.set()
        await asyncio.to_thread(end.wait, PATIENCE)
        stop()

    thread = threading.Thread(target=lambda: asyncio.run(listen()))
    thread.start()
    await until(listening.is_set)
    stop = bus.listen(here)
    bus.ring(bell(1))
    await until(lambda: here.bells and there.bells)
    assert here.threads == {threading.get_ident()}
    assert there.threads == {thread.ident}
    end.set()
    await asyncio.to_thread(thread.join, PATIENCE)
    stop()


async def test_a_loop_that_closed_without_stopping_harms_nobody(bus: Bus) -> None:
    async def listen() -> None:
        bus.listen(Ear())

    await asyncio.to_thread(lambda: asyncio.run(listen()))
    ear = Ear()
    stop = bus.listen(ear)
    for n in range(3):
        bus.ring(bell(n))
        bus.emit("task", token("x", n))
    await until(lambda: len(ear.bells) == len(ear.tokens) == 3)
    stop()


async def test_a_listener_with_a_fault_harms_nobody(bus: Bus) -> None:
    class Faulty(Ear):
        def committed(self, news: Committed) -> None:
            raise RuntimeError("a fault")

    faults: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: faults.append(context))
    ear = Ear()
    stops = [bus.listen(Faulty()), bus.listen(ear)]
    bus.ring(bell(1))
    bus.ring(bell(2))
    await until(lambda: len(ear.bells) == 2)
    assert len(faults) == 2
    for stop in stops:
        stop()


async def test_nobody_has_to_listen(bus: Bus) -> None:
    bus.ring(bell(1))
    bus.emit("task", token("x"))
    bus.forget("task")


# Text


def test_the_text_of_the_open_step_is_kept(bus: Bus) -> None:
    assert bus.kept("task") is None
    for offset, text in ((0, "Der "), (4, "Käufer "), (11, "haftet \U0001f680."), (20, "")):
        bus.emit("task", token(text, offset))
    assert bus.kept("task") == token("Der Käufer haftet \U0001f680.")
    assert bus.kept("other") is None


def test_a_text_may_begin_in_the_middle(bus: Bus) -> None:
    bus.emit("task", token("middle", 100))
    bus.emit("task", token(" end", 106))
    assert bus.kept("task") == token("middle end", 100)


@pytest.mark.parametrize(
    "other",
    [
        token("new", 0, step="another"),
        token("new", 0, attempt=2),
        token("new", 0),  # the same step over again, after a crash
        token("new", 2),  # a repeat of a part
        token("new", 9),  # a gap
    ],
    ids=["step", "attempt", "over again", "repeat", "gap"],
)
def test_what_does_not_go_on_begins_anew(bus: Bus, other: Token) -> None:
    bus.emit("task", token("old text"))
    bus.emit("task", other)
    assert bus.kept("task") == other
    bus.emit("task", other._replace(offset=other.offset + 3, text="er"))
    assert bus.kept("task") == other._replace(text="newer")


def test_a_text_is_forgotten(bus: Bus) -> None:
    bus.emit("task", token("text"))
    bus.emit("other", token("text"))
    bus.forget("task")
    bus.forget("task")
    assert bus.kept("task") is None
    assert bus.kept("other") == token("text")


@pytest.mark.parametrize("character", ["x", "é", "合", "\U0001f680"])
@pytest.mark.parametrize("piece", [1, 1_000, 300_000])
def test_the_newest_bytes_are_kept(bus: Bus, character: str, piece: int) -> None:
    width = len(character.encode())
    count = 3 * TOKENS_KEPT // width // piece + 1
    if piece == 1:
        count = 20_000
    whole = count * piece
    for n in range(count):
        bus.emit("task", token(character * piece, n * piece))
    kept = bus.kept("task")
    assert kept is not None
    fits = min(whole, TOKENS_KEPT // width)
    assert kept == token(character * fits, whole - fits)


def test_a_cut_goes_through_no_character(bus: Bus) -> None:
    text = "x" + "合" * TOKENS_KEPT
    bus.emit("task", token(text))
    kept = bus.kept("task")
    assert kept is not None
    assert set(kept.text) == {"合"}
    assert kept.offset + len(kept.text) == len(text)
    assert TOKENS_KEPT - 3 < len(kept.text.encode()) <= TOKENS_KEPT


def test_broken_text_is_kept_as_far_as_it_can_be(bus: Bus) -> None:
    bus.emit("task", token("half \ud83d"))
    bus.emit("task", token(" more", 6))
    kept = bus.kept("task")
    assert kept is not None
    assert kept.text.endswith(" more")


def test_texts_are_apart(bus: Bus) -> None:
    def emit(number: int) -> None:
        for n in range(200):
            bus.emit(f"task {number}", token(str(number), n))

    threads = [threading.Thread(target=emit, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    for number in range(5):
        assert bus.kept(f"task {number}") == token(str(number) * 200)
