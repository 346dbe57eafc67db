"""Who may do what: one table, printed in docs/roles.md and walked by the tests."""

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Final


class Role(IntEnum):
    """Each role includes the ones before it."""

    READ = 1
    SUBMIT = 2
    OPERATE = 3
    ADMIN = 4

    @property
    def word(self) -> str:
        """The role's name in keys and documents."""
        return self.name.lower()


WORDS: Final[Mapping[str, Role]] = {role.word: role for role in Role}


def highest(words: Iterable[str]) -> Role:
    """The role of a key that carries these words."""
    return max((WORDS[word] for word in words if word in WORDS), default=Role.READ)


def words_up_to(role: Role) -> tuple[str, ...]:
    """The role and all that it includes."""
    return tuple(word for word, each in WORDS.items() if each <= role)


_TASK: Final = "/api/v1/tasks/{task_id}"

ROLES: Final[Mapping[tuple[str, str], Role | None]] = {
    ("GET", "/healthz"): None,
    ("GET", "/readyz"): None,
    ("GET", "/"): None,
    ("GET", "/docs"): None,
    ("GET", "/openapi.json"): None,
    ("GET", "/metrics"): Role.READ,
    ("POST", "/api/v1/tasks/{type}"): Role.SUBMIT,
    ("GET", "/api/v1/tasks"): Role.READ,
    ("GET", _TASK): Role.READ,
    ("DELETE", _TASK): Role.OPERATE,
    ("GET", f"{_TASK}/status"): Role.READ,
    ("GET", f"{_TASK}/progress"): Role.READ,
    ("GET", f"{_TASK}/result"): Role.READ,
    ("GET", f"{_TASK}/events"): Role.READ,
    ("GET", f"{_TASK}/steps"): Role.READ,
    ("GET", f"{_TASK}/calls"): Role.READ,
    ("GET", f"{_TASK}/calls/{{call_id}}"): Role.READ,
    ("GET", f"{_TASK}/artifacts"): Role.READ,
    ("GET", f"{_TASK}/artifacts/{{name}}"): Role.READ,
    ("POST", f"{_TASK}/cancel"): Role.SUBMIT,
    ("POST", f"{_TASK}/signals/{{name}}"): Role.SUBMIT,
    ("POST", "/api/v1/batches"): Role.SUBMIT,
    ("GET", "/api/v1/batches/{task_id}"): Role.READ,
    ("POST", "/api/v1/uploads"): Role.SUBMIT,
    ("GET", "/api/v1/dead-letters"): Role.READ,
    ("POST", "/api/v1/dead-letters/redrive"): Role.OPERATE,
    ("POST", "/api/v1/dead-letters/discard"): Role.OPERATE,
    ("POST", "/api/v1/tasks/cancel"): Role.SUBMIT,
    ("GET", "/api/v1/redrives/{redrive_id}"): Role.READ,
    ("POST", "/api/v1/redrives/{redrive_id}/stop"): Role.OPERATE,
    ("GET", "/api/v1/lanes"): Role.READ,
    ("GET", "/api/v1/lanes/{lane}"): Role.READ,
    ("PUT", "/api/v1/lanes/{lane}"): Role.OPERATE,
    ("POST", "/api/v1/lanes/{lane}/pause"): Role.OPERATE,
    ("POST", "/api/v1/lanes/{lane}/resume"): Role.OPERATE,
    ("GET", "/api/v1/types"): Role.READ,
    ("GET", "/api/v1/types/{type}/estimate"): Role.READ,
    ("PUT", "/api/v1/types/{type}"): Role.OPERATE,
    ("POST", "/api/v1/types/{type}/pause"): Role.OPERATE,
    ("POST", "/api/v1/types/{type}/resume"): Role.OPERATE,
    ("GET", "/api/v1/tenants"): Role.ADMIN,
    ("GET", "/api/v1/tenants/{tenant}"): Role.ADMIN,
    ("PUT", "/api/v1/tenants/{tenant}"): Role.ADMIN,
    ("GET", "/api/v1/workers"): Role.READ,
    ("GET", "/api/v1/alerts"): Role.READ,
    ("GET", "/api/v1/usage"): Role.READ,
    ("GET", "/api/v1/limits"): Role.READ,
    ("PUT", "/api/v1/limits/{name}"): Role.ADMIN,
    ("DELETE", "/api/v1/limits/{name}"): Role.ADMIN,
    ("GET", "/api/v1/schedules"): Role.READ,
    ("GET", "/api/v1/schedules/preview"): Role.READ,
    ("GET", "/api/v1/schedules/{schedule_id}"): Role.READ,
    ("POST", "/api/v1/schedules"): Role.OPERATE,
    ("PATCH", "/api/v1/schedules/{schedule_id}"): Role.OPERATE,
    ("DELETE", "/api/v1/schedules/{schedule_id}"): Role.OPERATE,
    ("POST", "/api/v1/schedules/{schedule_id}/backfill"): Role.OPERATE,
    ("GET", "/api/v1/budgets"): Role.ADMIN,
    ("GET", "/api/v1/tenants/{tenant}/budgets"): Role.ADMIN,
    ("PUT", "/api/v1/tenants/{tenant}/budgets"): Role.ADMIN,
    ("DELETE", "/api/v1/tenants/{tenant}/budgets"): Role.ADMIN,
    ("GET", "/api/v1/quotas"): Role.ADMIN,
    ("GET", "/api/v1/tenants/{tenant}/quotas"): Role.ADMIN,
    ("PUT", "/api/v1/tenants/{tenant}/quotas"): Role.ADMIN,
    ("DELETE", "/api/v1/tenants/{tenant}/quotas"): Role.ADMIN,
    ("GET", "/api/v1/keys"): Role.ADMIN,
    ("POST", "/api/v1/keys"): Role.ADMIN,
    ("DELETE", "/api/v1/keys/{key_id}"): Role.ADMIN,
}
"""Each route's least role; None: open to all. A route that is not here can't be served."""

HEADS: Final = frozenset(
    path for method, path in ROLES if method == "GET" and not path.startswith("/api/")
)
"""Pages of the server itself, which probes also ask by HEAD: it is a GET without its body."""

SHARED: Final = frozenset(
    (method, path)
    for method, path in ROLES
    if method in {"PUT", "POST", "DELETE"}
    and path.startswith(("/api/v1/lanes", "/api/v1/types", "/api/v1/limits", "/api/v1/tenants"))
)
"""Routes that change what all tenants share, or how much of it one of them has."""

FIRST_TENANT: Final = "default"
"""The tenant of an installation's first key, whose keys act for all of it."""
