"""When the next of a stream has to have come."""

import asyncio
from typing import Final

from stagepost.llm.provider import Timeouts

_AFTER_THE_END: Final = 10.0  # seconds that the count of tokens may come behind the finish reason


class Watch:
    """Starts when it is made. Instants are the event loop's."""

    def __init__(self, timeouts: Timeouts) -> None:
        self._timeouts = timeouts
        self._loop = asyncio.get_running_loop()
        self._end = self._loop.time() + timeouts.total
        self._next = self._loop.time() + timeouts.first_token
        self._late = f"No first token within {timeouts.first_token:g} s."

    @property
    def until(self) -> float:
        """The instant by which something has to have come."""
        return min(self._next, self._end)

    @property
    def end(self) -> float:
        """The instant by which all has to have come."""
        return self._end

    @property
    def late(self) -> str:
        """What it means if nothing comes until then."""
        return self._late if self._next < self._end else self.never

    @property
    def never(self) -> str:
        """What it means if not all comes in time."""
        return f"No whole answer within {self._timeouts.total:g} s."

    def alive(self) -> None:
        """A piece of content has come, and its reader is done with it."""
        between = self._timeouts.between_tokens
        self._next = self._loop.time() + between
        self._late = f"No further token within {between:g} s."

    def ended(self) -> None:
        """The finish reason has come; only the count of tokens may be missing."""
        self._end = min(self._end, self._loop.time() + _AFTER_THE_END)
