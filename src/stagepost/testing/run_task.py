"""Runs one attempt of a task in memory, with the real context."""

import asyncio
import hashlib
import inspect
import mimetypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import orjson
from pydantic_core import from_json
from uuid_utils import uuid7

from stagepost.batch import ChildRecord
from stagepost.child.blocking import BlockingContext
from stagepost.context import Context, Facts
from stagepost.errors import Invalid
from stagepost.executor import reaction
from stagepost.failure import classify
from stagepost.gate import Gate
from stagepost.journal import NewStep
from stagepost.llm.provider import ChatRequest, EmbedRequest
from stagepost.outcome import Outcome, Succeeded, Waiting
from stagepost.records import Claimed, ProgressNote, UploadRecord
from stagepost.registry import App
from stagepost.task import Payload, Status
from stagepost.task_type import TaskType
from stagepost.testing.memory_journal import MemoryJournal, RunChild, SavedFile
from stagepost.testing.played_models import Played
from stagepost.threads import InThreads, Threads
from stagepost.upload import NOT_SENT_TEXTS

_THREADS: Final = 1_000
_MISSING: Final = "In a test: give its bytes in uploads=, under the name that the input has."


@dataclass(frozen=True, slots=True)
class TaskRun:
    """What one attempt did.

    `result` is plain JSON data, as a caller of the API gets it, and None unless the outcome is
    Succeeded; `error` is what the handler raised. `checkpoints` holds every saved step by its path,
    in the order of saving: those that the run was given, then its own; give it to another run to
    replay them. `ran` are the paths of the steps that this run itself ran and saved, `asked` those
    that the handler came to. `text` is what was emitted, by the path of the step ("main" outside of
    steps). `units` is what it took of limits, by their names; here everything is granted. When
    every branch of the handler waits, the outcome is Waiting, with what for. `waited` are the
    seconds that were skipped. `requests` are those that it sent to models.
    """

    outcome: Outcome
    result: Any = None
    error: BaseException | None = None
    checkpoints: Mapping[str, NewStep] = field(default_factory=dict)
    ran: Sequence[str] = ()
    asked: Sequence[str] = ()
    progress: Sequence[ProgressNote] = ()
    text: Mapping[str, str] = field(default_factory=dict)
    artifacts: Mapping[str, SavedFile] = field(default_factory=dict)
    waited: float = 0.0
    units: Mapping[str, int] = field(default_factory=dict)
    task_id: str = ""
    requests: Sequence[ChatRequest | EmbedRequest] = ()


async def run_task(
    app: App,
    type: str,  # noqa: A002  # the word that users know
    input: Any = None,  # noqa: A002
    *,
    uploads: Mapping[str, bytes | Path] | None = None,
    checkpoints: Mapping[str, NewStep] | None = None,
    attempt: int = 1,
    signals: Mapping[str, Sequence[Any]] | None = None,
    skip_time: bool = True,
    version: int | None = None,
    task_id: str | None = None,
    models: Mapping[str, Played] | None = None,
) -> TaskRun:
    """Run one attempt of a task; nothing is stored and no engine is needed.

    `input` is validated and converted as a submit would. It names the files of `uploads` by their
    keys, which are also their names. Steps saved in `checkpoints` are not run. `signals` are the
    JSON values that were sent, by name. No time is waited for here: a sleep is over at once, and so
    is a wait with a time-out for which no signal was given; without `skip_time` they are not, and
    the outcome is Waiting. Children run at once, one attempt each, with the handlers of `app`.
    `version` is that of the code with which the task was begun, else the type's own. A sync handler
    and `cpu=True` run in a thread here, not in a process of their own. `task_id` is a new one
    unless given; a replay of a run by hand takes that run's, which its children's ids come from as
    well. `models` are played by functions, by the names under which the handler calls them: each
    gets the request, and answers a text, a Pydantic model or an Answer. Raises UnknownType,
    ValueError for a version that the type does not accept, and Invalid, whose message names each
    field at fault.
    """
    task_type = app.get(type)
    begun_with = task_type.versions[0] if version is None else version
    if begun_with not in task_type.versions:
        raise ValueError(f"{type} does not accept version {begun_with}; name it in accepts=.")
    task_id = task_id or str(uuid7())
    with TemporaryDirectory(prefix="stagepost-") as folder:
        files = _files(uploads or {}, Path(folder))
        records = {key: _record(key, path) for key, path in files.items()}
        text = task_type.dump(_parsed(task_type, input, records))
        journal = MemoryJournal(
            files,
            checkpoints or {},
            signals,
            skip_time=skip_time,
            run_child=_children_of(app, files, models),
            task_id=task_id,
            models=models,
        )
        claim = _claim(task_id, task_type, text, attempt, len(journal.steps))
        claim = claim._replace(code_version=begun_with)
        running = asyncio.create_task(_attempt(task_type, claim, journal), name=f"run of {type}")
        outcome, error = await running
    payload = outcome.result.text if isinstance(outcome, Succeeded) else None
    return TaskRun(
        outcome,
        None if payload is None else orjson.loads(payload),
        error,
        journal.steps,
        journal.ran,
        journal.asked,
        journal.notes,
        journal.texts,
        journal.artifacts,
        journal.now / 1000,
        journal.units,
        task_id,
        journal.models_played.requests,
    )


