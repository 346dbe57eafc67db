"""`stagepost doctor`: each line says ok, warn or fail, and how to mend it."""

import hashlib
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest

from cli.serving import APPS, Server, stagepost, up
from stagepost.cli import run
from stagepost.diagnosis import data_folder, database
from stagepost.diagnosis.finding import Level
from stagepost.stores.postgres.inspection import Look as PostgresLook
from stagepost.stores.postgres.schema import VERSION
from stagepost.stores.sqlite import schema
from stagepost.stores.sqlite.inspection import Look, inspect
from support.postgres import Server as PostgresServer

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


# On PostgreSQL


def postgres_doctor(server: PostgresServer, folder: Path, **more: str) -> dict[str, dict[str, Any]]:
    schema_name = f"doctor_{folder.name[-20:].strip('_').lower()}"
    code = int(more.pop("code", "0"))
    settings = {
        "STAGEPOST_STORE": server.url_of(schema_name),
        "STAGEPOST_BLOBS": (folder / "blobs").as_uri(),
        **more,
    }
    return doctor("--app", "rig:app", code=code, cwd=APPS, **settings)


def test_a_database_is_looked_at_and_left_as_it_was(
    postgres_server: PostgresServer, tmp_path: Path
) -> None:
    found = postgres_doctor(postgres_server, tmp_path)
    assert found["database"]["detail"].startswith("PostgreSQL ")
    assert found["schema"]["detail"] == f"none yet; the first process makes version {VERSION}"
    assert found["clock"]["level"] == found["bus"]["level"] == found["blobs"]["level"] == "ok"
    assert found["durability"]["level"] == found["rights"]["level"] == "ok"
    # It is a single server: a failover has nothing to fail over to, and that is told.
    assert found["standbys"]["level"] == "warn"
    assert postgres_doctor(postgres_server, tmp_path)["schema"] == found["schema"]
    assert not (tmp_path / "blobs").exists()
    password = postgres_server.url.split(":")[2].split("@")[0]
    assert password not in json.dumps(found)


@pytest.mark.parametrize(
    ("store", "said"),
    [
        ("postgresql://user:secret@127.0.0.1:9/x", "No PostgreSQL server answers"),
        ("postgresql://user:secret@127.0.0.1:x/x", "is no address"),
    ],
)
def test_a_database_that_is_not_there_fails(store: str, said: str, tmp_path: Path) -> None:
    found = doctor(
        "--app", "rig:app", code=1, STAGEPOST_STORE=store, STAGEPOST_BLOBS=tmp_path.as_uri()
    )
    assert said in found["database"]["detail"]
    assert "secret" not in json.dumps(found)


GOOD = PostgresLook("postgresql://h:5432/d", server=15, most=100, used=5, schema="s", version=1)


@pytest.mark.parametrize(
    ("changes", "check", "level"),
    [
        ({"trouble": "It is away; start it."}, "database", Level.FAIL),
        ({"standby": True}, "database", Level.FAIL),
        ({"read_only": True}, "database", Level.FAIL),
        ({"server": 12}, "database", Level.FAIL),
        ({"rights": False}, "rights", Level.FAIL),
        ({"version": VERSION + 2, "oldest": VERSION + 1}, "schema", Level.FAIL),
        ({"version": VERSION + 2, "oldest": VERSION}, "schema", Level.OK),
        ({"ahead": 60.0}, "clock", Level.WARN),
        ({"ahead": -60.0}, "clock", Level.WARN),
        ({"fsync": False}, "durability", Level.FAIL),
        ({"whole_pages": False}, "durability", Level.FAIL),
        ({"synchronous_commit": "off"}, "durability", Level.FAIL),
        ({"synchronous_commit": "local", "standby_names": "one"}, "standbys", Level.WARN),
        ({"synchronous_commit": "local"}, "durability", Level.OK),
        ({"standby_names": "one"}, "standbys", Level.OK),
        ({"used": 90}, "connections", Level.WARN),
    ],
)
def test_each_trouble_of_a_database_has_its_level(
    changes: dict[str, Any], check: str, level: Level
) -> None:
    [found] = [each for each in database.database(replace(GOOD, **changes)) if each.check == check]
    assert found.level is level
    assert found.level is Level.OK or found.remedy


def test_a_bus_and_blobs_that_are_not_shared_are_told_of(
    postgres_server: PostgresServer, tmp_path: Path
) -> None:
    found = postgres_doctor(postgres_server, tmp_path, STAGEPOST_BUS="memory", STAGEPOST_BLOBS="")
    assert found["bus"]["level"] == found["blobs"]["level"] == "warn"
    wrong = postgres_doctor(
        postgres_server, tmp_path, code="1", STAGEPOST_BUS="postgresql://a:b@127.0.0.1:9/c"
    )
    assert wrong["bus"]["level"] == "fail"


MODELS = """
[providers.main]
kind = "openai"
api_key_env = "A_KEY_OF_MAIN"
[models.best]
chain = ["main/large"]
"""


def test_models_and_what_their_providers_lack(tmp_path: Path) -> None:
    file = tmp_path / "models.toml"
    given: dict[str, Any] = {"STAGEPOST_MODELS": str(file)}
    file.write_text(MODELS)
    lacking = doctor("--data", str(tmp_path / "new"), "--app", "rig:app", **given)
    assert lacking["models"]["detail"] == "aliases: best"
    assert lacking["provider main"] == {
        "check": "provider main",
        "level": "warn",
        "detail": "models.toml takes a key from A_KEY_OF_MAIN, which is not set",
        "remedy": "Set it.",
    }
    there = doctor("--data", str(tmp_path / "new"), "--app", "rig:app", A_KEY_OF_MAIN="k", **given)
    assert "provider main" not in there
    file.write_text(MODELS.replace("main/large", "other/large"))
    wrong = doctor("--data", str(tmp_path / "new"), "--app", "rig:app", code=1, **given)
    assert wrong["models"]["level"] == "fail"
    assert "other/large" in wrong["models"]["detail"]


def test_without_models_it_says_so(tmp_path: Path) -> None:
    found = doctor("--data", str(tmp_path / "new"), "--app", "rig:app")
    assert found["models"]["detail"] == "there is no models.toml, so handlers can call no model"
