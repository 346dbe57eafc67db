"""The only reader of the environment."""

import os
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from stagepost.addresses import host_and_port, server_url
from stagepost.limit import Limit
from stagepost.settings import DEFAULT_DATA, PORT, Keep, Limits, LogStyle, Settings
from stagepost.variables import days, one_of, seconds, whole

_AUTH_MODES: Final = ("local", "keys")
_LOG_FORMS: Final = ("text", "json")
_LOG_LEVELS: Final = ("debug", "info", "warning", "error")
_LIMIT: Final = "STAGEPOST_LIMIT_"
_KEEP: Final = "STAGEPOST_KEEP_"
_SHARED_LEASE: Final = 5.0  # seconds
_READ_ELSEWHERE: Final = ("STAGEPOST_SERVICES_DIR",)
"""By `stagepost dev services`."""


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
        port=whole("STAGEPOST_PORT", env, PORT, least=0, most=65_535),
        probe=env.get("STAGEPOST_PROBE", ""),
        auth=_auth(env.get("STAGEPOST_AUTH", "local")),
        bootstrap_key=env.get("STAGEPOST_BOOTSTRAP_KEY", ""),
        url=server_url(env["STAGEPOST_URL"]) if env.get("STAGEPOST_URL") else "",
        api_key=env.get("STAGEPOST_API_KEY", ""),
        log=log_style(env),
        lanes=_lanes(env.get("STAGEPOST_LANES", "interactive:8,batch:1")),
        concurrency=whole("STAGEPOST_CONCURRENCY", env, 8, most=10_000),
        lease=seconds("STAGEPOST_LEASE", env, 15.0),
        heartbeat=seconds("STAGEPOST_HEARTBEAT", env, 5.0),
        drain_grace=seconds("STAGEPOST_DRAIN_GRACE", env, 30.0),
        cancel_grace=seconds("STAGEPOST_CANCEL_GRACE", env, 30.0),
        stall_after=seconds("STAGEPOST_STALL_AFTER", env, 30.0),
        keep=_keep(env),
        limits=_limits(env),
        shared_limits=_shared_limits(env.get("STAGEPOST_LIMITS", "")),
        models=env.get("STAGEPOST_MODELS", ""),
        body_keys=env.get("STAGEPOST_BODY_KEYS", ""),
        body_keys_file=env.get("STAGEPOST_BODY_KEYS_FILE", ""),
        redact=env.get("STAGEPOST_REDACT", ""),
        audit_anchor=env.get("STAGEPOST_AUDIT_ANCHOR", ""),
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


def log_style(environment: Mapping[str, str] | None = None) -> LogStyle:
    """The part of the settings that also a handler's own process needs. Raises ValueError."""
    env = os.environ if environment is None else environment
    return LogStyle(
        form=one_of("STAGEPOST_LOG", env, "text", _LOG_FORMS),
        level=one_of("STAGEPOST_LOG_LEVEL", env, "info", _LOG_LEVELS),
    )


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


def _keep(env: Mapping[str, str]) -> Keep:
    plain = Keep()
    return Keep(
        **{
            each.name: days(f"{_KEEP}{each.name.upper()}", env, getattr(plain, each.name))
            for each in fields(Keep)
        }
    )


def _limits(env: Mapping[str, str]) -> Limits:
    plain = Limits()
    chosen: dict[str, Any] = {}
    for limit in fields(Limits):
        name, default = _LIMIT + limit.name.upper(), getattr(plain, limit.name)
        read = seconds if isinstance(default, float) else whole
        chosen[limit.name] = read(name, env, default)
    return Limits(**chosen)
