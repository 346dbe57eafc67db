"""PostgreSQL from Debian's package: a cluster of our own, with its default durability."""

import os
import secrets
import shutil
import signal
from collections.abc import Sequence
from pathlib import Path

from stagepost.devservices import commands
from stagepost.devservices.errors import DevServiceError, Refused
from stagepost.devservices.service import HOST, Place

_DEBIAN = Path("/usr/lib/postgresql")
_PROGRAMS = ("initdb", "postgres", "psql")
_ROLE = "stagepost"
_DATABASE = "stagepost"


class Postgres:
    """The `postgres` service: store, and bus and limiter where there is no Redis."""

    name = "postgres"
    package = "postgresql"
    account = "postgres"
    settings = ("STAGEPOST_STORE", "STAGEPOST_BUS", "STAGEPOST_LIMITER")
    # Fast shutdown, which asks no client, then immediate shutdown.
    stop_signals = (signal.SIGINT, signal.SIGQUIT)

    def installed(self) -> bool:
        """Whether server and client of one version are there."""
        return bool(_installations())

    def prepare(self, place: Place) -> None:
        """A new cluster, made beside its place and moved there whole.

        So a folder called `data` is always complete, whenever an earlier command was killed. The
        draft's name is new each time: the `initdb` of a killed command lives on and may still
        write into the draft of then, whose rest goes away at the next start after that.
        """
        if place.data.exists():
            return
        for left in place.folder.glob("data.new.*"):
            shutil.rmtree(left, ignore_errors=True)
        draft = place.folder / f"data.new.{secrets.token_hex(8)}"
        password = place.folder / "password.new"
        _write_for(place, password)
        try:
            commands.run(
                [
                    str(_programs(place) / "initdb"),
                    f"--pgdata={draft}",
                    f"--username={_ROLE}",
                    f"--pwfile={password}",
                    "--auth=scram-sha-256",
                    "--encoding=UTF8",
                    "--locale=C.UTF-8",
                ],
                folder=place.folder,
                timeout=120,
                account=place.account,
            )
        finally:
            password.unlink()
        draft.rename(place.data)

    def after_reboot(self, place: Place) -> None:
        """Remove the pid file: its number may be any process of this user by now.

        PostgreSQL would take that process for a living server and refuse to start.
        """
        (place.data / "postmaster.pid").unlink(missing_ok=True)

    def command(self, place: Place) -> Sequence[str]:
        """The server on its loopback port, without a socket file; all else as it comes."""
        settings = {
            "listen_addresses": HOST,
            "port": str(place.port),
            "unix_socket_directories": "",
            "max_connections": "200",
        }
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        return [str(_programs(place) / "postgres"), "-D", str(place.data), *options]

    def standard_input(self, place: Place) -> str:
        """It reads nothing."""
        del place
        return ""

    def answers(self, place: Place) -> bool:
        """Whether it takes the password and answers a query."""
        try:
            return _query(place, "postgres", "SELECT 1") == "1"
        except DevServiceError:
            return False

    def finish(self, place: Place) -> None:
        """Make the database if there is none."""
        asked = f"SELECT 1 FROM pg_database WHERE datname = '{_DATABASE}'"  # noqa: S608 - ours
        if not _query(place, "postgres", asked):
            _query(place, "postgres", f"CREATE DATABASE {_DATABASE}")

    def url(self, place: Place) -> str:
        """The database `stagepost`, owned by a role that may do everything."""
        return f"postgresql://{_ROLE}:{place.password}@{HOST}:{place.port}/{_DATABASE}"


def _query(place: Place, database: str, sql: str) -> str:
    command = [str(_programs(place) / "psql"), "--no-psqlrc", "--no-password", "--quiet", "-At"]
    address = ["-h", HOST, "-p", str(place.port), "-U", _ROLE, "-d", database, "-c", sql]
    environment = {**commands.ENVIRONMENT, "PGPASSWORD": place.password, "PGCONNECT_TIMEOUT": "3"}
    return commands.run(
        [*command, *address], folder=Path("/"), timeout=5, environment=environment
    ).strip()


def _write_for(place: Place, path: Path) -> None:
    """The password in a file that only the service's account can read."""
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(place.password)
        if place.account:
            os.fchown(file.fileno(), place.account.uid, place.account.gid)


def _programs(place: Place) -> Path:
    """The folder of programs of the version that made the data; the newest for new data."""
    found = _installations()
    if not found:
        raise Refused(
            "The package postgresql is missing: 'stagepost dev services start' installs it."
        )
    version = place.data / "PG_VERSION"
    if not version.exists():
        return found[max(found)]
    number = int(version.read_text(encoding="ascii"))
    if number not in found:
        raise Refused(
            f"{place.data} was made by PostgreSQL {number}: install postgresql-{number}, "
            f"or remove {place.folder.parent} to begin anew."
        )
    return found[number]


def _installations() -> dict[int, Path]:
    """Folders of programs by major version."""
    folders = {int(path.parent.name): path for path in _DEBIAN.glob("[0-9]*/bin")}
    return {
        version: folder
        for version, folder in folders.items()
        if all((folder / program).exists() for program in _PROGRAMS)
    }
