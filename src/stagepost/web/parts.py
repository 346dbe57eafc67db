"""What the web layer is built from; the wiring fills it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from stagepost.blobs import Blobs
from stagepost.body_codec import PLAIN, BodyCodec
from stagepost.bus import Bus
from stagepost.client import Client
from stagepost.clock import Clock
from stagepost.limiting import Limiting
from stagepost.llm.asking import Asking
from stagepost.llm.budgeting import Budgeting
from stagepost.llm.catalogue import Catalogue
from stagepost.notifier import Notifier
from stagepost.registry import App
from stagepost.settings import Settings
from stagepost.store import Store

Check = Callable[[], Awaitable[None]]
"""Returns when its part is well. Raises Retryable when the product works on without it for a while
("degraded"), anything else when it does not ("down")."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """One process's services.

    `checks` are asked by /readyz beside the store and the disk. Once `draining` is set, /readyz is
    down, and open streams and long polls end politely: their clients come back to another process,
    or to this one's next life. The notifier's loop is run by whoever made it. `models` are those of
    models.toml, if there is one; `asking` is the worker's part of them, if one is in this process.
    """

    settings: Settings
    app: App
    client: Client
    store: Store
    notifier: Notifier
    bus: Bus
    limiting: Limiting
    blobs: Blobs
    clock: Clock
    codec: BodyCodec = PLAIN
    models: Catalogue | None = None
    asking: Asking | None = None
    checks: Mapping[str, Check] = field(default_factory=dict)
    draining: asyncio.Event = field(default_factory=asyncio.Event)

    def budgeting(self) -> Budgeting | None:
        """The budgets of calls as they count now, for one event loop; None without models."""
        if self.models is None:
            return None
        return Budgeting(self.limiting.limiter, self.store, self.models.budgets, self.clock)

    def model_names(self) -> Sequence[str]:
        """The models that models.toml names."""
        return [] if self.models is None else [model.name for model in self.models.named()]
