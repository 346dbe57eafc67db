"""Which tasks a change of many is meant for, as callers say it: by ids or by a filter."""

from typing import Annotated, Final, Self

from pydantic import ConfigDict, Field, StringConstraints, model_validator

from stagepost.failure import FailureKind
from stagepost.records import Filter
from stagepost.task import Status
from stagepost.web.answers import Instant, Strict

IDS_MOST: Final = 1_000
"""Ids in one request; a filter may find any number."""

TaskId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]


class Conditions(Strict):
    """What dead letters have in common; at least one condition."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    type: str | None = Field(default=None, max_length=63)
    lane: str | None = Field(default=None, max_length=63)
    tag: str | None = Field(default=None, max_length=64)
    user: str | None = Field(default=None, max_length=128)
    failure_kind: FailureKind | None = None
    created_after: Instant | None = None
    created_before: Instant | None = None

    def where(self, *, limit: int, after: str | None = None) -> Filter:
        """The dead letters that meet them all."""
        return Filter(
            statuses=(Status.DEAD_LETTER,),
            type=self.type,
            lane=self.lane,
            tag=self.tag,
            user=self.user,
            failure_kind=None if self.failure_kind is None else self.failure_kind.value,
            created_after=self.created_after,
            created_before=self.created_before,
            after=after,
            limit=limit,
        )


class Chosen(Strict):
    """Which dead letters: by id or by filter."""

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": ["taskIds"]}, {"required": ["filter"]}]}
    )

    task_ids: list[TaskId] | None = Field(default=None, min_length=1, max_length=IDS_MOST)
    filter: Conditions | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.task_ids is None) == (self.filter is None):
            raise ValueError("give taskIds or filter")
        if self.filter is not None and not self.filter.model_dump(exclude_none=True):
            raise ValueError("an empty filter would mean all; name at least one condition")
        return self
