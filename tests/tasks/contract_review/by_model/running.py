"""The task, run in memory with scripted models."""

from collections.abc import Mapping
from typing import Any

import pytest

from stagepost import Context
from stagepost.outcome import Succeeded
from stagepost.tasks.contract_review.task import app
from stagepost.testing import TaskRun, run_task

REAL = Context.llm
"""Models of a context that has none."""


async def run_review(
    patch: pytest.MonkeyPatch,
    models: Any,
    text: str,
    *,
    checkpoints: Mapping[str, Any] | None = None,
    attempt: int = 1,
    **request: Any,
) -> TaskRun:
    """One attempt of a review of this text, in a context that has these models."""
    patch.setattr(Context, "llm", REAL if models is None else models)
    return await run_task(
        app,
        "contract-review",
        {"file": "contract.txt", **request},
        uploads={"contract.txt": text.encode()},
        checkpoints=checkpoints,
        attempt=attempt,
        # A replay's questions are the first run's: their code comes from the task's id.
        task_id="0190b1c2-0000-7000-8000-000000000001",
    )


def report_of(done: TaskRun) -> dict[str, Any]:
    """The report of a run that succeeded; every quote in it stands where it says."""
    assert isinstance(done.outcome, Succeeded), done.error
    report: dict[str, Any] = done.result
    text = done.artifacts["document.txt"].content.decode()
    for finding in report["findings"]:
        assert text[finding["start"] : finding["end"]] == finding["quote"] != ""
    return report
