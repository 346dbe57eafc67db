"""What a running handler may read and write, whether it runs here or in a child process."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from stagepost.batch import Batch, ChildRecord
from stagepost.limiter import Verdict
from stagepost.llm.provider import Answer as ChatAnswer
from stagepost.llm.provider import ChatRequest, Embeddings, EmbedRequest, Timeouts
from stagepost.records import ProgressNote
from stagepost.signals import NewWait, Pending
from stagepost.task import Payload


class Found(NamedTuple):
    """A saved step: the hash of its input, and its result as JSON text."""

    input_hash: str
    text: str


class NewStep(NamedTuple):
    """A step's result, to be saved; `took` is in milliseconds."""

    path: str
    name: str
    input_hash: str
    text: str
    took: int


class NewChildren(NamedTuple):
    """The next children of the batch at `path`, from place `first` on; `inputs` are JSON texts.

    `before` and `after` are digests of what the handler asked for, up to here and with these.
    """

    path: str
    type: str
    lane: str | None
    detached: bool
    progress: tuple[int, int] | None
    message: str
    first: int
    inputs: tuple[str, ...]
    before: str
    after: str
    last: bool


class WantedCall(NamedTuple):
    """A call to a model, an alias or `provider/model`; `request.model` is that name too.

    `n` tells apart calls of one step with the same request, from 0. With `emit` the text goes to
    whoever watches as it comes. `patient`: where no model can be had a wait is answered, and no
    failure.
    """

    path: str
    n: int
    request: ChatRequest | EmbedRequest
    timeouts: Timeouts
    emit: bool = False
    patient: bool = True


class GotCall(NamedTuple):
    """An answer, new or of an earlier attempt, and which model gave it."""

    call_id: str
    model: str
    answer: ChatAnswer | Embeddings


class CallWait(NamedTuple):
    """It will take about so many seconds, because of `why`, in words."""

    seconds: float
    why: str


class Journal(Protocol):
    """One claim's own notes. The methods raise LeaseLost once another claim owns the task."""

    async def find(self, path: str) -> Found | None:
        """The step saved under a path, in this attempt or an earlier one."""
        ...

    async def begin(self) -> None:
        """Return once something may be started: not while the lease may be over."""
        ...

    async def save(self, step: NewStep) -> None:
        """Save a step; when this returns, it is never run again."""
        ...

    async def sleep(self, path: str, seconds: float) -> Pending:
        """How long a sleep still lasts; its end is fixed by the first call with its path."""
        ...

    async def listen(self, wait: NewWait) -> Pending | str:
        """Take a signal or end a wait, which is then saved: its step's text; or go on waiting."""
        ...

    async def note(self, note: ProgressNote) -> None:
        """Say how far the task is; returns at once, at most four a second are kept."""
        ...

    async def emit(self, step: str, text: str) -> None:
        """Send a piece of text to whoever watches; returns at once."""
        ...

    async def attach(self, name: str, media_type: str, content: bytes | Path) -> None:
        """Save an artifact."""
        ...

    async def batch(self, path: str) -> Batch | None:
        """The children that were started at a path."""
        ...

    async def spawn(self, children: NewChildren) -> Batch:
        """Start children, once each; raises CancelAsked, UnknownType, UnknownLane, Invalid."""
        ...

    async def children(
        self, batch_id: str, after: int, limit: int, *, texts: bool
    ) -> Sequence[ChildRecord]:
        """A batch's children by their place, behind a place; without `texts` no results."""
        ...

    async def text(self, value: Payload) -> str:
        """The JSON text of a value, wherever it is kept."""
        ...

    async def path(self, key: str) -> Path:
        """A local file with an upload's bytes."""
        ...

    async def replays(self, path: str) -> bool:
        """Whether a step saved by an earlier claim, right in this scope, was not asked for yet."""
        ...

    async def reserve(self, place: str, wants: Mapping[str, int], patience: float) -> Verdict:
        """Take units of limits, by their names, and wait up to `patience` seconds for them.

        `place` is the identity of this within the task. Raises UnknownLimit, NeverFits, ValueError.
        """
        ...

    async def models(self) -> Sequence[str]:
        """The names under which models can be called."""
        ...

    async def call(self, wanted: WantedCall) -> GotCall | CallWait:
        """Call a model, or return the answer that an earlier attempt has got.

        Short waits are waited for in place. Raises CallFailed.
        """
        ...

    async def reject(self, call_id: str, why: str) -> None:
        """An answer can't be used: it is kept, and no later attempt gets it."""
        ...

    async def release(self, place: str) -> None:
        """What was reserved there and is held is free."""
        ...
