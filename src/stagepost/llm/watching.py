"""Who wants to know of calls as they are sent and as they end, such as the metrics."""

from collections.abc import Callable
from typing import Protocol

from stagepost.calls import CallEnd, NewCall


class Watcher(Protocol):
    """Told in the handlers' event loop: it returns at once, and raises nothing.

    `type_name` is the task's type; `model` is a name such as `main/gpt-large`.
    """

    def waited(self, model: str, seconds: float) -> None:
        """A call has waited so long for the limits of its model, or has to."""
        ...

    def sent(self, type_name: str, model: str) -> None:
        """A call goes out; its intent is in the ledger."""
        ...

    def ended(self, type_name: str, call: NewCall, end: CallEnd) -> None:
        """A call has ended, and its end is about to be written."""
        ...

    def rejected(self, type_name: str, model: str) -> None:
        """An answer that was taken turns out not to be usable."""
        ...


class Watchers:
    """All who listen; each is told what the others are."""

    def __init__(self) -> None:
        self._listening: tuple[Watcher, ...] = ()

    def listen(self, watcher: Watcher) -> Callable[[], None]:
        """Tell this one, too; what is returned ends it. From any thread."""
        self._listening = (*self._listening, watcher)

        def stop() -> None:
            self._listening = tuple(each for each in self._listening if each is not watcher)

        return stop

    def waited(self, model: str, seconds: float) -> None:
        """See Watcher."""
        for each in self._listening:
            each.waited(model, seconds)

    def sent(self, type_name: str, model: str) -> None:
        """See Watcher."""
        for each in self._listening:
            each.sent(type_name, model)

    def ended(self, type_name: str, call: NewCall, end: CallEnd) -> None:
        """See Watcher."""
        for each in self._listening:
            each.ended(type_name, call, end)

    def rejected(self, type_name: str, model: str) -> None:
        """See Watcher."""
        for each in self._listening:
            each.rejected(type_name, model)
