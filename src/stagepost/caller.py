"""Who calls."""

from dataclasses import dataclass, field
from typing import Final

from stagepost.records import Scope


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls: a tenant and a user of it; `scope` is what may be seen."""

    tenant: str = "local"
    user: str = "local"
    scope: Scope = field(default_factory=lambda: Scope("local"))


LOCAL: Final = Caller()
