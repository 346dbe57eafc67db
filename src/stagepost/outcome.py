"""How a claim ends, as data; whoever handles one matches all of them."""

from dataclasses import dataclass

from stagepost.failure import Failure
from stagepost.task import CancelRequest, Payload
from stagepost.waiting import Condition


@dataclass(frozen=True, slots=True)
class Succeeded:
    """The handler returned; the task is COMPLETED."""

    result: Payload


@dataclass(frozen=True, slots=True)
class Waiting:
    """Nothing can go on before one of these (at least one) holds; it waits without a worker."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Drained:
    """The claim is given back without blame; the task is QUEUED and spends no attempt.

    `reason` is that of the `queued` event: drained or rescued.
    """

    reason: str = "drained"


@dataclass(frozen=True, slots=True)
class Cancelled:
    """Cancel was asked and the handler has ended."""

    request: CancelRequest


@dataclass(frozen=True, slots=True)
class Failed:
    """The attempt failed. `delay` is in seconds before the next one, None sends it to dead letter.

    `lost` marks a claim whose worker died: it counts towards the limit of lost claims.
    """

    failure: Failure
    delay: float | None
    lost: bool = False


Outcome = Succeeded | Waiting | Drained | Cancelled | Failed
