"""The only reader of the environment. One frozen object, made at start and handed down."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from stagepost.errors import StoreRefused
from stagepost.limit import Limit
from stagepost.masking import masked

DEFAULT_DATA: Final = Path("stagepost-data")
_AUTH_MODES: Final = ("local", "keys")
_LOG_FORMS: Final = ("text", "json")
_LOG_LEVELS: Final = ("debug", "info", "warning", "error")
_PORT: Final = 8080
_LOOPBACK: Final = re.compile(r"localhost|127(\.\d{1,3}){3}|::1")
_READ_ELSEWHERE: Final = ("STAGEPOST_SERVICES_DIR",)
"""By `stagepost dev services`."""
_LIMIT: Final = "STAGEPOST_LIMIT_"
_SHARED_LEASE: Final = 5.0  # seconds
_KEEP: Final = "STAGEPOST_KEEP_"


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
    port: int = _PORT
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

    @property
    def server(self) -> str:
        """The address of the server that commands talk to."""
        # Port 0 means any free one, which only `up` itself can tell.
        return self.url or f"http://127.0.0.1:{self.port or _PORT}"

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
            return _path_of("STAGEPOST_STORE", self.store, "sqlite")
        return self.data

    @property
    def blob_folder(self) -> Path:
        """The folder of the folder blobs."""
        return (
            _path_of("STAGEPOST_BLOBS", self.blobs, "file") if self.blobs else self.folder / "blobs"
        )

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


def from_environment(environment: Mapping[str, str] | None = None) -> Settings:
    """The settings that STAGEPOST_... variables give. Raises ValueError with the remedy."""
    env = os.environ if environment is None else environment
    settings = Settings(
        data=Path(env.get("STAGEPOST_DATA", str(DEFAULT_DATA))),
        store=env.get("STAGEPOST_STORE", ""),
        broker=env.get("STAGEPOST_BROKER", "direct"),
        bus=env.get("STAGEPOST_BUS", ""),
        limiter=env.get("STAGEPOST_LIMITER", ""),
        blobs=env.get("STAGEPOST_BLOBS", ""),
        app=env.get("STAGEPOST_APP", ""),
        host=env.get("STAGEPOST_HOST", "127.0.0.1"),
        port=_whole("STAGEPOST_PORT", env, _PORT, least=0, most=65_535),
        probe=env.get("STAGEPOST_PROBE", ""),
        auth=_auth(env.get("STAGEPOST_AUTH", "local")),
        bootstrap_key=env.get("STAGEPOST_BOOTSTRAP_KEY", ""),
        url=server_url(env["STAGEPOST_URL"]) if env.get("STAGEPOST_URL") else "",
        api_key=env.get("STAGEPOST_API_KEY", ""),
        log=log_style(env),
        lanes=_lanes(env.get("STAGEPOST_LANES", "interactive:8,batch:1")),
        concurrency=_whole("STAGEPOST_CONCURRENCY", env, 8, most=10_000),
        lease=_seconds("STAGEPOST_LEASE", env, 15.0),
        heartbeat=_seconds("STAGEPOST_HEARTBEAT", env, 5.0),
        drain_grace=_seconds("STAGEPOST_DRAIN_GRACE", env, 30.0),
        cancel_grace=_seconds("STAGEPOST_CANCEL_GRACE", env, 30.0),
        stall_after=_seconds("STAGEPOST_STALL_AFTER", env, 30.0),
        keep=_keep(env),
        limits=_limits(env),
        shared_limits=_shared_limits(env.get("STAGEPOST_LIMITS", "")),
    )
    if settings.probe:
        host_and_port(settings.probe)
    if settings.heartbeat * 2 >= settings.lease:
        raise ValueError("STAGEPOST_LEASE must be more than twice STAGEPOST_HEARTBEAT.")
    if not settings.embedded and settings.lease < _SHARED_LEASE:
        raise ValueError(
            f"STAGEPOST_LEASE is {settings.lease:g}; on PostgreSQL it is at least "
            f"{_SHARED_LEASE:g} seconds, so that a failover ends before a lease does."
        )
    return settings


def is_loopback(host: str) -> bool:
    """Whether a name or address is one of this machine alone."""
    return _LOOPBACK.fullmatch(host) is not None


def names() -> tuple[str, ...]:
    """Every variable that is read here, in alphabetical order."""
    asked = _Asked()
    from_environment(asked)
    return tuple(sorted(asked.names))


def unknown_names(environment: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """The STAGEPOST_ variables that are set and that nobody reads: typing errors."""
    env = os.environ if environment is None else environment
    known = {*names(), *_READ_ELSEWHERE}
    return tuple(
        sorted(name for name in env if name.startswith("STAGEPOST_") and name not in known)
    )


class _Asked(dict[str, str]):
    """An empty environment that notes what it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        self.names.add(name)
        return default


