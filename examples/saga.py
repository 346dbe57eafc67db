"""Saga: all of it, or none. Here: a document is published, in services that share nothing.

Each part is a child task, because only a child has attempts of its own: when it is in dead letter
or cancelled, it has failed for good, and the parent reads of it as ChildFailed. Then the parts are
undone in reverse order by one more child, `withdraw`. It undoes *every* part: also the one that
failed, since a call whose answer was lost may have worked, and those that never began, where that
does nothing.

Two ends must exclude each other whatever is killed, cancelled or sent back. So the end is decided
once, in one place outside of the engine: the book. The first decision stands, and a part that comes
too late is refused.

Callers submit `publish`. Its saga is detached: a cancel frees the caller, and leaves no document
half published.
"""

from typing import Literal

from pydantic import BaseModel, Field

from examples.outside import call, calls
from stagepost import App, ChildFailed, Context, InvalidInput, Retry, ServerError

app = App()

PARTS = ("budget", "search-index", "public-link")
End = Literal["published", "withdrawn"]


class Publication(BaseModel):
    """A document; `document` names this one publication of it, such as "report-7/v2"."""

    document: str = Field(min_length=1, max_length=200, pattern=r"^\S+$")
    broken: str = ""
    """A part whose service shall be away, to see what happens."""


class Part(Publication):
    """One part of a publication."""

    part: str


class Named(BaseModel):
    """Which publication."""

    document: str


class Ending(BaseModel):
    """Which of the two ends it came to, and why."""

    end: End
    why: str = ""


def end_of(document: str) -> End | None:
    """What the book says: the first decision."""
    for line in calls():
        for end in ("published", "withdrawn"):
            if line == f"book {document} {end}":
                return "published" if end == "published" else "withdrawn"
    return None


def decide(document: str, end: End) -> End:
    """Stands for a row with a unique key: written unless there is one. Answers which stands."""
    call("book", f"{document} {end}")
    stands = end_of(document)
    assert stands is not None
    return stands


def do(part: str, document: str, broken: str) -> None:
    """Stands for a service that knows a publication by its name, so that twice is as once.

    A real one looks into the book in the transaction in which it does its part.
    """
    call(part, f"do {document}")
    if part == broken:
        raise ServerError(f"The service {part} is away.")
    if end_of(document) == "withdrawn":
        raise InvalidInput("This publication was withdrawn; publish under another name.")


def undo(part: str, document: str) -> None:
    """Stands for its counterpart, which does nothing where nothing was done."""
    call(part, f"undo {document}")


@app.task("do-part", retry=Retry(attempts=2, first="200ms"))
async def do_part(ctx: Context, part: Part) -> None:
    """One part, tried as often as it is worth; after that it has failed for good."""
    await ctx.step("do", do, part.part, part.document, part.broken)


@app.task("withdraw", deadline="7d", retry=Retry(attempts=50, first="1s", most="10m"))
async def withdraw(ctx: Context, named: Named) -> Ending:
    """Undo all parts, last first, unless it was published. Patient: after it comes only a person.

    Who may submit it as well: to stop a publication, or after one that was cancelled itself.
    """
    end = await ctx.step("decide", decide, named.document, "withdrawn")
    if end == "withdrawn":
        for part in reversed(PARTS):
            await ctx.step("undo", undo, part, named.document)
    return Ending(end=end)


@app.task("publication", deadline="7d")
async def publication(ctx: Context, asked: Publication) -> Ending:
    """The saga. It completes in both ends: that it was undone is an answer, not a fault."""
    why = "It was withdrawn meanwhile."
    try:
        for part in PARTS:
            await ctx.child("do-part", Part(part=part, **asked.model_dump()))
        if await ctx.step("decide", decide, asked.document, "published") == "published":
            return Ending(end="published")
    except ChildFailed as failure:
        why = str(failure)
    # Detached: a cancel of this task does not stop it half-way.
    await ctx.child("withdraw", Named(document=asked.document), detached=True)
    return Ending(end="withdrawn", why=why)


@app.task("publish", deadline="7d")
async def publish(ctx: Context, asked: Publication) -> Ending:
    """The door. Whoever cancels it no longer waits; the saga goes on to one of its two ends."""
    return Ending.model_validate(await ctx.child("publication", asked, detached=True))
