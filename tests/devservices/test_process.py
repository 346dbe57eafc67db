"""Processes that outlive us."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from stagepost.devservices import process
from stagepost.devservices.process import Identity


def _launched(tmp_path: Path, script: str) -> Identity:
    seen: list[Identity] = []
    process.launch(
        ["/bin/sh", "-c", script],
        folder=tmp_path,
        log=tmp_path / "log",
        account=None,
        standard_input="hello\n",
        record=seen.append,
    )
    return seen[0]


def _wait_for(path: Path) -> None:
    last = time.monotonic() + 10
    while not path.exists():
        assert time.monotonic() < last
        time.sleep(0.01)


def test_a_launched_program_is_the_recorded_process_and_reads_its_input(tmp_path: Path) -> None:
    script = 'read line; echo "$$ $line" > draft; mv draft said; exec sleep 300'
    identity = _launched(tmp_path, script)
    try:
        _wait_for(tmp_path / "said")
        assert (tmp_path / "said").read_text() == f"{identity.pid} hello\n"
        assert process.alive(identity)
    finally:
        process.end(identity, [signal.SIGTERM], grace=5)
    assert not process.alive(identity)


def test_no_program_runs_that_could_not_be_recorded(tmp_path: Path) -> None:
    pids: list[int] = []

    def full_disk(identity: Identity) -> None:
        pids.append(identity.pid)
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space"):
        process.launch(
            ["/usr/bin/touch", "ran"],
            folder=tmp_path,
            log=tmp_path / "log",
            account=None,
            standard_input="",
            record=full_disk,
        )
    last = time.monotonic() + 10
    while process.identify(pids[0]):
        assert time.monotonic() < last
        time.sleep(0.01)
    assert not (tmp_path / "ran").exists()


def test_one_that_ignores_the_signal_is_killed(tmp_path: Path) -> None:
    identity = _launched(tmp_path, "trap '' TERM; touch ready; sleep 300 & wait; sleep 300")
    _wait_for(tmp_path / "ready")
    process.end(identity, [signal.SIGTERM], grace=0.2)
    assert not process.alive(identity)


def test_the_dead_and_the_stranger_are_left_alone() -> None:
    with subprocess.Popen(["sleep", "300"]) as stranger:
        try:
            theirs = process.identify(stranger.pid)
            assert theirs
            earlier = Identity(theirs.pid, theirs.started - 1, theirs.boot)
            process.end(earlier, [signal.SIGTERM], grace=0.1)
            assert process.alive(theirs)
        finally:
            stranger.kill()
    assert process.identify(stranger.pid) is None
    process.end(theirs, [signal.SIGTERM], grace=0.1)


def test_a_zombie_is_dead() -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    last = time.monotonic() + 10
    while process.identify(child):
        assert time.monotonic() < last
        time.sleep(0.01)
    assert Path(f"/proc/{child}").exists()
    os.waitpid(child, 0)


def test_a_long_log_is_begun_anew(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"x" * (1024 * 1024 + 1))
    identity = _launched(tmp_path, "echo fresh; touch done")
    _wait_for(tmp_path / "done")
    process.end(identity, [], grace=0)
    assert (tmp_path / "log").read_text() == "fresh\n"
