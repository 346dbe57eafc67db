"""Handlers for the engine's tests; those that run in children must stand in a module."""

import asyncio
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from engine_kit.engine import lines, note
from stagepost import (
    App,
    CodeChanged,
    ContentPolicy,
    Context,
    InvalidInput,
    Overloaded,
    RateLimited,
    Retry,
    ServerError,
    Upload,
)

app = App()
SOON = Retry(attempts=2, first=0.05, jitter=0)


class Ask(BaseModel):
    how: str = ""
    log: str = ""
    n: int = 0


class OneFile(BaseModel):
    file: Upload


class Unpicklable(Exception):
    """Can be pickled and not be read again."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(f"{one} {two}")
        self.lock = threading.Lock() if one == "lock" else None


def pid_of(_number: int = 0) -> int:
    return os.getpid()


def kill_me() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def fork_and_die(log: str) -> None:
    """As a pool of processes does whose owner is killed."""
    forked = os.fork()
    if forked == 0:
        time.sleep(600)
        os._exit(0)
    note(log, str(forked))
    kill_me()


def hang(log: str) -> None:
    note(log, str(os.getpid()))
    time.sleep(600)


def fail_oddly(kind: str) -> None:
    raise Unpicklable(kind, "two")


def answer_oddly() -> Any:
    return threading.Lock()


@app.task("plain")
async def plain(ctx: Context, request: Ask) -> int:
    return request.n + 1


@app.task("fail", retry=SOON, timeout="5s")
async def fail(ctx: Context, request: Ask) -> Any:  # noqa: PLR0912  # a list of ends
    await ctx.progress(10, "about to end")
    match request.how:
        case "invalid":
            raise InvalidInput("the file is empty")
        case "policy":
            raise ContentPolicy("not this")
        case "overloaded":
            raise Overloaded("busy")
        case "server":
            raise ServerError("broken")
        case "timeout":
            raise TimeoutError
        case "bug":
            raise ValueError("secret")
        case "changed":
            raise CodeChanged("other")
        case "exit":
            sys.exit(3)
        case "interrupt":
            raise KeyboardInterrupt
        case "branch-exit":
            await asyncio.gather(leave(), asyncio.sleep(0.05))
        case "cancelled":
            raise asyncio.CancelledError
        case "cancel-all":
            for each in asyncio.all_tasks():
                each.cancel()
            await asyncio.sleep(0)
        case "generator-exit":
            raise GeneratorExit
        case "group":
            async with asyncio.TaskGroup() as group:
                group.create_task(refuse())
        case "broken-text":
            raise InvalidInput("bad name \udcff")
        case "unserialisable":
            return object()
        case "huge":
            return "x" * (16 * 1024 * 1024)
        case "large":
            return "x" * 200_000
    return request.how


async def leave() -> None:
    sys.exit(3)


async def refuse() -> None:
    raise InvalidInput("from within a group")


@app.task("limited", retry=SOON)
async def limited(ctx: Context, request: Ask) -> int:
    note(request.log, f"attempt {ctx.attempt}")
    if len(lines(Path(request.log))) < 3:
        raise RateLimited("wait for them", retry_after=0.3)
    return ctx.attempt


@app.task("sync", retry=SOON, timeout="20s")
def sync(ctx: Any, request: Ask) -> Any:
    note(request.log, f"{os.getpid()} {ctx.attempt}")
    match request.how:
        case "kill":
            kill_me()
        case "kill-once" if ctx.attempt == 1:
            kill_me()
        case "kill-after-step":
            ctx.step("saved", pid_of)
            if len(lines(Path(request.log))) == 1:
                kill_me()
        case "exit":
            sys.exit(3)
        case "_exit":
            os._exit(3)
        case "bug":
            raise ValueError("secret")
        case "invalid":
            raise InvalidInput("the file is empty")
        case "nested":
            return ctx.map("outer", lambda n: ctx.step("inner", lambda: n + 1), range(8))
        case "huge":
            return "x" * (16 * 1024 * 1024)
    ctx.progress(50, "half")
    return ctx.step("pid", pid_of)


@app.task("sync-version", version=3)
def sync_version(ctx: Any, request: Ask) -> int:
    version: int = ctx.version
    return version


@app.task("sync-hang", retry=Retry(attempts=1), timeout=5)
def sync_hang(ctx: Any, request: Ask) -> None:
    hang(request.log)


@app.task("sync-file")
def sync_file(ctx: Any, request: OneFile) -> str:
    content: bytes = ctx.wait(request.file.read())
    ctx.save_artifact("copy.txt", content, "text/plain")
    ctx.emit("copied")
    return content.decode()


@app.task("sync-steps", timeout="60s")
def sync_steps(ctx: Any, request: Ask) -> list[int]:
    def slow(number: int) -> int:
        note(request.log, f"began {number}")
        time.sleep(0.4)
        note(request.log, f"ended {number}")
        return number

    return [ctx.step("slow", slow, number) for number in range(request.n)]


@app.task("cpu", cpu=True)
async def cpu(ctx: Context, request: Ask) -> int:
    return await ctx.step("pid", pid_of)


@app.task("cpu-steps", retry=SOON, timeout="30s")
async def cpu_steps(ctx: Context, request: Ask) -> Any:
    match request.how:
        case "pids":
            return await ctx.map("pid", pid_of, range(6), cpu=True)
        case "kill":
            await ctx.step("kill", kill_me, cpu=True)
        case "hang":
            await ctx.step("hang", hang, request.log, cpu=True, timeout=0.5)
        case "answer":
            await ctx.step("answer", answer_oddly, cpu=True)
        case "lambda":
            await ctx.step("lambda", lambda: 1, cpu=True)
    return await ctx.step("fail", fail_oddly, request.how, cpu=True)


@app.task("suspect", timeout="30s")
async def suspect(ctx: Context, request: Ask) -> int:
    note(request.log, f"{os.getpid()}")
    if len(lines(Path(request.log))) == 1:
        await asyncio.sleep(60)
    return os.getpid()


@app.task("block", retry=Retry(attempts=1), timeout=1)
async def block(ctx: Context, request: Ask) -> None:
    note(request.log, "blocked")
    time.sleep(5)  # noqa: ASYNC251  # that is the fault


@app.task("block-in-branch", retry=Retry(attempts=1), timeout=1)
async def block_in_branch(ctx: Context, request: Ask) -> None:
    async def branch(_number: int) -> None:
        note(request.log, "blocked")
        time.sleep(5)  # noqa: ASYNC251  # that is the fault

    await ctx.map("branch", branch, [1])


@app.task("stubborn", timeout="30s")
async def stubborn(ctx: Context, request: Ask) -> str:
    note(request.log, "began")
    limit = time.monotonic() + 20
    while time.monotonic() < limit:
        try:
            await asyncio.sleep(1)
        except asyncio.CancelledError:
            note(request.log, "ignored")
    return "made up"


@app.task("busy-threads", timeout="30s")
async def busy_threads(ctx: Context, request: Ask) -> None:
    """Keeps every default thread of the event loop busy until the file `log` is there."""

    def until_there() -> None:
        limit = time.monotonic() + 20
        while time.monotonic() < limit and not Path(request.log).exists():
            time.sleep(0.02)

    await asyncio.gather(*(asyncio.to_thread(until_there) for _ in range(64)))


@app.task("wait", timeout="30s")
async def wait(ctx: Context, request: Ask) -> str:
    note(request.log, f"began {ctx.attempt}")
    await asyncio.sleep(20)
    return "done"


@app.task("steps", timeout="30s")
async def steps(ctx: Context, request: Ask) -> int:
    async def work(number: int) -> int:
        note(request.log, f"ran {number}")
        await asyncio.sleep(0.05)
        return number

    return sum([await ctx.step("work", work, number) for number in range(request.n)])


@app.task("brief", retry=SOON, timeout=0.5)
async def brief(ctx: Context, request: Ask) -> None:
    note(request.log, f"began {ctx.attempt}")
    await asyncio.sleep(20)


@app.task("block-as-a-stray")
async def block_as_a_stray(ctx: Context, request: Ask) -> None:
    async def stray() -> None:
        await asyncio.sleep(0.3)
        note(request.log, "blocked")
        time.sleep(4)  # noqa: ASYNC251  # that is the fault

    ctx.background = asyncio.create_task(stray())  # type: ignore[attr-defined]


@app.task("climb", retry=Retry(attempts=3, first=0.05, jitter=0), timeout="30s")
async def climb(ctx: Context, request: Ask) -> None:
    def tell(percent: int) -> int:
        return percent

    for percent in (20, 40, 60):
        await ctx.step(f"to-{percent}", tell, percent, progress=percent)
        await asyncio.sleep(0.3)
        if percent == 20 * ctx.attempt:
            raise Overloaded("again")


@app.task("hung-thread", retry=Retry(attempts=1), timeout="20s")
async def hung_thread(ctx: Context, request: Ask) -> None:
    await ctx.step("hang", hang, request.log, timeout=0.3)


@app.task("stray", timeout="20s")
async def stray(ctx: Context, request: Ask) -> str:
    async def late() -> None:
        await asyncio.sleep(0.3)
        for use in (
            lambda: ctx.step("late", pid_of),
            lambda: ctx.progress(90),
            lambda: ctx.emit("late"),
        ):
            try:
                await use()
            except RuntimeError as error:
                note(request.log, str(error)[:30])

    ctx.background = asyncio.create_task(late())  # type: ignore[attr-defined]
    await ctx.progress(10)
    return "done"
