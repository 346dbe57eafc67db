"""An answer on its way: in its time, whole or streamed, or however its fault has it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import orjson

from stagepost.simulated.answers import Answer
from stagepost.simulated.asked import Asked
from stagepost.simulated.faults import Way
from stagepost.simulated.hold import Hold
from stagepost.simulated.judge import Judge
from stagepost.simulated.ledger import Record
from stagepost.simulated.line import Line
from stagepost.simulated.model import Model, Plan
from stagepost.simulated.shapes import Shapes, Told
from stagepost.simulated.timing import Pace

_STREAM: Final = "text/event-stream"
_JSON: Final = "application/json"
_EVEN: Final = 0.005
"""Seconds; shorter waits between two tokens are made up for by the next."""
_KEEP_ALIVE: Final = 1.0
_MOST_KEEP_ALIVES: Final = 86_400
_LONGEST_SILENCE: Final = 86_400.0
_SLOW: Final = 30.0
"""Seconds of the provider by which `slow` is late, where its step does not say."""


@dataclass(slots=True)
class Delivery:
    """Sends one answer, and bills it before its end goes out."""

    asked: Asked
    plan: Plan
    shapes: Shapes
    line: Line
    record: Record
    hold: Hold
    judge: Judge
    model: Model
    headers: Mapping[str, str]
    _pace: Pace = field(init=False)
    _told: Told = field(init=False)

    async def deliver(self, answer: Answer) -> None:
        """Send it. Raises OSError where the ledger can't be written."""
        tokens = self.model.input_tokens(self.asked)
        self._pace = self.model.pace(self.asked, self.record.call)
        made = self.hold.clock.now() // 1000
        identity = f"{self.asked.digest[:16]}{self.record.call:08x}"
        self._told = Told(identity, made, self.asked.model, tokens, answer.tokens)
        if self.plan.goes(Way.HANG):
            await self._hang()
            return
        if self.plan.goes(Way.SLOW):
            late = _SLOW if self.plan.wait is None else self.plan.wait
            await self.line.wait(late / self.model.provider.speed)
        await self.line.wait(self._pace.first())
        if self.asked.stream:
            await self._stream(answer)
        else:
            await self.line.wait(self._pace.rest(answer.tokens - 1))
            await self._whole(answer)

    async def _whole(self, answer: Answer) -> None:
        usage = not self.plan.goes(Way.NO_USAGE)
        body = orjson.dumps(self.shapes.whole(self._told, answer, usage=usage))
        lost = self.plan.goes(Way.RESET_AFTER)
        await self._bill(answer.tokens, whole=not (lost or self._broken))
        if lost:
            await self.line.reset()
        elif self._broken:
            head = {**self.headers, "content-length": str(len(body))}
            await self.line.start(200, head, _JSON)
            await self.line.piece(body[: len(body) // 2])
            await self._break()
        else:
            await self.line.whole(200, self.headers, _JSON, body)

    async def _stream(self, answer: Answer) -> None:
        if self.plan.goes(Way.RESET_AFTER):
            await self._bill(answer.tokens, whole=False)
            await self.line.reset()
            return
        await self.line.start(200, self.headers, _STREAM)
        await self.line.piece(self.shapes.opening(self._told, answer))
        pieces = len(answer.pieces)
        wanted = pieces // 2 if self._broken else pieces
        sent = await self._pieces(answer, wanted)
        if sent < wanted or self._broken:
            await self._bill(sent, whole=False)
            await self._break()
            return
        await self._bill(answer.tokens, whole=True)
        usage = self.asked.tells_usage and not self.plan.goes(Way.NO_USAGE)
        await self.line.end(self.shapes.closing(self._told, answer, usage=usage))

    async def _pieces(self, answer: Answer, most: int) -> int:
        """Send so many tokens, each in its time; returns how many went out."""
        due = self.hold.clock.monotonic()
        for number, (text, wait) in enumerate(
            zip(answer.pieces[:most], self._pace.between(), strict=False)
        ):
            due += wait if number else 0.0
            late = due - self.hold.clock.monotonic()
            if self.line.gone.is_set() or (late > _EVEN and await self.line.wait(late)):
                return number
            await self.line.piece(self.shapes.piece(self._told, text))
        return most

    @property
    def _broken(self) -> bool:
        return self.plan.goes(Way.CUT) or self.plan.goes(Way.STALL)

    async def _break(self) -> None:
        if self.plan.goes(Way.STALL):
            await self.line.wait(_LONGEST_SILENCE)
        else:
            # What was sent must have left: a cut throws away what is still in the buffer.
            await self.line.wait(_EVEN)
        await self.line.cut()

    async def _hang(self) -> None:
        media_type = _STREAM if self.asked.stream else _JSON
        await self.line.start(200, self.headers, media_type)
        pulse = self.shapes.keep_alive if self.asked.stream else b"\n"
        for _ in range(_MOST_KEEP_ALIVES):
            await self.line.piece(pulse)
            if await self.line.wait(_KEEP_ALIVE / self.model.provider.speed):
                break
        await self.judge.refuse(self.record, None, Way.HANG)
        await self.line.cut()

    async def _bill(self, output: int, *, whole: bool) -> None:
        tokens = (self._told.input_tokens, output)
        whole = whole and not self.line.gone.is_set()
        await self.judge.bill(self.record, tokens, whole=whole)
        self.hold.settle(sum(tokens))
