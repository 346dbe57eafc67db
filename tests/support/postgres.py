"""A real PostgreSQL for tests, started by the project's own `dev services`."""

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stagepost.devservices import environment
from stagepost.devservices.folder import open_folder
from stagepost.devservices.lifecycle import Services
from stagepost.devservices.postgres import Postgres
from stagepost.devservices.process import alive, identify
from support.waiting import PATIENCE, soon


class Server:
    """One server with a data folder and a port of its own; it keeps its durability."""

    def __init__(self, folder: Path) -> None:
        self._folder = open_folder(folder)
        self._service = Postgres()
        self._services = Services(self._folder, [self._service], notify=_quiet)
        self.url = ""

    def url_of(self, schema: str) -> str:
        """The address of an engine that keeps to a schema of its own."""
        return f"{self.url}?schema={schema}"

    def start(self) -> None:
        """Return once it answers; its address and its data are those it had before."""
        self._services.start([self._service])
        self.url = environment.read(self._folder)["STAGEPOST_STORE"]

    def stop(self) -> None:
        """A fast shutdown, which breaks every connection."""
        self._services.stop([self._service])

    def crash(self) -> None:
        """An immediate shutdown: nothing is written that was not synced before."""
        process = identify(self.pid)
        assert process is not None
        os.kill(self.pid, signal.SIGQUIT)
        soon(lambda: not alive(process), PATIENCE)

    def make_standby(self) -> None:
        """Start it anew as a standby, which waits for a primary that never comes."""
        self.stop()
        data = self._folder / self._service.name / "data"
        (data / "standby.signal").touch()
        self.start()

    def forget_what_is_not_synced(self) -> None:
        """From its next start on commits wait for no disk."""
        with (self._folder / self._service.name / "data" / "postgresql.auto.conf").open(
            "a"
        ) as conf:
            conf.write("synchronous_commit = off\n")

    @property
    def pid(self) -> int:
        """Its first process."""
        [report] = self._services.status([self._service])
        assert report.pid is not None
        return report.pid


@contextmanager
def server() -> Iterator[Server]:
    """A server that is gone when the context ends."""
    # Not tmp_path: root's is closed to the account that PostgreSQL runs as.
    parent = Path(tempfile.mkdtemp(prefix="stagepost-postgres-"))
    parent.chmod(0o711 if os.geteuid() == 0 else 0o700)
    found = Server(parent / "services")
    try:
        found.start()
        yield found
    finally:
        found.stop()
        shutil.rmtree(parent)


def _quiet(_line: str) -> None:
    """What is started is of no interest."""
