"""What a command says about tasks, and its names on the wire."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class SubmitOptions:
    """How a task is to run. Instants are RFC 3339 texts; delays and `priority` are seconds."""

    lane: str | None = None
    priority: int | None = None
    delay: float | None = None
    run_at: str | None = None
    deadline: str | None = None
    tags: tuple[str, ...] = ()
    idempotency_key: str | None = None
    concurrency_key: str | None = None
    unique_key: str | None = None
    debounce: float | None = None

    def query(self) -> list[tuple[str, str]]:
        """Those that are given, under their names on the wire."""
        single = {
            "lane": self.lane,
            "priority": self.priority,
            "delaySeconds": self.delay,
            "runAt": self.run_at,
            "deadline": self.deadline,
            "concurrencyKey": self.concurrency_key,
            "uniqueKey": self.unique_key,
            "debounceSeconds": self.debounce,
        }
        given = [(name, f"{value}") for name, value in single.items() if value is not None]
        return given + [("tag", tag) for tag in self.tags]


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Which tasks a list holds. Instants are RFC 3339 texts."""

    status: tuple[str, ...] = ()
    type: str | None = None
    lane: str | None = None
    tag: str | None = None
    user: str | None = None
    failure_kind: str | None = None
    created_after: str | None = None
    created_before: str | None = None

    def conditions(self) -> dict[str, Any]:
        """Those that are given, under their names on the wire."""
        named = {
            "status": list(self.status),
            "type": self.type,
            "lane": self.lane,
            "tag": self.tag,
            "user": self.user,
            "failureKind": self.failure_kind,
            "createdAfter": self.created_after,
            "createdBefore": self.created_before,
        }
        return {name: value for name, value in named.items() if value}
