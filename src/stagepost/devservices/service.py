"""What a service is: the port that each file of this package beside it fills."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from signal import Signals
from typing import Protocol

HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Account:
    """A system account that a service runs as when we are root."""

    name: str
    uid: int
    gid: int


@dataclass(frozen=True, slots=True)
class Place:
    """Where one service lives: a private folder, a loopback port, its password, its account.

    `account` is None when we are not root: the service then runs as we do.
    """

    folder: Path
    port: int
    password: str
    account: Account | None

    @property
    def data(self) -> Path:
        """The service's own data; only the service writes below it."""
        return self.folder / "data"


class Service(Protocol):
    """One real service.

    The calls come in this order: `installed`, `prepare`, (`after_reboot`,) `command`, `answers`
    until it is true, `finish`. Each may be repeated at any later start.
    """

    @property
    def name(self) -> str:
        """What it is called on the command line."""

    @property
    def package(self) -> str:
        """The Debian package that brings it."""

    @property
    def account(self) -> str:
        """The system account of that package."""

    @property
    def settings(self) -> tuple[str, ...]:
        """The settings that its address is the value of."""

    @property
    def stop_signals(self) -> tuple[Signals, ...]:
        """How to ask it to end, the gentlest first."""

    def installed(self) -> bool:
        """Whether its programs are on this machine."""

    def prepare(self, place: Place) -> None:
        """Make the data folder if there is none; never touch one that is complete."""

    def after_reboot(self, place: Place) -> None:
        """Clear what a machine that went down left behind. No process of it can be alive."""

    def command(self, place: Place) -> Sequence[str]:
        """The program, to be run in the foreground. It names no secret: `ps` shows it to all."""

    def standard_input(self, place: Place) -> str:
        """What the program reads from its standard input; secrets belong here."""

    def answers(self, place: Place) -> bool:
        """Whether it answers at its address to its password, now. Takes 5 s at most."""

    def finish(self, place: Place) -> None:
        """What is done once it answers, such as making the database."""

    def url(self, place: Place) -> str:
        """Its address as the settings take it, with the password."""
