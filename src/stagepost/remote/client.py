"""Every verb of a server's HTTP API that the command line uses; those of tasks stand here."""

import json
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import quote

import httpx

from stagepost.remote.budgets import RemoteBudgets
from stagepost.remote.dead_letters import RemoteDeadLetters
from stagepost.remote.errors import Full, Unreachable, no_answer, refusal
from stagepost.remote.files import (
    FileField,
    FilePart,
    check_readable,
    file_fields,
    opened,
    pieces,
    save,
)
from stagepost.remote.fleet import RemoteFleet
from stagepost.remote.following import Following
from stagepost.remote.keys import RemoteKeys
from stagepost.remote.queries import SubmitOptions, Where
from stagepost.remote.quotas import RemoteQuotas
from stagepost.remote.schedules import RemoteSchedules
from stagepost.remote.spending import RemoteSpending
from stagepost.remote.transport import Call, Transport

if TYPE_CHECKING:
    # Types only: importing them would load the whole web layer into each command.
    from stagepost.web.dead_letter_schemas import Matched
    from stagepost.web.fleet_schemas import Readiness
    from stagepost.web.schemas import (
        Accepted,
        AcceptedBatch,
        ArtifactItem,
        BatchPage,
        Erased,
        Listed,
        SignalSent,
        Step,
        TaskEvent,
        TaskItem,
        TaskStatus,
        WholeTask,
    )

_API: Final = "/api/v1"


