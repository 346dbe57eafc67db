"""Models that a test plays."""

from collections.abc import Callable, Mapping
from typing import Any

import orjson
from pydantic import BaseModel
from uuid_utils import uuid7

from stagepost.errors import CallFailed
from stagepost.failure import FailureKind
from stagepost.journal import GotCall, WantedCall
from stagepost.llm.provider import Answer, ChatRequest, Embeddings, EmbedRequest, Finish

Played = Callable[[Any], str | Answer | Embeddings | BaseModel | Mapping[str, Any]]
"""Given a ChatRequest (or EmbedRequest): the answer, or its text, or what becomes its JSON.

What it raises is raised in the handler; a CallFailed is how a model fails.
"""


class PlayedModels:
    """Answers a handler's calls; `requests` are those that came, in their order."""

    def __init__(self, models: Mapping[str, Played]) -> None:
        self._models = models
        self.requests: list[ChatRequest | EmbedRequest] = []
        self.rejected: dict[str, str] = {}
        """By a call's id: why its answer could not be used."""

    @property
    def names(self) -> tuple[str, ...]:
        """The models that there are."""
        return tuple(self._models)

    def call(self, wanted: WantedCall) -> GotCall:
        """The answer. Raises CallFailed for a model that is not played."""
        request = wanted.request
        self.requests.append(request)
        model = self._models.get(request.model)
        if model is None:
            there = ", ".join(self._models) or "none"
            raise CallFailed(
                f'No model "{request.model}" is played here; there are: {there}.',
                kind=FailureKind.CONFIG,
            )
        return GotCall(str(uuid7()), request.model, _answer(model(request)))


def _answer(told: str | Answer | Embeddings | BaseModel | Mapping[str, Any]) -> Answer | Embeddings:
    if isinstance(told, Answer | Embeddings):
        return told
    if isinstance(told, BaseModel):
        return Answer(told.model_dump_json(), Finish.STOP)
    return Answer(told if isinstance(told, str) else orjson.dumps(told).decode(), Finish.STOP)
