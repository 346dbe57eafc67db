"""Requests and answers as the ledger keeps them: JSON text. Pure."""

from dataclasses import replace
from typing import Final

import orjson
from pydantic import TypeAdapter

from stagepost.llm.provider import Answer, ChatRequest, Embeddings, EmbedRequest

_ANSWERS: Final[TypeAdapter[Answer | Embeddings]] = TypeAdapter(Answer | Embeddings)
_REQUESTS: Final[TypeAdapter[ChatRequest | EmbedRequest]] = TypeAdapter(ChatRequest | EmbedRequest)


def kept_request(request: ChatRequest | EmbedRequest) -> str:
    """A request as text, without what it leaves at its default."""
    return _REQUESTS.dump_json(request, exclude_defaults=True).decode()


def kept_answer(answer: Answer | Embeddings) -> str:
    """An answer as text, without what it leaves at its default."""
    return _ANSWERS.dump_json(answer, exclude_defaults=True).decode()


def whole_text(answer: Answer | Embeddings) -> Answer | Embeddings:
    """The same without halves of surrogate pairs, which are no text that can be kept."""
    if isinstance(answer, Embeddings):
        return answer
    calls = tuple(
        replace(call, name=_whole(call.name), arguments=_whole(call.arguments))
        for call in answer.tool_calls
    )
    return replace(answer, text=_whole(answer.text), tool_calls=calls)


def _whole(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def schema_text(request: ChatRequest) -> str:
    """What a request says besides its messages: the wanted form and the tools, as text."""
    parts = [] if request.form is None else [request.form.schema]
    parts += [tool.parameters for tool in request.tools]
    return orjson.dumps(parts).decode() if parts else ""


def read_answer(text: str) -> Answer | Embeddings:
    """And back."""
    return _ANSWERS.validate_json(text)