def _path_of(name: str, url: str, scheme: str) -> Path:
    parts = urlsplit(url)
    if parts.scheme != scheme or parts.netloc or not parts.path:
        raise StoreRefused(
            f'{name} is "{masked(url)}"; this version takes {scheme}:///absolute/folder: '
            f"unset {name}, or write that."
        )
    return Path(parts.path)


def _auth(text: str) -> tuple[str, ...]:
    modes = tuple(part.strip() for part in text.split(",") if part.strip())
    unknown = [mode for mode in modes if mode not in _AUTH_MODES]
    if unknown or not modes:
        raise ValueError(f"STAGEPOST_AUTH is {text!r}; it takes {' and '.join(_AUTH_MODES)}.")
    return modes


def _lanes(text: str) -> dict[str, int]:
    lanes: dict[str, int] = {}
    for part in text.split(","):
        name, _, weight = part.strip().partition(":")
        if not name or not weight.isdigit() or not 1 <= int(weight) <= 1000:
            raise ValueError('STAGEPOST_LANES is read as "name:weight,..."; a weight is 1 to 1000.')
        lanes[name] = int(weight)
    return lanes


def _shared_limits(text: str) -> dict[str, Limit]:
    limits: dict[str, Limit] = {}
    for part in text.split(","):
        name, colon, rule = part.strip().partition(":")
        if not part.strip():
            continue
        if not colon or name in limits:
            raise ValueError(
                f"STAGEPOST_LIMITS is {text!r}; write name:100/1m,other:2, each name once: 100/1m "
                "is units in a window, 2 how many at once, 100/1m+2 both."
            )
        try:
            limits[name] = Limit.parse(name, rule)
        except ValueError as error:
            raise ValueError(f"STAGEPOST_LIMITS is {text!r}: {error}") from None
    return limits


def log_style(environment: Mapping[str, str] | None = None) -> LogStyle:
    """The part of the settings that also a handler's own process needs. Raises ValueError."""
    env = os.environ if environment is None else environment
    return LogStyle(
        form=_one_of("STAGEPOST_LOG", env, "text", _LOG_FORMS),
        level=_one_of("STAGEPOST_LOG_LEVEL", env, "info", _LOG_LEVELS),
    )


def _keep(env: Mapping[str, str]) -> Keep:
    plain = Keep()
    return Keep(
        **{
            each.name: _days(f"{_KEEP}{each.name.upper()}", env, getattr(plain, each.name))
            for each in fields(Keep)
        }
    )


def _limits(env: Mapping[str, str]) -> Limits:
    plain = Limits()
    chosen: dict[str, Any] = {}
    for limit in fields(Limits):
        name, default = _LIMIT + limit.name.upper(), getattr(plain, limit.name)
        read = _seconds if isinstance(default, float) else _whole
        chosen[limit.name] = read(name, env, default)
    return Limits(**chosen)


def server_url(text: str) -> str:
    """A server's address without a slash at its end. Raises ValueError for what is none."""
    try:
        parts = urlsplit(text)
        good = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise ValueError(f'"{masked(text)}" is no server\'s address; write http://host:port.')
    return text.rstrip("/")


def host_and_port(text: str) -> tuple[str, int]:
    """Where to listen, from `HOST:PORT`; port 0 is any free one. Raises ValueError."""
    host, _, port = text.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    if not (bare and port.isascii() and port.isdigit() and int(port) <= 65_535):
        raise ValueError(
            f'"{text}" is no address to listen on; write HOST:PORT, such as 127.0.0.1:9090.'
        )
    return bare, int(port)


def _one_of(name: str, env: Mapping[str, str], default: str, known: Sequence[str]) -> str:
    text = env.get(name, default).lower()
    if text not in known:
        raise ValueError(f"{name} is {text!r}; it takes one of {', '.join(known)}.")
    return text


def _whole(
    name: str, env: Mapping[str, str], default: int, *, least: int = 1, most: int = 2**40
) -> int:
    text = env.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit()) or not least <= int(text) <= most:
        raise ValueError(f"{name} is {text!r}; it takes a whole number from {least} to {most}.")
    return int(text)


def _days(name: str, env: Mapping[str, str], default: float) -> float:
    text = env.get(name)
    if text is None:
        return default
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value <= 36_500:
        raise ValueError(f"{name} is {text!r}; it takes days, more than 0 and at most 36500.")
    return value


def _seconds(name: str, env: Mapping[str, str], default: float) -> float:
    text = env.get(name)
    if text is None:
        return default
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value <= 86_400:
        raise ValueError(f"{name} is {text!r}; it takes seconds, more than 0 and at most a day.")
    return value