class Remote:
    """A server. Every verb raises Refused and Unreachable, each with one sentence for a person."""

    def __init__(
        self, url: str, key: str = "", transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        self._transport = Transport(url, key, transport)
        self.url = self._transport.url
        self.dead_letters = RemoteDeadLetters(self._transport)
        self.fleet = RemoteFleet(self._transport)
        self.keys = RemoteKeys(self._transport)
        self.budgets = RemoteBudgets(self._transport)
        self.quotas = RemoteQuotas(self._transport)
        self.schedules = RemoteSchedules(self._transport)
        self.spending = RemoteSpending(self._transport)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._transport.close()

    async def submit(
        self,
        type_name: str,
        value: Any = None,
        files: Sequence[FilePart] = (),
        options: SubmitOptions | None = None,
    ) -> "Accepted":
        """Submit a task.

        An answer that was lost is asked for again under the same Idempotency-Key, so that it never
        makes a second task. Raises ValueError for a file that can't be read.
        """
        options = options or SubmitOptions()
        key = options.idempotency_key or f"cli-{secrets.token_hex(16)}"
        call = Call(
            method="POST",
            path=f"{_API}/tasks/{quote(type_name, safe='')}",
            query=options.query(),
            headers={"Idempotency-Key": key},
            safe=True,
        )
        try:
            with opened(files) as parts:
                accepted: Accepted = await self._transport.json(
                    replace(call, make_body=lambda: _body(value, parts))
                )
        except Full:
            # An earlier try that was accepted would have been found by its key.
            raise
        except Unreachable as error:
            if isinstance(error.__cause__, httpx.ConnectError):
                raise
            raise Unreachable(
                f"{error} The task may have been accepted: the same command with "
                f"--idempotency-key {key} finds it, or submits it."
            ) from error
        return accepted

    async def submit_batch(
        self, type_name: str, inputs: Path, lane: str | None, on_failure: str, key: str | None
    ) -> "AcceptedBatch":
        """Submit a task for each line of a file of JSON Lines, all as one.

        Raises ValueError for a file that can't be read.
        """
        headers = {
            "Content-Type": "application/x-ndjson",
            "Idempotency-Key": key or f"cli-{secrets.token_hex(16)}",
        }
        query = {"type": type_name, "lane": lane, "onFailure": on_failure}
        call = Call(
            method="POST",
            path=f"{_API}/batches",
            query=query,
            headers=headers,
            make_body=lambda: {"content": pieces(inputs)},
            # The same key makes no second one.
            safe=True,
        )
        check_readable(inputs)
        accepted: AcceptedBatch = await self._transport.json(call)
        return accepted

    async def page_of_batch(
        self, task_id: str, *, limit: int, after: str | None = None
    ) -> "BatchPage":
        """How a batch's tasks stand, and some of them."""
        path = f"{_API}/batches/{quote(task_id, safe='')}"
        page: BatchPage = await self._transport.get(path, {"limit": limit, "after": after})
        return page

    async def file_fields(self, type_name: str) -> Sequence[FileField]:
        """The fields of a task type that take files."""
        return file_fields(await self._transport.get("/openapi.json"), type_name)

    async def status(self, task_id: str) -> "TaskStatus":
        """Where a task stands."""
        status: TaskStatus = await self._transport.get(_task(task_id, "/status"))
        return status

    async def task(self, task_id: str) -> "WholeTask":
        """All of a task."""
        task: WholeTask = await self._transport.get(_task(task_id))
        return task

    def follow(self, task_id: str, after: int | None = None) -> Following:
        """Its events as they happen, from now on or after the one numbered `after`."""
        return Following(self._transport, _task(task_id), after)

    def steps(self, task_id: str) -> "AsyncIterator[Step]":
        """Its saved steps in their order."""
        return self._transport.all(_task(task_id, "/steps"), {"limit": 200})

    def artifacts(self, task_id: str) -> "AsyncIterator[ArtifactItem]":
        """The files that it saved."""
        return self._transport.all(_task(task_id, "/artifacts"), {"limit": 200})

    def events(self, task_id: str) -> "AsyncIterator[TaskEvent]":
        """Its history, from the first event on."""
        return self._transport.all(_task(task_id, "/events"), {"limit": 200})

    def tasks(self, where: Where, *, limit: int = 200) -> "AsyncIterator[TaskItem]":
        """All tasks of a kind, newest first, read in pages of `limit`."""
        return self._transport.all(f"{_API}/tasks", {**where.conditions(), "limit": limit})

    async def page_of_tasks(
        self, where: Where, *, limit: int, after: str | None = None
    ) -> "Listed[TaskItem]":
        """One page of them."""
        page: Listed[TaskItem] = await self._transport.get(
            f"{_API}/tasks", {**where.conditions(), "limit": limit, "after": after}
        )
        return page

    async def cancel(self, task_id: str, reason: str = "") -> "TaskStatus":
        """Cancel a task, or ask its worker to stop."""
        status: TaskStatus = await self._transport.post(
            _task(task_id, "/cancel"), {"reason": reason}
        )
        return status

    async def signal(self, task_id: str, name: str, value: Any) -> "SignalSent":
        """Send JSON to a task that waits for it; a lost answer sends it no second time."""
        call = Call(
            method="POST",
            path=_task(task_id, f"/signals/{quote(name, safe='')}"),
            headers={"Idempotency-Key": f"cli-{secrets.token_hex(16)}"},
            make_body=lambda: {"json": value},
            safe=True,
        )
        sent: SignalSent = await self._transport.json(call)
        return sent

    async def cancel_many(self, where: Where, reason: str = "") -> "Matched":
        """Cancel all tasks of a kind that are not over."""
        body = {"filter": where.conditions(), "reason": reason}
        matched: Matched = await self._transport.post(f"{_API}/tasks/cancel", body)
        return matched

    async def erase(self, task_id: str) -> "Erased":
        """Erase a task that is over; what is left of it."""
        call = Call(method="DELETE", path=_task(task_id))
        erased: Erased = await self._transport.json(call)
        return erased

    async def save_result(self, task_id: str, target: Path) -> int:
        """Write a task's result to a file; returns its bytes."""
        return await self.download(_task(task_id, "/result"), target)

    async def download(self, path: str, target: Path) -> int:
        """Write what lies under a path of the server to a file; returns its bytes."""
        call = Call(method="GET", path=path)
        try:
            async with self._transport.opened(call) as response:
                if not response.is_success:
                    await response.aread()
                    raise refusal(self.url, response)
                return await save(response.aiter_bytes(), target)
        except httpx.TransportError as error:
            raise no_answer(self.url, error) from error

    async def readiness(self) -> "Readiness":
        """What works and what does not."""
        call = Call(method="GET", path="/readyz", read=10.0)
        try:
            async with self._transport.opened(call) as response:
                await response.aread()
        except httpx.TransportError as error:
            raise no_answer(self.url, error) from error
        readiness = self._transport.decoded(response)
        if not isinstance(readiness, dict) or "checks" not in readiness:
            raise refusal(self.url, response)
        found: Readiness = readiness  # type: ignore[assignment]
        return found


def _task(task_id: str, part: str = "") -> str:
    return f"{_API}/tasks/{quote(task_id, safe='')}{part}"


def _body(value: Any, parts: Sequence[Any]) -> Mapping[str, Any]:
    if not parts:
        return {"json": {} if value is None else value}
    for _, (_, file, _) in parts:
        file.seek(0)
    return {"files": parts, "data": {} if value is None else {"input": json.dumps(value)}}
