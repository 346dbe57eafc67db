"""A loopback port that stays ours while its service is down."""

import secrets
import socket
from pathlib import Path

from stagepost.devservices.errors import Refused
from stagepost.devservices.service import HOST

_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")
_TRIES = 200


def free_port() -> int:
    """A port that nobody listens on, outside the range that the kernel gives to clients.

    A service keeps its port for good. Were it from that range, a client's outgoing connection
    could hold it at the moment when the service comes back.
    """
    first, last = (int(word) for word in _EPHEMERAL.read_text(encoding="ascii").split())
    for _ in range(_TRIES):
        port = 15_000 + secrets.randbelow(50_000)
        if not first <= port <= last and is_free(port):
            return port
    raise Refused(f"No free port was found on {HOST} in {_TRIES} tries.")


def is_free(port: int) -> bool:
    """Whether a server could listen there now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As servers do: connections that wait to time out do not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True
