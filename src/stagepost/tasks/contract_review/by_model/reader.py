"""One window read by a model, and what is done when it is not answered."""

import asyncio
from dataclasses import dataclass
from typing import Final

from stagepost.tasks.contract_review.by_model.answer import ClauseAnswer
from stagepost.tasks.contract_review.by_model.models import Models
from stagepost.tasks.contract_review.by_model.prompt import asked
from stagepost.tasks.contract_review.by_model.screen import Reading, screened
from stagepost.tasks.contract_review.by_model.trouble import (
    NOT_ASKED,
    OF_THE_CLAUSE,
    OF_THE_SERVICE,
    STANDING,
    kind_of,
    limit_of,
)
from stagepost.tasks.contract_review.by_model.windows import Window
from stagepost.tasks.contract_review.frame import Knowledge

TOKENS_MOST: Final = 2_000
"""Tokens of one answer."""

DOWN: Final = 3
"""Failures of the service in a row, after which a round asks no more."""


@dataclass(slots=True)
class Reader:
    """Reads windows in one round, and stops asking when nobody answers.

    A failure that concerns one clause, or that passes, is an answer of its own (`Reading.failure`).
    What only a person or a calendar can mend is raised, so that the task waits for it, unless the
    caller `may_fall_back` to the rules. Whatever else goes wrong is raised.
    """

    models: Models
    alias: str
    secret: str
    may_fall_back: bool
    _failed: int = 0

    async def read(self, window: Window, frame: Knowledge) -> Reading:
        """Ask about one window, and let through what can be proved. A step of its own."""
        if self._failed >= DOWN:
            return Reading(failure=NOT_ASKED)
        question = await asyncio.to_thread(asked, window, frame, self.secret)
        try:
            answer, name = await self.models.reply(
                self.alias,
                question.messages,
                response_model=ClauseAnswer,
                max_tokens=TOKENS_MOST,
                wait=not self.may_fall_back,
            )
        except Exception as error:
            if limit := limit_of(error):
                raise limit from error  # the step waits for it, and asks again
            kind = kind_of(error)
            if kind is None or not self._keeps(kind):
                raise
            return Reading(failure=kind)
        self._failed = 0
        return await asyncio.to_thread(screened, answer, window, question.grounds, frame, name)

    def _keeps(self, kind: str) -> bool:
        """Whether a failure is kept as what came of the window; counts those of the service."""
        if kind in OF_THE_CLAUSE:
            return True
        if kind in STANDING and self.may_fall_back:
            self._failed = DOWN
            return True
        if kind in OF_THE_SERVICE:
            self._failed += 1
            return True
        return False
