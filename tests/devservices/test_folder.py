"""Which folder the services live in."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from stagepost.devservices import folder
from stagepost.devservices.errors import Refused


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "is_root", lambda: True)


@pytest.fixture
def user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "is_root", lambda: False)


@pytest.fixture
def closed(tmp_path: Path) -> Iterator[Path]:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    yield home
    assert not list(home.rglob("*"))


def test_a_user_has_it_in_the_cache(user: None) -> None:
    home = Path("/home/someone")
    assert folder.default_folder({}, home) == home / ".cache/stagepost/services"
    named = folder.default_folder({"XDG_CACHE_HOME": "/elsewhere"}, home)
    assert named == Path("/elsewhere/stagepost/services")
    # A relative one is to be ignored, says the XDG specification.
    assert folder.default_folder({"XDG_CACHE_HOME": "here"}, home).is_relative_to(home)


def test_root_has_it_where_the_accounts_can_reach_it(root: None, closed: Path) -> None:
    assert folder.default_folder({}, closed) == Path("/var/cache/stagepost/services")
    with pytest.raises(Refused, match="cannot pass through"):
        folder.open_folder(closed / "services")


def test_a_user_gets_a_private_folder(user: None, tmp_path: Path) -> None:
    opened = folder.open_folder(tmp_path / "a" / "b")
    assert opened.stat().st_mode & 0o777 == 0o700
    assert folder.open_folder(opened) == opened


def test_a_file_in_the_way_is_named(user: None, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(Refused, match="--dir"):
            folder.open_folder(path)


def test_the_folder_of_another_user_is_refused(
    user: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    with pytest.raises(Refused, match="another user"):
        folder.open_folder(tmp_path)
