"""What the review needs of the models, and which of them it asks."""

from collections.abc import Sequence
from typing import Any, Literal, Protocol, TypedDict, TypeVar

from pydantic import BaseModel

from stagepost import InvalidInput, Reply

Reviewer = Literal["auto", "model", "rules"]
Answer = TypeVar("Answer", bound=BaseModel)

REVIEWS_WITH = "best"
SUMS_UP_WITH = "fast"


class Message(TypedDict):
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


class Models(Protocol):
    """The configured models, by the aliases under which they are asked."""

    async def models(self) -> Sequence[str]:
        """The aliases; none where no model is configured."""
        ...

    async def reply(
        self,
        model: str,
        messages: Sequence[Any],
        *,
        response_model: type[Answer],
        max_tokens: int,
        wait: bool,
    ) -> Reply[Answer]:
        """Ask an alias; what it said as an instance of `response_model`, and who said it.

        A call that was answered is not paid again when the step around it runs again. A failure is
        an exception with a `kind`, a name from the table of failures, or one that a handler raises.
        With `wait` what only time or a person can mend is waited for; without, it is a failure.
        """
        ...


def alias(models: Sequence[str], wanted: str, otherwise: str = "") -> str:
    """The alias to ask: the wanted one, else the other, else the first that there is."""
    return next((name for name in (wanted, otherwise, *models) if name in models), wanted)


def chosen(reviewer: Reviewer, models: Sequence[str]) -> str | None:
    """The alias that reviews, or None where the rules do. Raises InvalidInput for no model."""
    if reviewer == "rules" or (reviewer == "auto" and not models):
        return None
    if not models:
        raise InvalidInput(
            "A review by a model was asked for and no model is configured: name one in models.toml,"
            ' or send "reviewer": "rules".'
        )
    return alias(models, REVIEWS_WITH)
