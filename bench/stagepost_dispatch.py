"""From a submit call to the start of its handler, at low load.

By a client in the engine's own process, or over HTTP from another one to the real `stagepost up`.
"""

import argparse
import asyncio
import socket
import time
from pathlib import Path

import orjson
import uvloop

from bench import server
from bench.apps import Sent, app
from bench.low_load import EVERY, WARM_UP, figures_of
from bench.program import Figures, print_figures, scratch_folder
from bench.server import HOST
from stagepost.settings import Settings
from stagepost.wiring import Engine, open_engine

_PATIENCE = 30.0  # seconds


async def by_client(folder: Path, samples: int) -> Figures:
    """The handler returns what it saw; that is read when all is over."""
    async with open_engine(Settings(data=folder), app) as engine:
        ids = []
        for _ in range(WARM_UP + samples):
            ids.append(
                (await engine.client.submit("stamp", Sent(sent=time.monotonic_ns()))).task_id
            )
            await asyncio.sleep(EVERY)
        seen = [await _result(engine, task_id) for task_id in ids]
    return figures_of("stagepost, client", seen)


async def _result(engine: Engine, task_id: str) -> float:
    view = await engine.client.wait(task_id, timeout=_PATIENCE)
    return float(await engine.client.result(view))


def by_http(folder: Path, samples: int) -> Figures:
    """One connection that is kept; the clock starts before the request is put together."""
    with (
        server.stagepost(folder, slots=8) as running,
        socket.create_connection((HOST, running.port), timeout=_PATIENCE) as connection,
    ):
        ids = []
        for _ in range(WARM_UP + samples):
            ids.append(_post(connection))
            time.sleep(EVERY)
        seen = [float(server.get(running.port, f"/api/v1/tasks/{id_}/result")) for id_ in ids]
    return figures_of("stagepost, HTTP", seen)


def _post(connection: socket.socket) -> str:
    """The id of an accepted task."""
    body = b'{"sent":%d}' % time.monotonic_ns()
    connection.sendall(
        b"POST /api/v1/tasks/stamp HTTP/1.1\r\nhost: localhost\r\n"
        b"content-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)
    )
    answer = b""
    while b"}" not in answer:
        piece = connection.recv(65_536)
        if not piece:
            break
        answer += piece
    head, _, accepted = answer.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 202"):
        raise SystemExit(f"a submit was answered with {answer!r}")
    return str(orjson.loads(accepted)["taskId"])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("subject", choices=["client", "http"])
    parser.add_argument("--size", type=int, default=500, help="tasks")
    words = parser.parse_args()
    with scratch_folder() as folder:
        if words.subject == "client":
            print_figures(uvloop.run(by_client(folder, words.size)))
        else:
            print_figures(by_http(folder, words.size))


if __name__ == "__main__":
    main()
