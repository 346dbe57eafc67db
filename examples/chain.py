"""Chain: each step takes what the one before it has made. Here: a letter is answered.

A chain is one handler with steps, not a row of queues: its steps need nothing from each other but
their results, and share one deadline, one progress and one place to look.
"""

from pydantic import BaseModel, Field

from examples.outside import call
from stagepost import App, Context

app = App()


class Letter(BaseModel):
    """What a customer wrote."""

    text: str = Field(min_length=1, max_length=20_000)


class Answer(BaseModel):
    """What is sent back."""

    topic: str
    text: str


def find_topic(text: str) -> str:
    """Stands for a small, cheap model."""
    call("small-model", f"topic of: {text[:40]}")
    return "invoice" if "invoice" in text.lower() else "other"


def look_up(topic: str) -> str:
    """Stands for a search in one's own documents."""
    call("search", topic)
    return f"Our rules for the topic {topic}."


def draft(text: str, rules: str) -> str:
    """Stands for a large model, which one wants to pay for only once."""
    call("large-model", f"answer to: {text[:40]}")
    return f"Thank you for your {len(text.split())} words. {rules}"


@app.task("answer-letter", timeout="5m")
async def answer_letter(ctx: Context, letter: Letter) -> Answer:
    """Three calls, each made once however often the handler runs again from its top."""
    topic = await ctx.step("topic", find_topic, letter.text, progress=10, message="reading")
    rules = await ctx.step("rules", look_up, topic, progress=30, message="looking up")
    text = await ctx.step("draft", draft, letter.text, rules, progress=50, message="writing")
    return Answer(topic=topic, text=text)
