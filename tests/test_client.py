"""The client: submit, wait, redrive; refusals are told before anything is kept."""

import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from engine_kit.engine import ALL, events, finished, kinds, lines, reached, running, until
from engine_kit.handlers import Ask, app
from stagepost import App, Context, InvalidInput, Upload
from stagepost.caller import Caller
from stagepost.errors import Conflict, Invalid, NotFound, TenantFull, UnknownLane, UnknownType
from stagepost.options import Options
from stagepost.records import Filter, Scope, UploadRecord
from stagepost.settings import Limits
from stagepost.task import Status
from stagepost.wiring import Engine

ANN = Caller("acme", "ann", Scope("acme"))
BOB = Caller("other", "bob", Scope("other"))

files = App()


class Letter(BaseModel):
    file: Upload
    note: dict[str, Any] = {}


@files.task("letter")
async def letter(ctx: Context, request: Letter) -> str:
    text = (await request.file.read()).decode()
    if text == "broken":
        raise InvalidInput("it is broken")
    return text


async def sent(engine: Engine, caller: Caller, text: str) -> UploadRecord:
    async def chunks() -> AsyncIterator[bytes]:
        yield text.encode()

    return await engine.client.upload(
        "letter.txt", "text/plain", chunks(), caller=caller, limit=1000
    )


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    async with running(app, tmp_path / "data") as engine:
        yield engine


async def test_what_cannot_be_accepted_is_refused_with_the_reason(engine: Engine) -> None:
    submit = engine.client.submit
    with pytest.raises(UnknownType, match="plain"):
        await submit("nothing")
    with pytest.raises(UnknownLane, match="interactive"):
        await submit("plain", {}, options=Options(lane="fast"))
    with pytest.raises(Invalid) as refused:
        await submit("plain", {"n": "many"})
    assert refused.value.errors[0][0] == ("n",)
    with pytest.raises(Invalid, match="1 MiB"):
        await submit("plain", {"how": "x" * 1024 * 1024})
    assert not await engine.store.find(ALL, Filter())


async def test_an_input_may_be_the_model_itself(engine: Engine) -> None:
    submitted = await engine.client.submit("plain", Ask(n=41))
    view = await finished(engine, submitted.task_id)
    assert await engine.client.result(view) == 42


async def test_wait_answers_as_soon_as_the_task_has_ended(engine: Engine, tmp_path: Path) -> None:
    submitted = await engine.client.submit("steps", {"log": str(tmp_path / "log"), "n": 5})
    began = time.monotonic()
    view = await engine.client.wait(submitted.task_id, timeout=25)
    assert view.task.status is Status.COMPLETED
    assert time.monotonic() - began < 20


async def test_wait_answers_with_the_state_when_its_time_is_over(
    engine: Engine, tmp_path: Path
) -> None:
    submitted = await engine.client.submit("wait", {"log": str(tmp_path / "log")})
    view = await engine.client.wait(submitted.task_id, timeout=0.2)
    assert view.task.status in {Status.QUEUED, Status.RUNNING}
    view = await engine.client.wait(submitted.task_id, timeout=0)
    assert view.task.ended_at is None


async def test_other_tenants_see_nothing(engine: Engine) -> None:
    submitted = await engine.client.submit("plain", {}, caller=ANN)
    for call in (
        engine.client.get(submitted.task_id, caller=BOB),
        engine.client.wait(submitted.task_id, timeout=1, caller=BOB),
        engine.client.cancel(submitted.task_id, caller=BOB),
        engine.client.discard(submitted.task_id, caller=BOB),
        engine.client.redrive(submitted.task_id, caller=BOB),
    ):
        with pytest.raises(NotFound):
            await call
    assert (await engine.client.get(submitted.task_id, caller=ANN)).task.tenant == "acme"


async def test_a_dead_letter_is_redriven_at_its_checkpoints_or_from_a_step_or_fresh(
    engine: Engine,
) -> None:
    task_id = (await engine.client.submit("climb", {})).task_id
    await finished(engine, task_id)
    with pytest.raises(NotFound, match="no saved step"):
        await engine.client.redrive(task_id, from_step="nothing")
    saved = {s.path: s.completed_at for s in await engine.store.steps(task_id)}
    assert list(saved) == ["to-20", "to-40", "to-60"]
    await engine.client.redrive(task_id, from_step="to-40")
    view = await finished(engine, task_id)
    assert (view.task.status, view.task.attempt) == (Status.COMPLETED, 4)
    again = {s.path: s.completed_at for s in await engine.store.steps(task_id)}
    assert again["to-20"] == saved["to-20"]
    assert again["to-40"] > saved["to-40"]
    redriven = [e for e in await events(engine, task_id) if e.kind == "redriven"]
    assert dict(redriven[0].data) == {"by": "local", "resume": {"fromStep": "to-40"}}
    with pytest.raises(Conflict, match="COMPLETED"):
        await engine.client.redrive(task_id)


async def test_a_dead_letter_can_be_given_up(engine: Engine) -> None:
    task_id = (await engine.client.submit("fail", {"how": "invalid"})).task_id
    await finished(engine, task_id)
    task = await engine.client.discard(task_id, reason="not worth it")
    assert task.status is Status.CANCELLED
    assert (await kinds(engine, task_id))[-2:] == ["failed", "cancelled"]
    with pytest.raises(Conflict):
        await engine.client.discard(task_id)


