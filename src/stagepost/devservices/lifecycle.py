"""Start, stop and report the services of one scratch folder."""

import os
import pwd
import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from stagepost.devservices import environment, process, state
from stagepost.devservices.commands import last_line
from stagepost.devservices.errors import NotAnswering, Refused
from stagepost.devservices.folder import is_root
from stagepost.devservices.packages import ensure_installed
from stagepost.devservices.ports import free_port, is_free
from stagepost.devservices.process import Identity
from stagepost.devservices.service import HOST, Account, Place, Service
from stagepost.devservices.state import Entry

Notify = Callable[[str], None]

# Crash recovery is part of it; a development database is small.
START_TIMEOUT = 60.0
# After SIGKILL of PostgreSQL's first process no new one starts until the others saw it and went.
_RELAUNCH_TIMEOUT = 20.0
_RELAUNCH_PAUSE = 0.5
_STOP_GRACE = 10.0


@dataclass(frozen=True, slots=True)
class Report:
    """One service as it is now. `dead`: it was not stopped by us, and runs no more."""

    name: str
    state: Literal["running", "stopped", "dead"]
    answers: bool
    address: str | None
    pid: int | None


class Services:
    """The services of one folder, which `open_folder` has opened.

    Commands on the same folder, from any process, wait for each other.
    """

    def __init__(self, folder: Path, table: Sequence[Service], notify: Notify) -> None:
        self._folder = folder
        self._table = table
        self._notify = notify

    def start(self, services: Sequence[Service]) -> Path:
        """Return once each answers: what runs is left as it is, what died is revived.

        A service keeps its address, password and data for the life of the folder. The answer is
        the path of the file of `export` lines, which names every service that runs.

        Raises:
            Refused: a package, a port or the data is not to be had.
            NotAnswering: a service did not answer within a minute.
        """
        with self._locked():
            for service in services:
                ensure_installed(service, self._notify)
            for service in services:
                self._bring_up(service)
                self._write_environment()
        return environment.path(self._folder)

    def stop(self, services: Sequence[Service]) -> None:
        """Return once each has ended, its data kept. Ends only what `start` started.

        Raises:
            NotAnswering: a process outlived SIGKILL.
        """
        with self._locked():
            for service in services:
                self._bring_down(service)
            self._write_environment()

    def status(self, services: Sequence[Service]) -> list[Report]:
        """Each service as it is now; changes nothing."""
        return [self._report(service) for service in services]

    def _report(self, service: Service) -> Report:
        entry = state.load(self._folder).get(service.name)
        if entry is None:
            return Report(service.name, "stopped", answers=False, address=None, pid=None)
        address = f"{HOST}:{entry.port}"
        if entry.process is None:
            return Report(service.name, "stopped", answers=False, address=address, pid=None)
        pid = entry.process.pid
        if not process.alive(entry.process):
            return Report(service.name, "dead", answers=False, address=address, pid=pid)
        answers = service.answers(self._place(service, entry))
        return Report(service.name, "running", answers=answers, address=address, pid=pid)

    def _bring_up(self, service: Service) -> None:
        entry = state.load(self._folder).get(service.name) or self._new_entry(service)
        place = self._place(service, entry)
        if entry.process and process.alive(entry.process):
            self._await_answer(service, place, entry.process)
            return
        self._notify(f"starting {service.name} on {HOST}:{entry.port} ...")
        self._make_folder(place)
        service.prepare(place)
        if entry.process and entry.process.boot != process.boot_id():
            service.after_reboot(place)
        self._launch_until_it_answers(service, place)
        service.finish(place)

    def _new_entry(self, service: Service) -> Entry:
        """Address and password, on disk before anything is made with them."""
        if (self._folder / service.name).exists():
            raise Refused(
                f"{self._folder / service.name} holds data whose password is lost: "
                f"remove {self._folder} to begin anew."
            )
        entry = Entry(port=free_port(), password=secrets.token_hex(24))
        self._remember(service, entry)
        return entry

    def _launch_until_it_answers(self, service: Service, place: Place) -> None:
        """Launch, and again should it die early, until it answers or the time is over."""
        last_launch = time.monotonic() + _RELAUNCH_TIMEOUT
        last = time.monotonic() + START_TIMEOUT
        while True:
            started = self._launch(service, place)
            if self._answers_before(service, place, started, last):
                return
            if process.alive(started):
                raise NotAnswering(self._silence(service, place, started))
            if not is_free(place.port):
                raise Refused(
                    f"Another program listens at {HOST}:{place.port}, the address of "
                    f"{service.name}: end it, or remove {self._folder} to begin anew."
                )
            if time.monotonic() > last_launch:
                raise Refused(
                    f"{service.name} ends as soon as it starts: {self._last_words(service)}"
                )
            time.sleep(_RELAUNCH_PAUSE)

    def _launch(self, service: Service, place: Place) -> Identity:
        started: list[Identity] = []

        def record(identity: Identity) -> None:
            entry = Entry(port=place.port, password=place.password, process=identity)
            self._remember(service, entry)
            started.append(identity)

        process.launch(
            service.command(place),
            folder=place.folder,
            log=self._log(service),
            account=place.account,
            standard_input=service.standard_input(place),
            record=record,
        )
        return started[0]

    def _await_answer(self, service: Service, place: Place, running: Identity) -> None:
        if not self._answers_before(service, place, running, time.monotonic() + START_TIMEOUT):
            raise NotAnswering(self._silence(service, place, running))

    def _answers_before(
        self, service: Service, place: Place, running: Identity, last: float
    ) -> bool:
        while process.alive(running):
            if service.answers(place):
                return True
            if time.monotonic() > last:
                return False
            time.sleep(0.05)
        return False

    def _bring_down(self, service: Service) -> None:
        entry = state.load(self._folder).get(service.name)
        if entry is None or entry.process is None:
            return
        process.end(entry.process, service.stop_signals, grace=_STOP_GRACE)
        self._remember(service, entry.model_copy(update={"process": None}))

    def _write_environment(self) -> None:
        entries = state.load(self._folder)
        running = [
            (service, self._place(service, entry))
            for service in self._table
            if (entry := entries.get(service.name)) and entry.process
            if process.alive(entry.process)
        ]
        if running:
            environment.write(self._folder, environment.settings(self._folder, running))
        else:
            environment.path(self._folder).unlink(missing_ok=True)

    def _remember(self, service: Service, entry: Entry) -> None:
        state.save(self._folder, {**state.load(self._folder), service.name: entry})

    def _make_folder(self, place: Place) -> None:
        place.folder.mkdir(mode=0o700, exist_ok=True)
        if place.account:
            os.chown(place.folder, place.account.uid, place.account.gid)

    def _place(self, service: Service, entry: Entry) -> Place:
        folder = self._folder / service.name
        return Place(folder, entry.port, entry.password, _account(service))

    def _locked(self) -> AbstractContextManager[None]:
        return state.locked(self._folder / "lock", self._notify)

    def _log(self, service: Service) -> Path:
        return self._folder / f"{service.name}.log"

    def _last_words(self, service: Service) -> str:
        text = self._log(service).read_text(encoding="utf-8", errors="replace")
        return f"{last_line(text)} (more in {self._log(service)})"

    def _silence(self, service: Service, place: Place, running: Identity) -> str:
        return (
            f"{service.name} (process {running.pid}) has not answered at {HOST}:{place.port} for "
            f"{START_TIMEOUT:.0f} s: 'stagepost dev services stop {service.name}' ends it."
        )


def _account(service: Service) -> Account | None:
    """Who the service runs as; None, as ourselves, unless we are root."""
    if not is_root():
        return None
    try:
        found = pwd.getpwnam(service.account)
    except KeyError:
        raise Refused(
            f"The account {service.account} is missing: reinstall the package {service.package}."
        ) from None
    return Account(name=found.pw_name, uid=found.pw_uid, gid=found.pw_gid)
