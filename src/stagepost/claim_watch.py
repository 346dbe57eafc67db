"""What the calls of one claim tell to traces and metrics. Nothing depends on it."""

from stagepost.calls import CallEnd, CallKey, NewCall
from stagepost.errors import CallFailed
from stagepost.journal import CallWait, GotCall, WantedCall
from stagepost.limiter import Verdict
from stagepost.llm.asking import Asking
from stagepost.llm.catalogue import Model
from stagepost.llm.lending import Lent
from stagepost.llm.provider import ChatRequest
from stagepost.llm.spans import Operation
from stagepost.records import Claimed


class ClaimWatch:
    """One claim's, in the handlers' event loop."""

    def __init__(self, claim: Claimed, asking: Asking) -> None:
        self._claim = claim
        self._watchers = asking.watchers
        self._spans = asking.spans
        self._clock = asking.clock
        self._operations: dict[CallKey, Operation] = {}
        self._waits: dict[CallKey, tuple[str, float, float]] = {}
        self._models: dict[str, str] = {}  # of answers in a form, which may turn out not to fit

    def operation(self, key: CallKey, wanted: WantedCall, model: Model) -> Operation:
        """A handler asks, for the first time or again; `model` is the first that is sent to."""
        found = self._operations.get(key)
        if found is None:
            claim = self._claim
            about = {"stagepost.task.type": claim.type, "stagepost.step": wanted.path}
            found = self._spans.operation(
                claim.task_id, claim.trace_id, about, wanted.request, model
            )
            self._operations[key] = found
        return found

    def told(self, key: CallKey, told: GotCall | CallWait) -> None:
        """It has its answer, or has to wait."""
        operation = self._operations.get(key)
        if operation is None:
            # What a handler has left running ends behind its claim.
            return
        if isinstance(told, CallWait):
            operation.waits(told.why, told.seconds)
        else:
            operation.answered(told.model, told.answer)
            del self._operations[key]

    def failed(self, key: CallKey, error: CallFailed) -> None:
        """It gets none."""
        self._waits.pop(key, None)
        operation = self._operations.pop(key, None)
        if operation is not None:
            operation.failed(error)

    def limits(self, key: CallKey, model: Model, began: float, lent: Lent | Verdict) -> None:
        """The model's limits were asked for at an instant, and granted, or promised for later."""
        _, since, _ = self._waits.pop(key, ("", began, began))
        now = self._clock.monotonic()
        if isinstance(lent, Verdict):
            self._waits[key] = (model.name, since, now + lent.wait)
        else:
            self._watchers.waited(model.name, now - since)

    def sent(self, model: Model) -> None:
        """A request goes out."""
        self._watchers.sent(self._claim.type, model.name)

    def ended(self, call: NewCall, end: CallEnd) -> None:
        """It has ended."""
        self._watchers.ended(self._claim.type, call, end)

    def taken(self, wanted: WantedCall, got: GotCall) -> None:
        """The handler gets an answer, which it may reject if it wanted a form."""
        if isinstance(wanted.request, ChatRequest) and wanted.request.form is not None:
            self._models[got.call_id] = got.model

    def rejected(self, call_id: str) -> None:
        """It has rejected it."""
        self._watchers.rejected(self._claim.type, self._models.pop(call_id, ""))

    def close(self) -> None:
        """The claim is over: what has no answer yet is asked for by another one."""
        for operation in self._operations.values():
            operation.let_go()
        for model, since, until in self._waits.values():
            # It comes again when it was told to.
            self._watchers.waited(model, until - since)
        self._operations.clear()
        self._waits.clear()
