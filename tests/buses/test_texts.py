"""The texts that a bus keeps stay within their memory."""

import pytest

from buses.ear import token
from stagepost.bus import TOKENS_KEPT
from stagepost.buses import texts
from stagepost.buses.texts import Texts


def test_texts_of_many_tasks_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "_KEPT_IN_ALL", 10_000)
    kept = Texts()
    for number in range(50):
        kept.keep(f"task {number}", token("x" * 1_000))
        kept.keep("busy", token("y", number))
    left = [number for number in range(50) if kept.kept(f"task {number}") is not None]
    # The newest, and whoever goes on talking.
    assert left == list(range(41, 50))
    assert kept.kept("busy") == token("y" * 50)
    for number in left:
        assert kept.drop(f"task {number}")
    assert kept.drop("busy")
    assert not kept.drop("busy")
    assert kept._bytes == 0


def test_all_are_cleared() -> None:
    kept = Texts()
    kept.keep("task", token("x"))
    kept.clear()
    assert kept.kept("task") is None
    assert kept._bytes == 0


def test_a_long_text_takes_at_most_twice_what_is_kept() -> None:
    kept = Texts()
    for n in range(10_000):
        kept.keep("task", token("x" * 100, n * 100))
        assert kept._bytes <= 2 * TOKENS_KEPT
        assert len(kept._texts["task"]._pieces) <= texts._PIECES