async def test_an_uploaded_file_reaches_its_handler(tmp_path: Path) -> None:
    async with running(files, tmp_path) as engine:
        upload = await sent(engine, ANN, "hello")
        submitted = await engine.client.submit(
            "letter", {"file": upload.upload_id}, caller=ANN, uploads=[upload]
        )
        view = await engine.client.wait(submitted.task_id, timeout=20, caller=ANN)
        assert await engine.client.result(view) == "hello"
        assert view.task.upload_bytes == 5


async def test_a_corrected_input_names_the_tenants_files_and_nobody_elses(tmp_path: Path) -> None:
    async with running(files, tmp_path) as engine:
        other = await sent(engine, BOB, "secret of the other tenant")
        theirs = await engine.client.submit(
            "letter", {"file": other.upload_id}, caller=BOB, uploads=[other]
        )
        first, second = await sent(engine, ANN, "broken"), await sent(engine, ANN, "mended")
        forged = {
            "uploadId": other.upload_id,
            "name": "mine.txt",
            "mediaType": "text/plain",
            "size": 1,
            "sha256": "f00",
        }
        task_id = (
            await engine.client.submit(
                "letter",
                {"file": first.upload_id, "note": {"mine": forged}},
                caller=ANN,
                uploads=[first, second],
            )
        ).task_id
        await engine.client.wait(task_id, timeout=20, caller=ANN)
        for named in (other.upload_id, forged):
            with pytest.raises(Invalid):
                await engine.client.redrive(task_id, caller=ANN, input={"file": named})
        await engine.client.redrive(task_id, caller=ANN, input={"file": second.upload_id})
        view = await engine.client.wait(task_id, timeout=20, caller=ANN)
        assert await engine.client.result(view) == "mended"
        await engine.client.wait(theirs.task_id, timeout=20, caller=BOB)


async def test_a_watcher_that_was_cut_still_learns_of_the_end(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log"
    submitted = await engine.client.submit("steps", {"log": str(log), "n": 20})
    watched = engine.notifier.watch
    reads = 0
    get = engine.store.get

    async def counting(task_id: str, scope: Scope) -> Any:
        nonlocal reads
        reads += 1
        return await get(task_id, scope)

    def cut(task_id: str, after: int) -> Any:
        watch = watched(task_id, after)
        watch.cut = True
        return watch

    monkeypatch.setattr(engine.notifier, "watch", cut)
    monkeypatch.setattr(engine.store, "get", counting)
    view = await engine.client.wait(submitted.task_id, timeout=25)
    assert view.task.status is Status.COMPLETED
    assert reads < 25


async def test_a_task_runs_at_its_time_and_not_before(engine: Engine) -> None:
    later = await engine.client.submit("plain", {}, options=Options(delay=0.5))
    assert later.status is Status.PENDING
    never = await engine.client.submit("plain", {}, options=Options(delay=3600))
    view = await finished(engine, later.task_id)
    assert view.task.started_at is not None
    assert view.task.started_at >= view.task.run_at
    assert [
        e.data["reason"] for e in await events(engine, later.task_id) if e.kind == "queued"
    ] == ["due"]
    assert (await reached(engine, never.task_id, Status.PENDING)).started_at is None


async def test_a_queued_task_past_its_deadline_never_starts(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with running(app, tmp_path / "data", concurrency=1) as engine:
        await engine.client.submit("wait", {"log": str(log)})
        await until(lambda: lines(log))
        soon = engine.clock.now() + 300
        late = await engine.client.submit("plain", {}, options=Options(deadline=soon))
        view = await finished(engine, late.task_id)
        assert (view.task.status, view.task.failure_kind) == (Status.DEAD_LETTER, "DEADLINE")
        assert view.task.started_at is None


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (Options(debounce=5.0), "needs a unique_key"),
        (Options(debounce=-5.0, unique_key="k"), "number of seconds"),
        (Options(debounce=5.0, unique_key="k", delay=5.0), "leave out"),
        (Options(debounce=5.0, unique_key="k", run_at=1), "leave out"),
    ],
)
async def test_options_that_contradict_each_other_are_refused(
    engine: Engine, options: Options, told: str
) -> None:
    with pytest.raises(ValueError, match=told):
        await engine.client.submit("plain", {}, options=options)
    assert await engine.store.find(ALL, Filter()) == []


async def test_a_program_has_one_task_for_a_key_and_the_last_input(engine: Engine) -> None:
    last = Options(unique_key="k", debounce=3600.0)
    answers = [
        await engine.client.submit("plain", {"log": name}, caller=ANN, options=last)
        for name in ("first", "second")
    ]
    assert [answer.replayed for answer in answers] == [False, True]
    view = await engine.client.get(answers[0].task_id, caller=ANN)
    assert '"second"' in view.input


async def test_the_settings_bound_what_a_tenant_may_have_waiting(tmp_path: Path) -> None:
    limits = Limits(queued_a_tenant=1)
    async with running(app, tmp_path / "data", limits=limits, lanes={"idle": 1}) as engine:
        later = Options(lane="idle", delay=3_600.0)
        await engine.client.submit("plain", {}, caller=ANN, options=later)
        with pytest.raises(TenantFull):
            await engine.client.submit("plain", {}, caller=ANN, options=later)
        await engine.client.submit("plain", {}, caller=BOB, options=later)
