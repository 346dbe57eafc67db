"""Task types for the tests of the command line; what they do outside is told in files."""

import asyncio
import time
from pathlib import Path

from pydantic import BaseModel

from stagepost import App, Context, InvalidInput, Retry, Upload

app = App()
print("the app is loaded")  # noqa: T201  # as modules do; it must not get between `up` and its reader


class Walk(BaseModel):
    """So many steps; before the one with the number `gate` it waits for a file."""

    folder: Path
    steps: int = 3
    gate: int = -1


class Word(BaseModel):
    """What to do."""

    word: str = ""


class Letter(BaseModel):
    """A file, and who asks."""

    file: Upload
    note: str = ""


class Two(BaseModel):
    """Two files."""

    before: Upload
    after: Upload


class Many(BaseModel):
    """Any number of files."""

    papers: list[Upload]


async def _step(number: int, folder: Path, gate: int) -> int:
    if number == gate:
        (folder / "waiting").touch()
        while not (folder / "gate").exists():  # noqa: ASYNC110  # another process makes it
            await asyncio.sleep(0.01)
    with (folder / "log").open("a") as log:
        log.write(f"{number}\n")
    return number


@app.task("walk")
async def walk(ctx: Context, request: Walk) -> list[int]:
    return [
        await ctx.step(
            f"step-{number}",
            _step,
            number,
            request.folder,
            request.gate,
            progress=number * 100 // request.steps,
            message=f"step {number} of {request.steps}",
        )
        for number in range(request.steps)
    ]


@app.task("listen")
async def listen(ctx: Context, request: Word) -> Word:
    return Word.model_validate(await ctx.wait_for("go"))


@app.task("say", retry=Retry(attempts=2, first="0.05s", jitter=0))
async def say(ctx: Context, request: Word) -> str:
    ctx.log.info("saying %s", request.word)
    if request.word == "no":
        raise InvalidInput("The word is no.")
    if request.word == "bug":
        raise KeyError(request.word)
    return request.word


@app.task("ask")
async def ask(ctx: Context, request: Word) -> str:
    """Lets another one do it, which says it, or listens."""
    await ctx.child("listen" if request.word == "listen" else "say", request)
    return request.word


@app.task("read")
async def read(ctx: Context, request: Letter) -> dict[str, str]:
    content = await request.file.read()
    await ctx.save_artifact("copy.txt", content, "text/plain")
    return {"name": request.file.name, "note": request.note, "text": content.decode()}


@app.task("compare")
async def compare(_ctx: Context, request: Two) -> list[str]:
    return [request.before.name, request.after.name]


@app.task("collect")
async def collect(_ctx: Context, request: Many) -> list[str]:
    return [each.name for each in request.papers]


@app.task("deaf")
async def deaf(_ctx: Context, request: Walk) -> None:
    """Sleeps in a way that nothing but a kill can end."""
    (request.folder / "waiting").touch()
    time.sleep(60)  # noqa: ASYNC251  # it is the point


@app.task("tell")
async def tell(ctx: Context, request: Walk) -> str:
    """Says words, and waits before the last for a file."""

    async def speak() -> str:
        said = [f"word-{number} " for number in range(request.steps)]
        for word in said:
            if word == said[-1]:
                await _step(request.gate, request.folder, request.gate)
            await ctx.emit(word)
        return "".join(said)

    return await ctx.step("speak", speak)


@app.task("count", lane="batch")
async def count(_ctx: Context, request: Word) -> int:
    return len(request.word)


@app.task("mend")
async def mend(_ctx: Context, request: Walk) -> bool:
    """Fails for good as long as nobody has mended it; a worker that is lost under it only once."""
    if not (request.folder / "mended").exists():
        raise InvalidInput("Nobody has mended it.")
    return True
