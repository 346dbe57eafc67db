"""`stagepost doctor`: each line says ok, warn or fail, and how to mend it."""

import hashlib
import json
import time
from pathlib import Path
from typing import Any

import apsw
import pytest

from cli.serving import APPS, Server, stagepost, up
from stagepost.cli import run
from stagepost.diagnosis import data_folder
from stagepost.diagnosis.finding import Level
from stagepost.stores.sqlite import schema
from stagepost.stores.sqlite.inspection import Look, inspect

NOBODY = "http://127.0.0.1:9"


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of a server that ended well, with a task of a type that waits."""
    folder = tmp_path_factory.mktemp("stopped")
    with up(folder, "--app", "rig:app") as server:
        ran = stagepost("submit", "say", "--delay", "600", env={"STAGEPOST_URL": server.url})
        assert ran.code == 0
        assert server.stop() == 0
        # A server that ended well has left everything in the one file.
        assert not (server.data / "stagepost.db-wal").exists()
        return server.data


def doctor(*words: str, code: int = 0, cwd: Path = APPS, **more: str) -> dict[str, dict[str, Any]]:
    # Whatever else runs on this machine, nothing answers at this port.
    ran = stagepost("doctor", "--json", *words, cwd=cwd, env={"STAGEPOST_PORT": "9", **more})
    assert ran.code == code, ran.out + ran.err
    findings = json.loads(ran.out)["findings"]
    assert all(finding["level"] == "ok" or finding["remedy"] for finding in findings)
    return {finding["check"]: finding for finding in findings}


def fingerprint(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.iterdir()
        if path.is_file()
    }


def test_a_folder_at_rest_is_checked_and_left_as_it_was(stopped: Path) -> None:
    before = fingerprint(stopped)
    found = doctor("--data", str(stopped), "--app", "rig:app")
    assert found["database"]["detail"].startswith(f"schema {schema.VERSION}, ")
    assert found["lock"]["detail"] == "no server has the folder open"
    assert "walk" in found["app"]["detail"]
    assert found["server"]["level"] == "ok"
    assert {finding["level"] for finding in found.values()} <= {"ok", "warn"}
    assert fingerprint(stopped) == before


def test_tasks_without_a_handler_are_told_of(stopped: Path) -> None:
    found = doctor("--data", str(stopped), code=1)
    assert found["handlers"]["detail"] == (
        "1 tasks of the type say wait, and no handler is registered"
    )


def test_a_running_server_is_asked(asked: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--data", str(asked.data), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    found = {finding["check"]: finding for finding in document["findings"]}
    assert found["server"]["detail"] == f"answers at {asked.url}"
    assert found["server store"]["detail"] == "takes writes"
    checks = [finding["check"] for finding in document["findings"]]
    assert len(checks) == len(set(checks))
    assert "ok" not in {finding["detail"] for finding in document["findings"]}
    assert found["lock"]["detail"] == f"held by the server, process {asked.child}"
    assert document["worst"] in {"ok", "warn"}
    assert run(["doctor"]) == 0
    assert "answers at" in capsys.readouterr().out


def test_a_server_that_was_named_must_answer(tmp_path: Path) -> None:
    found = doctor("--url", NOBODY, "--data", str(tmp_path / "data"), code=1)
    assert found["server"]["level"] == "fail"
    assert found["server"]["remedy"].startswith("Start one with `stagepost up`")
    assert not (tmp_path / "data").exists()


def test_an_app_that_does_not_load_fails(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("import nothing_of_that_name\n")
    (tmp_path / "quits.py").write_text("import sys\nprint('hello')\nsys.exit(3)\n")
    for app, reason in (("bad:app", "nothing_of_that_name"), ("quits:app", "does not load")):
        found = doctor("--data", "data", "--app", app, code=1, cwd=tmp_path)
        assert reason in found["app"]["detail"]


def test_a_lane_that_no_worker_serves_fails(tmp_path: Path) -> None:
    found = doctor("--data", str(tmp_path), "--app", "rig:app", code=1, STAGEPOST_LANES="other:1")
    assert "Add interactive:1 to STAGEPOST_LANES" in found["lanes"]["remedy"]


def test_a_variable_that_nobody_reads_is_a_typing_error(tmp_path: Path) -> None:
    found = doctor("--data", str(tmp_path), STAGEPOST_LAESE="3")
    assert found["environment"]["detail"] == "STAGEPOST_LAESE is no setting"


def test_damage_is_seen_and_nothing_is_changed(stopped: Path, tmp_path: Path) -> None:
    content = bytearray((stopped / "stagepost.db").read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    (tmp_path / "stagepost.db").write_bytes(content)
    assert doctor("--data", str(tmp_path), code=1)["database"]["detail"].startswith("damaged: ")
    (tmp_path / "stagepost.db").write_bytes(b"no database")
    found = doctor("--data", str(tmp_path), code=1)["database"]
    assert found["detail"] == "damaged: it does not start like an SQLite file"
    assert [path.name for path in tmp_path.iterdir()] == ["stagepost.db"]


def test_what_is_left_by_a_crash_is_read_with_its_log(tmp_path: Path) -> None:
    with up(tmp_path / "server", "--app", "rig:app") as server:
        ran = stagepost("submit", "say", "--delay", "600", env={"STAGEPOST_URL": server.url})
        assert ran.code == 0
        server.process.kill()
        server.process.wait()
        look = inspect(server.data)
    assert look.open_types == {"say": 1}
    assert look.damage == ""


def test_a_newer_folder_and_a_foreign_one(tmp_path: Path) -> None:
    database = tmp_path / "stagepost.db"
    connection = apsw.Connection(str(database))
    connection.execute("CREATE TABLE somebody_elses (x)")
    assert inspect(tmp_path).damage == "it is another program's file"
    connection.pragma("application_id", schema.APPLICATION_ID)
    connection.pragma("user_version", schema.VERSION + 3)
    connection.close()
    look = inspect(tmp_path)
    assert (look.damage, look.version) == ("", schema.VERSION + 3)
    [found] = [each for each in data_folder.folder(look) if each.check == "database"]
    assert found.level is Level.FAIL
    assert "newer Stagepost" in found.detail


@pytest.mark.parametrize(
    ("look", "check", "level"),
    [
        (Look(Path("/x"), True, False, 10**12), "data folder", Level.FAIL),
        (Look(Path("/x"), True, True, 10**8), "disk", Level.FAIL),
        (Look(Path("/x"), True, True, 5 * 10**8), "disk", Level.WARN),
        (Look(Path("/x"), True, True, 10**12, version=1, unchecked=True), "database", Level.WARN),
        (
            Look(Path("/x"), True, True, 10**12, newest=time.time_ns() // 10**6 + 10**6),
            "clock",
            Level.FAIL,
        ),
    ],
)
def test_each_trouble_has_its_level(look: Look, check: str, level: Level) -> None:
    [found] = [each for each in data_folder.folder(look) if each.check == check]
    assert found.level is level
    assert found.remedy
