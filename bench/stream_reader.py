"""Many open event streams, read by one thread over raw sockets, so that reading costs little."""

import re
import resource
import select
import socket
import time
from collections.abc import Callable, Sequence

from bench.server import HOST

#: The time of a tick in nanoseconds, with its number before it (`bench.apps.tick`).
_TICK = re.compile(rb'"message":"(\d+):(\d+)"')
_OPENED = b"event: status"
_AT_ONCE = 64  # streams that are opened at the same time
_OPENING = 120.0  # seconds for all


class StreamReader:
    """Opens streams, and notes how long each tick took from its handler to here."""

    def __init__(self, port: int) -> None:
        self.opened = 0
        self.ticks: list[tuple[int, float]] = []
        """Of each tick its number and the milliseconds that it took."""
        self._port = port
        self._epoll = select.epoll()
        self._streams: dict[int, _Stream] = {}

    def open(self, paths: Sequence[str]) -> None:
        """Open them all; each has sent its first event then."""
        _raise_file_limit(len(paths) + 100)
        last = time.monotonic() + _OPENING
        waiting = list(reversed(paths))
        wanted = self.opened + len(paths)
        while self.opened < wanted:
            while waiting and len(self._streams) - self.opened < _AT_ONCE:
                self._connect(waiting.pop())
            self._read(1.0)
            if time.monotonic() > last:
                raise SystemExit(f"only {self.opened} of {wanted} streams were open in time")

    def read_until(self, done: Callable[[], bool], last: float) -> None:
        """Read on until `done`, or until the monotonic time `last`."""
        while not done() and time.monotonic() < last:
            self._read(0.2)

    def close(self) -> None:
        """Let go of all."""
        for stream in self._streams.values():
            stream.socket.close()
        self._streams.clear()
        self._epoll.close()

    def _connect(self, path: str) -> None:
        connection = socket.create_connection((HOST, self._port), timeout=30)
        connection.sendall(f"GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
        connection.setblocking(False)
        self._streams[connection.fileno()] = _Stream(connection)
        self._epoll.register(connection.fileno(), select.EPOLLIN)

    def _read(self, timeout: float) -> None:
        for number, _ in self._epoll.poll(timeout):
            stream = self._streams[number]
            piece = stream.socket.recv(65_536)
            now = time.monotonic_ns()
            if not piece:
                raise SystemExit(f"a stream ended early, behind {stream.rest!r}")
            self._note(stream, piece, now)

    def _note(self, stream: "_Stream", piece: bytes, now: int) -> None:
        text = stream.rest + piece
        if not stream.open:
            if _OPENED not in text:
                stream.rest = text
                return
            stream.open = True
            self.opened += 1
        end = 0
        for tick in _TICK.finditer(text):
            self.ticks.append((int(tick[1]), (now - int(tick[2])) / 1e6))
            end = tick.end()
        # A tick may be cut in two; it is no longer than this.
        stream.rest = text[end:][-64:]


class _Stream:
    """One connection, and what was read of it behind the last tick."""

    __slots__ = ("open", "rest", "socket")

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.open = False
        self.rest = b""


def _raise_file_limit(wanted: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted:
        if hard != resource.RLIM_INFINITY and hard < wanted:
            raise SystemExit(f"{wanted} open files are needed, and the limit is {hard}: ulimit -n")
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
