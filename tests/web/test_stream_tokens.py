"""Text that is written live, in streams."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from stagepost.bus import Token
from stagepost.web.sse import OpenText
from web.kit import Engine
from web.sse_reader import Connection, reading, running


def _text(stream: Connection) -> str:
    return "".join(event.data["text"] for event in stream.parsed.events[1:])


async def test_they_come_without_a_number(engine: Engine, app: Any) -> None:
    task = await running(engine)
    async with reading(app, task.task_id) as stream:
        await stream.until(lambda: engine.notifier.watchers == 1)
        engine.bus.emit(task.task_id, Token("write", 1, 0, "Hello"))
        engine.bus.emit(task.task_id, Token("write", 1, 5, ", 世界"))
        await stream.until(lambda: len(stream.parsed.events) == 3)
        first, second = stream.parsed.events[1:]
        assert (first.id, first.event) == (None, "token")
        assert first.data.pop("timestamp").endswith("Z")
        assert first.data == {"step": "write", "attempt": 1, "offset": 0, "text": "Hello"}
        assert (second.data["offset"], second.data["text"]) == (5, ", 世界")


async def test_a_late_reader_gets_the_open_steps_text_once(engine: Engine, app: Any) -> None:
    task = await running(engine)
    engine.bus.emit(task.task_id, Token("write", 1, 0, "Hello"))
    async with reading(app, task.task_id) as stream:
        # This one is both kept and live for a reader that is just being taken in.
        engine.bus.emit(task.task_id, Token("write", 1, 5, " you"))
        await stream.until(lambda: _text(stream) == "Hello you")
        engine.bus.emit(task.task_id, Token("write", 1, 9, "!"))
        await stream.until(lambda: _text(stream) == "Hello you!")
        offsets = [event.data["offset"] for event in stream.parsed.events[1:]]
        assert offsets[0] == 0


async def test_another_step_begins_anew(engine: Engine, app: Any) -> None:
    task = await running(engine)
    engine.bus.emit(task.task_id, Token("a", 1, 0, "long text"))
    async with reading(app, task.task_id) as stream:
        await stream.until(lambda: len(stream.parsed.events) == 2)
        engine.bus.emit(task.task_id, Token("b", 1, 0, "x"))
        engine.bus.emit(task.task_id, Token("b", 2, 0, "y"))
        await stream.until(lambda: len(stream.parsed.events) == 4)
        assert [event.data["text"] for event in stream.parsed.events[2:]] == ["x", "y"]


def test_what_was_kept_and_what_comes_live_overlap() -> None:
    text = OpenText()
    pieces = [(0, "Hello"), (0, "Hello"), (3, "lo yo"), (8, "u"), (2, "llo"), (9, ""), (9, "!")]
    shown = [text.unseen(Token("write", 1, *piece)) for piece in pieces]

    assert [(piece.offset, piece.text) for piece in shown if piece is not None] == [
        (0, "Hello"), (5, " yo"), (8, "u"), (9, "!"),
    ]  # fmt: skip


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 10)), max_size=20))
def test_a_character_goes_out_once(cuts: list[tuple[int, int]]) -> None:
    whole = "abcdefghijklmnopqrstuvwxyz0123456789+-*/"
    text, had = OpenText(), ""
    for start, length in cuts:
        piece = text.unseen(Token("write", 1, start, whole[start : start + length]))
        if piece is not None:
            assert piece.text == whole[piece.offset : piece.offset + len(piece.text)]
            assert not set(piece.text) & set(had)
            had += piece.text
