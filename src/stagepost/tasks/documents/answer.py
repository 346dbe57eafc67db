"""What a sandboxed child may answer: checked as if the document itself had written it."""

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

MediaType = Literal[
    "application/pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "text/plain",
    "text/markdown",
]


class _Untrusted(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Extract(_Untrusted):
    """Text and its pages, whose half-open ranges tile it: no gap, no overlap, none beyond."""

    media_type: MediaType
    text: str
    pages: tuple[tuple[int, int], ...] = Field(min_length=1)
    warnings: tuple[str, ...] = Field(max_length=20)

    @model_validator(mode="after")
    def _pages_tile_the_text(self) -> Self:
        reached = 0
        for start, end in self.pages:
            if start != reached or end < start:
                raise ValueError("the pages do not follow one another")
            reached = end
        if reached != len(self.text):
            raise ValueError("the pages do not cover the text")
        return self


class SandboxCapabilities(_Untrusted):
    """Which walls stand around a parser on this machine; all of them on a usual Linux.

    Without `network_namespace` a parser that a hostile file took over could reach the network.
    """

    memory_limit: bool
    cpu_limit: bool
    parent_death_signal: bool
    no_new_privileges: bool
    network_namespace: bool


class Answer(_Untrusted):
    """Exactly one of the three is set."""

    extract: Extract | None = None
    refusal: str | None = Field(default=None, max_length=1000)
    lockdown: SandboxCapabilities | None = None

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if [self.extract, self.refusal, self.lockdown].count(None) != 2:
            raise ValueError("an answer says exactly one thing")
        return self
