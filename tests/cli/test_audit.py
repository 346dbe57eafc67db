"""`stagepost audit verify`, beside a store and without one."""

import json
from pathlib import Path
from typing import Any

import apsw
import pytest

from stagepost.adapters import anchor_file, seal_reading
from stagepost.anchors.file import FileAnchor
from stagepost.auditing import verify
from stagepost.cli import run
from stagepost.diagnosis import audit
from stagepost.diagnosis.finding import Level
from stagepost.environment import from_environment
from stagepost.errors import StoreRefused
from stagepost.maintenance.sealer import Sealer
from stagepost.stores.sqlite import schema
from stagepost.stores.sqlite.folder import DATABASE
from support.calls import answered
from support.postgres import Server as PostgresServer
from support.postgres_worlds import PostgresWorlds, folder_of_times
from support.world import World, a_world, open_sqlite


async def _fill(world: World, anchor: Path) -> None:
    loop = Sealer(world.store, world.clock, FileAnchor(anchor))
    claimed = await world.running()
    for _ in range(2):
        await answered(world, claimed)
        await loop.look()
    await answered(world, claimed)


@pytest.fixture
def anchor(tmp_path: Path) -> Path:
    return tmp_path / "anchor.jsonl"


@pytest.fixture
async def folder(tmp_path: Path, anchor: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder at rest, with two seals and an end that waits for its seal."""
    monkeypatch.setenv("STAGEPOST_AUDIT_ANCHOR", str(anchor))
    async with a_world(open_sqlite, tmp_path / "data") as world:
        await _fill(world, anchor)
    return tmp_path / "data"


def tamper(folder: Path, statement: str) -> None:
    connection = apsw.Connection(str(folder / DATABASE))
    connection.execute(statement)
    connection.close()


def verified(
    capsys: pytest.CaptureFixture[str], folder: Path, *more: str, code: int = 0
) -> dict[str, Any]:
    assert run(["audit", "verify", "--data", str(folder), "--json", *more]) == code
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def test_a_sound_ledger(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = sorted(path.name for path in folder.iterdir())
    assert verified(capsys, folder) == {
        "sound": True,
        "anchored": True,
        "faults": [],
        "more": 0,
        "tenants": [
            {
                "tenant": "acme", "seals": 2, "entries": 2, "gone": 0, "waiting": 1, "unsent": 0,
                "anchored": 2,
            }
        ],
    }  # fmt: skip
    assert run(["audit", "verify", "--data", str(folder)]) == 0
    told = capsys.readouterr().out
    assert "acme: 2 entries in 2 seals, 2 seals in the anchor, 1 entries are not sealed" in told
    assert "as the anchor holds it." in told
    assert sorted(path.name for path in folder.iterdir()) == names


def test_a_changed_row_is_one_sentence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tamper(folder, "UPDATE calls SET cost = 1 WHERE id = (SELECT min(id) FROM calls)")
    assert run(["audit", "verify", "--data", str(folder)]) == 1
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("changed-row: The call ")
    assert first.endswith(" of tenant acme was changed after it was sealed.")
    assert verified(capsys, folder, "--tenant", "zeta")["sound"]


def test_a_cut_tail_needs_the_anchor(
    folder: Path,
    anchor: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cut = "SELECT call_id FROM seal_entries WHERE n = 2"
    tamper(folder, f"DELETE FROM calls WHERE id IN ({cut})")
    tamper(folder, "DELETE FROM seal_entries WHERE n = 2")
    tamper(folder, "DELETE FROM seals WHERE n = 2")
    (fault,) = verified(capsys, folder, code=1)["faults"]
    assert (fault["kind"], fault["tenant"], fault["n"]) == ("cut-tail", "acme", 2)
    monkeypatch.delenv("STAGEPOST_AUDIT_ANCHOR")
    assert run(["audit", "verify", "--data", str(folder)]) == 0
    assert "Sealed inside the store only" in capsys.readouterr().out
    assert verified(capsys, folder, "--anchor", str(anchor), code=1)["anchored"]


def test_what_can_t_be_read_is_said(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["audit", "verify", "--data", str(folder), "--anchor", str(tmp_path / "no")]) == 2
    assert "can't be read" in capsys.readouterr().err
    assert run(["audit", "verify", "--data", str(tmp_path / "nowhere")]) == 4
    assert "There is no ledger in" in capsys.readouterr().err
    connection = apsw.Connection(str(folder / DATABASE))
    connection.pragma("user_version", schema.VERSION + 1)
    connection.close()
    assert run(["audit", "verify", "--data", str(folder)]) == 4
    assert "holds no seals that this Stagepost knows" in capsys.readouterr().err


async def test_beside_a_store_that_is_open(
    tmp_path: Path, anchor: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAGEPOST_AUDIT_ANCHOR", str(anchor))
    async with a_world(open_sqlite, tmp_path / "data") as world:
        await _fill(world, anchor)
        settings = from_environment().with_(data=tmp_path / "data")
        async with seal_reading(settings) as reading:
            report = await verify(reading, None, anchor.read_text().splitlines(keepends=True))
    assert (report.sound, report.chains["acme"].waiting) == (True, 1)


def test_an_anchor_in_the_data_folder_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAGEPOST_AUDIT_ANCHOR", str(tmp_path / "data" / "anchor"))
    with pytest.raises(StoreRefused, match="name a file outside"):
        anchor_file(from_environment().with_(data=tmp_path / "data"))


def test_doctor_says_where_seals_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def found(anchor: str) -> tuple[Level, str]:
        monkeypatch.setenv("STAGEPOST_AUDIT_ANCHOR", anchor)
        finding = audit.anchor(from_environment().with_(data=tmp_path / "data"))
        assert bool(finding.remedy) is (finding.level is Level.FAIL)
        return finding.level, finding.detail

    assert found("")[0] is Level.OK
    assert "inside the store only" in found("")[1]
    assert found("https://h/secret") == (Level.OK, "seals go to https://h")
    assert found("http://")[0] is Level.FAIL
    assert found(str(tmp_path / "a")) == (Level.OK, f"seals go to {tmp_path / 'a'}")
    assert not (tmp_path / "a").exists()
    assert found(str(tmp_path / "none" / "a"))[0] is Level.FAIL
    assert found(str(tmp_path / "data" / "a"))[0] is Level.FAIL


async def test_on_postgresql(
    postgres_server: PostgresServer,
    tmp_path: Path,
    anchor: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with folder_of_times() as times:
        worlds = PostgresWorlds(postgres_server, times)
        async with a_world(worlds.open, tmp_path / "data") as world:
            await _fill(world, anchor)
            monkeypatch.setenv("STAGEPOST_STORE", worlds.url_of(world))
            async with seal_reading(from_environment()) as reading:
                report = await verify(reading, None, anchor.read_text().splitlines(keepends=True))
    assert (report.sound, report.chains["acme"].waiting) == (True, 1)
