"""Approval: nothing leaves before a person has said so. Here: a model's letter to a customer.

The task waits for days without a worker. Who may answer, and for how long they may take, stands in
the handler; that somebody else is asked when nobody answers, too.
"""

from pydantic import BaseModel, Field

from examples.outside import call
from stagepost import App, Context

app = App()

ROUNDS = 3
"""So often a draft is written, before it is given up."""


class Letter(BaseModel):
    """What is to be written, and the user who has to agree."""

    about: str = Field(min_length=1, max_length=2_000)
    reviewer: str = Field(min_length=1, max_length=100)


class Decision(BaseModel):
    """What the signal says."""

    ok: bool
    why: str = ""


class Ending(BaseModel):
    """Whether it was sent, and why not."""

    sent: bool
    text: str = ""
    why: str = ""


def draft(about: str, remarks: list[str]) -> str:
    """Stands for a call to a model."""
    call("model", f"draft {len(remarks) + 1}: {about[:40]}")
    return ". ".join([f"About {about}", *(f"Considering: {remark}" for remark in remarks)])


def tell(reviewer: str, text: str) -> None:
    """Stands for a message to the reviewer, with a link to the task."""
    call("chat", f"{reviewer}, please look at: {text[:40]}")


def send(text: str) -> str:
    """Stands for what can't be taken back."""
    call("mail", text)
    return text


async def decision_on(ctx: Context, number: int, reviewer: str) -> Decision:
    """The reviewer's word on a draft or, when none comes in three days, that of an operator.

    Each draft has a signal of its own name: a second click on the first draft must not approve the
    second one. What the JSON says is checked here; nobody else knows what it has to be.
    """
    name = f"decide-{number}"
    try:
        # With the role: whoever operates the system may stand in for a reviewer.
        said = await ctx.wait_for(name, timeout="3d", approvers=[reviewer, "operate"])
    except TimeoutError:
        # An own key: it is another wait for the same signal.
        said = await ctx.wait_for(name, timeout="1d", approvers=["operate"], key="operators")
    return Decision.model_validate(said)


@app.task("write-letter", deadline="30d")
async def write_letter(ctx: Context, letter: Letter) -> Ending:
    """Draft, ask, and send or begin again with what the person remarked."""
    remarks: list[str] = []
    for number in range(1, ROUNDS + 1):
        text = await ctx.step("draft", draft, letter.about, remarks)
        await ctx.step("tell", tell, letter.reviewer, text)
        try:
            decision = await decision_on(ctx, number, letter.reviewer)
        except TimeoutError:
            return Ending(sent=False, why="Nobody has decided in time.")
        if decision.ok:
            return Ending(sent=True, text=await ctx.step("send", send, text))
        remarks.append(decision.why)
    return Ending(sent=False, why=f"Refused {ROUNDS} times; the last time: {remarks[-1]}")
