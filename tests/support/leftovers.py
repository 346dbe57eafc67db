"""What an engine part that was closed must not leave behind."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from support.waiting import PATIENCE


def _descriptors() -> dict[str, str]:
    there = {}
    for handle in Path("/proc/self/fd").iterdir():
        try:
            there[handle.name] = str(handle.readlink())
        except OSError:
            continue  # the descriptor that listed the others
    return there


def _ours() -> set[str]:
    return {thread.name for thread in threading.enumerate() if "stagepost" in thread.name}


@contextmanager
def nothing_left() -> Iterator[None]:
    """Fails if the block leaves threads of ours or open files behind."""
    threads, files = _ours(), set(_descriptors().values())
    yield
    left = {path for path in _descriptors().values() if path not in files}
    assert not {path for path in left if path.startswith("/") and "/dev/" not in path}
    assert _ours() <= threads


@contextmanager
def none_left(
    kept: Callable[[], int] = lambda: 0, pause: Callable[[], object] | None = None
) -> Iterator[None]:
    """Fails if there are more open descriptors after the block, but for those `kept`.

    There may be fewer: a kept one can end by itself. What was closed last may be let go of a moment
    later: `pause` lets such a moment pass.
    """
    before = len(_descriptors()) - kept()
    yield
    limit = time.monotonic() + PATIENCE
    while more := max(0, len(_descriptors()) - kept() - before):
        if pause is None or time.monotonic() > limit:
            break
        pause()
    left = sorted(_descriptors().values())
    assert not more, f"{more} descriptors are left among {left}"
