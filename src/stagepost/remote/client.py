"""Every verb of a server's HTTP API that the command line uses."""

import json
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar
from urllib.parse import quote

import httpx

from stagepost.remote.errors import Unreachable, no_answer, refusal
from stagepost.remote.files import (
    FileField,
    FilePart,
    check_readable,
    file_fields,
    opened,
    pieces,
    save,
)
from stagepost.remote.following import Following
from stagepost.remote.queries import SubmitOptions, Where
from stagepost.remote.quotas import QuotaCalls
from stagepost.remote.schedules import RemoteSchedules
from stagepost.remote.transport import Call, Transport

if TYPE_CHECKING:
    # Types only: importing them would load the whole web layer into each command.
    from stagepost.web.schemas import (
        Accepted,
        AcceptedBatch,
        ArtifactItem,
        BatchPage,
        DeadLetter,
        DryRun,
        Erased,
        Group,
        Key,
        Lane,
        Listed,
        Matched,
        NewKey,
        Readiness,
        Redrive,
        Redriven,
        SharedLimit,
        SignalSent,
        Step,
        TaskEvent,
        TaskItem,
        TaskStatus,
        WholeTask,
        Worker,
    )

_API: Final = "/api/v1"
_MOST_PAGES: Final = 10_000
Item = TypeVar("Item")