def _children_of(
    app: App, uploads: Mapping[str, Path], models: Mapping[str, Played] | None
) -> RunChild:
    async def run_child(task_id: str, place: int, name: str, text: str) -> ChildRecord:
        run = await run_task(
            app, name, from_json(text), uploads=uploads, task_id=task_id, models=models
        )
        if isinstance(run.outcome, Succeeded):
            result = run.outcome.result
            return ChildRecord(place, task_id, Status.COMPLETED, result, None, None)
        failure = classify(run.error or RuntimeError(f"The child did not end: {run.outcome}"))
        return ChildRecord(
            place, task_id, Status.DEAD_LETTER, None, failure.kind.value, failure.message
        )

    return run_child


def _parsed(task_type: TaskType, value: Any, records: Mapping[str, UploadRecord]) -> Any:
    try:
        return task_type.parse(value, records.get)
    except Invalid as error:
        faults = [
            (place, f"{text} {_MISSING}" if text in NOT_SENT_TEXTS else text)
            for place, text in error.errors
        ]
        told = "; ".join(
            f"{'.'.join(map(str, place)) or 'input'}: {text}" for place, text in faults
        )
        raise Invalid(f"{error} {told}", faults) from error


async def _attempt(
    task_type: TaskType, claim: Claimed, journal: MemoryJournal
) -> tuple[Outcome, BaseException | None]:
    facts = Facts(
        claim.task_id, claim.tenant, claim.user, claim.type, claim.attempt, "0" * 32,
        claim.waits, claim.code_version,
    )  # fmt: skip
    threads = Threads(_THREADS)
    gate = _gate()
    context = Context(facts, journal, gate, InThreads(threads))
    try:
        async with asyncio.timeout(task_type.timeout):
            request = task_type.load(claim.input)
            value = await context.call_handler(_adapted(task_type.handler, threads), request)
        text = task_type.dump_result(value)
    except BaseException as error:
        if gate.unwinding:
            _forget_cancels()
            return Waiting(gate.parked), None
        if not isinstance(error, Exception | SystemExit):
            raise
        return reaction(claim, task_type, classify(error)), error
    if gate.unwinding:
        _forget_cancels()
        return Waiting(gate.parked), None
    return Succeeded(Payload(text, len(text.encode()))), None


def _gate() -> Gate:
    gate, current = Gate(), asyncio.current_task()

    def unwind() -> None:
        gate.unwind()
        if current is not None:
            current.cancel()

    gate.when_all_wait = unwind
    return gate


def _forget_cancels() -> None:
    current = asyncio.current_task()
    while current is not None and current.cancelling():
        current.uncancel()


def _adapted(handler: Callable[..., Any], threads: Threads) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(handler):
        return handler

    async def call(context: Context, request: Any) -> Any:
        blocking = BlockingContext(context, asyncio.get_running_loop())
        return await threads.run(lambda: blocking.run(handler, request))

    return call


def _files(uploads: Mapping[str, bytes | Path], folder: Path) -> dict[str, Path]:
    files: dict[str, Path] = {}
    for number, (key, content) in enumerate(uploads.items()):
        if isinstance(content, Path):
            files[key] = content
        else:
            files[key] = folder / str(number)
            files[key].write_bytes(content)
    return files


def _record(key: str, path: Path) -> UploadRecord:
    content = path.read_bytes()
    media_type = mimetypes.guess_type(key)[0] or "application/octet-stream"
    digest = hashlib.sha256(content).hexdigest()
    return UploadRecord(key, "test", key, media_type, len(content), digest)


def _claim(task_id: str, task_type: TaskType, text: str, attempt: int, saved_steps: int) -> Claimed:
    return Claimed(
        task_id=task_id,
        fence=attempt,
        lease_id=str(uuid7()),
        tenant="test",
        user="test",
        type=task_type.name,
        lane=task_type.lane,
        attempt=attempt,
        max_attempts=task_type.retry.attempts,
        time_left=round(task_type.ttl * 1000),
        progress=0,
        step=None,
        saved_steps=saved_steps,
        lost_claims=0,
        waits=0,
        trace_id="0" * 32,
        seq=1,
        input=text,
    )
