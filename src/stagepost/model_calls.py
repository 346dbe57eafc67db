"""`ctx.llm`: a handler's calls to models.

A call is a part of the step that it stands in, or of the handler. Its answer is in the ledger
before the handler gets it, so a later attempt that asks for the same in the same place gets the
same, and nothing is sent. A long wait holds no worker.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar, overload

from pydantic import BaseModel

from stagepost.errors import CallFailed, CancelAsked
from stagepost.failure import FailureKind
from stagepost.flight import BranchWait, Flight
from stagepost.gate import Gate
from stagepost.journal import CallWait, GotCall, Journal, WantedCall
from stagepost.llm.provider import (
    DEFAULT_OUTPUT,
    Answer,
    ChatRequest,
    Embeddings,
    EmbedRequest,
    Finish,
    Message,
    Role,
    Sampling,
    Timeouts,
    Tool,
    ToolUse,
)
from stagepost.llm.request_hash import request_hash
from stagepost.llm.structured import MOST_REPAIRS, Unfit, form_of, read_answer, repaired
from stagepost.retry import seconds
from stagepost.scope import CURRENT
from stagepost.waiting import LimitFree

Model = TypeVar("Model", bound=BaseModel)

Said = str | Message | Mapping[str, Any]
"""A message: its text alone is the user's."""

_RESTS: Final = 5.0  # seconds between two looks while others of the handler run
_LONGEST: Final = 3_600.0  # seconds that one call may take


