"""The built-in task type `batch`: many inputs of one type as one task.

It is what `POST /api/v1/batches` submits. Its file holds the inputs as JSON Lines, so that none of
it is kept in memory but the page that is being started.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from stagepost import App, Context, Invalid, InvalidInput, Retry, Upload

app = App()


class _Camel(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True)


class BatchRequest(_Camel):
    """Tasks of `type` to be started, one for each line of `file`, which is its input as JSON.

    `lane` is another lane than the type's own. `collect` waits for all of them, whatever becomes of
    them; `stop` fails as soon as one of them has failed.
    """

    type: str
    file: Upload
    lane: str | None = None
    on_failure: Literal["collect", "stop"] = "collect"


class BatchReport(_Camel):
    """How many tasks there were, and what has become of them."""

    type: str
    count: int
    completed: int
    failed: int


@app.task("batch", timeout="1h", deadline="30d", retry=Retry(attempts=4))
async def batch(ctx: Context, request: BatchRequest) -> BatchReport:
    """Start a task for each line of a file, and wait for all of them."""
    path = await request.file.path()
    try:
        results = await ctx.batch(
            request.type,
            _inputs(path),
            on_failure=request.on_failure,
            lane=request.lane,
            results=False,
            progress=(0, 100),
        )
    except Invalid as error:
        faults = "; ".join(f"{'.'.join(map(str, place))}: {text}" for place, text in error.errors)
        raise InvalidInput(f"{error} {faults}"[:500]) from error
    failed = 0
    if request.on_failure == "collect":
        failed = sum(child.status != "COMPLETED" for child in results)
    done = len(results) - failed
    return BatchReport(type=request.type, count=len(results), completed=done, failed=failed)


def _inputs(path: Path) -> Iterator[Any]:
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                yield json.loads(line)
            except ValueError as error:
                raise InvalidInput(f"Line {number} of the file is no JSON ({error}).") from error
