"""Everything that can be set: one frozen object, made at start and handed down."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from stagepost.addresses import folder_of, is_loopback
from stagepost.limit import Limit

DEFAULT_DATA: Final = Path("stagepost-data")
PORT: Final = 8080


@dataclass(frozen=True, slots=True)
class Limits:
    """What a request may bring. Bytes, counts and characters; see docs/settings.md."""

    json_bytes: int = 1024 * 1024
    json_depth: int = 64
    multipart_bytes: int = 256 * 1024 * 1024
    file_bytes: int = 100 * 1024 * 1024
    files: int = 20
    tags: int = 20
    tag_length: int = 64
    key_length: int = 255
    list_default: int = 50
    list_most: int = 200
    wait_most: float = 30.0
    streams: int = 10_000
    streams_a_tenant: int = 6_000
    streams_a_task: int = 100
    run_ahead_days: int = 365
    queued_a_tenant: int = 0
    """0: any number."""


@dataclass(frozen=True, slots=True)
class Keep:
    """For how many days things are kept: tasks and events after the end, tombstones after those."""

    tasks_days: float = 30.0
    events_days: float = 7.0
    tombstones_days: float = 365.0


@dataclass(frozen=True, slots=True)
class LogStyle:
    """How log lines look (`text` or `json`), and from which level on they are written."""

    form: str = "text"
    level: str = "info"


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be set. Durations are seconds.

    What may hold a password is left out of its text form.
    """

    data: Path = DEFAULT_DATA
    store: str = field(default="", repr=False)
    broker: str = field(default="direct", repr=False)
    bus: str = field(default="", repr=False)
    limiter: str = field(default="", repr=False)
    blobs: str = field(default="", repr=False)
    app: str = ""
    host: str = "127.0.0.1"
    port: int = PORT
    probe: str = ""
    auth: tuple[str, ...] = ("local",)
    bootstrap_key: str = field(default="", repr=False)
    url: str = field(default="", repr=False)
    api_key: str = field(default="", repr=False)
    log: LogStyle = field(default_factory=LogStyle)
    lanes: Mapping[str, int] = field(default_factory=lambda: {"interactive": 8, "batch": 1})
    concurrency: int = 8
    lease: float = 15.0
    heartbeat: float = 5.0
    drain_grace: float = 30.0
    cancel_grace: float = 30.0
    stall_after: float = 30.0
    keep: Keep = field(default_factory=Keep)
    limits: Limits = field(default_factory=Limits)
    shared_limits: Mapping[str, Limit] = field(default_factory=dict)
    models: str = ""
    """The file that tells which models there are; "": `models.toml` here or in the data folder."""
    body_keys: str = field(default="", repr=False)
    body_keys_file: str = ""
    redact: str = ""
    """How texts of the ledger are encrypted and redacted; see `stagepost.body_codec`."""
    audit_anchor: str = field(default="", repr=False)
    """Where the seals of the ledger are copied to: a file, or an http(s) URL; "": nowhere."""

    @property
    def server(self) -> str:
        """The address of the server that commands talk to."""
        # Port 0 means any free one, which only `up` itself can tell.
        return self.url or f"http://127.0.0.1:{self.port or PORT}"

    @property
    def store_scheme(self) -> str:
        """Which store it is, by the scheme of its address."""
        return self.store.partition(":")[0] or "sqlite"

    @property
    def embedded(self) -> bool:
        """Whether the store lives in this process, and belongs to no other."""
        return self.store_scheme == "sqlite"

    @property
    def bus_address(self) -> str:
        """`memory`, or where processes ring for each other: where the store is, unless told."""
        return self.bus or ("memory" if self.embedded else self.store)

    @property
    def bus_setting(self) -> str:
        """The variable that `bus_address` comes from."""
        return "STAGEPOST_BUS" if self.bus else "STAGEPOST_STORE"

    @property
    def limiter_address(self) -> str:
        """`memory`, or where the limiter's books are: where the store is, unless told."""
        return self.limiter or ("memory" if self.embedded else self.store)

    @property
    def limiter_setting(self) -> str:
        """The variable that `limiter_address` comes from."""
        return "STAGEPOST_LIMITER" if self.limiter else "STAGEPOST_STORE"

    @property
    def folder(self) -> Path:
        """The data folder: of the embedded store, and of the blobs unless they have another."""
        if self.store and self.embedded:
            return folder_of("STAGEPOST_STORE", self.store, "sqlite")
        return self.data

    @property
    def blob_folder(self) -> Path:
        """The folder of the folder blobs."""
        if self.blobs:
            return folder_of("STAGEPOST_BLOBS", self.blobs, "file")
        return self.folder / "blobs"

    def check_exposure(self) -> None:
        """Keep the local mode, which asks for no key, on this machine.

        Raises ValueError with the remedy.
        """
        if "local" in self.auth and not is_loopback(self.host.strip("[]")):
            raise ValueError(
                f"The auth mode local serves this machine only and can't listen on {self.host}; "
                "listen on 127.0.0.1, or set STAGEPOST_AUTH=keys."
            )

    def check_apart(self, command: str) -> None:
        """See that the parts of the engine can live in processes of their own.

        Raises ValueError with the remedy.
        """
        if self.embedded:
            raise ValueError(
                f"The embedded engine lives in one process, so `{command}` can't run apart; use "
                "`stagepost up`, or set STAGEPOST_STORE to a postgresql:// address."
            )
        if self.bus_address == "memory":
            raise ValueError(
                f"STAGEPOST_BUS=memory reaches no other process, so `{command}` can't run with it; "
                "unset it, or use `stagepost up`."
            )
        if self.limiter_address == "memory":
            raise ValueError(
                f"STAGEPOST_LIMITER=memory counts in one process, so `{command}` can't run with "
                "it; unset it, or use `stagepost up`."
            )

    def serving(self, lanes: Sequence[str]) -> "Settings":
        """The same with only these of the lanes. Raises ValueError with the remedy."""
        unknown = [name for name in lanes if name not in self.lanes]
        if unknown or not lanes:
            raise ValueError(
                f'There is no lane "{", ".join(unknown)}"; STAGEPOST_LANES has '
                f"{', '.join(self.lanes)}."
            )
        return replace(self, lanes={name: self.lanes[name] for name in lanes})

    def with_(self, **changes: Any) -> "Settings":
        """These settings with some changed; those that are None stay."""
        return replace(
            self, **{name: value for name, value in changes.items() if value is not None}
        )
