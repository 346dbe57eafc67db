"""`stagepost up` with real processes: what survives, what is refused, how it ends."""

import fcntl
import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import httpx
import pytest
from httpx_sse import connect_sse

from cli.serving import LONGEST, STAGEPOST, Server, environment, stagepost, until, up
from stagepost.stores.sqlite import schema


def submit(server: Server, type_name: str, **value: object) -> str:
    answer = httpx.post(f"{server.url}/api/v1/tasks/{type_name}", json=value, timeout=LONGEST)
    assert answer.status_code == 202, answer.text
    task_id: str = answer.json()["taskId"]
    return task_id


def status(server: Server, task_id: str, query: str = "") -> dict[str, object]:
    found: dict[str, object] = server.get(f"/api/v1/tasks/{task_id}/status{query}").json()
    return found


def unlocked(data: Path) -> bool:
    with (data / "lock").open("rb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@contextmanager
def watched(server: Server, task_id: str) -> Iterator[list[tuple[int, str]]]:
    """The numbered events that a client sees which reconnects with the last id it has."""
    seen: list[tuple[int, str]] = []
    ended = threading.Event()

    def watch() -> None:
        last: int | None = None
        with httpx.Client(timeout=LONGEST) as client:
            while not ended.is_set():
                headers = {} if last is None else {"Last-Event-ID": str(last)}
                url = f"{server.url}/api/v1/tasks/{task_id}/progress"
                try:
                    with connect_sse(client, "GET", url, headers=headers) as stream:
                        for event in stream.iter_sse():
                            if not event.data:
                                continue
                            if event.event == "status" and last is None:
                                last = int(event.id)
                            elif event.event != "status":
                                last = int(event.id)
                                seen.append((last, event.event))
                            if event.event in {"completed", "failed", "cancelled"}:
                                return
                except httpx.TransportError:
                    continue

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield seen
        watcher.join(LONGEST)
        assert not watcher.is_alive(), "the watcher saw no end"
    finally:
        ended.set()
        watcher.join(LONGEST)


def test_a_killed_child_is_replaced_and_its_task_completes_with_each_event_seen_once(
    tmp_path: Path,
) -> None:
    with up(tmp_path / "server", "--app", "rig:app") as server:
        task_id = submit(server, "walk", folder=str(tmp_path), steps=6, gate=3)
        with watched(server, task_id) as seen:
            until((tmp_path / "waiting").exists, "the gate")
            first = server.child
            os.kill(first, signal.SIGKILL)
            until(lambda: server.child != first, "another child")
            (tmp_path / "gate").touch()
        found = status(server, task_id, "?wait=20")
        assert found["status"] == "COMPLETED"
        assert found["result"] == [0, 1, 2, 3, 4, 5]
        # It had saved steps, so that its worker's death cost it no attempt.
        assert found["attempt"] == 1
        assert (tmp_path / "log").read_text().split() == list("012345")
        numbers = [number for number, _ in seen]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        assert seen[-1][1] == "completed"
        assert server.out().count("ready ") == 1
        assert server.stop() == 0


def test_sigterm_drains_and_spends_no_attempt(tmp_path: Path) -> None:
    with up(tmp_path / "server", "--app", "rig:app") as server:
        task_id = submit(server, "walk", folder=str(tmp_path), steps=4, gate=2)
        until((tmp_path / "waiting").exists, "the gate")
        server.process.send_signal(signal.SIGTERM)
        until(lambda: server.get("/readyz").status_code == 503, "draining")
        time.sleep(1)  # the handler is told once the claim that stands in the store is answered
        (tmp_path / "gate").touch()
        assert server.process.wait(LONGEST) == 0, server.err()
        assert unlocked(server.data)
    with up(tmp_path / "server", "--app", "rig:app") as server:
        found = status(server, task_id, "?wait=20")
        assert found["status"] == "COMPLETED"
        assert found["attempt"] == 1
        assert (tmp_path / "log").read_text().split() == list("0123")
        events = server.get(f"/api/v1/tasks/{task_id}/events").json()["items"]
        reasons = [each["data"]["reason"] for each in events if each["event"] == "queued"]
        assert reasons == ["submitted", "drained"]


def test_streams_end_when_the_server_stops(tmp_path: Path) -> None:
    with up(tmp_path / "server", "--app", "rig:app") as server:
        url = f"{server.url}/api/v1/tasks/walk?delaySeconds=600"
        task_id = httpx.post(url, json={"folder": str(tmp_path)}).json()["taskId"]
        with (
            httpx.Client(timeout=LONGEST) as client,
            connect_sse(client, "GET", f"{server.url}/api/v1/tasks/{task_id}/progress") as stream,
        ):
            events = stream.iter_sse()
            assert next(event for event in events if event.data).event == "status"
            server.process.send_signal(signal.SIGTERM)
            assert [event for event in events if event.data] == []
        assert server.process.wait(LONGEST) == 0, server.err()


def test_a_second_sigterm_cuts_the_grace_short(tmp_path: Path) -> None:
    with up(tmp_path / "server", "--app", "rig:app", STAGEPOST_DRAIN_GRACE="600") as server:
        task_id = submit(server, "walk", folder=str(tmp_path), gate=1)
        until((tmp_path / "waiting").exists, "the gate")
        server.process.send_signal(signal.SIGINT)
        until(lambda: server.get("/readyz").status_code == 503, "draining")
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(LONGEST) == 0, server.err()
    (tmp_path / "gate").touch()
    with up(tmp_path / "server", "--app", "rig:app") as server:
        found = status(server, task_id, "?wait=20")
        assert (found["status"], found["attempt"]) == ("COMPLETED", 1)


def test_a_killed_supervisor_leaves_no_child_and_no_lock(tmp_path: Path) -> None:
    with up(tmp_path / "server") as server:
        child = server.child
        server.process.kill()
        until(lambda: not alive(child), "the child's end")
        until(lambda: unlocked(server.data), "the lock's release")


def test_a_child_whose_main_loop_hangs_is_replaced(tmp_path: Path) -> None:
    with up(tmp_path / "server", STAGEPOST_STALL_AFTER="1") as server:
        first = server.child
        os.kill(first, signal.SIGSTOP)
        until(lambda: server.child != first, "another child")
        assert server.get("/healthz").status_code == 200
        assert "silent" in server.err()
        assert server.stop() == 0


def test_a_handler_that_nothing_can_end_costs_the_process_and_nothing_else(tmp_path: Path) -> None:
    with up(tmp_path / "server", "--app", "rig:app", STAGEPOST_STALL_AFTER="1") as server:
        first = server.child
        task_id = submit(server, "deaf", folder=str(tmp_path))
        until((tmp_path / "waiting").exists, "the sleep")
        answer = httpx.post(f"{server.url}/api/v1/tasks/{task_id}/cancel", timeout=LONGEST)
        assert answer.status_code == 202
        until(lambda: server.child != first, "another child")
        assert status(server, task_id, "?wait=20")["status"] == "CANCELLED"
        assert "asked to be replaced" in server.err()
        assert server.stop() == 0


def test_stdout_holds_the_ready_line_alone(tmp_path: Path) -> None:
    with up(tmp_path / "server", "--app", "rig:app") as server:
        assert server.out() == f"ready {server.url}\n"
        # Each open stream takes a descriptor, so the process has raised its limit to what it may.
        soft, hard = (
            Path(f"/proc/{server.child}/limits").read_text().split("Max open files")[1].split()[:2]
        )
        assert soft == hard
        assert "the app is loaded" in server.err()


def test_it_listens_on_ipv6_too(tmp_path: Path) -> None:
    with up(tmp_path / "server", "--host", "::1") as server:
        assert server.url.startswith("http://[::1]:")
        assert server.get("/readyz").json()["status"] == "ok"
        assert stagepost("lanes", "--url", server.url).code == 0


def test_a_host_that_is_not_here_is_one_sentence(tmp_path: Path) -> None:
    refused = stagepost(
        "up",
        "--data",
        str(tmp_path),
        "--host",
        "127.0.0.1.nip.invalid",
        env={"STAGEPOST_AUTH": "keys"},
    )
    assert refused.code == 4
    assert "choose another with --host" in refused.err
    assert refused.err.count("\n") == 1


def test_a_second_server_on_the_folder_is_refused_and_told_who_holds_it(tmp_path: Path) -> None:
    with up(tmp_path / "server") as server:
        second = stagepost("up", "--data", str(server.data), "--port", "0")
        assert second.code == 4
        assert second.out == ""
        assert second.err == (
            f"stagepost: The data folder {server.data} is in use by process {server.child}; "
            "stop that one or choose another folder with --data.\n"
        )
        assert server.get("/healthz").status_code == 200


def test_a_damaged_folder_is_refused_and_left_alone(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "stagepost.db").write_bytes(b"this is no database" * 1000)
    refused = stagepost("up", "--data", str(data), "--port", "0")
    assert refused.code == 4
    assert refused.err.startswith(f"stagepost: {data}/stagepost.db is damaged")
    assert refused.err.count("\n") == 1
    assert (data / "stagepost.db").read_bytes() == b"this is no database" * 1000


def test_a_folder_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    with up(tmp_path / "server") as server:
        assert server.stop() == 0
        with apsw.Connection(str(server.data / "stagepost.db")) as connection:
            connection.pragma("user_version", schema.VERSION + 1)
        connection.close()
        refused = stagepost("up", "--data", str(server.data), "--port", "0")
    assert refused.code == 4
    assert "was written by a newer Stagepost" in refused.err
    assert refused.err.count("\n") == 1


def test_a_port_in_use_is_one_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        refused = stagepost("up", "--data", str(tmp_path / "data"), "--port", port)
    assert refused.code == 4
    assert refused.err == (
        f"stagepost: Port {port} on 127.0.0.1 is in use; stop what listens there or choose another "
        "with --port.\n"
    )
    assert not (tmp_path / "data").exists()


def test_the_local_mode_is_not_served_to_other_machines(tmp_path: Path) -> None:
    refused = stagepost("up", "--data", str(tmp_path / "data"), "--host", "0.0.0.0", "--port", "0")
    assert refused.code == 4
    assert "STAGEPOST_AUTH=keys" in refused.err
    assert not (tmp_path / "data").exists()


_APP = """from stagepost import App
app = App()
@app.task("quick", {option})
async def quick(ctx, request: dict) -> None: ...
"""


def test_a_built_in_type_without_its_lane_is_only_told_of(tmp_path: Path) -> None:
    with up(tmp_path / "server", STAGEPOST_LANES="other:1") as server:
        assert 'The task type "contract-review" goes to the lane' in server.err()


@pytest.mark.parametrize(
    ("app", "reason"),
    [
        ("rig", 'write it as module:name, such as "my.tasks:app"'),
        ("missing:app", "ModuleNotFoundError"),
        ("rig:nothing", "AttributeError"),
        ("rig:walk", "is no stagepost.App"),
        ("broken:app", "broken.py, line 1"),
        ("slow:app", "slow.py, line 3)"),
        ("syntax:app", "syntax.py, line 1)"),
        ("lane:app", 'The task type "quick" goes to the lane "fast", which is none of'),
        ("lane:app", "STAGEPOST_LANES=interactive:8,batch:1,fast:1"),
    ],
)
def test_an_app_that_does_not_load_is_one_sentence(tmp_path: Path, app: str, reason: str) -> None:
    (tmp_path / "broken.py").write_text("1 / 0\n")
    (tmp_path / "rig.py").write_text("walk = 1\n")
    (tmp_path / "slow.py").write_text(_APP.format(option='timeout="ten minutes"'))
    (tmp_path / "lane.py").write_text(_APP.format(option='lane="fast"'))
    (tmp_path / "syntax.py").write_text("def\n")
    refused = stagepost("up", "--data", "data", "--port", "0", "--app", app, cwd=tmp_path)
    assert refused.code == 2
    assert reason in refused.err
    assert refused.err.count("\n") == 1


def test_a_file_in_the_working_folder_shadows_no_module_of_ours(tmp_path: Path) -> None:
    (tmp_path / "logging.py").write_text("raise SystemExit(99)\n")
    server = subprocess.Popen(
        [STAGEPOST, "up", "--data", "data", "--port", "0"],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        assert server.stdout is not None
        assert server.stdout.readline().startswith(b"ready http://127.0.0.1:")
    finally:
        server.terminate()
        _, err = server.communicate(timeout=LONGEST)
    assert server.returncode == 0, err


def test_what_up_says_is_json_when_asked_for(tmp_path: Path) -> None:
    server = subprocess.Popen(
        [STAGEPOST, "up", "--data", str(tmp_path / "data"), "--port", "0", "--json"],
        env=environment(STAGEPOST_AUTH="keys"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        assert server.stdout is not None
        key, ready = (json.loads(server.stdout.readline()) for _ in range(2))
    finally:
        server.terminate()
        server.communicate(timeout=LONGEST)
    assert (key["adminKey"][:8], key["tenant"]) == ("sp_live_", "default")
    assert ready["ready"].startswith("http://127.0.0.1:")


def test_with_keys_one_admin_key_is_printed_once(tmp_path: Path) -> None:
    with up(tmp_path / "server", "--app", "rig:app", STAGEPOST_AUTH="keys") as server:
        key = server.out().split("sp_live_", 1)[1].split()[0]
        assert server.get("/api/v1/tasks").status_code == 401
        named = {"STAGEPOST_URL": server.url}
        keyless = stagepost("tasks", env=named)
        assert keyless.code == 4
        assert "STAGEPOST_API_KEY" in keyless.err
        admin = {**named, "STAGEPOST_API_KEY": f"sp_live_{key}"}
        made = stagepost("keys", "create", "reader", "--role", "read", "--json", env=admin)
        assert made.code == 0, made.err
        reader = {**named, "STAGEPOST_API_KEY": str(made.json["key"])}
        assert stagepost("tasks", env=reader).code == 0
        assert stagepost("submit", "say", env=reader).code == 4
        listed = stagepost("keys", "list", env=admin)
        assert "reader" in listed.out
        assert str(made.json["key"]) not in listed.out
        assert stagepost("keys", "revoke", str(made.json["keyId"]), env=admin).code == 0
        assert stagepost("tasks", env=reader).code == 4
        assert key not in server.err()
        assert server.stop() == 0
    with up(tmp_path / "server", STAGEPOST_AUTH="keys") as server:
        assert "sp_live_" not in server.out() + server.err()


def test_log_lines_are_json_when_asked_and_carry_the_task(tmp_path: Path) -> None:
    with up(tmp_path / "server", "--app", "rig:app", STAGEPOST_LOG="json") as server:
        task_id = submit(server, "say", word="hello")
        assert status(server, task_id, "?wait=20")["status"] == "COMPLETED"
        assert server.stop() == 0
        lines = [json.loads(line) for line in server.err().splitlines() if line[:1] == "{"]
    told = next(line for line in lines if line["message"] == "saying hello")
    assert told["taskId"] == task_id
    assert len(told["traceId"]) == 32
    assert told["level"] == "info"


@pytest.mark.parametrize("command", ["api", "worker", "maintenance"])
@pytest.mark.parametrize("store", ["", "sqlite:///tmp/nowhere"])
def test_parts_apart_on_the_embedded_engine_name_up(command: str, store: str) -> None:
    refused = stagepost(command, env={"STAGEPOST_STORE": store})
    assert refused.code == 4
    assert "`stagepost up`" in refused.err
    assert refused.err.count("\n") == 1


@pytest.mark.parametrize("name", ["STAGEPOST_BROKER", "STAGEPOST_BLOBS"])
def test_a_part_that_is_not_here_is_refused_without_its_password(tmp_path: Path, name: str) -> None:
    ran = stagepost(
        *("up", "--data", str(tmp_path / "data"), "--port", "0"),
        env={name: "postgresql://user:secret@host/db"},
    )
    assert ran.code == 4
    assert "secret" not in ran.out + ran.err
    assert f"unset {name}" in ran.err


@pytest.mark.parametrize(
    ("words", "env", "code", "said"),
    [
        (("api",), {"STAGEPOST_BUS": "memory"}, 4, "STAGEPOST_BUS=memory"),
        (("worker",), {"STAGEPOST_LIMITER": "memory"}, 4, "STAGEPOST_LIMITER=memory"),
        (("up", "--port", "0"), {"STAGEPOST_LIMITER": "redis://x"}, 4, "STAGEPOST_LIMITER"),
        (("worker", "--lanes", "interactive,slow"), {}, 2, 'no lane "slow"'),
        (("worker", "--lanes", ","), {}, 2, "STAGEPOST_LANES has interactive, batch"),
        (("worker", "--probe", "9090"), {}, 2, "HOST:PORT"),
        (("worker", "--probe", "192.0.2.1:0"), {}, 4, "--probe"),
        (("worker",), {"STAGEPOST_PROBE": "localhost"}, 2, "HOST:PORT"),
        (("api", "--host", "192.0.2.1"), {}, 4, "STAGEPOST_AUTH=keys"),
        (("worker",), {}, 4, "right its address in STAGEPOST_STORE"),
        (("worker",), {"STAGEPOST_BUS": "postgresql://u:secret@127.0.0.1:9/x"}, 4, "STAGEPOST_BUS"),
        (("up", "--port", "0"), {"STAGEPOST_BUS": "memory"}, 4, "correct STAGEPOST_STORE"),
        (("api", "--port", "0"), {"STAGEPOST_BUS": "redis://x"}, 4, "this version has memory"),
    ],
)
def test_what_a_part_can_not_serve_is_one_sentence(
    words: tuple[str, ...], env: dict[str, str], code: int, said: str
) -> None:
    # Nothing listens at this port.
    store = {"STAGEPOST_STORE": "postgresql://user:secret@127.0.0.1:9/database"}
    refused = stagepost(*words, env={**store, **env})
    assert refused.code == code, refused.err
    assert said in refused.err
    assert "secret" not in refused.err + refused.out
    assert sum(line.startswith("stagepost: ") for line in refused.err.splitlines()) == 1
