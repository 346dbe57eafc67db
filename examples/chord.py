"""Chord: a group, and then one piece of work on all of its results. Here: a book is summed up.

The body needs every part, so the first part that fails for good fails the whole (`stop`, the
default of a batch). A redrive sends only that part back; the others keep what they have.
"""

from pydantic import BaseModel, Field

from examples.outside import call
from stagepost import App, Context, InvalidInput

app = App()


class Book(BaseModel):
    """A text in chapters."""

    chapters: list[str] = Field(min_length=1, max_length=1_000)


class Chapter(BaseModel):
    """One of them."""

    text: str


class Summary(BaseModel):
    """What the book says."""

    chapters: int
    text: str


def sum_up(text: str) -> str:
    """Stands for a call to a model: the first sentence."""
    call("model", f"chapter: {text[:40]}")
    return text.partition(".")[0].strip() + "."


def join(parts: list[str]) -> str:
    """Stands for a call to a larger model, over all that the small calls have made."""
    call("large-model", f"{len(parts)} parts")
    return " ".join(parts)


@app.task("sum-up-chapter", lane="batch")
async def sum_up_chapter(ctx: Context, chapter: Chapter) -> str:
    """A part of the group."""
    if not chapter.text.strip():
        raise InvalidInput("A chapter is empty; redrive it with its text.")
    return await ctx.step("sum-up", sum_up, chapter.text)


@app.task("sum-up-book")
async def sum_up_book(ctx: Context, book: Book) -> Summary:
    """The group, then its body: a step like any other, which begins when all results are there."""
    parts = await ctx.batch(
        "sum-up-chapter",
        [Chapter(text=text) for text in book.chapters],
        progress=(0, 80),
        message="chapter {n} of {total}",
    )
    text = await ctx.step("join", join, parts, progress=80, message="joining")
    return Summary(chapters=len(parts), text=text)
