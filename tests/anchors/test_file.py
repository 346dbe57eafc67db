"""The anchor in a file."""

import os
from pathlib import Path

import pytest

from stagepost.anchors.file import FileAnchor
from stagepost.errors import AnchorUnavailable, StoreRefused


async def test_lines_are_appended_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "anchor.jsonl"
    file.write_text("before\n")
    anchor = FileAnchor(file)
    await anchor.keep(["one", "two"])
    await anchor.keep(["three"])
    await anchor.close()
    assert file.read_text() == "before\none\ntwo\nthree\n"


async def test_a_line_that_was_cut_is_left_and_the_next_begins_anew(tmp_path: Path) -> None:
    file = tmp_path / "anchor.jsonl"
    file.write_text("one\ntw")
    await FileAnchor(file).keep(["two"])
    assert file.read_text() == "one\ntw\ntwo\n"


async def test_every_write_is_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    anchor = FileAnchor(tmp_path / "anchor.jsonl")
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    await anchor.keep(["one"])
    assert len(synced) == 1


def test_a_file_in_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreRefused, match="make its folder"):
        FileAnchor(tmp_path / "none" / "anchor.jsonl")


async def test_a_folder_that_went_is_waited_for(tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    anchor = FileAnchor(folder / "anchor.jsonl")
    folder.rename(tmp_path / "away")
    with pytest.raises(AnchorUnavailable, match="seals are kept until it can"):
        await anchor.keep(["one"])
    (tmp_path / "away").rename(folder)
    await anchor.keep(["one"])
    assert (folder / "anchor.jsonl").read_text() == "one\n"
