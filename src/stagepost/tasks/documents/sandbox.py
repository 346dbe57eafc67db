"""The parent's side of the sandbox: start a child, wait, read its answer, trust none of it.

The child's stdin is the open document; its stdout and stderr are unlinked files that the kernel
keeps from growing past a limit, so nothing has to be pumped and nothing can block. The walls
around the child are put up by itself (`parsers/lockdown.py`) before it reads the document.
"""

import asyncio
import json
import logging
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from typing import BinaryIO, Literal

from pydantic import ValidationError

from stagepost import InvalidInput, ServerError
from stagepost.tasks.documents.answer import Answer, Extract, SandboxCapabilities
from stagepost.tasks.documents.kinds import Kind
from stagepost.tasks.documents.limits import DEFAULT_LIMITS, MIB, Limits
from stagepost.tasks.documents.parsers import child

_log = logging.getLogger(__name__)

# The child's exit codes (`parsers/serving.py`, which is not imported here: it is the child's code).
_EXIT_SETUP = 64
_EXIT_MEMORY = 65
_MOST_TRACE = 4096  # bytes of the child's stderr that are kept
_SAVE_ANEW = "Open it, save or print it to a new PDF and upload that one."


class SandboxFailed(ServerError):
    """The sandbox itself did not work: nothing is known about the document, a retry is sensible."""


async def parse(source: BinaryIO, kind: Kind, limits: Limits) -> Extract:
    """The child's extract of the document that `source` is open at.

    Raises InvalidInput for what the child refuses and for whatever breaks, hangs or bloats it;
    SandboxFailed when the fault is not the document's.
    """
    answer = await _ask(source, kind, limits)
    if answer.extract is None:
        raise InvalidInput(answer.refusal or f"This document can't be read. {_SAVE_ANEW}")
    return answer.extract


async def sandbox_capabilities() -> SandboxCapabilities:
    """Starts one child and tells which walls stood around it. Raises SandboxFailed."""
    with tempfile.TemporaryFile() as nothing:
        answer = await _ask(nothing, "probe", DEFAULT_LIMITS)
    if answer.lockdown is None:
        raise SandboxFailed("the sandbox did not say which of its walls stand")
    return answer.lockdown


async def _ask(source: BinaryIO, kind: Kind | Literal["probe"], limits: Limits) -> Answer:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as trace:
        async with _running(_command(kind, limits), source, out, trace) as process:
            try:
                async with asyncio.timeout(limits.wall_seconds):
                    code = await process.wait()
            except TimeoutError:
                raise _too_slow() from None
        _judge(code, trace, limits)
        return await asyncio.to_thread(_read_answer, out, limits)


def _command(kind: str, limits: Limits) -> list[str]:
    """An isolated interpreter without site-packages of its own: it is told the parent's path."""
    request = {
        "kind": kind,
        "limits": asdict(limits),
        "parent": os.getpid(),
        "path": [entry for entry in sys.path if entry],
    }
    return [sys.executable, "-I", "-S", child.__file__, json.dumps(request)]


@asynccontextmanager
async def _running(
    command: list[str], source: BinaryIO, out: BinaryIO, trace: BinaryIO
) -> AsyncIterator[asyncio.subprocess.Process]:
    """A child that is dead and reaped when the block is left, however it is left."""
    # The folder is gone once the child stands in it: nothing can be written there, and nothing is
    # left behind when this process is killed.
    with tempfile.TemporaryDirectory(prefix="stagepost-parse-") as scratch:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=source,
            stdout=out,
            stderr=trace,
            cwd=scratch,
            env={"LC_ALL": "C.UTF-8"},
            close_fds=True,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await asyncio.shield(process.wait())


def _judge(code: int, trace: BinaryIO, limits: Limits) -> None:
    """Returns if the child answered; raises what its end means otherwise."""
    if code == 0:
        return
    words = _tail(trace)
    if code in {_EXIT_SETUP, -signal.SIGKILL}:
        # The parent's own kill never comes here: this one came from the system, out of memory say.
        raise SandboxFailed(f"the parser's process could not do its work (exit {code}): {words}")
    if code == -signal.SIGXCPU:
        raise _too_slow()
    if code == _EXIT_MEMORY:
        raise InvalidInput(
            f"Reading this document takes more than {limits.memory / MIB:.0f} MiB of memory. "
            "Split it and upload the parts."
        )
    _log.warning("a parser ended with %s: %s", code, words)
    raise InvalidInput(f"This document is damaged or built to break its reader. {_SAVE_ANEW}")


def _too_slow() -> InvalidInput:
    return InvalidInput(
        "Reading this document took too long, so it was stopped: it is far larger or more "
        f"intricate than a contract. {_SAVE_ANEW}"
    )


def _tail(trace: BinaryIO) -> str:
    size = trace.seek(0, os.SEEK_END)
    trace.seek(max(0, size - _MOST_TRACE))
    return trace.read().decode("utf-8", "replace").strip()


def _read_answer(out: BinaryIO, limits: Limits) -> Answer:
    out.seek(0)
    try:
        answer = Answer.model_validate_json(out.read(limits.output_bytes))
    except ValidationError as error:
        raise SandboxFailed("the parser's answer was not a valid one") from error
    extract = answer.extract
    if extract and (len(extract.pages) > limits.pages or len(extract.text) > limits.characters):
        raise SandboxFailed("the parser's answer was beyond its limits")
    return answer
