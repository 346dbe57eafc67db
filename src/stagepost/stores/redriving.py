"""What every store makes of the wish to send a dead letter back."""

from typing import Final, NamedTuple

from stagepost.errors import NotFound
from stagepost.records import Resume


def resume_data(resume: Resume) -> str | dict[str, str]:
    """How the `redriven` event names it."""
    if resume.fresh or resume.input is not None:
        return "fresh"
    return "checkpoints" if resume.from_step is None else {"fromStep": resume.from_step}


class Cut(NamedTuple):
    """What a redriven task keeps: so many steps, and the batches that were begun before that.

    Of those that were begun behind as many steps, the ones with a lower id than `batch` stay.
    """

    steps: int
    batch: str


LAST_ID: Final = "ffffffff-ffff-ffff-ffff-ffffffffffff"
NOTHING: Final = Cut(-1, LAST_ID)
EVERYTHING: Final = Cut(2**31 - 1, LAST_ID)


def whole(resume: Resume) -> Cut | None:
    """The cut of a wish that names no step, or starts anew anyway; else None."""
    if resume == Resume():
        return EVERYTHING
    return NOTHING if resume.from_step is None or resume.fresh or resume.input is not None else None


def no_step(resume: Resume) -> NotFound:
    """The refusal of a step that the task has not saved."""
    return NotFound(f'The task has no saved step "{resume.from_step}"; see its /steps.')
