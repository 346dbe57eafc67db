"""What a worker and its child say to each other: pickled messages with a length before them.

Both ends are the same code started by the same user over a socket pair that nobody else can open,
so unpickling is as safe as importing. What comes from callers travels inside as plain text.
"""

import asyncio
import importlib
import pickle
import runpy
import struct
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Final

from stagepost.child.packing import MAIN, Raised
from stagepost.context import Facts
from stagepost.failure import Failure
from stagepost.running import Stop
from stagepost.waiting import Condition

_HEADER: Final = struct.Struct("!I")
_LARGEST: Final = 256 * 1024 * 1024  # bytes of one message


@dataclass(frozen=True, slots=True)
class Start:
    """The first message: where the parent finds its code."""

    path: Sequence[str]
    main: str | None


@dataclass(frozen=True, slots=True)
class Function:
    """A function by the names under which it can be imported."""

    module: str
    name: str


@dataclass(frozen=True, slots=True)
class RunHandler:
    """Run a handler; `input` is JSON text."""

    handler: Function
    type: str
    facts: Facts
    input: str


@dataclass(frozen=True, slots=True)
class RunFunction:
    """Run a step's function; `arguments` are packed, since they may need what it is in."""

    function: Function
    arguments: bytes


@dataclass(frozen=True, slots=True)
class End:
    """End the handler that runs, for this reason."""

    stop: Stop


@dataclass(frozen=True, slots=True)
class Ask:
    """The child calls a method of the journal that the parent keeps."""

    number: int
    method: str
    args: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """The parent's answer to an Ask."""

    number: int
    value: Any = None
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """What was to be run has ended.

    Exactly one is meant: `result`, the JSON text of a handler's result; `failure`, how a handler
    failed; `unwound`, it was ended because it was told to, or because all of it waits for what is
    `parked`; `returned`, what a function returned;
    `raised`, what a function raised.
    """

    result: str | None = None
    failure: Failure | None = None
    unwound: bool = False
    parked: tuple[Condition, ...] = ()
    returned: bytes | None = None
    raised: Raised | None = None


Message = Start | RunHandler | RunFunction | End | Ask | Answer | Done


@dataclass(slots=True)
class Pipe:
    """One end of the socket pair."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def send(self, message: Message) -> None:
        """Send a message. Raises what pickle raises, and ConnectionError."""
        body = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
        if len(body) > _LARGEST:
            raise ValueError(f"{len(body)} bytes are too much for a child process; use a file.")
        async with self._lock:
            self.writer.write(_HEADER.pack(len(body)) + body)
            await self.writer.drain()

    async def receive(self) -> Message | None:
        """The next message, or None when the other end is gone."""
        try:
            (length,) = _HEADER.unpack(await self.reader.readexactly(_HEADER.size))
            body = await self.reader.readexactly(length)
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        message: Message = pickle.loads(body)  # noqa: S301  # see the module's docstring
        return message


def has_name(fn: Callable[..., Any]) -> bool:
    """Whether a child can find a function: it stands in a module, or in a class of one."""
    name = getattr(fn, "__qualname__", "")
    return bool(name and getattr(fn, "__module__", "")) and "<" not in name


def name_of(fn: Callable[..., Any]) -> Function:
    """How a child finds a function. Raises ValueError for one that can't be found by name."""
    name = getattr(fn, "__qualname__", "")
    if not has_name(fn):
        raise ValueError(
            f"{name or fn!r} can't run in a process of its own, which must find it by name: "
            "move it to the top level of its module."
        )
    return Function(fn.__module__, name)


def find(function: Function, main: str | None) -> Callable[..., Any]:
    """The function of these names in this process; `main` is what the parent was started with."""
    if function.module == "__main__":
        read_main(main)
    found: Any = importlib.import_module(function.module)
    for part in function.name.split("."):
        found = getattr(found, part)
    return found  # type: ignore[no-any-return]  # whatever stands there is what was named


def read_main(main: str | None) -> None:
    """Import the parent's script under another name, so that it does not start itself."""
    if MAIN in sys.modules:
        return
    if main is None:
        raise ImportError("The function was defined in an interactive session; use a module.")
    kind, _, where = main.partition(":")
    run = runpy.run_module if kind == "module" else runpy.run_path
    module = ModuleType(MAIN)
    module.__dict__.update(run(where, run_name=MAIN))
    sys.modules[MAIN] = sys.modules["__main__"] = module


def main_of_parent() -> str | None:
    """What the parent was started with, so that functions of a script can be found in a child."""
    main = sys.modules["__main__"]
    spec = getattr(main, "__spec__", None)
    if spec is not None:
        return f"module:{spec.name}"
    path = getattr(main, "__file__", None)
    return None if path is None else f"file:{path}"
