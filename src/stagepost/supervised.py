"""The supervised process's side of the pipe to its supervisor (see supervisor)."""

import asyncio
import logging
import os
import signal
from typing import Final

_log = logging.getLogger("stagepost.serve")

PULSE: Final = b"."
"""The main loop turns."""
READY: Final = b"r"
"""The API answers."""
REPLACE_ME: Final = 70
"""The exit code that asks for another process (EX_SOFTWARE of sysexits.h)."""


class Supervised:
    """What the supervisor is told, and what it tells."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        os.set_blocking(pipe, False)
        self.told_to_stop = asyncio.Event()
        self.in_a_hurry = asyncio.Event()

    def obey(self) -> None:
        """A first SIGTERM asks for a drain, a second for a quick one."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._told)

    def ready(self) -> None:
        """The API answers."""
        _log.info("serving as process %d", os.getpid())
        self._say(READY)

    async def beat(self, every: float) -> None:
        """Show that the main loop turns, until cancelled."""
        while True:
            self._say(PULSE)
            await asyncio.sleep(every)

    def _told(self) -> None:
        (self.in_a_hurry if self.told_to_stop.is_set() else self.told_to_stop).set()

    def _say(self, sign: bytes) -> None:
        try:
            os.write(self._pipe, sign)
        except BlockingIOError:
            # It is stopped and reads nothing; it will find enough signs when it goes on.
            return
        except BrokenPipeError:
            # It is gone, and must leave no worker behind.
            os._exit(REPLACE_ME)
