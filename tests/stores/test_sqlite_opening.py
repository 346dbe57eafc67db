"""Opening a data folder: refused with one sentence and its remedy, and nothing is changed."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import apsw
import pytest

from stagepost.clock import SystemClock
from stagepost.errors import StoreRefused
from stagepost.stores.sqlite import SqliteStore, folder, schema
from stagepost.stores.sqlite.folder import DATABASE
from support.leftovers import nothing_left
from support.other_users import a_public_folder, refusal_for_a_plain_user
from support.world import World, a_world, checkpoint, open_sqlite


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder with a hundred tasks."""

    async def fill() -> None:
        async with a_world(open_sqlite, tmp_path / "data") as world:
            await asyncio.gather(*(world.submit(input='"' + "x" * 999 + '"') for _ in range(100)))

    asyncio.run(fill())
    return tmp_path / "data"


def open_it(data: Path) -> SqliteStore:
    return SqliteStore(data, SystemClock(), lambda _: None)


def refusal(data: Path) -> str:
    """The sentence; checks that nothing was changed, and nothing is left open."""
    database = data / DATABASE
    before = database.read_bytes() if database.is_file() else None
    with nothing_left(), pytest.raises(StoreRefused) as caught:
        open_it(data)
    assert before is None or database.read_bytes() == before
    sentence = str(caught.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence


async def test_a_folder_that_is_not_there_is_made(tmp_path: Path) -> None:
    with nothing_left():
        async with a_world(open_sqlite, tmp_path / "a" / "b" / "data") as world:
            await world.submit()
            assert (world.folder.stat().st_mode & 0o777) == 0o700
    assert sorted(path.name for path in world.folder.iterdir()) == ["lock", DATABASE]


async def test_the_commit_is_synced_whatever_the_defaults(tmp_path: Path) -> None:
    async with a_world(open_sqlite, tmp_path / "data") as world:
        assert isinstance(world.store, SqliteStore)
        connection = world.store._connection
        assert connection.pragma("journal_mode") == "wal"
        assert connection.pragma("synchronous") == 2
        assert connection.pragma("application_id") == schema.APPLICATION_ID
        assert connection.pragma("user_version") == schema.VERSION


def test_a_new_folder_is_synced_into_its_parent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = []
    monkeypatch.setattr(
        os, "fsync", lambda fd: synced.append(str(Path(f"/proc/self/fd/{fd}").readlink()))
    )
    asyncio.run(open_it(tmp_path / "a" / "data").close())
    assert {str(tmp_path), str(tmp_path / "a")} <= set(synced)


def test_a_folder_in_use_by_this_process(data: Path) -> None:
    store = open_it(data)
    sentence = refusal(data)
    assert f"in use by process {os.getpid()}" in sentence
    assert "--data" in sentence
    asyncio.run(store.close())
    asyncio.run(open_it(data).close())


HOLD = """
import sys, time
from pathlib import Path
from random import Random
from stagepost.clock import SystemClock
from stagepost.stores.sqlite import SqliteStore
store = SqliteStore(Path(sys.argv[1]), SystemClock(), lambda news: None)
print("open", flush=True)
time.sleep(60)
"""


def test_a_folder_in_use_by_another_process_until_that_one_is_killed(data: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(data)], stdout=subprocess.PIPE, text=True
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        assert f"in use by process {holder.pid};" in refusal(data)
        holder.send_signal(signal.SIGKILL)
        holder.wait(10)
    asyncio.run(open_it(data).close())


FORK = """
import os, signal, sys, time
from pathlib import Path
from stagepost.clock import SystemClock
from stagepost.stores.sqlite import SqliteStore
store = SqliteStore(Path(sys.argv[1]), SystemClock(), lambda news: None)
if os.fork() == 0:
    print(os.getpid(), flush=True)
    time.sleep(0.3)
    os._exit(0)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_children_of_a_killed_process_that_still_share_its_lock_are_waited_for(data: Path) -> None:
    killed = subprocess.run(
        [sys.executable, "-c", FORK, str(data)],
        stdout=subprocess.DEVNULL,
        timeout=60,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    asyncio.run(open_it(data).close())


def test_whoever_keeps_the_lock_for_long_is_named(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder, "_ORPHANS_LAST", 0.05)
    monkeypatch.setattr(folder, "_lives", lambda _: False)
    store = open_it(data)
    assert f"in use by process {os.getpid()}" in refusal(data)
    asyncio.run(store.close())


def overwrite(database: Path, offset: int, data: bytes) -> None:
    with database.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def a_leaf(database: Path) -> int:
    """The offset of a page in the middle that holds rows (and no row's overflow)."""
    content = database.read_bytes()
    leaves = [at for at in range(4096, len(content), 4096) if content[at] in {10, 13}]
    return leaves[len(leaves) // 2]


DAMAGE: dict[str, Callable[[Path], None]] = {
    "no header": lambda database: overwrite(database, 0, b"garbage!" * 64),
    "a page in the middle": lambda database: overwrite(
        database, a_leaf(database), Random(1).randbytes(4096)
    ),
    "a page of zeros": lambda database: overwrite(database, a_leaf(database), bytes(4096)),
    "cut short": lambda database: os.truncate(database, database.stat().st_size // 2),
    "text": lambda database: overwrite(database, 0, b"dear diary\n" * 500),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_file(data: Path, damage: Callable[[Path], None]) -> None:
    damage(data / DATABASE)
    sentence = refusal(data)
    assert "is damaged" in sentence
    assert "nothing was changed" in sentence
    assert "backup" in sentence


def test_an_empty_file_is_a_new_store(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / DATABASE).touch()
    asyncio.run(open_it(data).close())
    asyncio.run(open_it(data).close())


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_another_programs_file(tmp_path: Path, mode: str) -> None:
    data = tmp_path / "data"
    data.mkdir()
    foreign = apsw.Connection(str(data / DATABASE))
    foreign.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    foreign.pragma("journal_mode", mode)
    foreign.execute("CREATE TABLE theirs (a); INSERT INTO theirs VALUES ('precious')")
    foreign.close()
    log = data / f"{DATABASE}-wal"
    before = log.read_bytes() if log.exists() else b""
    assert "another program's SQLite file" in refusal(data)
    assert (log.read_bytes() if log.exists() else b"") == before


def test_a_newer_schema(data: Path) -> None:
    connection = apsw.Connection(str(data / DATABASE))
    connection.pragma("user_version", schema.VERSION + 1)
    connection.close()
    sentence = refusal(data)
    assert "newer Stagepost" in sentence
    assert f"schema {schema.VERSION + 1}, this one knows {schema.VERSION}" in sentence


def test_a_newer_schema_that_stands_in_the_log_only(data: Path) -> None:
    connection = apsw.Connection(str(data / DATABASE))
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    connection.pragma("user_version", schema.VERSION + 1)
    connection.close()
    assert (data / f"{DATABASE}-wal").stat().st_size
    assert "newer Stagepost" in refusal(data)


def test_a_file_that_another_program_holds(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "BUSY_TIMEOUT", 50)
    other = apsw.Connection(str(data / DATABASE))
    other.pragma("locking_mode", "exclusive")
    other.execute("BEGIN IMMEDIATE; CREATE TABLE more (a)")
    assert "held by another program" in refusal(data)
    other.execute("ROLLBACK")
    other.close()


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    assert "can't be written (File exists)" in refusal(tmp_path / "data")
    assert "can't be written (Not a directory)" in refusal(tmp_path / "data" / "deeper")


def test_a_database_that_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / "data" / DATABASE).mkdir(parents=True)
    assert "can't be written (Is a directory)" in refusal(tmp_path / "data")


@pytest.mark.parametrize("what", ["folder", "file", "parent"])
def test_a_folder_without_the_right_to_write(what: str) -> None:
    with a_public_folder() as public:
        data = public / "data"
        asyncio.run(open_it(data).close())
        match what:
            case "folder":
                data.chmod(0o555)
                (data / "lock").unlink()
            case "file":
                data.chmod(0o777)
                (data / "lock").chmod(0o666)
                (data / DATABASE).chmod(0o444)
            case _:
                data = public / "other"
        sentence = refusal_for_a_plain_user(data)
        data.parent.chmod(0o755)
        if data.exists():
            data.chmod(0o755)
    assert "can't be written (Permission denied); give this user the right" in sentence


def test_after_a_refusal_the_mended_folder_opens(data: Path) -> None:
    whole = (data / DATABASE).read_bytes()
    DAMAGE["no header"](data / DATABASE)
    refusal(data)
    (data / DATABASE).write_bytes(whole)
    asyncio.run(open_it(data).close())


async def test_a_restart_finds_everything(tmp_path: Path) -> None:
    async with a_world(open_sqlite, tmp_path / "data") as world:
        claimed = await world.running()
        await world.store.checkpoint(claimed.lease, checkpoint())
        before = await everything(world, claimed.task_id)
        for _ in range(3):
            await world.reopen()
            assert await everything(world, claimed.task_id) == before


async def everything(world: World, task_id: str) -> object:
    return (
        await world.view(task_id),
        await world.store.events(task_id, 0, 100),
        await world.store.steps(task_id),
        await world.store.workers(),
    )


# Migrations


FIRST = "CREATE TABLE notes (a TEXT); INSERT INTO notes VALUES ('kept');"
SECOND = "ALTER TABLE notes ADD COLUMN b TEXT DEFAULT 'new';"


def a_file_of_version(data: Path, monkeypatch: pytest.MonkeyPatch, *scripts: str) -> None:
    """What a program that knew these scripts would have left."""
    monkeypatch.setattr(schema, "MIGRATIONS", scripts)
    monkeypatch.setattr(schema, "VERSION", len(scripts))
    locked = folder.DataFolder(data)
    try:
        folder.open_writer(locked).close()
    finally:
        locked.release()


def content(database: Path) -> tuple[int, list[tuple[object, ...]]]:
    connection = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
    rows = connection.execute("SELECT * FROM notes").fetchall()
    version = schema.version_of(connection)
    connection.close()
    return version, rows


def test_an_older_file_is_copied_and_brought_up_to_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data"
    a_file_of_version(data, monkeypatch, FIRST)
    assert content(data / DATABASE) == (1, [("kept",)])
    a_file_of_version(data, monkeypatch, FIRST, SECOND)
    assert content(data / DATABASE) == (2, [("kept", "new")])
    assert content(data / f"{DATABASE}.v1") == (1, [("kept",)])
    # Opened again, nothing is copied any more.
    (data / f"{DATABASE}.v1").unlink()
    a_file_of_version(data, monkeypatch, FIRST, SECOND)
    assert sorted(path.name for path in data.iterdir()) == ["lock", DATABASE]


def test_the_copy_has_what_stands_in_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data"
    a_file_of_version(data, monkeypatch, FIRST)
    connection = apsw.Connection(str(data / DATABASE))
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    connection.execute("INSERT INTO notes VALUES ('in the log')")
    connection.close()
    a_file_of_version(data, monkeypatch, FIRST, SECOND)
    assert content(data / f"{DATABASE}.v1") == (1, [("kept",), ("in the log",)])
    assert content(data / DATABASE) == (2, [("kept", "new"), ("in the log", "new")])


def test_several_versions_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tmp_path / "data"
    a_file_of_version(data, monkeypatch, FIRST)
    a_file_of_version(data, monkeypatch, FIRST, SECOND, "UPDATE notes SET a = 'third';")
    assert content(data / DATABASE) == (3, [("third", "new")])


def test_a_migration_that_fails_leaves_the_version_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data"
    a_file_of_version(data, monkeypatch, FIRST)
    broken = "UPDATE notes SET a = 'half'; ALTER TABLE nowhere ADD COLUMN c;"
    with pytest.raises(StoreRefused):
        a_file_of_version(data, monkeypatch, FIRST, SECOND, broken)
    assert content(data / DATABASE) == (2, [("kept", "new")])
    assert content(data / f"{DATABASE}.v1") == (1, [("kept",)])
    a_file_of_version(data, monkeypatch, FIRST, SECOND, "UPDATE notes SET a = 'whole';")
    assert content(data / DATABASE) == (3, [("whole", "new")])


def test_todays_tables_come_from_the_scripts_alone() -> None:
    connection = apsw.Connection(":memory:")
    schema.migrate(connection)
    assert schema.version_of(connection) == schema.VERSION == len(schema.MIGRATIONS)
    tables = {
        row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
    }
    assert {"tasks", "pool", "events", "steps", "failures", "workers", "idempotency"} <= tables


async def test_a_folder_from_before_versions_goes_on(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o700)
    older = apsw.Connection(str(tmp_path / "data" / DATABASE))
    older.execute(schema.MIGRATIONS[0])
    older.execute(
        """INSERT INTO tasks (id, tenant, user, type, lane, status, created_at, deadline, ttl,
               max_attempts, run_at, pooled_at, seq, fence, input)
           VALUES ('a', 'acme', 'ada', 'review', 'interactive', 'QUEUED', 1, 9e15, 1, 4, 1, 1, 1, 1,
               'null');
           INSERT INTO pool VALUES ('interactive', 1, 'a', 'review', 9e15, 0);
           INSERT INTO workers VALUES ('w', 'w', '[]', '["review"]', 1, '1', 'running', 1, 1)"""
    )
    older.pragma("user_version", 1)
    older.pragma("application_id", schema.APPLICATION_ID)
    older.close()
    async with a_world(open_sqlite, tmp_path / "data") as world:
        assert (await world.store.workers())[0].versions == {}
        # A task that was claimed before there were versions belongs to who claims it next.
        hand = await world.worker(versions={"review": (3,)})
        (claim,) = await world.claim(by=hand)
        assert (claim.task_id, claim.code_version) == ("a", 3)
