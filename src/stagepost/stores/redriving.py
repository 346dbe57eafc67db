"""What every store makes of the wish to send a dead letter back."""

from stagepost.records import Resume


def resume_data(resume: Resume) -> str | dict[str, str]:
    """How the `redriven` event names it."""
    if resume.fresh or resume.input is not None:
        return "fresh"
    return "checkpoints" if resume.from_step is None else {"fromStep": resume.from_step}
