"""`ctx.llm`: a handler's calls to models.

A call is a part of the step that it stands in, or of the handler. Its answer is in the ledger
before the handler gets it, so a later attempt that asks for the same in the same place gets the
same, and nothing is sent. A long wait holds no worker.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Generic, NamedTuple, TypedDict, TypeVar, Unpack, overload

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
from stagepost.llm.reserving import is_budget
from stagepost.llm.structured import MOST_REPAIRS, Unfit, form_of, read_answer, repaired
from stagepost.retry import seconds
from stagepost.scope import CURRENT
from stagepost.waiting import BudgetTurns, LimitFree

Model = TypeVar("Model", bound=BaseModel)
Value = TypeVar("Value")

Said = str | Message | Mapping[str, Any]
"""A message: its text alone is the user's."""


class How(TypedDict, total=False):
    """How a model is asked. With `emit` the text goes to whoever watches as it comes.

    `max_tokens` bounds the answer. `timeout` is of one call that is sent, in seconds or as text.
    With `wait=False` a model that can't be had now for longer than a moment is a failure instead of
    a wait. `extra` goes into the request as it is.
    """

    max_tokens: int
    temperature: float | None
    tools: Sequence[Tool]
    tool_use: ToolUse
    stop: Sequence[str]
    emit: bool
    timeout: float | str
    wait: bool
    extra: Mapping[str, Any]


class Reply(NamedTuple, Generic[Value]):
    """An answer in the form that was wanted, and the model that gave it, as `provider/model`."""

    value: Value
    model: str


class _Asked(NamedTuple):
    """A call's answer, and which model gave it."""

    call_id: str
    model: str
    answer: Answer


_USUAL_TIMEOUT: Final = 600.0
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
        **how: Unpack[How],
    ) -> Model: ...

    @overload
    async def chat(
        self,
        model: str,
        messages: Said | Sequence[Said],
        *,
        response_model: None = None,
        **how: Unpack[How],
    ) -> Answer: ...

    async def chat(
        self,
        model: str,
        messages: Said | Sequence[Said],
        *,
        response_model: type[Model] | None = None,
        **how: Unpack[How],
    ) -> Answer | Model:
        """Ask a model, by an alias of models.toml or as `provider/model`; see `How`.

        With `response_model`, a Pydantic model, the answer is one of it; what does not fit is asked
        for again, twice at most.

        Raises CallFailed, whose `kind` says why; BAD_OUTPUT for answers that never fit, and for
        one that was cut by `max_tokens` where a form was wanted.
        """
        if response_model is None:
            return (await self._asked(_request(model, messages, None, how), how)).answer
        return (await self.reply(model, messages, response_model=response_model, **how)).value

    async def reply(
        self,
        model: str,
        messages: Said | Sequence[Said],
        *,
        response_model: type[Model],
        **how: Unpack[How],
    ) -> Reply[Model]:
        """Ask as `chat` does, and learn as well which model of the chain has answered."""
        request = _request(model, messages, response_model, how)
        why = ""
        for _ in range(1 + MOST_REPAIRS):
            asked = await self._asked(request, how)
            answer = asked.answer
            found = read_answer(answer.text, response_model)
            if not isinstance(found, Unfit):
                return Reply(found, asked.model)
            why = " ".join(found.faults)
            if answer.finish is Finish.LENGTH:
                why = f"The answer was cut after {request.max_output_tokens} tokens. {why}"
            await self._gate.through(self._journal.reject, asked.call_id, why)
            if answer.finish is Finish.LENGTH:
                # It would be cut again, and longer ones by the same bound.
                break
            request = repaired(request, answer.text, found)
        raise CallFailed(
            f"{request.model} did not answer as {response_model.__name__}: {why}",
            kind=FailureKind.BAD_OUTPUT,
        )

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

    async def _asked(self, request: ChatRequest, how: How) -> _Asked:
        got = await self._call(
            request,
            Timeouts(total=_timeout(how.get("timeout", _USUAL_TIMEOUT))),
            emit=how.get("emit", False),
            wait=how.get("wait", True),
        )
        if not isinstance(got.answer, Answer):
            raise TypeError("The saved call was an embedding.")
        return _Asked(got.call_id, got.model, got.answer)

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
            kind = BudgetTurns if is_budget(told.why) else LimitFree
            condition = kind(told.why, told.seconds)
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


def _request(
    model: str, messages: Said | Sequence[Said], wanted: type[BaseModel] | None, how: How
) -> ChatRequest:
    return ChatRequest(
        model,
        _messages(messages),
        how.get("max_tokens", DEFAULT_OUTPUT),
        Sampling(temperature=how.get("temperature")),
        None if wanted is None else form_of(wanted),
        tuple(how.get("tools", ())),
        how.get("tool_use", ToolUse.AUTO),
        tuple(how.get("stop", ())),
        dict(how.get("extra", {})),
    )


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
