"""What an engine part that was closed must not leave behind."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


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
def none_left(kept: Callable[[], int] = lambda: 0) -> Iterator[None]:
    """Fails unless there are as many open descriptors after the block, but for those `kept`."""
    before = len(_descriptors()) - kept()
    yield
    there = _descriptors()
    more = len(there) - kept() - before
    assert more == 0, f"{more} descriptors are left among {sorted(there.values())}"