class ModelCalls:
    """The calls of one claim's handler."""

    __slots__ = ("_gate", "_journal")

    def __init__(self, journal: Journal, gate: Gate) -> None:
        self._journal = journal
        self._gate = gate

    async def models(self) -> Sequence[str]:
        """The aliases of models.toml; empty where there is none."""
        self._gate.used()
        return await self._gate.through(self._journal.models)

    @overload
    async def chat(
        self,
        model: str,
        messages: Said | Sequence[Said],
        *,
        response_model: type[Model],
        max_tokens: int = DEFAULT_OUTPUT,
        temperature: float | None = None,
        stop: Sequence[str] = (),
        emit: bool = False,
        timeout: float | str = 600.0,
        wait: bool = True,
        extra: Mapping[str, Any] | None = None,
    ) -> Model: ...

    @overload
    async def chat(
        self,
        model: str,
        messages: Said | Sequence[Said],
        *,
        response_model: None = None,
        max_tokens: int = DEFAULT_OUTPUT,
        temperature: float | None = None,
        tools: Sequence[Tool] = (),
        tool_use: ToolUse = ToolUse.AUTO,
        stop: Sequence[str] = (),
        emit: bool = False,
        timeout: float | str = 600.0,
        wait: bool = True,
        extra: Mapping[str, Any] | None = None,
    ) -> Answer: ...

    async def chat(
        self,
        model: str,
        messages: Said | Sequence[Said],
        *,
        response_model: type[Model] | None = None,
        max_tokens: int = DEFAULT_OUTPUT,
        temperature: float | None = None,
        tools: Sequence[Tool] = (),
        tool_use: ToolUse = ToolUse.AUTO,
        stop: Sequence[str] = (),
        emit: bool = False,
        timeout: float | str = 600.0,
        wait: bool = True,
        extra: Mapping[str, Any] | None = None,
    ) -> Answer | Model:
        """Ask a model, by an alias of models.toml or as `provider/model`.

        With `response_model`, a Pydantic model, the answer is one of it; what does not fit is asked
        for again, twice at most. With `emit` the text goes to whoever watches as it comes.
        `timeout` is of one call that is sent. With `wait=False` a model that can't be had now for
        longer than a moment is a failure instead of a wait. `extra` goes into the request as it is.

        Raises CallFailed, whose `kind` says why; BAD_OUTPUT for answers that never fit, and for
        one that was cut by `max_tokens` where a form was wanted.
        """
        request = ChatRequest(
            model,
            _messages(messages),
            max_tokens,
            Sampling(temperature=temperature),
            None if response_model is None else form_of(response_model),
            tuple(tools),
            tool_use,
            tuple(stop),
            dict(extra or {}),
        )
        total = Timeouts(total=_timeout(timeout))
        if response_model is None:
            return _chatted(await self._call(request, total, emit=emit, wait=wait))
        return await self._fitting(request, response_model, total, emit=emit, wait=wait)

    async def embed(
        self,
        model: str,
        texts: Sequence[str],
        *,
        dimensions: int | None = None,
        timeout: float | str = 120.0,
        wait: bool = True,
    ) -> list[list[float]]:
        """A vector for each text, in their order. Raises CallFailed."""
        request = EmbedRequest(model, tuple(texts), dimensions)
        got = await self._call(request, Timeouts(total=_timeout(timeout)), wait=wait)
        if not isinstance(got.answer, Embeddings):
            raise TypeError("The saved call was no embedding.")
        return [list(vector) for vector in got.answer.vectors]

    async def _fitting(
        self,
        request: ChatRequest,
        model: type[Model],
        timeouts: Timeouts,
        *,
        emit: bool,
        wait: bool,
    ) -> Model:
        why = ""
        for _ in range(1 + MOST_REPAIRS):
            got = await self._call(request, timeouts, emit=emit, wait=wait)
            answer = _chatted(got)
            found = read_answer(answer.text, model)
            if not isinstance(found, Unfit):
                return found
            why = " ".join(found.faults)
            if answer.finish is Finish.LENGTH:
                why = f"The answer was cut after {request.max_output_tokens} tokens. {why}"
            await self._gate.through(self._journal.reject, got.call_id, why)
            if answer.finish is Finish.LENGTH:
                # It would be cut again, and longer ones by the same bound.
                break
            request = repaired(request, answer.text, found)
        raise CallFailed(
            f"{request.model} did not answer as {model.__name__}: {why}",
            kind=FailureKind.BAD_OUTPUT,
        )

    async def _call(
        self,
        request: ChatRequest | EmbedRequest,
        timeouts: Timeouts,
        *,
        emit: bool = False,
        wait: bool = True,
    ) -> GotCall:
        self._gate.used()
        scope = CURRENT.get()
        n = scope.count(f"call {request_hash(request)}")
        wanted = WantedCall(scope.path, n, request, timeouts, emit, wait)
        while True:
            # Before it takes off: a lease that was lost meanwhile finds the gate closed.
            await self._gate.through(self._journal.begin)
            told = await self._told(wanted, scope.flight)
            if not isinstance(told, CallWait):
                return told
            condition = LimitFree(told.why, told.seconds)
            async with BranchWait(self._gate, condition, scope.flight) as branch:
                await branch.rest(min(_RESTS, told.seconds))

    async def _told(self, wanted: WantedCall, around: Flight | None) -> GotCall | CallWait:
        try:
            async with Flight(self._gate, around):
                return await self._gate.through(self._journal.call, wanted)
        except CancelAsked:
            # The worker is being told as well, and unwinds this.
            await self._gate.hold(around)
            raise


def _messages(said: Said | Sequence[Said]) -> tuple[Message, ...]:
    several = [said] if isinstance(said, str | Message | Mapping) else said
    return tuple(_message(each) for each in several)


def _message(said: Said) -> Message:
    if isinstance(said, Message):
        return said
    if isinstance(said, str):
        return Message(Role.USER, said)
    if not set(said) <= {"role", "content"}:
        raise ValueError('A message is a text, a Message, or {"role": ..., "content": ...}.')
    return Message(Role(said["role"]), str(said["content"]))


def _timeout(length: float | str) -> float:
    found = seconds(length)
    if not 0 < found <= _LONGEST:
        raise ValueError("A call's time-out lies between 0 and 1 hour.")
    return found


def _chatted(got: GotCall) -> Answer:
    if not isinstance(got.answer, Answer):
        raise TypeError("The saved call was an embedding.")
    return got.answer
