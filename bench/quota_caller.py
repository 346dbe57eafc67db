"""The common part of those who call: at the case's instants, whatever has become of earlier calls.

A caller says `ready`, waits for a line on its standard input, and calls; at the next line it says
what has become of its calls, as one line of JSON.
"""

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from bench.quota_case import Call, calls, cases


@dataclass(slots=True)
class Caller:
    """Begins a call at its instant by `ask`; `ended` counts how they ended, by a word."""

    ask: Callable[[str], Awaitable[str]]
    ended: Counter[str] = field(default_factory=Counter)
    begun: int = 0
    _flying: set["asyncio.Task[None]"] = field(default_factory=set)

    async def run(self, case: str, minutes: float) -> None:
        """From the first line of standard input to the second."""
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        calling = asyncio.create_task(self._call(calls(cases()[case], minutes)))
        await asyncio.to_thread(sys.stdin.readline)
        calling.cancel()
        with suppress(asyncio.CancelledError):
            await calling
        for one in self._flying:
            one.cancel()
        await asyncio.gather(*self._flying, return_exceptions=True)

    async def _call(self, wanted: Iterator[Call]) -> None:
        begin = time.monotonic()
        for call in wanted:
            if (wait := begin + call.at - time.monotonic()) > 0:
                await asyncio.sleep(wait)
            self.begun += 1
            one = asyncio.create_task(self._one(call.prompt))
            self._flying.add(one)
            one.add_done_callback(self._flying.discard)

    async def _one(self, prompt: str) -> None:
        self.ended[await self.ask(prompt)] += 1


def told(figures: Mapping[str, float]) -> None:
    """The line that says what has become of them."""
    print(json.dumps(dict(figures)), flush=True)
