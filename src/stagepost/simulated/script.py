"""What a test wants to happen, call by call."""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Final, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator
from pydantic.alias_generators import to_camel

from stagepost.simulated.asked import Asked
from stagepost.simulated.faults import Fault, fault_named
from stagepost.simulated.lending import Change

MOST_STEPS: Final = 10_000


class Step(BaseModel):
    """What happens to the next calls that fit.

    It takes calls whose prompt contains `contains`, of `model`; the first `skip` of them pass by,
    the next `times` are its own. It then has the fault, or answers `answer` (a text, or anything
    else as JSON), or both; `change` changes the limits before. `wait` is in seconds of the
    provider: what a refusal asks for, or by how much `slow` is late.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True
    )

    fault: str | None = None
    answer: Any = None
    change: Change | None = None
    times: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    skip: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    contains: Annotated[str, Field(max_length=10_000)] | None = None
    model: Annotated[str, Field(max_length=200)] | None = None
    wait: Annotated[float, Field(ge=0, le=2_678_400)] | None = None

    @field_validator("fault")
    @classmethod
    def _known(cls, name: str | None) -> str | None:
        return None if name is None else fault_named(name).name

    @model_validator(mode="after")
    def _does_something(self) -> Self:
        if self.fault is None and self.answer is None and self.change is None:
            raise ValueError("A step needs a fault, an answer or a change.")
        return self

    @property
    def goes_wrong(self) -> Fault | None:
        """Its fault."""
        return None if self.fault is None else fault_named(self.fault)

    def fits(self, asked: Asked) -> bool:
        """Whether it is about such a call."""
        return (self.model is None or asked.model == self.model) and (
            self.contains is None or self.contains in asked.text
        )


class _Running:
    __slots__ = ("left", "skip", "step")

    def __init__(self, step: Step) -> None:
        self.step, self.left, self.skip = step, step.times, step.skip


class Script:
    """The steps that are still to come, in order; the first that fits takes the call."""

    def __init__(self, steps: Iterable[Step] = ()) -> None:
        self._running: deque[_Running] = deque()
        self.add(steps)

    def add(self, steps: Iterable[Step]) -> None:
        """Behind those that are there. Raises ValueError where they become too many."""
        new = [_Running(step) for step in steps]
        if len(self._running) + len(new) > MOST_STEPS:
            raise ValueError(f"A script has at most {MOST_STEPS} steps.")
        self._running.extend(new)

    def clear(self) -> None:
        """Nothing more is to come."""
        self._running.clear()

    @property
    def coming(self) -> Sequence[tuple[Step, int]]:
        """The steps that are left, each with how many calls it still takes."""
        return [(running.step, running.left) for running in self._running]

    def take(self, asked: Asked) -> Step | None:
        """The step of this call, if it has one."""
        for running in self._running:
            if not running.step.fits(asked):
                continue
            if running.skip:
                running.skip -= 1
                continue
            running.left -= 1
            if not running.left:
                self._running.remove(running)
            return running.step
        return None
