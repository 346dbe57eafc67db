"""One server for all tests that only ask it things."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.serving import Server, up


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with up(tmp_path_factory.mktemp("server"), "--app", "rig:app") as running:
        yield running


@pytest.fixture
def asked(server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """The server, named by STAGEPOST_URL."""
    monkeypatch.setenv("STAGEPOST_URL", server.url)
    monkeypatch.delenv("STAGEPOST_API_KEY", raising=False)
    return server


@pytest.fixture
def letter(tmp_path: Path) -> Path:
    path = tmp_path / "letter.txt"
    path.write_text("Dear Sir")
    return path
