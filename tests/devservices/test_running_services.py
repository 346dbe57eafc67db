"""What runs after a start: private, durable, on loopback, and what the file of exports says."""

import os
import stat
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from devservices.clients import redis, sql
from devservices.conftest import Shell
from stagepost.devservices import environment

# The first start on a machine installs packages.
pytestmark = pytest.mark.timeout(900)


def _process_user(pid: int) -> int:
    return Path(f"/proc/{pid}").stat().st_uid


def test_the_last_line_is_a_file_that_a_shell_can_source(running: Shell) -> None:
    started = running.run("start")
    path = started.stdout.splitlines()[-1]
    assert "No engine of this version works on Redis" in started.stderr
    exports = running.exports(path)
    assert sorted(exports) == [
        "STAGEPOST_BLOBS",
        "STAGEPOST_BROKER",
        "STAGEPOST_BUS",
        "STAGEPOST_LIMITER",
        "STAGEPOST_STORE",
    ]
    assert exports["STAGEPOST_BROKER"] == "direct"
    assert exports["STAGEPOST_STORE"].startswith("postgresql://")
    assert exports["STAGEPOST_BUS"].startswith("redis://")
    assert exports["STAGEPOST_LIMITER"] == exports["STAGEPOST_BUS"]
    assert Path(urlsplit(exports["STAGEPOST_BLOBS"]).path).is_dir()
    assert environment.read(running.folder) == exports


def test_postgres_answers_and_keeps_its_durability(running: Shell) -> None:
    store = running.exports()["STAGEPOST_STORE"]
    for setting in ("fsync", "synchronous_commit", "full_page_writes"):
        assert sql(store, f"SHOW {setting}") == "on"
    assert sql(store, "SHOW server_encoding") == "UTF8"


def test_redis_writes_every_change_to_its_log_and_takes_no_snapshots(running: Shell) -> None:
    bus = running.exports()["STAGEPOST_BUS"]
    assert "$3\r\nyes\r\n" in redis(bus, "CONFIG", "GET", "appendonly")
    assert "$4\r\nsave\r\n$0\r\n" in redis(bus, "CONFIG", "GET", "save")


def test_a_wrong_password_is_refused(running: Shell) -> None:
    exports = running.exports()
    for name, ask in (("STAGEPOST_STORE", sql), ("STAGEPOST_BUS", redis)):
        url = exports[name]
        password = urlsplit(url).password
        assert password
        answer = ask(url.replace(password, "wrong"), "PING" if ask is redis else "SELECT 1")
        assert "WRONGPASS" in answer or "authentication failed" in answer


def test_they_listen_on_loopback_alone(running: Shell) -> None:
    ports = {int(row["address"].split(":")[1]) for row in running.report("status").values()}
    listeners = [
        fields[1]
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]
        if (fields := line.split())[3] == "0A" and int(fields[1].split(":")[1], 16) in ports
    ]
    assert len(listeners) == 2
    assert all(listener.startswith("0100007F:") for listener in listeners)


def test_their_ports_are_none_that_the_kernel_lends_to_clients(running: Shell) -> None:
    first, last = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    for row in running.report("status").values():
        assert not first <= int(row["address"].split(":")[1]) <= last


def test_none_runs_as_root_and_none_shows_its_password(running: Shell) -> None:
    passwords = {urlsplit(url).password or "" for url in running.exports().values()} - {""}
    for row in running.report("status").values():
        assert _process_user(row["pid"]) != 0
        command = Path(f"/proc/{row['pid']}/cmdline").read_text()
        assert not any(password in command for password in passwords)


def test_the_folder_is_closed_to_others(running: Shell) -> None:
    # Root's lets the services' accounts pass through, and nothing more.
    allowed = stat.S_IXGRP | stat.S_IXOTH if os.geteuid() == 0 else 0
    assert running.folder.stat().st_mode & 0o077 & ~allowed == 0
    for path in running.folder.iterdir():
        assert path.stat().st_mode & 0o077 == 0, path


def test_a_second_start_changes_nothing(running: Shell) -> None:
    before = running.report("status")
    assert running.report("start") == before
    assert {row["state"] for row in before.values()} == {"running"}
