"""Batches at work: each is one asyncio task of the server."""

import asyncio
import contextlib
import logging
from dataclasses import dataclass, field
from typing import Final

from stagepost.simulated import asked_openai
from stagepost.simulated.asked import Asked, BadRequest
from stagepost.simulated.batch_lines import Line, answered
from stagepost.simulated.batches import Batch, Batches
from stagepost.simulated.calls import Calls
from stagepost.simulated.embeddings import EmbeddingShapes
from stagepost.simulated.ledger import Record
from stagepost.simulated.model import Plan
from stagepost.simulated.openai_shapes import OpenAIShapes
from stagepost.simulated.refusals import misunderstood
from stagepost.simulated.shapes import Told

_log = logging.getLogger("stagepost.simulated")

PRICE: Final = 0.5
"""The part of the usual price that a batch's calls cost."""
_UNDERSTOOD: Final = {
    asked_openai.CHAT: asked_openai.chat,
    asked_openai.EMBEDDINGS: asked_openai.embeddings,
}
_CREDENTIAL: Final = "batch"


@dataclass(slots=True)
class BatchRuns:
    """Runs batches until they are over or the server ends."""

    batches: Batches
    calls: Calls
    _running: set["asyncio.Task[None]"] = field(default_factory=set, init=False)

    def start(self, batch: Batch) -> None:
        """Let one go its way."""
        running = asyncio.create_task(self._run(batch), name=f"batch {batch.id}")
        self._running.add(running)
        running.add_done_callback(self._running.discard)

    async def close(self) -> None:
        """End those that run."""
        for running in self._running:
            running.cancel()
        if self._running:
            await asyncio.wait(self._running)

    async def _run(self, batch: Batch) -> None:
        try:
            if self.batches.validate(batch):
                await self._answer_all(batch)
        except Exception:  # noqa: BLE001  # whatever it is, whoever polls the batch must be told
            _log.exception("a batch has failed")
            self.batches.fail(batch, "The provider has failed; its log says how.")

    async def _answer_all(self, batch: Batch) -> None:
        provider = self.calls.provider
        # Evenly over its time, so that one may be seen half done, and cancelled there.
        pause = provider.batch_seconds / provider.speed / len(batch.lines)
        for line in batch.lines:
            if await _stopped(batch, pause):
                break
            await self._answer(batch, line)
        self.batches.end(batch)

    async def _answer(self, batch: Batch, line: Line) -> None:
        shapes = OpenAIShapes()
        try:
            # What a batch calls its line names the call, where nothing else does.
            named = {"x-stagepost-call": line.custom_id}
            asked = _UNDERSTOOD[batch.endpoint](line.body, named, _CREDENTIAL)
        except BadRequest as error:
            batch.errors.append(answered(line, shapes.error(misunderstood(error)), 400))
            return
        record = await self.calls.judge.receive(asked)
        plan = self.calls.plan(asked, record)
        denial, why = self.calls.refusal_of(asked, plan)
        if denial is None:
            try:
                body = await self._made(asked, plan, record)
            except BadRequest as error:
                denial, why = misunderstood(error), "schema"
            else:
                batch.answers.append(answered(line, body))
                return
        await self.calls.judge.refuse(record, denial.status, why)
        batch.errors.append(answered(line, shapes.error(denial), denial.status))

    async def _made(self, asked: Asked, plan: Plan, record: Record) -> object:
        model = self.calls.model
        answer = await model.answer(asked, plan)
        tokens = (model.input_tokens(asked), answer.tokens)
        made = self.calls.clock.now() // 1000
        told = Told(f"{asked.digest[:16]}{record.call:08x}", made, asked.model, *tokens)
        await self.calls.judge.bill(record, tokens, price=PRICE)
        shapes = EmbeddingShapes(asked) if asked.inputs else OpenAIShapes()
        return shapes.whole(told, answer, usage=True)


async def _stopped(batch: Batch, within: float) -> bool:
    """Wait so many seconds; returns at once, and True, where the batch is cancelled."""
    # Others get their turn even where nothing is to be waited for.
    await asyncio.sleep(0)
    if within > 0:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                await batch.stopped.wait()
    return batch.stopped.is_set()
