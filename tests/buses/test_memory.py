"""The bus in memory stays within its memory."""

import asyncio

import pytest

from stagepost.bus import TOKENS_KEPT, Committed, Token
from stagepost.buses import memory
from stagepost.buses.memory import MemoryBus


def test_texts_of_many_tasks_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_KEPT_IN_ALL", 10_000)
    bus = MemoryBus()
    for number in range(50):
        bus.emit(f"task {number}", Token("write", 1, 0, "x" * 1_000))
        bus.emit("busy", Token("write", 1, number, "y"))
    kept = [number for number in range(50) if bus.kept(f"task {number}") is not None]
    # The newest, and whoever goes on talking.
    assert kept == list(range(41, 50))
    assert bus.kept("busy") == Token("write", 1, 0, "y" * 50)
    for number in kept:
        bus.forget(f"task {number}")
    bus.forget("busy")
    assert bus._bytes == 0


def test_a_long_text_takes_at_most_twice_what_is_kept() -> None:
    bus = MemoryBus()
    for n in range(10_000):
        bus.emit("task", Token("write", 1, n * 100, "x" * 100))
        assert bus._bytes <= 2 * TOKENS_KEPT
        assert len(bus._texts["task"]._pieces) <= memory._PIECES


def test_a_closed_loop_is_let_go() -> None:
    bus = MemoryBus()

    class Ear:
        def committed(self, news: Committed) -> None:
            raise AssertionError(news)

        def token(self, task_id: str, token: Token) -> None:
            raise AssertionError(token)

    async def listen() -> None:
        bus.listen(Ear())

    asyncio.run(listen())
    assert len(bus._ears) == 1
    bus.ring(Committed(["task"]))
    assert not bus._ears
