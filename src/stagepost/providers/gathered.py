"""An answer that is put together from what comes, in pieces or whole. Pure."""

from dataclasses import dataclass, field
from typing import Final

from stagepost.llm.provider import Answer, Finish, Heard, ToolCall, Usage

ANSWER_TOOL: Final = "give_answer"
"""The tool whose input is the answer, for providers that are asked for forms in this way."""

_MOST_CALLS: Final = 128


@dataclass(slots=True)
class _Call:
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


class Gathered:
    """What has come so far.

    `alive` tells whether anything of content has come since it was last asked, reasoning included.
    """

    def __init__(self) -> None:
        self.finish: str | None = None
        self.usage = Usage()
        self.model = ""
        self.id = ""
        self._text: list[str] = []
        self._refused: list[str] = []
        self._calls: dict[str, _Call] = {}
        self._alive = False

    @property
    def alive(self) -> bool:
        """Whether something of content has come since the last question."""
        alive, self._alive = self._alive, False
        return alive

    @property
    def refused(self) -> str:
        """What the model says instead of an answer; empty if it says nothing of that kind."""
        return "".join(self._refused)

    def thought(self, text: str) -> None:
        """A piece of reasoning, which is no part of the answer."""
        self._alive |= bool(text)

    def refuse(self, text: str) -> None:
        """A piece of the model's refusal."""
        self._alive |= bool(text)
        self._refused.append(text)

    def say(self, text: str) -> str:
        """A piece of the answer's text; gives it back."""
        if text:
            self._alive = True
            self._text.append(text)
        return text

    def call(self, key: str, id_: str, name: str, arguments: str) -> str:
        """A piece of the tool call that has this key; gives back what is text of the answer."""
        found = self._calls.get(key)
        if found is None:
            if len(self._calls) == _MOST_CALLS:
                return ""
            found = self._calls[key] = _Call()
        self._alive |= bool(id_ or name or arguments)
        found.id = found.id or id_
        found.name = found.name or name
        if found.name == ANSWER_TOOL:
            return self.say(arguments)
        found.arguments.append(arguments)
        return ""

    def end(self, reason: str) -> None:
        """Why it has ended."""
        self._alive |= bool(reason)
        self.finish = reason or self.finish

    def last_call(self) -> str:
        """The key of the call that came last; empty if there is none."""
        return next(reversed(self._calls), "")

    def answer(self, finish: Finish, heard: Heard) -> Answer:
        """What there is."""
        calls = [call for call in self._calls.values() if call.name != ANSWER_TOOL]
        if finish is Finish.TOOL_CALLS and self._calls and not calls:
            finish = Finish.STOP
        told = tuple(ToolCall(call.id, call.name, "".join(call.arguments)) for call in calls)
        return Answer("".join(self._text), finish, told, self.usage, heard)
