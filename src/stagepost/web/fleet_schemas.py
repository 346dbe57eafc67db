"""What serves tasks, as it goes over the wire: lanes, limits, rules, workers, health."""

from typing import Literal

from typing_extensions import TypedDict


class Lane(TypedDict):
    """One lane now."""

    name: str
    paused: bool
    concurrency: int | None
    weight: int
    queued: int
    pool: int
    running: int
    oldestQueuedSeconds: int | None
    lag: int
    arrivalsPerMinute: int
    completionsPerMinute: int
    etaSeconds: int | None
    desiredWorkers: int


class Firing(TypedDict):
    """Something that needs a person, since an instant."""

    name: str
    since: str
    message: str


class Alert(TypedDict):
    """A rule, and what fires by it now; none where all is well."""

    rule: str
    about: str
    firing: list[Firing]


class SharedLimit(TypedDict):
    """A limit of the whole fleet.

    `used` are the units of the window that ends now, `held` those that count at once, `waiting` who
    has a place in line. `source` says where it was set; `burst` how many of the units go at once.
    `units` and `windowSeconds` are null where only `atOnce` counts.
    """

    name: str
    units: int | None
    windowSeconds: float | None
    burst: int | None
    atOnce: int | None
    source: Literal["settings", "api"]
    used: int
    held: int
    waiting: int


class ModelLimit(TypedDict):
    """What a provider lends of a model; its `name` is `model:provider/model:what`.

    `units` are those of models.toml, null where it names none and only what the provider tells
    counts; `most` what it lends by its own word, once it has told. `pace` is the share at which the
    limit is used after the provider had too much, `pausedSeconds` for how long nothing is sent.
    """

    name: str
    model: str
    units: int | None
    windowSeconds: float
    atOnce: int | None
    source: Literal["models"]
    used: int
    held: int
    waiting: int
    most: int | None
    pace: float
    pausedSeconds: float


class BudgetLimit(TypedDict):
    """What may be spent on models for one `payer` in each day or month of UTC, in US dollars.

    `of` is the payer's name; `spent` holds what calls in flight have reserved.
    """

    name: str
    payer: Literal["tenant", "user", "type"]
    of: str
    dollars: float
    period: Literal["day", "month"]
    source: Literal["budgets"]
    spent: float
    waiting: int


class LaneRule(TypedDict):
    """What holds for a lane; `concurrency` null: any number of its tasks run at once.

    `weight` is its share of a worker's slots beside the other lanes; null: as the settings say.
    """

    name: str
    paused: bool
    concurrency: int | None
    weight: int | None


class TypeRule(TypedDict):
    """What holds for a task type."""

    name: str
    lane: str
    paused: bool
    concurrency: int | None


class TenantRule(TypedDict):
    """What holds for a tenant; `keyConcurrency` counts its tasks of one concurrency key."""

    tenant: str
    weight: int
    concurrency: int | None
    keyConcurrency: int


class Worker(TypedDict):
    """One life of a worker process."""

    id: str
    lanes: list[str]
    slots: int
    running: int
    version: str
    startedAt: str
    lastBeat: str
    state: str


class CheckResult(TypedDict):
    """One of the checks behind /readyz."""

    status: Literal["ok", "degraded", "down"]
    detail: str | None


class Readiness(TypedDict):
    """Whether the process can serve."""

    status: Literal["ok", "degraded", "down"]
    checks: dict[str, CheckResult]


class Liveness(TypedDict):
    """The process answers."""

    status: Literal["ok"]
