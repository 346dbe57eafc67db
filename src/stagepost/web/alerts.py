"""What needs a person now: the rules by which that is seen, and what each of them has found."""

from collections.abc import Sequence

from starlette.responses import Response

from stagepost.event import rfc3339
from stagepost.llm.asking import OpenBreaker
from stagepost.web import shapes
from stagepost.web.answers import Operation, answer, reads
from stagepost.web.fleet_schemas import Alert, Firing
from stagepost.web.parts import Parts
from stagepost.web.schemas import Listed

BREAKER_OPEN = "breaker-open"


class AlertRoutes:
    """The route of alerts. They are no tenant's: they name models, and nothing of a task."""

    def __init__(self, parts: Parts) -> None:
        self._asking = parts.asking

    def operations(self) -> Sequence[Operation]:
        """The routes."""
        return [reads("/api/v1/alerts", self.find, Listed[Alert])]

    async def find(self) -> Response:
        """Each rule, and what fires by it, since when.

        `breaker-open` fires for each model to which this process sends no calls for a while, from
        the failure that has opened its breaker until a probe is answered.
        """
        opened = [] if self._asking is None else self._asking.opened()
        rule: Alert = {
            "rule": BREAKER_OPEN,
            "about": "No call goes to a model, since its calls have failed.",
            "firing": [_firing(each) for each in sorted(opened)],
        }
        return answer(shapes.page([rule], None))


def _firing(breaker: OpenBreaker) -> Firing:
    return {
        "name": breaker.model,
        "since": rfc3339(breaker.since),
        "message": f"No call goes to {breaker.model} for a while: {breaker.why}.",
    }
