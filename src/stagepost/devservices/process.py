"""Processes that outlive us, known again later without mistaking a reused pid for one of them."""

import os
import select
import signal
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from stagepost.devservices.commands import ENVIRONMENT
from stagepost.devservices.errors import NotAnswering, Refused
from stagepost.devservices.service import Account

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_KILL_GRACE = 10.0

# The child waits for a line before it becomes the service: by then its pid is on disk, so that no
# service can run that nobody knows. The outer shell ends at once, which leaves the child to init.
_GATE = 'exec 3<&0; { read -r go <&3 && exec "$@" <&3 3<&-; } >&2 </dev/null & echo "$!"'


@dataclass(frozen=True, slots=True)
class Identity:
    """One process of one boot. `started` counts clock ticks from the boot, as /proc does."""

    pid: int
    started: int
    boot: str


def boot_id() -> str:
    """Which run of the machine this is."""
    return _BOOT_ID.read_text(encoding="ascii").strip()


def identify(pid: int) -> Identity | None:
    """The living process with this pid; None if there is none. A zombie is dead."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name in parentheses may hold spaces and parentheses itself: fields count from the last.
    fields = stat.rpartition(")")[2].split()
    if fields[0] in {"Z", "X"}:
        return None
    return Identity(pid=pid, started=int(fields[19]), boot=boot_id())


def alive(process: Identity) -> bool:
    """Whether this very process lives, and not another that was given its pid."""
    return identify(process.pid) == process


def launch(
    command: Sequence[str],
    *,
    folder: Path,
    log: Path,
    account: Account | None,
    standard_input: str,
    record: Callable[[Identity], None],
) -> None:
    """Start a program that lives on after us; `record` runs before the program does.

    If `record` raises, or we die before it returns, the program never runs.
    """
    with _opened_log(log) as stderr:
        shell = subprocess.Popen(  # noqa: S603 - a list of ours behind a fixed script
            ["/bin/sh", "-c", _GATE, "sh", *command],
            cwd=folder,
            env=ENVIRONMENT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            start_new_session=True,
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
            umask=0o077,
        )
    with shell:
        assert shell.stdout is not None
        assert shell.stdin is not None
        process = identify(int(shell.stdout.readline()))
        if process is None:
            raise Refused(f"{command[0]} could not be started; {log} says why.")
        record(process)
        try:
            shell.stdin.write("go\n" + standard_input)
            shell.stdin.flush()
        except BrokenPipeError:
            # It died at once. Who waits for its answer will see that, and the log says why.
            return


def end(process: Identity, signals: Sequence[signal.Signals], *, grace: float) -> None:
    """End this very process: each signal with `grace` seconds to follow it, SIGKILL at last.

    A process that is dead, or whose pid is another's by now, is left alone. The pidfd is opened
    before the comparison, so that the pid cannot change hands between the look and the signal.

    Raises:
        NotAnswering: it outlived SIGKILL, as one does that waits for a broken disk.
    """
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    try:
        if not alive(process):
            return
        for number in signals:
            if _signalled(handle, number, grace):
                return
        if not _signalled(handle, signal.SIGKILL, _KILL_GRACE):
            raise NotAnswering(
                f"Process {process.pid} did not end {_KILL_GRACE:.0f} s after SIGKILL."
            )
    finally:
        os.close(handle)


def _signalled(handle: int, number: signal.Signals, grace: float) -> bool:
    try:
        signal.pidfd_send_signal(handle, number)
    except ProcessLookupError:
        return True
    ended = select.poll()
    ended.register(handle, select.POLLIN)
    return bool(ended.poll(grace * 1000))


def _opened_log(path: Path) -> BinaryIO:
    """The log to append to, begun anew once it is over 1 MiB."""
    long = path.exists() and path.stat().st_size > 1024 * 1024
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | (os.O_TRUNC if long else 0)
    return os.fdopen(os.open(path, flags, 0o600), "ab")
