"""Redis from Debian's package: append-only, so that what it answered survives its process."""

import os
import shutil
import signal
import socket
from collections.abc import Sequence

from stagepost.devservices.service import HOST, Place

_PROGRAM = "redis-server"


class Redis:
    """The `redis` service: bus and limiter."""

    name = "redis"
    package = "redis-server"
    account = "redis"
    settings = ("STAGEPOST_BUS", "STAGEPOST_LIMITER")
    stop_signals = (signal.SIGTERM,)

    def installed(self) -> bool:
        """Whether redis-server is on the path."""
        return shutil.which(_PROGRAM) is not None

    def prepare(self, place: Place) -> None:
        """An empty data folder; Redis fills it at its first start."""
        place.data.mkdir(mode=0o700, exist_ok=True)
        if place.account:
            os.chown(place.data, place.account.uid, place.account.gid)

    def after_reboot(self, place: Place) -> None:
        """Redis leaves nothing that another start minds."""

    def command(self, place: Place) -> Sequence[str]:
        """It reads its configuration from standard input, where `ps` cannot see the password."""
        del place
        return [_PROGRAM, "-"]

    def standard_input(self, place: Place) -> str:
        """Its configuration: loopback, password, no snapshots, the append-only file on."""
        lines = [
            f"bind {HOST}",
            f"port {place.port}",
            f"requirepass {place.password}",
            f'dir "{place.data}"',
            'save ""',
            "appendonly yes",
            "daemonize no",
        ]
        return "\n".join(lines) + "\n"

    def answers(self, place: Place) -> bool:
        """Whether it takes the password and answers PING."""
        question = f"AUTH {place.password}\r\nPING\r\n".encode()
        expected = b"+OK\r\n+PONG\r\n"
        answer = b""
        try:
            with socket.create_connection((HOST, place.port), timeout=2) as connection:
                connection.sendall(question)
                while len(answer) < len(expected) and (part := connection.recv(64)):
                    answer += part
        except OSError:
            return False
        return answer == expected

    def finish(self, place: Place) -> None:
        """Nothing is left to do."""

    def url(self, place: Place) -> str:
        """Database 0."""
        return f"redis://:{place.password}@{HOST}:{place.port}/0"
