"""Pipeline: stages that consume on their own. Here: a scan is read, embedded and indexed.

Each stage is a task type in a lane of its own. So each has its own workers, as many as it needs, on
machines of its own kind; its own limit, its own pause, its own backlog to look at. A small
conductor takes each document from stage to stage; it holds no worker while a stage works, and many
documents are in different stages at the same time.
"""

from pydantic import BaseModel, Field

from examples.outside import call
from stagepost import App, Context, Retry

app = App()

PATIENT = Retry(attempts=6, first="2s", most="5m")
"""A stage stands before a service that may be away for a while."""


class Scan(BaseModel):
    """A document; its pages lie in a store of files, so that no stage carries them along."""

    document: str = Field(min_length=1, max_length=200)


class Text(BaseModel):
    """What the scan says."""

    document: str
    text: str


class Vector(BaseModel):
    """What the text means, as numbers."""

    document: str
    numbers: list[float]


class Place(BaseModel):
    """Where the document is found."""

    document: str
    place: str


def read_pages(document: str) -> str:
    """Stands for character recognition, which keeps a processor busy."""
    call("ocr", document)
    return f"The text of {document}"


def to_numbers(text: str) -> list[float]:
    """Stands for an embedding model, of which there are only so many."""
    call("embed", text)
    return [float(len(word)) for word in text.split()]


def put(document: str, numbers: list[float]) -> str:
    """Stands for a write to the index; under the document's name, so twice is as once."""
    call("index", document)
    return f"{document}#{len(numbers)}"


@app.task("ocr", lane="ocr", retry=PATIENT)
async def ocr(ctx: Context, scan: Scan) -> Text:
    """First stage. With real recognition: a sync function of the module's top level, cpu=True."""
    return Text(document=scan.document, text=await ctx.step("read", read_pages, scan.document))


@app.task("embed", lane="embed", retry=PATIENT, concurrency=4)
async def embed(ctx: Context, text: Text) -> Vector:
    """Second stage: at most four at once in the whole fleet, wherever its workers are."""
    return Vector(document=text.document, numbers=await ctx.step("embed", to_numbers, text.text))


@app.task("index", lane="index", retry=PATIENT)
async def index(ctx: Context, vector: Vector) -> Place:
    """Last stage."""
    place = await ctx.step("put", put, vector.document, vector.numbers)
    return Place(document=vector.document, place=place)


@app.task("ingest", deadline="7d")
async def ingest(ctx: Context, scan: Scan) -> Place:
    """The conductor: the only place that knows the order of the stages."""
    await ctx.progress(0, "recognising")
    text = await ctx.child("ocr", scan)
    await ctx.progress(33, "embedding")
    vector = await ctx.child("embed", text)
    await ctx.progress(66, "indexing")
    return Place.model_validate(await ctx.child("index", vector))
