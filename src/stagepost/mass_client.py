"""What a program does with many tasks at once: redrive, cancel, discard."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from uuid_utils import uuid7

from stagepost.errors import UnknownType
from stagepost.mass import Kind, MassChange, Progress
from stagepost.records import Filter, Resume, Scope, UploadRecord
from stagepost.registry import App
from stagepost.store import Store


@dataclass(frozen=True, slots=True)
class Which:
    """Tasks by a filter, or those of `task_ids` that are in one of its statuses."""

    where: Filter
    task_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a redrive goes; see `stagepost.mass`."""

    per_minute: int | None = None
    canary: int | None = None


class Begun(NamedTuple):
    """A change that was begun, after its first page."""

    id: str
    progress: Progress


class Changing(Protocol):
    """Who asks for a change."""

    @property
    def user(self) -> str:
        """Whose name stands in the history."""
        ...

    @property
    def scope(self) -> Scope:
        """Whose tasks it may change."""
        ...


class Resuming(Protocol):
    """Where redriven tasks go on."""

    async def __call__(
        self,
        task_id: str,
        *,
        scope: Scope,
        fresh: bool,
        from_step: str | None,
        input: Any,  # noqa: A002  # the word that users know
        uploads: Sequence[UploadRecord],
    ) -> Resume:
        """The Resume of one task, with a corrected input validated. Raises NotFound, Invalid."""
        ...


class MassClient:
    """Begins changes of many tasks; the first page is done at once, the rest by the engine.

    Every verb raises Conflict when too many are under way.
    """

    def __init__(self, app: App, store: Store, resuming: Resuming) -> None:
        self._app = app
        self._store = store
        self._resuming = resuming

    async def redrive(
        self,
        which: Which,
        *,
        caller: Changing,
        fresh: bool = False,
        from_step: str | None = None,
        input: Any = None,  # noqa: A002  # the word that users know
        uploads: Sequence[UploadRecord] = (),
        pace: Pace = Pace(),  # frozen
    ) -> Begun:
        """Send dead letters back; a corrected `input` is for exactly one of `task_ids`.

        Types that are not registered are left alone; UnknownType if that is the type of each of
        `task_ids`. Raises what the only task was refused for: Conflict, NotFound, UploadSwept,
        Invalid.
        """
        attempts = {name: each.retry.attempts for name, each in self._app.types.items()}
        await self._check_types(which.task_ids, caller.scope)
        resume = Resume(fresh=fresh, from_step=from_step)
        if input is not None:
            resume = await self._resuming(
                which.task_ids[0],
                scope=caller.scope,
                fresh=fresh,
                from_step=from_step,
                input=input,
                uploads=uploads,
            )
        return await self._begin(
            MassChange(
                id=str(uuid7()),
                kind=Kind.REDRIVE,
                scope=caller.scope,
                by=caller.user,
                where=which.where,
                task_ids=tuple(sorted(which.task_ids)),
                resume=resume,
                attempts=attempts,
                per_minute=pace.per_minute,
                canary=pace.canary,
            )
        )

    async def cancel(self, which: Which, *, caller: Changing, reason: str = "") -> Begun:
        """Cancel tasks, or ask their workers to stop."""
        return await self._plain(Kind.CANCEL, which, caller, reason)

    async def discard(self, which: Which, *, caller: Changing, reason: str = "") -> Begun:
        """Give dead letters up."""
        return await self._plain(Kind.DISCARD, which, caller, reason)

    async def redrive_progress(self, redrive_id: str, scope: Scope) -> Progress:
        """How far a redrive is. Raises NotFound."""
        return await self._store.mass.progress(redrive_id, Kind.REDRIVE, scope)

    async def stop_redrive(self, redrive_id: str, *, caller: Changing) -> Progress:
        """Send no further task back. Raises NotFound."""
        why = f"stopped by {caller.user}"
        return await self._store.mass.stop(redrive_id, Kind.REDRIVE, caller.scope, why)

    async def _plain(self, kind: Kind, which: Which, caller: Changing, reason: str) -> Begun:
        return await self._begin(
            MassChange(
                id=str(uuid7()),
                kind=kind,
                scope=caller.scope,
                by=caller.user,
                where=which.where,
                task_ids=tuple(sorted(which.task_ids)),
                reason=reason,
            )
        )

    async def _begin(self, change: MassChange) -> Begun:
        await self._store.mass.begin(change)
        advanced = await self._store.mass.advance(change.id)
        if advanced.refusal is not None and not advanced.progress.sent and change.task_ids:
            raise advanced.refusal
        return Begun(change.id, advanced.progress)

    async def _check_types(self, task_ids: Sequence[str], scope: Scope) -> None:
        unknown: UnknownType | None = None
        for task_id in task_ids:
            try:
                self._app.get((await self._store.get(task_id, scope)).task.type)
            except UnknownType as error:
                unknown = error
            else:
                return
        if unknown is not None:
            raise unknown
