"""A real server under `stagepost up`, and the command as a person runs it."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import orjson

STAGEPOST = str(Path(sys.executable).with_name("stagepost"))
APPS = Path(__file__).parent / "apps"
LONGEST = 30.0
"""Seconds for anything to happen; far more than it takes."""

QUICK = {
    "STAGEPOST_LEASE": "2",
    "STAGEPOST_HEARTBEAT": "0.4",
    "STAGEPOST_DRAIN_GRACE": "5",
    "STAGEPOST_CANCEL_GRACE": "1",
}


def environment(**more: str) -> dict[str, str]:
    """That of this process without settings of its own, and some more."""
    plain = {name: value for name, value in os.environ.items() if "STAGEPOST" not in name}
    return {**plain, **more}


def until(happens: object, what: str) -> None:
    """Wait until a callable is true."""
    assert callable(happens)
    end = time.monotonic() + LONGEST
    while not happens():
        assert time.monotonic() < end, f"{what} did not happen"
        time.sleep(0.02)


@dataclass
class Server:
    """`stagepost up` on a scratch folder."""

    folder: Path
    process: "subprocess.Popen[bytes]"
    url: str = ""
    more: Mapping[str, str] = field(default_factory=dict)

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def child(self) -> int:
        """The serving process."""
        return int((self.data / "lock").read_text())

    @property
    def serving(self) -> list[int]:
        """The serving processes, one after the other, of any command."""
        return [int(number) for number in re.findall(r"serving as process (\d+)", self.err())]

    def out(self) -> str:
        return (self.folder / "out").read_text()

    def err(self) -> str:
        return (self.folder / "err").read_text()

    def until_ready(self) -> None:
        def answered() -> bool:
            assert self.process.poll() is None, self.err()
            return "ready " in self.out()

        until(answered, "ready")
        # The last word, since `ready worker` has its probe's address behind it.
        self.url = self.out().split("ready ", 1)[1].splitlines()[0].split()[-1]

    def get(self, path: str) -> httpx.Response:
        return httpx.get(self.url + path, timeout=LONGEST)

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(LONGEST)


def _on(store: str) -> dict[str, str]:
    """What must be longer on PostgreSQL."""
    return {"STAGEPOST_LEASE": "5"} if store.startswith("postgresql") else {}


@contextlib.contextmanager
def serving(folder: Path, *words: str, cwd: Path = APPS, **more: str) -> Iterator[Server]:
    """A process of any serving command, which is gone when the context ends."""
    folder.mkdir(exist_ok=True)
    with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
        process = subprocess.Popen(
            [STAGEPOST, *words],
            cwd=cwd,
            env=environment(**{**QUICK, **_on(more.get("STAGEPOST_STORE", "")), **more}),
            stdout=out,
            stderr=err,
        )
    server = Server(folder, process, more=more)
    try:
        server.until_ready()
        yield server
    finally:
        process.kill()
        process.wait(LONGEST)


@contextlib.contextmanager
def up(folder: Path, *words: str, cwd: Path = APPS, **more: str) -> Iterator[Server]:
    """`stagepost up`, which is gone when the context ends."""
    command = ("up", "--data", str(folder / "data"), "--port", "0", *words)
    with serving(folder, *command, cwd=cwd, **more) as server:
        yield server


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, object]:
        found: dict[str, object] = orjson.loads(self.out)
        return found


def stagepost(
    *words: str, stdin: str = "", cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> Ran:
    """Run a command to its end."""
    done = subprocess.run(
        [STAGEPOST, *words],
        capture_output=True,
        check=False,
        text=True,
        input=stdin,
        cwd=cwd,
        env=environment(**(env or {})),
        timeout=LONGEST * 2,
    )
    return Ran(done.returncode, done.stdout, done.stderr)
