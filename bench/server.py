"""Server processes under load: the real `stagepost up`, and the bare one beside it."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

from bench.runner import ROOT

HOST = "127.0.0.1"

_START = 60.0  # seconds
_STOP = 30.0
_HURRY = 2.0  # seconds after which a stop is asked for once more


@dataclass(frozen=True, slots=True)
class Server:
    """A process that answers at a port. `pid` is of the one that serves."""

    port: int
    pid: int

    @property
    def resident(self) -> int:
        """Bytes of memory in use."""
        pages = Path(f"/proc/{self.pid}/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    @property
    def cpu(self) -> float:
        """Seconds that its threads have computed so far."""
        text = Path(f"/proc/{self.pid}/stat").read_text(encoding="ascii")
        user, system = text.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@contextmanager
def stagepost(
    data: Path, *, slots: int, settings: Mapping[str, str] | None = None
) -> Iterator[Server]:
    """`stagepost up` with the task types of `bench.apps`."""
    words = ["up", "--port", "0", "--data", str(data), "--app", "bench.apps:app"]
    command = [sys.executable, "-m", "stagepost", *words, "--concurrency", str(slots)]
    with _running(command, settings or {}) as (said, process):
        yield Server(_port(said), _only_child(process.pid))
        _stop(process)


@contextmanager
def bare() -> Iterator[Server]:
    """The bare server, killed in the end: it has nothing to lose."""
    with _running([sys.executable, "-m", "bench.bare_server"], {}) as (said, process):
        yield Server(_port(said), process.pid)


@contextmanager
def provider(*words: str) -> Iterator[tuple[Server, str]]:
    """`stagepost simulate-provider`, and the models.toml that it prints; killed in the end."""
    command = [sys.executable, "-m", "stagepost", "simulate-provider", "--json", *words]
    with _running(command, {}) as (line, process):
        said = json.loads(line)
        yield Server(int(said["ready"].rpartition(":")[2]), process.pid), said["modelsToml"]


@contextmanager
def review_endpoint(*words: str) -> Iterator[Server]:
    """The design that Stagepost replaces, killed in the end."""
    with _running([sys.executable, "-m", "bench.review_endpoint", *words], {}) as (said, process):
        yield Server(_port(said), process.pid)


def get(port: int, path: str) -> bytes:
    """The body of a 200. Raises SystemExit for any other answer."""
    connection = HTTPConnection(HOST, port, timeout=30)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read()
    finally:
        connection.close()
    if answer.status != 200:
        raise SystemExit(f"GET {path} was answered with {answer.status}: {body[:500]!r}")
    return body


def _only_child(pid: int) -> int:
    """The process that serves; the one that was started supervises it."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    return int(children[0])


@contextmanager
def _running(
    command: Sequence[str], settings: Mapping[str, str]
) -> Iterator[tuple[bytes, "subprocess.Popen[bytes]"]]:
    """A process and its first line."""
    process = subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, **settings}, stdout=subprocess.PIPE
    )
    try:
        yield _first_line(process), process
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def _port(line: bytes) -> int:
    """Of `ready http://host:port`."""
    return int(line.split()[1].rpartition(b":")[2])


def _first_line(process: "subprocess.Popen[bytes]") -> bytes:
    assert process.stdout is not None
    last = time.monotonic() + _START
    said = b""
    while b"\n" not in said:
        readable, _, _ = select.select([process.stdout], [], [], max(0.0, last - time.monotonic()))
        piece = os.read(process.stdout.fileno(), 4096) if readable else b""
        if not piece:
            raise SystemExit(f"the server did not come up; it said {said!r}")
        said += piece
    return said.partition(b"\n")[0]


def _stop(process: "subprocess.Popen[bytes]") -> None:
    """Ask it to end, and once more, which cuts what runs where it is."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(_HURRY)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGTERM)
        process.wait(_STOP)
