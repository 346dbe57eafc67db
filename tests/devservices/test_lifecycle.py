"""Services that die, are stopped, hang, or are started by many at once."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import orjson
import pytest

from devservices.clients import redis, sql
from devservices.conftest import Shell
from stagepost.devservices import process

# The first start on a machine installs packages.
pytestmark = pytest.mark.timeout(900)


def _die(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    last = time.monotonic() + 10
    while process.identify(pid):
        assert time.monotonic() < last
        time.sleep(0.01)


def _edit_state(shell: Shell, service: str, **process: Any) -> None:
    path = shell.folder / "state.json"
    state = orjson.loads(path.read_bytes())
    state["services"][service]["process"].update(process)
    path.write_bytes(orjson.dumps(state))


def _started(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])


def test_killed_services_come_back_at_the_same_address_with_their_data(shell: Shell) -> None:
    before = shell.report("start")
    exports = shell.exports()
    sql(exports["STAGEPOST_STORE"], "CREATE TABLE kept AS SELECT 41 + 1 AS n")
    assert redis(exports["STAGEPOST_BUS"], "SET", "kept", "42").endswith("+OK\r\n")
    # A connection in the middle of a query: its process outlives the first one's death a while.
    busy = subprocess.Popen(
        ["psql", "-d", exports["STAGEPOST_STORE"], "-c", "SELECT pg_sleep(60)"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    for row in before.values():
        _die(row["pid"])
    assert {row["state"] for row in shell.report("status").values()} == {"dead"}
    after = shell.report("start")
    busy.wait(timeout=30)
    for name, row in after.items():
        assert row["state"] == "running"
        assert row["answers"]
        assert row["address"] == before[name]["address"]
        assert row["pid"] != before[name]["pid"]
    assert shell.exports() == exports
    assert sql(exports["STAGEPOST_STORE"], "SELECT n FROM kept") == "42"
    assert redis(exports["STAGEPOST_BUS"], "GET", "kept").endswith("$2\r\n42\r\n")


def test_stop_ends_what_runs_and_a_start_finds_the_data_again(shell: Shell) -> None:
    before = shell.report("start")
    exports = shell.exports()
    sql(exports["STAGEPOST_STORE"], "CREATE TABLE kept AS SELECT 42 AS n")
    redis(exports["STAGEPOST_BUS"], "SET", "kept", "42")
    stopped = shell.report("stop")
    assert {row["state"] for row in stopped.values()} == {"stopped"}
    assert not any(process.identify(row["pid"]) for row in before.values())
    assert not (shell.folder / "env").exists()
    assert shell.report("stop") == stopped
    shell.run("start")
    assert shell.exports() == exports
    assert sql(exports["STAGEPOST_STORE"], "SELECT n FROM kept") == "42"
    assert redis(exports["STAGEPOST_BUS"], "GET", "kept").endswith("$2\r\n42\r\n")


def test_named_services_alone(shell: Shell) -> None:
    assert list(shell.report("start", "redis")) == ["redis"]
    assert "STAGEPOST_STORE" not in shell.exports()
    shell.run("start", "postgres")
    assert shell.exports()["STAGEPOST_BUS"].startswith("redis://")
    shell.run("stop", "redis")
    states = {name: row["state"] for name, row in shell.report("status").items()}
    assert states == {"postgres": "running", "redis": "stopped"}
    # With PostgreSQL alone it is bus and limiter too.
    assert shell.exports()["STAGEPOST_BUS"] == shell.exports()["STAGEPOST_STORE"]


def test_a_reused_pid_is_not_taken_for_the_service(shell: Shell) -> None:
    redis_pid = shell.report("start", "redis")["redis"]["pid"]
    _die(redis_pid)
    with subprocess.Popen(["sleep", "300"]) as bystander:
        try:
            _edit_state(shell, "redis", pid=bystander.pid)
            assert shell.report("status", "redis")["redis"]["state"] == "dead"
            shell.run("stop", "redis")
            assert bystander.poll() is None
        finally:
            bystander.kill()


def test_a_pid_of_an_earlier_boot_is_not_taken_for_the_service(shell: Shell) -> None:
    before = shell.report("start", "redis")["redis"]
    with subprocess.Popen(["sleep", "300"]) as bystander:
        try:
            _die(before["pid"])
            _edit_state(
                shell,
                "redis",
                pid=bystander.pid,
                started=_started(bystander.pid),
                boot="11111111-2222-3333-4444-555555555555",
            )
            shell.run("stop", "redis")
            assert bystander.poll() is None
        finally:
            bystander.kill()


def test_postgres_starts_after_a_reboot_gave_its_pid_to_another(shell: Shell) -> None:
    pid = shell.report("start", "postgres")["postgres"]["pid"]
    _die(pid)
    owner = (shell.folder / "postgres").stat()
    sleep = subprocess.Popen(["sleep", "300"], user=owner.st_uid, group=owner.st_gid)
    with sleep as bystander:
        try:
            pid_file = shell.folder / "postgres" / "data" / "postmaster.pid"
            lines = pid_file.read_text().splitlines()
            pid_file.write_text("\n".join([str(bystander.pid), *lines[1:]]) + "\n")
            _edit_state(shell, "postgres", boot="11111111-2222-3333-4444-555555555555")
            assert shell.report("start", "postgres")["postgres"]["answers"]
            assert bystander.poll() is None
        finally:
            bystander.kill()


def test_many_starts_at_once_make_one_of_each(shell: Shell) -> None:
    commands = [shell.popen("start", "--json") for _ in range(4)]
    answers = [command.communicate(timeout=300) for command in commands]
    assert [command.returncode for command in commands] == [0] * 4, answers
    reports = [orjson.loads(out)["services"] for out, _ in answers]
    assert all(report == reports[0] for report in reports)


def test_a_start_that_was_killed_leaves_nothing_in_the_way(shell: Shell) -> None:
    for moment in (0.2, 0.35, 0.5, 0.7, 0.9, 1.1):
        with shell.popen("start") as command:
            time.sleep(moment)
            command.kill()
            command.communicate()
    assert {row["state"] for row in shell.report("start").values()} == {"running"}


def test_a_service_that_hangs_is_named_and_stop_ends_it(shell: Shell) -> None:
    pid = shell.report("start", "redis")["redis"]["pid"]
    os.kill(pid, signal.SIGSTOP)
    row = shell.report("status", "redis")["redis"]
    assert (row["state"], row["answers"]) == ("running", False)
    assert "not answering" in shell.run("status", "redis").stdout
    assert shell.report("stop", "redis")["redis"]["state"] == "stopped"
    assert process.identify(pid) is None


def test_another_program_at_the_address_is_named(shell: Shell) -> None:
    address = shell.report("start", "redis")["redis"]["address"]
    shell.run("stop", "redis")
    port = address.split(":")[1]
    squatter = (
        f"import socket; s = socket.create_server(('127.0.0.1', {port})); "
        "print(flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", squatter], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as program:
        try:
            assert program.stdout
            program.stdout.readline()
            failed = shell.run("start", "redis", expect=4)
            assert address in failed.stderr
        finally:
            program.kill()
