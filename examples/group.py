"""Group: the same work on many inputs, side by side; each counts alone. Here: translations.

Each input is a child task, so it has attempts, a status and a dead letter of its own, and any
worker may take it. One that fails is told as such, and loses none of the others.
"""

from pydantic import BaseModel, Field

from examples.outside import call
from stagepost import App, Context, InvalidInput, Retry

app = App()

KNOWN = {"de": "Deutsch", "fr": "Français", "zh": "中文"}


class Text(BaseModel):
    """A text and the languages that it is wanted in."""

    text: str = Field(min_length=1, max_length=20_000)
    languages: list[str] = Field(min_length=1, max_length=200)


class Wanted(BaseModel):
    """One translation."""

    text: str
    language: str


class Translations(BaseModel):
    """What became of each language."""

    done: dict[str, str]
    failed: dict[str, str]


def ask_model(text: str, language: str) -> str:
    """Stands for a call to a model."""
    call("model", f"{language}: {text[:40]}")
    return f"[{KNOWN[language]}] {text}"


@app.task("translate", lane="batch", retry=Retry(attempts=5))
async def translate(ctx: Context, wanted: Wanted) -> str:
    """One translation. What can't be done at all is said at once, so that nobody tries again."""
    if wanted.language not in KNOWN:
        raise InvalidInput(f"There is no model for the language {wanted.language}.")
    return await ctx.step("ask", ask_model, wanted.text, wanted.language)


@app.task("translate-all")
async def translate_all(ctx: Context, request: Text) -> Translations:
    """All translations, and why some are missing. It waits for them without a worker."""
    languages = list(dict.fromkeys(request.languages))  # in their order, each paid for once
    ended = await ctx.batch(
        "translate",
        [Wanted(text=request.text, language=language) for language in languages],
        on_failure="collect",
        progress=(0, 100),
        message="{n} of {total} languages",
    )
    answer = Translations(done={}, failed={})
    for language, child in zip(languages, ended, strict=True):
        if child.status == "COMPLETED":
            answer.done[language] = child.result
        else:
            answer.failed[language] = child.error_message or child.status
    return answer