class Remote:
    """A server. Every verb raises Refused and Unreachable, each with one sentence for a person."""

    def __init__(
        self, url: str, key: str = "", transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        self._transport = Transport(url, key, transport)
        self.quotas = QuotaCalls(self._transport)
        self.url = self._transport.url
        self.schedules = RemoteSchedules(self._transport)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._transport.close()

    # Tasks

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
        page: BatchPage = await self._get(path, {"limit": limit, "after": after})
        return page

    async def file_fields(self, type_name: str) -> Sequence[FileField]:
        """The fields of a task type that take files."""
        return file_fields(await self._get("/openapi.json"), type_name)

    async def status(self, task_id: str) -> "TaskStatus":
        """Where a task stands."""
        status: TaskStatus = await self._get(_task(task_id, "/status"))
        return status

    async def task(self, task_id: str) -> "WholeTask":
        """All of a task."""
        task: WholeTask = await self._get(_task(task_id))
        return task

    def follow(self, task_id: str, after: int | None = None) -> Following:
        """Its events as they happen, from now on or after the one numbered `after`."""
        return Following(self._transport, _task(task_id), after)

    def steps(self, task_id: str) -> "AsyncIterator[Step]":
        """Its saved steps in their order."""
        return self._all(_task(task_id, "/steps"), {"limit": 200})

    def artifacts(self, task_id: str) -> "AsyncIterator[ArtifactItem]":
        """The files that it saved."""
        return self._all(_task(task_id, "/artifacts"), {"limit": 200})

    def events(self, task_id: str) -> "AsyncIterator[TaskEvent]":
        """Its history, from the first event on."""
        return self._all(_task(task_id, "/events"), {"limit": 200})

    def tasks(self, where: Where, *, limit: int = 200) -> "AsyncIterator[TaskItem]":
        """All tasks of a kind, newest first, read in pages of `limit`."""
        return self._all(f"{_API}/tasks", {**where.conditions(), "limit": limit})

    async def page_of_tasks(
        self, where: Where, *, limit: int, after: str | None = None
    ) -> "Listed[TaskItem]":
        """One page of them."""
        page: Listed[TaskItem] = await self._get(
            f"{_API}/tasks", {**where.conditions(), "limit": limit, "after": after}
        )
        return page

    async def cancel(self, task_id: str, reason: str = "") -> "TaskStatus":
        """Cancel a task, or ask its worker to stop."""
        status: TaskStatus = await self._post(_task(task_id, "/cancel"), {"reason": reason})
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
        matched: Matched = await self._post(f"{_API}/tasks/cancel", body)
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

    # Dead letters

    async def page_of_dead_letters(
        self, where: Where, *, limit: int, after: str | None = None
    ) -> "Listed[DeadLetter]":
        """One page of the tasks that need a person."""
        page: Listed[DeadLetter] = await self._get(
            f"{_API}/dead-letters", {**where.conditions(), "limit": limit, "after": after}
        )
        return page

    async def dead_groups(self, where: Where, by: str) -> "Sequence[Group]":
        """Their counts by `failureKind`, `type` or both with a comma."""
        grouped = await self._get(f"{_API}/dead-letters", {**where.conditions(), "groupBy": by})
        groups: Sequence[Group] = grouped["items"]
        return groups

    async def redrive(self, chosen: Mapping[str, Any]) -> "Redriven | DryRun":
        """Send dead letters back. `chosen` is the body as docs/http-api.md has it."""
        redriven: Redriven | DryRun = await self._post(f"{_API}/dead-letters/redrive", chosen)
        return redriven

    async def discard(self, chosen: Mapping[str, Any]) -> "Matched":
        """Give dead letters up."""
        discarded: Matched = await self._post(f"{_API}/dead-letters/discard", chosen)
        return discarded

    async def redrive_progress(self, redrive_id: str) -> "Redrive":
        """How far a redrive is."""
        found: Redrive = await self._get(_redrive(redrive_id))
        return found

    async def stop_redrive(self, redrive_id: str) -> "Redrive":
        """Send no further dead letter back."""
        stopped: Redrive = await self._transport.json(
            Call(method="POST", path=_redrive(redrive_id, "/stop"))
        )
        return stopped

    # The server

    async def lanes(self) -> "Sequence[Lane]":
        """The lanes now."""
        lanes: Sequence[Lane] = (await self._get(f"{_API}/lanes"))["items"]
        return lanes

    async def rule(
        self, path: str, body: Mapping[str, Any] | None = None, *, change: str = ""
    ) -> Any:
        """A lane's, type's or tenant's rule, such as `lanes/batch`: read, replaced by a `body`.

        `change` is `pause` or `resume`.
        """
        place = f"{_API}/" + "/".join(quote(part, safe="") for part in path.split("/", 1))
        if change:
            return await self._post(f"{place}/{change}", {})
        if body is None:
            return await self._get(place)
        call = Call(method="PUT", path=place, make_body=lambda: {"json": body}, safe=True)
        return await self._transport.json(call)

    def rules(self, kind: str) -> AsyncIterator[Any]:
        """All `types`, or the `tenants` for which something was set, with their rules."""
        return self._all(f"{_API}/{kind}", {"limit": 200})

    async def workers(self) -> "Sequence[Worker]":
        """The workers now."""
        workers: Sequence[Worker] = (await self._get(f"{_API}/workers"))["items"]
        return workers

    def limits(self) -> "AsyncIterator[SharedLimit]":
        """The limits that handlers share."""
        return self._all(f"{_API}/limits", {"limit": 200})

    async def set_limit(self, name: str, body: Mapping[str, Any]) -> "SharedLimit":
        """Set one. `body` is as docs/http-api.md has it."""
        path = f"{_API}/limits/{quote(name)}"
        call = Call(method="PUT", path=path, make_body=lambda: {"json": body}, safe=True)
        limit: SharedLimit = await self._transport.json(call)
        return limit

    async def remove_limit(self, name: str) -> None:
        """Take one away."""
        await self._transport.json(Call(method="DELETE", path=f"{_API}/limits/{quote(name)}"))

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

    # Keys

    async def make_key(
        self, name: str, roles: Sequence[str], user: str | None, tenant: str | None = None
    ) -> "NewKey":
        """Make an API key; its text is in this answer only.

        A `tenant` that is not the caller's own is for servers in the local mode.
        """
        body = {"name": name, "roles": list(roles), **({"user": user} if user else {})}
        key: NewKey = await self._post(f"{_API}/keys", body, _for_tenant(tenant))
        return key

    def live_keys(self, tenant: str | None = None) -> "AsyncIterator[Key]":
        """The keys of the tenant."""
        return self._all(f"{_API}/keys", {"limit": 200}, _for_tenant(tenant))

    async def revoke_key(self, key_id: str, tenant: str | None = None) -> None:
        """End a key."""
        path = f"{_API}/keys/{quote(key_id, safe='')}"
        call = Call(method="DELETE", path=path, headers=_for_tenant(tenant))
        await self._transport.json(call)

    async def _get(
        self,
        path: str,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        call = Call(method="GET", path=path, query=query, headers=headers or {}, safe=True)
        return await self._transport.json(call)

    async def _post(
        self, path: str, body: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> Any:
        call = Call(
            method="POST", path=path, headers=headers or {}, make_body=lambda: {"json": body}
        )
        return await self._transport.json(call)

    async def _all(
        self, path: str, query: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[Any]:
        after: str | None = None
        for _ in range(_MOST_PAGES):
            page = await self._get(path, {**query, "after": after}, headers)
            for item in page["items"]:
                yield item
            after = page["next"]
            if after is None:
                return
        raise Unreachable(f"The list is longer than {_MOST_PAGES} pages; narrow it by a filter.")


def _for_tenant(tenant: str | None) -> Mapping[str, str]:
    return {} if tenant is None else {"X-Tenant-Id": tenant}


def _task(task_id: str, part: str = "") -> str:
    return f"{_API}/tasks/{quote(task_id, safe='')}{part}"


def _redrive(redrive_id: str, part: str = "") -> str:
    return f"{_API}/redrives/{quote(redrive_id, safe='')}{part}"


def _body(value: Any, parts: Sequence[Any]) -> Mapping[str, Any]:
    if not parts:
        return {"json": {} if value is None else value}
    for _, (_, file, _) in parts:
        file.seek(0)
    return {"files": parts, "data": {} if value is None else {"input": json.dumps(value)}}
